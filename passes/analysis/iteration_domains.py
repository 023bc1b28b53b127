"""What a chain of partitions, merges and splits does to the dims of its root, whatever their order.

Every dim of a value in such a chain iterates over a *domain*: a dim of the root, the components or
the rows of a partition, some digits of a split domain, or several of these joined by merges. Ops
that commute give the same domains, and what undoes each other leaves none. So two chains from one
root with the same domains mean the same (`normal_form` has one chain for all of them). The term is
nvFuser's (iteration domains of a tensor domain); the digits are the divisibility rules, which hold
for tiles with holes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

from ragged_dialect import locks
from ragged_dialect.layout import Extent
from ragged_dialect.shape import RaggedShape


class _Interned:
    """There is one object of a class with given fields: domains share their parts, and comparing or
    hashing one by its fields would walk all it is made of, again and again."""

    __slots__ = ("__weakref__",)

    _known: ClassVar[WeakValueDictionary[tuple[Any, ...], Any]] = WeakValueDictionary()
    _lock: ClassVar[Any] = locks.lock()

    def __new__(cls, *fields: Any) -> Any:
        key = (cls, *fields)
        with cls._lock:
            found = cls._known.get(key)
            if found is None:
                found = cls._known[key] = super().__new__(cls)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class RootDim(_Interned):
    """A dim of the root, or the level of the root whose tiles are dims of it."""

    dim: int


@dataclass(frozen=True, slots=True, eq=False)
class Digits(_Interned):
    """The digits of an index of `of` from place value `low` up to below `high` (None: all of them).
    Splitting by f cuts at place value f; the indices of the digits 1 to None are those of `of`."""

    of: Domain
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Cutter:
    """What a partition goes by: a vector, by number, of `rank` 1 or 2 with its static extents."""

    vector: int
    lengths: bool
    rank: int
    count: Extent
    rows: Extent


@dataclass(frozen=True, slots=True, eq=False)
class Components(_Interned):
    """The components that a partition makes of a domain. `above` are the levels that a vector of
    rank 2 has a row for every index of. `dense` if the domain has one extent for all of these:
    merged, the two dims of the partition have lengths."""

    of: Domain
    by: Cutter
    above: tuple[Domain, ...]
    dense: bool


@dataclass(frozen=True, slots=True, eq=False)
class Rows(_Interned):
    """The rows in each of some components."""

    components: Components


@dataclass(frozen=True, slots=True, eq=False)
class Joined(_Interned):
    """Two or more domains that merges made one dim, the outermost first; none is `Joined` itself."""

    parts: tuple[Domain, ...]


Domain = RootDim | Digits | Components | Rows | Joined


class Step(NamedTuple):
    """A structure op: `by` is the factor of a split, the vector of a partition, None for a merge."""

    dim: int
    by: int | Cutter | None


def parts_of(domain: Domain) -> tuple[Domain, ...]:
    """The domains that one is joined of, or itself."""
    return domain.parts if isinstance(domain, Joined) else (domain,)


def join(domains: Iterable[Domain]) -> Domain:
    """The domain of merged dims: neighbours that came from one domain are that domain again."""
    stack: list[Domain] = []
    for domain in domains:
        _push(stack, domain)
    return stack[0] if len(stack) == 1 else Joined(tuple(stack))


def _push(stack: list[Domain], domain: Domain) -> None:
    for part in parts_of(domain):
        whole = whole_of(stack, part)
        if whole is None:
            stack.append(part)
        else:
            stack.pop()
            _push(stack, whole)


def whole_of(outer: Sequence[Domain], inner: Domain) -> Domain | None:
    """The domain that the last of some dims and a neighbour are the parts of, None if they are not."""
    last = outer[-1] if outer else None
    if isinstance(inner, Rows):
        cut = inner.components
        return cut.of if last is cut and (not cut.dense or tuple(outer[-2:-1]) == cut.above[-1:]) else None
    if isinstance(inner, Digits) and inner.high is not None:
        if isinstance(last, Digits) and last.of == inner.of and last.low == inner.high:
            return _digits(inner.of, inner.low, last.high)
        whole = parts_of(inner.of)
        if inner.high == 1 and tuple(outer[-len(whole) :]) == whole:
            return last
    return None


def _digits(of: Domain, low: int, high: int | None) -> Domain:
    return of if low == 1 and high is None else Digits(of, low, high)


def is_unit(domain: Domain) -> bool:
    """Whether a domain is the inner dim of a split by 1, or what is like it."""
    return isinstance(domain, Digits) and domain.low == domain.high


def halves(domain: Domain, factor: int) -> tuple[Domain, Domain]:
    """The outer and the inner dim of a split."""
    of, low, high = domain, 1, None
    if isinstance(domain, Digits) and (domain.high is None or domain.high // domain.low % factor == 0):
        of, low, high = domain.of, domain.low, domain.high
    return _digits(of, low * factor, high), Digits(of, low, low * factor)


@dataclass(frozen=True, eq=False)
class Chain:
    """The dims of a value in a chain: their domains, layout and extents.

    `batches` has the domains that were batch dims on the way, with their extents: a split of
    several of them, merged, takes their place where the factors fit."""

    domains: tuple[Domain, ...]
    shape: RaggedShape
    batches: dict[Domain, Extent] = field(default_factory=dict[Domain, Extent])

    @staticmethod
    def of_root(shape: RaggedShape) -> Chain:
        """The dims of a root: each its own domain, but for the parts of a split, which are digits."""
        domains: list[Domain] = []
        layout = shape.layout
        for dim, letter in enumerate(layout.letters):
            factor = shape.factor(dim)
            if letter != "t" and not layout.is_split_outer(dim):
                domains.append(RootDim(dim))
            elif letter != "t":
                domains.append(_digits(RootDim(dim), factor, None))
            else:
                extent = shape.shape[dim]
                assert extent is not None
                domains.append(Digits(RootDim(layout.tiles_of(dim).start - 1), factor, factor * extent))
        return Chain(tuple(domains), shape)._noted()

    def _noted(self) -> Chain:
        layout = self.shape.layout
        for dim, domain in enumerate(self.domains):
            if not isinstance(domain, Joined) and layout.is_batch(dim):
                self.batches.setdefault(domain, self.shape.shape[dim])
        return self

    def after(self, step: Step) -> Chain:
        """The dims after an op. Raises LayoutError where the layout refuses it."""
        dim, by = step
        domains, taken = self.domains, 1
        if by is None:
            shape, taken = self.shape.merge(dim), 2
            made = (join(domains[dim : dim + 2]),)
        elif isinstance(by, int):
            shape = self.shape.split(dim, by)
            made = self._halves(dim, by)
        else:
            shape = self.shape.partition(dim, by.rank, by.count, by.rows)
            cut = self.components(dim, by)
            made = (cut, Rows(cut))
        return Chain((*domains[:dim], *made, *domains[dim + taken :]), shape, self.batches)._noted()

    def components(self, dim: int, by: Cutter) -> Components:
        """The components that a partition makes of a dim."""
        layout = self.shape.layout
        axis, _ = layout.locate(dim)
        first = dim - 1 if layout.is_plain(dim) else layout.dims(axis)[0]
        above = parts_of(join(self.domains[first:dim])) if by.rank == 2 else ()
        return Components(self.domains[dim], by, above, by.rank == 2 and layout.letter(dim) == "d")

    def forgets(self, dim: int) -> bool:
        """Whether two dims have static extents and, merged, none: how full the last tile is, is not known."""
        return None not in self.shape.shape[dim : dim + 2] and self.shape.layout.letter(dim + 1) == "t"

    def _halves(self, dim: int, factor: int) -> tuple[Domain, Domain]:
        """A split of merged batch dims gives these dims back, or splits one of them, where the
        factor is a multiple of the extents further in; batch dims divide without holes."""
        domain = self.domains[dim]
        if not isinstance(domain, Joined) or not self.shape.layout.is_batch(dim):
            return halves(domain, factor)
        rest, inner, left = list(domain.parts), list[Domain](), factor
        while left > 1 and rest[-1] in self.batches:
            extent = self.batches[rest[-1]]
            if extent and left % extent == 0 and len(rest) > 1:
                inner.insert(0, rest.pop())
                left //= extent
            elif len(rest) == 1 or (extent and extent % left == 0):  # the first divides because the product does
                rest[-1], low = halves(rest[-1], left)
                inner.insert(0, low)
                left = 1
            else:
                break
        if left > 1 or not inner:
            return halves(domain, factor)
        return join(rest), join(inner)
