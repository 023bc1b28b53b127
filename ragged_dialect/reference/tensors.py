"""The tensor ops on dense tensors, and those that are legal on the dense dims of ragged ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import SupportsInt

import numpy as np

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.checked_data import require
from ragged_dialect.errors import RaggedError
from ragged_dialect.reference.axis import Axis
from ragged_dialect.reference.making import Value, poison
from ragged_dialect.reference.program import Env, Program, Run, Values, handler, pure, result_dtype
from ragged_dialect.reference.value import Datum, RaggedValue
from ragged_dialect.types import shape_of


@handler("tensor.dim")
def _dim(program: Program, op: ir.Operation) -> Run:
    return pure(lambda x, dim: np.int64(RaggedValue.of(x).extent(int(dim))))


@handler("tensor.rank")
def _rank(program: Program, op: ir.Operation) -> Run:
    return pure(lambda x: np.int64(RaggedValue.of(x).shape.rank))


@handler("tensor.extract")
def _extract(program: Program, op: ir.Operation) -> Run:
    def run(x: Value, *index: SupportsInt) -> Datum:
        value, at = RaggedValue.of(x), [int(i) for i in index]
        for dim, i in enumerate(at):
            length = value.length(dim, at)
            if not 0 <= i < length:
                if program.check:
                    require("index", op.name, dim, [i, length])
                raise RaggedError(f"expected index in [0, {length}), got {i}")
        return value.values[value.position(at)]

    return pure(run)


@handler("tensor.insert")
def _insert(program: Program, op: ir.Operation) -> Run:
    def run(scalar: np.generic, x: np.ndarray, *index: SupportsInt) -> Datum:
        out = x.copy()
        out[tuple(int(i) for i in index)] = scalar
        return out

    return pure(run)


@handler("tensor.empty")
def _empty(program: Program, op: ir.Operation) -> Run:
    shape, dtype = list(op.results[0].type.shape), result_dtype(op)
    return lambda env, sizes: [poison(_mixed(shape, sizes), dtype)]


def _mixed(static: Sequence[int], dynamic: Sequence[SupportsInt]) -> list[int]:
    """Static integers, and the dynamic ones where they stand."""
    left = iter(dynamic)
    return [int(next(left)) if s == DYNAMIC else int(s) for s in static]


@handler("tensor.splat")
def _splat(program: Program, op: ir.Operation) -> Run:
    shape, dtype = list(op.results[0].type.shape), result_dtype(op)
    return lambda env, operands: [np.full(_mixed(shape, operands[1:]), operands[0], dtype)]


@handler("tensor.from_elements")
def _from_elements(program: Program, op: ir.Operation) -> Run:
    shape, dtype = list(op.results[0].type.shape), result_dtype(op)
    return lambda env, elements: [np.array(elements, dtype).reshape(shape)]


@handler("tensor.generate")
def _generate(program: Program, op: ir.Operation) -> Run:
    shape, dtype = list(op.results[0].type.shape), result_dtype(op)
    block = program.decode_block(op.regions[0].blocks[0])

    def run(env: Env, operands: Values) -> Values:
        out = poison(_mixed(shape, operands), dtype)
        for index in product(*map(range, out.shape)):
            out[index] = program.run(block, env, [np.int64(i) for i in index])[0]
        return [out]

    return run


@handler("tensor.cast", "tensor.bitcast")
def _cast(program: Program, op: ir.Operation) -> Run:
    return pure(lambda x: x.view(result_dtype(op)) if op.name == "tensor.bitcast" else x)


class _Slice:
    """Offsets, sizes and strides of a slice op."""

    def __init__(self, op: ir.Operation) -> None:
        self._static = [list(op.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides")]

    def ranges(self, sizes: Sequence[SupportsInt]) -> list[tuple[int, int, int]]:
        """Per dim offset, size, stride."""
        left = list(sizes)
        groups: list[list[int]] = []
        for static in self._static:
            count = sum(s == DYNAMIC for s in static)
            groups.append(_mixed(static, left[:count]))
            left = left[count:]
        return list(zip(*groups, strict=True))


def _slices(ranges: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    return tuple(slice(o, o + n * s, s) if n else slice(0, 0) for o, n, s in ranges)


@handler("tensor.extract_slice")
def _extract_slice(program: Program, op: ir.Operation) -> Run:
    spec = _Slice(op)
    result = shape_of(op.results[0].type)

    def run(x: Value, *rest: SupportsInt) -> Datum:
        value = RaggedValue.of(x)
        layout = value.shape.layout
        ranges = [given if layout.is_plain(dim) else None for dim, given in enumerate(spec.ranges(rest))]
        own = [ranges[layout.dims(axis)[0]] or (0, n, 1) for axis, n in enumerate(value.values.shape)]
        taken = value.values[_slices(own)]
        axes = [Axis.plain(taken.shape[k]) if old.letters == "d" else old for k, old in enumerate(value.axes)]
        gone = _dropped(axes, len(axes) - result.layout.storage_rank, result.storage_shape())
        kept = [axis for k, axis in enumerate(axes) if k not in gone]
        return RaggedValue.make(np.squeeze(taken, tuple(gone)), kept)

    return pure(run)


def _dropped(axes: Sequence[Axis], count: int, wanted: Sequence[int | None]) -> list[int]:
    """Storage axes of extent 1 that a rank-reducing slice drops: the first ones the type allows."""
    gone: list[int] = []
    at = 0
    for k, axis in enumerate(axes):
        fits = at < len(wanted) and wanted[at] in (None, axis.size)
        if len(gone) < count and axis.letters == "d" and axis.size == 1 and not (fits and wanted[at] == 1):
            gone.append(k)
        else:
            at += 1
    return gone


@handler("tensor.insert_slice")
def _insert_slice(program: Program, op: ir.Operation) -> Run:
    spec = _Slice(op)

    def run(source: np.ndarray, into: np.ndarray, *rest: SupportsInt) -> Datum:
        out = into.copy()
        ranges = spec.ranges(rest)
        where = _slices(ranges)
        out[where] = source.reshape([n for _, n, _ in ranges])
        return out

    return pure(run)


@handler("tensor.expand_shape", "tensor.collapse_shape")
def _reassociate(program: Program, op: ir.Operation) -> Run:
    groups: list[list[int]] = [[attr.value for attr in group] for group in op.attributes["reassociation"]]

    def run(x: Value, *sizes: SupportsInt) -> Datum:
        value = RaggedValue.of(x)
        layout = value.shape.layout
        if op.name == "tensor.expand_shape":
            shape = _mixed(op.attributes["static_output_shape"], sizes)
            pieces = {k: [shape[d] for d in group] for k, group in enumerate(groups)}
            axes = [
                a
                for k, axis in enumerate(value.axes)
                for a in ([axis] if axis.letters != "d" else map(Axis.plain, pieces[layout.dims(k)[0]]))
            ]
        else:
            axes = _collapsed(value, groups)
        return RaggedValue.make(value.values.reshape([a.size for a in axes]), axes)

    return pure(run)


def _collapsed(value: RaggedValue, groups: Sequence[Sequence[int]]) -> list[Axis]:
    axes: list[Axis] = []
    for group in groups:
        axis, place = value.locate(group[0])
        if value.axes[axis].letters != "d":
            axes += [value.axes[axis]] if place == 0 else []
            continue
        axes.append(Axis.plain(int(np.prod([value.extent(dim) for dim in group]))))
    return axes


@handler("tensor.reshape")
def _reshape(program: Program, op: ir.Operation) -> Run:
    return pure(lambda x, shape: x.reshape([int(n) for n in shape]))


@handler("tensor.concat")
def _concat(program: Program, op: ir.Operation) -> Run:
    dim = op.attributes["dim"].value
    return lambda env, operands: [np.concatenate(operands, dim)]


@handler("tensor.pad")
def _pad(program: Program, op: ir.Operation) -> Run:
    low, high = (list(op.attributes[f"static_{side}"]) for side in ("low", "high"))
    block = program.decode_block(op.regions[0].blocks[0])
    first = sum(s == DYNAMIC for s in low)

    def run(env: Env, operands: Values) -> Values:
        x, sizes = operands[0], operands[1:]
        before, after = _mixed(low, sizes[:first]), _mixed(high, sizes[first:])
        out = poison([a + n + b for a, n, b in zip(before, x.shape, after, strict=True)], x.dtype)
        for index in product(*map(range, out.shape)):
            inside = tuple(i - a for i, a in zip(index, before, strict=True))
            if all(0 <= i < n for i, n in zip(inside, x.shape, strict=True)):
                out[index] = x[inside]
            else:
                out[index] = program.run(block, env, [np.int64(i) for i in index])[0]
        return [out]

    return run
