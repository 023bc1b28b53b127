"""One order for the ops of a chain of partitions, merges and splits: a search over iteration domains.

What it wins over simpler ways, of the chains that `ragged-canonicalize` meets in the lit tests and the programs of
`test/support` (49), in 300 random programs of 12 ops (836, `test/support/programs.py`), and in 300 of 16 ops that only
change the nesting (4653):

* Rewriting neighbouring pairs to a fixpoint leaves 1, 8 and 164 of them with more ops, and 0, 6 and 247 in an order
  that depends on how they were written.
* Without going back, taking the first op that is legal every time, the search finds all 49, and none for 6 and 435.

So programs as people write them need no search; that equal chains end as equal text does (`test_canonicalize`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.passes.analysis.iteration_domains import (
    Chain,
    Components,
    Digits,
    Domain,
    Joined,
    Rows,
    Step,
    is_unit,
    parts_of,
    whole_of,
)
from ragged_dialect.shape import RaggedShape


class NormalForm(NamedTuple):
    """The steps of a chain in normal form, and the shape that the chain as given ends with."""

    steps: tuple[Step, ...]
    shape: RaggedShape


@lru_cache(maxsize=4096)
def normal_form(root: RaggedShape, steps: tuple[Step, ...]) -> NormalForm | None:
    """The chain of ops that stands for every chain with the domains and the layout of this one: it has
    at most as many ops. Partitions come first, then merges, the lower dim first, then splits, the
    higher dim first, then merges that forget a static extent; other orders where a layout refuses
    that one. None where `steps` are not legal on the root, or no order was found."""
    start = goal = Chain.of_root(root)
    try:
        for step in steps:
            goal = goal.after(step)
    except LayoutError:  # the root has static extents that a cast in between forgets
        return None
    found = _Search(goal).steps(start, len(steps))
    if found is None:
        return None
    # Every value on the way is one of these itself, or rewriting it would undo this.
    before = normal_form(root, tuple(found[:-1])) if len(found) > 1 else None
    stable = len(found) < 2 or (before is not None and before.steps == tuple(found[:-1]))
    return NormalForm(tuple(found), goal.shape) if stable else None


_MOST_VISITS = 500
"""Values looked at before a search gives up. Of the chains above none looked at more than 54 beside one for each op:
this only bounds what a chain of another kind may cost."""


class _Search:
    """Depth first, from the root to a goal: only ops that bring a value nearer to it are tried, so
    every way that the layouts allow has the same number of ops, splits by 1 aside."""

    def __init__(self, goal: Chain) -> None:
        self.goal = goal
        self.cuts: dict[Domain, list[Components]] = {}
        self.places: dict[Domain, set[int]] = {}
        self.neighbours: set[tuple[Domain, Domain]] = set()
        self.units = _units(goal.domains)
        self._note(goal.domains)
        self.visits = _MOST_VISITS
        self.dead: set[tuple[tuple[Domain, ...], Layout, int]] = set()

    def _note(self, domains: Iterable[Domain]) -> None:
        """Note what the domains of the goal are made of."""
        for domain in _all_of(domains):
            self.neighbours.update(pairwise(parts_of(domain)))
            if isinstance(domain, Components):
                self.cuts.setdefault(domain.of, []).append(domain)
            elif isinstance(domain, Digits):
                places = self.places.setdefault(domain.of, set())
                places.update(place for place in (domain.low, domain.high) if place is not None and place > 1)

    def steps(self, state: Chain, left: int) -> list[Step] | None:
        here = (state.domains, state.shape.layout, left)
        if here[:2] == (self.goal.domains, self.goal.shape.layout):
            return []
        if left == 0 or here in self.dead or self.visits == 0:
            return None
        self.visits -= 1
        for step in self._useful(state):
            try:
                rest = self.steps(state.after(step), left - 1)
            except LayoutError:
                continue
            if rest is not None:
                return [step, *rest]
        self.dead.add(here)
        return None

    def _useful(self, state: Chain) -> Iterator[Step]:
        """The ops that bring a state nearer to the goal, in their preferred order."""
        units, made = _units(state.domains), set(_all_of(state.domains))
        last: list[Step] = []
        for dim, domain in enumerate(state.domains):
            early = 1 not in self._factors(domain, units)  # a partition takes the whole dim
            for cut in self.cuts.get(domain, ()):
                if cut not in made and state.components(dim, cut.by) is cut:
                    if early:
                        yield Step(dim, cut.by)
                    else:
                        last.append(Step(dim, cut.by))
        for dim, (outer, inner) in enumerate(pairwise(state.domains)):
            if self._joins(parts_of(outer), parts_of(inner)[0], units):
                if state.forgets(dim):
                    last.append(Step(dim, None))
                else:
                    yield Step(dim, None)
        for dim in reversed(range(len(state.domains))):
            yield from (Step(dim, factor) for factor in self._factors(state.domains[dim], units))
        yield from last

    def _joins(self, outer: tuple[Domain, ...], inner: Domain, units: Counter[Domain]) -> bool:
        last = outer[-1]
        if (last, inner) in self.neighbours:
            return True
        if whole_of(outer, inner) is None:
            return False
        if is_unit(last) or is_unit(inner):
            unit = inner if is_unit(inner) else last
            return units[unit] > self.units[unit]
        if isinstance(inner, Rows):
            return not (self._wants(last, units) or self._wants(inner, units))
        return isinstance(inner, Digits) and inner.high not in self.places.get(inner.of, ())

    def _wants(self, domain: Domain, units: Counter[Domain]) -> bool:
        """Whether the goal has a domain, or something that is yet to be made of it."""
        there = any(domain in parts_of(whole) for whole in self.goal.domains)
        unit = Digits(domain, 1, 1)
        return there or domain in self.cuts or bool(self.places.get(domain)) or units[unit] < self.units[unit]

    def _factors(self, domain: Domain, units: Counter[Domain]) -> list[int]:
        """The factors that cut a domain where the goal does, the innermost first."""
        found: list[int] = []
        for of, low, high in _readings(domain):
            for place in sorted(self.places.get(of, ())):
                if place % low == 0 and place > low and (high is None or (place < high and high % place == 0)):
                    found.append(place // low)
            if units[unit := Digits(of, low, low)] < self.units[unit]:
                found.append(1)
            if high not in (None, low) and units[unit := Digits(of, high, high)] < self.units[unit]:
                found.append(high // low)
        return found


def _readings(domain: Domain) -> Iterator[tuple[Domain, int, int | None]]:
    """A domain as digits: of what it is cut from, and of itself."""
    if isinstance(domain, Digits):
        yield domain.of, domain.low, domain.high
    yield domain, 1, None


def _all_of(domains: Iterable[Domain]) -> Iterator[Domain]:
    """Some domains and all that they are made of: what partitions and splits were made of once,
    joined and top domains as often as they occur."""
    seen: set[Domain] = set()
    todo = list(domains)
    while todo:
        domain = todo.pop()
        if isinstance(domain, Rows):
            domain = domain.components
        if isinstance(domain, Components):
            if domain in seen:
                continue
            seen.add(domain)
            todo.append(domain.of)
        elif isinstance(domain, Digits) and domain.of not in seen:
            seen.add(domain.of)
            todo.append(domain.of)
        elif isinstance(domain, Joined):
            todo.extend(domain.parts)
        yield domain


def _units(domains: Iterable[Domain]) -> Counter[Domain]:
    """The units that some domains are made of: each of those is a split by 1."""
    return Counter(domain for domain in _all_of(domains) if is_unit(domain))
