"""Loops by names: the levels of operands that each goes along, and the axes of what has some of them.

A letter stands for a loop. One that is ragged in an operand is so for all; other operands conform there, or are dense
and reach the longest component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_extents
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.arrays.tracing.wrap import of_value
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED


@dataclass(frozen=True)
class NamedLoops:
    """The loops of operands, by `names`, one letter for each of their dims, and the axes and levels of a `result`."""

    loops: str
    result: str
    axes: tuple[Axis, ...]
    levels: tuple[TensorLevel, ...]
    turned: str | None = None
    """The letters of a result over all pairs of elements of components with these two in the other order."""

    @staticmethod
    def of(trace: Trace, operands: Sequence[Tensor], names: Sequence[str], result: str) -> NamedLoops:
        """Find them. LayoutError for a result whose ragged levels have lost their batch, or which no layout has;
        RuntimeCheckError, now or in calls, for extents that differ."""
        loops = "".join(dict.fromkeys(result + "".join(names)))
        uses: dict[str, list[_Use]] = {letter: [] for letter in loops}
        for x, own in zip(operands, names, strict=True):
            for dim, letter in enumerate(own):
                uses[letter].append(_Use((x, dim), own))
        levels = {letter: _level(sorted(found, key=lambda use: use.rank(result))) for letter, found in uses.items()}
        _check_conforming(trace, operands, names)
        parents = {letter: _parents(letter, found) for letter, found in uses.items()}
        _check_order(parents)
        for letter in result:
            _check_kept(letter, uses[letter], parents[letter], result)
        axes = _result_axes(operands, names, result, parents, levels)
        pairs = axes[0].letters == "drr" and parents[result[1]] == parents[result[2]] == result[0] if axes else False
        turned = f"{result[0]}{result[2]}{result[1]}{result[3:]}" if pairs else None
        return NamedLoops(loops, result, tuple(axes), tuple(levels[c].level for c in result), turned)

    def numbers(self, names: str) -> list[int]:
        """The loops that letters stand for."""
        return [self.loops.index(letter) for letter in names]

    def settled(self, made: Tensor) -> Tensor:
        """A result with the vectors of its axes that no operand has, which its value has."""
        known = {k: axis for k, axis in enumerate(self.axes) if isinstance(axis, PlainAxis) or axis.vectors}
        return of_value(made.trace, made.value, made.dtype, known)


class _Use(NamedTuple):
    """A loop's use of an operand: of a level of it, whose dims have the loops `own`."""

    level: TensorLevel
    own: str

    @property
    def letter(self) -> str:
        """The level's letter in the layout."""
        x, dim = self.level
        return x.layout.letter(dim)

    @property
    def above(self) -> str:
        """The loops of the levels above it in its axis."""
        x, dim = self.level
        return self.own[dim - x.place(dim)[1] : dim]

    @property
    def ragged(self) -> str:
        """Those of them that are ragged."""
        x, dim = self.level
        above = range(dim - x.place(dim)[1], dim)
        return "".join(self.own[d] for d in above if x.layout.letter(d) in RAGGED)

    def rank(self, result: str) -> tuple[int, int, int, int]:
        """The least is what a loop's extent is taken from: a ragged level if there is one, then a batch of a nested
        axis, then a plain dim, whose extent may be static. Levels above a ragged one of the result are batches of it,
        and are taken from where it is; of ragged levels the one with most ragged ones above."""
        x, dim = self.level
        number, at = x.place(dim)
        ragged = [d for d in x.layout.dims(number) if x.layout.letter(d) in RAGGED and self.own[d] in result]
        below = max([dim, *ragged]) - dim
        if self.letter in RAGGED:
            kind = 0
        elif x.layout.is_plain(dim):
            kind = 2
        else:
            kind = 1 if at == 0 or below else 3
        return kind, -below, -at, -len(self.ragged)


def _level(uses: Sequence[_Use]) -> _Use:
    """What a loop's extent is taken from: the first use, or one that is static; the others have it."""
    use = uses[0]
    for other in uses[1:]:
        (x, dim), (y, at) = use.level, other.level
        if not y.layout.is_plain(at):
            if x.layout.is_plain(dim):
                batch_extent(use.level, other.level, dim)
        elif x.layout.is_plain(dim):
            use = use if equal_extents(use.level, other.level, at) is use.level else other
        elif use.letter == "d":
            batch_extent(other.level, use.level, at)
        else:
            covers(other.level, use.level)
    return use


def _check_conforming(trace: Trace, operands: Sequence[Tensor], names: Sequence[str]) -> None:
    """Nested axes over the same loops that are ragged in the same ones conform."""
    known: dict[tuple[str, str], NestedAxis] = {}
    for x, own in zip(operands, names, strict=True):
        for number, axis in enumerate(x.axes):
            if isinstance(axis, NestedAxis):
                loops = "".join(own[d] for d in x.layout.dims(number))
                kinds = axis.letters.replace("w", "r")  # where they differ, the program checks them
                own_axis = known.setdefault((loops, kinds), axis)
                known[loops, kinds] = trace.conform(own_axis, axis)
    first: dict[str, Tensor] = {}
    for x, own in zip(operands, names, strict=True):
        if own and isinstance(x.axes[0], NestedAxis):
            other = first.setdefault(own[0], x)
            if other.nested(0) is not x.axes[0]:
                batch_extent((x, 0), (other, 0), 0)


