"""Shapes that broadcast: NumPy's rule on the dims, aligned at the last one, and equal structures.

On a nested axis all operands that are ragged there have to conform; an operand whose axis has fewer
levels, the leading ones, goes with it. A dense operand has the batch's extent on a batch dim, an
extent of 1 anywhere, and on a ragged dim an extent that reaches the longest component; there it has all
dims of the result, so that nobody takes numbers per component for numbers along them. Ragged dims at different
places, with extents of 1 where the other is ragged, make all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import NamedTuple

from ragged_dialect import builders
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import insert_ones, squeeze
from ragged_dialect.arrays.index.levels import merge
from ragged_dialect.arrays.ops.named_loops import NamedLoops
from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_extents
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.loops import Body, Loops, compute, empty
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.errors import LayoutError, RuntimeCheckError
from ragged_dialect.ir import build
from ragged_dialect.layout import RAGGED

Dims = list[int | None]


def broadcast(trace: Trace, operands: Sequence[Tensor]) -> tuple[Loops, list[Dims]]:
    """The loops of the result, and per operand the loop of each dim, None where it is broadcast.

    LayoutError where nested axes do not line up, RuntimeCheckError where extents or structures differ."""
    rank = max(x.ndim for x in operands)
    dims: list[Dims] = [list(range(rank - x.ndim, rank)) for x in operands]
    axes: list[Axis] = []
    levels: list[TensorLevel] = []
    while len(levels) < rank:
        start = len(levels)
        nested = _nested_at(trace, operands, start, rank)
        if nested is None:
            axis, level = _plain(operands, dims, start, rank)
            axes.append(axis)
            levels.append(level)
            continue
        x, dim, axis = nested
        _check_plain_operands(trace, operands, dims, (x, dim, axis), start, rank)
        axes.append(axis)
        levels += [(x, dim + level) for level in range(len(axis.letters))]
    return Loops(tuple(axes), tuple(levels)), dims


def _nested_at(
    trace: Trace, operands: Sequence[Tensor], start: int, rank: int
) -> tuple[Tensor, int, NestedAxis] | None:
    """The operand with most levels among those with a nested axis at a result dim, and the axis that
    stands for all of them."""
    found: list[tuple[Tensor, int, NestedAxis]] = []
    for x in operands:
        dim = start - (rank - x.ndim)
        axis = x.nested(dim) if 0 <= dim < x.ndim else None
        if axis is not None:
            if x.place(dim)[1] != 0:
                raise _Mismatch(_mismatch(trace, operands))
            found.append((x, dim, axis))
    if not found:
        return None
    found.sort(key=lambda item: -len(item[2].letters))
    first, dim, axis = found[0]
    for _, _, other in found[1:]:
        if not axis.letters.startswith(other.letters):
            raise _Mismatch(_mismatch(trace, operands))
        axis = trace.conform(axis, other)
    for x in operands:  # no other nested axis may begin inside this one
        for inner in range(start + 1, start + len(axis.letters)):
            at = inner - (rank - x.ndim)
            if 0 <= at < x.ndim and x.nested(at) is not None and x.place(at)[1] == 0:
                raise _Mismatch(_mismatch(trace, operands))
    return first, dim, axis


def _mismatch(trace: Trace, operands: Sequence[Tensor]) -> str:
    layouts = " and ".join(f'"{x.layout}"' for x in operands if x.axes)
    return f"{trace.op}: expected layouts whose ragged axes line up, got {layouts}"


def _one_sided(trace: Trace, x: Tensor, rank: int, after: int) -> str:
    """The error for an operand that aligns with a ragged dim, the last one before dim `after`, only because it has
    fewer dims: whether its elements belong to components or to places in them cannot be told."""
    last = min(rank - after, x.ndim - 1)
    one, some, rest = ["None"] * (rank - x.ndim), [":"] * (x.ndim - last), [":"] * last
    along, each = (f"[{', '.join(parts)}]" for parts in ([*one, *some, *rest], [*some, *one, *rest]))
    return (
        f"{trace.op}: expected an operand of rank {rank} beside a ragged dim, got rank {x.ndim} (write {along} for "
        f"elements along the components, {each} for one per component)"
    )


def _plain(operands: Sequence[Tensor], dims: list[Dims], at: int, rank: int) -> tuple[PlainAxis, TensorLevel]:
    chosen: tuple[PlainAxis, TensorLevel] | None = None
    ones: list[tuple[int, PlainAxis, TensorLevel]] = []
    for number, x in enumerate(operands):
        dim = at - (rank - x.ndim)
        if dim < 0:
            continue
        axis = x.axes[x.place(dim)[0]]
        assert isinstance(axis, PlainAxis)
        if axis.extent == 1:
            ones.append((number, axis, (x, dim)))
        elif chosen is None:
            chosen = axis, (x, dim)
        else:
            level = equal_extents(chosen[1], (x, dim), at)
            chosen = (chosen[0] if level is chosen[1] else axis, level)
    if chosen is None:
        _, axis, level = ones[0]
        return axis, level
    for number, _, (x, dim) in ones:
        dims[number][dim] = None
    return chosen


def _check_plain_operands(
    trace: Trace,
    operands: Sequence[Tensor],
    dims: list[Dims],
    nested: tuple[Tensor, int, NestedAxis],
    start: int,
    rank: int,
) -> None:
    """Dense operands on the levels of a nested axis, which begins at a dim of one of the operands."""
    like, first, axis = nested
    for number, x in enumerate(operands):
        for level, letter in enumerate(axis.letters):
            dim = start + level - (rank - x.ndim)
            own = x.axes[x.place(dim)[0]] if 0 <= dim < x.ndim else None
            if not isinstance(own, PlainAxis):
                continue
            if letter in RAGGED and x.ndim < rank and (dim == 0 or own.extent != 1):
                raise LayoutError(_one_sided(trace, x, rank, start + len(axis.letters)))
            if own.extent == 1:
                dims[number][dim] = None
            elif letter == "d":
                batch_extent((x, dim), (like, first + level), start + level)
            elif letter == "t":
                if own.extent != axis.extents[level]:
                    raise RuntimeCheckError(
                        f"{like.trace.op}: dim {start + level}: expected extent {axis.extents[level]}, got {own.extent}"
                    )
            else:
                covers((x, dim), (like, first + level))


def elementwise(trace: Trace, operands: Sequence[Tensor], dtypes: Sequence[DType], body: Body) -> list[Tensor]:
    """Results of `dtypes` over the loops that the operands broadcast to; `body` gets their elements."""
    made = _broadcast_or_pairs(trace, operands, dtypes, body)
    rank = max(x.ndim for x in operands)
    if not any(x.turned for x in made) and any(x.turned for x in operands) and all(_turns(x, rank) for x in operands):
        for number, one in enumerate(made):
            one.turned = lambda k=number: elementwise(trace, [_turned(x, rank) for x in operands], dtypes, body)[k]
    return made


def _broadcast_or_pairs(trace: Trace, operands: Sequence[Tensor], dtypes: Sequence[DType], body: Body) -> list[Tensor]:
    try:
        loops, dims = broadcast(trace, operands)
    except _Mismatch as mismatch:
        crossed = _crossed(trace, operands)
        try:
            made = None if crossed is None else _pairs(trace, crossed, dtypes, body)
        except LayoutError:  # in letters that nobody wrote
            made = None
        if made is None:
            raise LayoutError(str(mismatch)) from None
        return made
    return _elements(trace, operands, dims, loops, dtypes, body)


def _turns(x: Tensor, rank: int) -> bool:
    """Whether an operand of what is of all pairs goes along one of dims 1 and 2 of the result at most, or turns: where
    there are dims before those of the pairs they are others."""
    return (x.turned is not None and x.ndim == rank) or any(_stays(x, dim - rank + x.ndim) for dim in (1, 2))


def _turned(x: Tensor, rank: int) -> Tensor:
    """The operand of a result with dims 1 and 2 in the other order."""
    if x.turned is not None:
        return x.turned()
    first, second = 1 - rank + x.ndim, 2 - rank + x.ndim
    if _stays(x, first) and _stays(x, second):
        return x
    if _stays(x, second):
        return insert_ones(squeeze(x, axis=second), [first])
    return insert_ones(squeeze(x, axis=first) if _is_one(x, first) else merge(x, axis=0), [second])


def _stays(x: Tensor, dim: int) -> bool:
    """Whether an operand does not go along a dim: of a dense one above a ragged one the program checks it."""
    return dim < 0 or _is_one(x, dim) or (x.layout.letters.startswith("ddr") and dim == 1)


def _elements(
    trace: Trace, operands: Sequence[Tensor], dims: Sequence[Dims], loops: Loops, dtypes: Sequence[DType], body: Body
) -> list[Tensor]:
    outs = [(empty(loops.axes, loops.levels, dtype), dtype, loops.axes, tuple(range(loops.rank))) for dtype in dtypes]
    count = len(operands)
    pairs = list(zip(operands, dims, strict=True))
    return compute(trace, pairs, outs, loops.rank, frozenset(), lambda elements: body(elements[:count]))


def _pairs(trace: Trace, crossed: _Crossed, dtypes: Sequence[DType], body: Body) -> list[Tensor]:
    """Elements of all pairs."""
    operands, names, result = crossed
    named = NamedLoops.of(trace, operands, names, result)
    dims: list[Dims] = [[*named.numbers(own)] for own in names]
    made = _elements(trace, operands, dims, Loops(named.axes, named.levels), dtypes, body)
    made = [named.settled(one) for one in made]
    if named.turned is not None:
        turned = _Crossed(operands, names, named.turned)
        for number, one in enumerate(made):
            one.turned = lambda k=number: _pairs(trace, turned, dtypes, body)[k]
    return made


class _Crossed(NamedTuple):
    """Operands of all pairs, letters for the dims of each, and for those of the result."""

    operands: Sequence[Tensor]
    names: Sequence[str]
    result: str


class _Mismatch(LayoutError):
    """Ragged axes that begin at different dims."""


def _crossed(trace: Trace, operands: Sequence[Tensor]) -> _Crossed | None:
    """The loops over all pairs of elements of components (`x[:, :, None] - y[:, None, :]`): every operand goes along
    those of its own dims only, without those of extent 1 where another one is ragged. None where no operand has any."""
    rank = max(x.ndim for x in operands)
    letters = ascii_letters[:rank]
    ragged = {rank - x.ndim + dim for x in operands for dim in x.ragged_dims}
    wide = {rank - x.ndim + dim for x in operands for dim in range(x.ndim) if not _is_one(x, dim)}
    parts = [_without_ones(x, letters[rank - x.ndim :], ragged, wide) for x in operands]
    if all(x is before for (x, _), before in zip(parts, operands, strict=True)):
        return None
    for x in operands:
        for dim in range(x.ndim):
            short = x.ndim < rank and rank - x.ndim + dim in ragged and x.layout.is_plain(dim)
            if short and (dim == 0 or not _is_one(x, dim)):
                raise LayoutError(_one_sided(trace, x, rank, max(ragged) + 1))
    return _Crossed([x for x, _ in parts], [own for _, own in parts], letters)


def _is_one(x: Tensor, dim: int) -> bool:
    """Whether a dim is dense and has an extent of 1, which broadcasts."""
    return x.layout.is_plain(dim) and x.static_shape[dim] == 1


def _without_ones(x: Tensor, names: str, ragged: set[int], wide: set[int]) -> tuple[Tensor, str]:
    """An operand without dims of extent 1 along loops that are `wide`, and the names of those that it keeps. Of a dense
    level inside a nested axis, along a ragged loop, the program checks that it is 1."""
    for dim in reversed(range(x.ndim)):
        loop = ascii_letters.index(names[dim])
        if _is_one(x, dim) and loop in wide:
            x = squeeze(x, axis=dim)
        elif loop in ragged and x.layout.letter(dim) == "d" and x.place(dim)[1] > 0:
            builders.assert_valid([build.value(x.extent(dim)), build.value(1)], "equal", x.trace.op, dim)
            x = merge(x, axis=dim - 1)
        else:
            continue
        names = names[:dim] + names[dim + 1 :]
    return x, names