def _parents(letter: str, uses: Sequence[_Use]) -> str:
    """The loops that a ragged one hangs from, none for a dense one: those of the operand that has most of them, for
    which others have one length. LayoutError for another one that hangs from others."""
    ragged = [use for use in uses if use.letter in RAGGED]
    if not ragged:
        return ""
    most, *rest = sorted(ragged, key=lambda use: (-len(use.above), -len(use.ragged)))
    for other in rest:
        if not set(other.above) <= set(most.above):
            text = f"expected ragged dim '{letter}' below '{most.above}' in every operand, got it below '{other.above}'"
            raise LayoutError(text)
        if not set(other.ragged) <= set(most.ragged):
            text = f"expected one operand with all dims above ragged dim '{letter}' ragged that any one has ragged"
            raise LayoutError(f"{text}, got '{most.ragged}' and '{other.ragged}'")
    return most.above


def _check_order(parents: dict[str, str]) -> None:
    """LayoutError for ragged loops that hang from each other."""
    left = set(parents)
    while left:
        outer = {letter for letter in left if left.isdisjoint(parents[letter])}
        if not outer:
            names = ", ".join(f"'{letter}'" for letter in sorted(left))
            raise LayoutError(f"expected ragged dims in one order in all operands, got {names} below each other")
        left -= outer


def _check_kept(letter: str, uses: Sequence[_Use], parents: str, result: str) -> None:
    """LayoutError for a ragged dim of the result without its parents before it, and for one below a ragged one that is
    summed over, whose sums would go across components."""
    if not set(parents) <= set(result[: result.index(letter)]):
        raise LayoutError(f"expected the batch of ragged dim '{letter}' before it in the result, got none")
    for (x, dim), own in uses:
        for d in range(dim - x.place(dim)[1], dim):
            if x.layout.letter(d) in RAGGED and own[d] not in result:
                raise LayoutError(f"expected a sum over '{letter}' too, below ragged dim '{own[d]}', got '{result}'")


def _result_axes(
    operands: Sequence[Tensor],
    names: Sequence[str],
    result: str,
    parents: dict[str, str],
    levels: dict[str, _Use],
) -> list[Axis]:
    """The axes of the result: a ragged loop goes into the axis of the batch loops it hangs from, which begins with one
    of these, and has the dense ones between them."""
    axes: list[Axis] = []
    at = 0
    while at < len(result):
        run = result[at]
        for stop in range(at + 2, len(result) + 1):
            above = parents[result[stop - 1]]
            if result[at] in above and set(above) <= set(result[at : stop - 1]):
                run = result[at:stop]
        for k, letter in enumerate(run):
            if not _nests(run[:k], levels[letter], parents[letter], levels):
                above = levels[letter].above
                text = f"expected dims '{above}' above ragged dim '{letter}' of the result, ragged as in its operand"
                raise LayoutError(f"{text}, got '{result}'")
        axes.append(_axis(operands, names, run, levels))
        at += len(run)
    return axes


def _nests(before: str, use: _Use, parents: str, levels: dict[str, _Use]) -> bool:
    """Whether a level of the result has its parents before it in its axis, where `ragged.empty` looks for them: the
    very levels above it in its operand, else what is dense, or ragged, of another value at their place."""
    if use.letter not in RAGGED:
        return True
    x, dim = use.level
    taken = {p: (levels[p].level[0].value, levels[p].level[1]) for p in before}
    dense = [p for p in before if levels[p].letter == "d"]
    ragged = [p for p in before if levels[p].letter in RAGGED]
    for place, parent in enumerate(use.above):
        found = [p for p in before if taken[p] == (x.value, dim - len(use.above) + place)]
        others = ragged[use.ragged.index(parent) :] if parent in use.ragged else dense[place:]
        found += [p for p in others[:1] if taken[p][0] != x.value]
        if found[:1] != [parent]:
            return False
    return set(parents) <= set(before)


def _axis(operands: Sequence[Tensor], names: Sequence[str], run: str, levels: dict[str, _Use]) -> Axis:
    letters = "".join(levels[c].letter for c in run)
    if len(run) == 1:
        x, dim = levels[run].level
        number, level = x.place(dim)
        return batch_axis(x.axes[number], level)
    for x, own in zip(operands, names, strict=True):
        for number, axis in enumerate(x.axes):
            if (axis.letters, "".join(own[d] for d in x.layout.dims(number))) == (letters, run):
                assert isinstance(axis, NestedAxis)
                return axis.root
    return NestedAxis(letters, [], [None] * len(run))
