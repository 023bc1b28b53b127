"""A plain dim that splits without holes becomes two dims: `dt` -> `d|d`, by `tensor.expand_shape`.

The type of the split changes, so everything that has its tiles must follow: elementwise ops,
linalg ops on the same loops, empties, casts; the merge that undoes the split ends the chain. Where
the tiles reach anything else (a return, a call, another structure op) the split stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import view_of
from ragged_dialect.iteration import ELEMENTWISE_DIALECTS, LINALG_OPS
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.analysis.divisibility import Divisors
from ragged_dialect.passes.analysis.loop_layouts import operand_loops
from ragged_dialect.passes.patterns.matching import dim_of, factor_of, shape
from ragged_dialect.passes.patterns.rewriting import Rewriter, walk
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_tensor, tensor_type


class _Stuck(Exception):
    """Tiles that reach an op which cannot take two dims for them."""


@dataclass
class _Spread:
    """Values with the tiles of one split, each with the dim of its outer part."""

    known: Divisors
    dims: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    splits: list[ir.Operation] = field(default_factory=list[ir.Operation])
    empties: list[ir.Operation] = field(default_factory=list[ir.Operation])

    def add(self, value: ir.Value, dim: int) -> None:
        """Add a value whose dims `dim` and `dim + 1` are an axis `dt`."""
        axis, at = shape(value).layout.locate(dim)
        if at != 0 or shape(value).layout.axes[axis] != "dt" or self.dims.get(value, dim) != dim:
            raise _Stuck
        if value in self.dims:
            return
        if isinstance(value.owner, ir.Block):
            raise _Stuck
        self.dims[value] = dim
        self._define(value.owner.operation, value, dim)
        for use in value.uses:
            self._read(use.owner.operation, value, dim)

    def _define(self, op: ir.Operation, value: ir.Value, dim: int) -> None:
        if op.name == "ragged.split" and dim_of(op) == dim:
            if self.known.of(op.operands[0])[dim] % factor_of(op):
                raise _Stuck
            self.splits.append(op)
        elif op.name == "ragged.empty":
            if shape(value).shape[dim] is None:
                raise _Stuck
            self.empties.append(op)
        else:
            self._compute(op, value, dim)

    def _read(self, op: ir.Operation, value: ir.Value, dim: int) -> None:
        if op.name == "ragged.merge" and dim_of(op) == dim:
            return
        if op.name == "ragged.empty" and op.results[0] in self.dims:
            return
        if op.name == "ragged.empty":
            if "from" in op.attributes:
                raise _Stuck
            self.add(op.results[0], dim)
        else:
            self._compute(op, value, dim)

    def _compute(self, op: ir.Operation, value: ir.Value, dim: int) -> None:
        tensors = [v for v in (*op.operands, *op.results) if is_tensor(v.type)]
        if op.name in LINALG_OPS:
            self._loops(op, value, dim)
        elif op.name.split(".")[0] in ELEMENTWISE_DIALECTS or op.name == "tensor.cast":
            for other in tensors:
                self.add(other, dim)
        else:
            raise _Stuck

    def _loops(self, op: ir.Operation, value: ir.Value, dim: int) -> None:
        loops = operand_loops(op)
        outs = len(op.operands) - len(op.results)
        values = [*zip(op.operands, loops, strict=True), *zip(op.results, loops[outs:], strict=True)]
        pairs = {(used[dim], used[dim + 1]) for v, used in values if v == value}
        if len(pairs) != 1:
            raise _Stuck
        outer, inner = pairs.pop()
        for other, used in values:
            letters = shape(other).layout.letters if is_tensor(other.type) else ""
            for at, loop in enumerate(used):
                if loop == inner and letters[at] == "t":
                    self.add(other, at - 1)
                elif loop == outer and shape(other).layout.is_split_outer(at) and used[at + 1] != inner:
                    raise _Stuck


def expand_splits(root: ir.Operation, known: Divisors) -> list[ir.Operation]:
    """Expand the splits of plain dims nested in `root` where that is possible; the ops replaced."""
    replaced: list[ir.Operation] = []
    done: set[ir.Value] = set()
    for op in list(walk(root)):
        if op.name != "ragged.split" or op.results[0] in done or not _is_candidate(op, known):
            continue
        spread = _Spread(known)
        try:
            spread.add(op.results[0], dim_of(op))
        except (_Stuck, RecursionError):
            continue
        done.update(spread.dims)
        replaced += _apply(spread)
    return replaced


def _is_candidate(op: ir.Operation, known: Divisors) -> bool:
    x, dim = op.operands[0], dim_of(op)
    return shape(x).layout.is_plain(dim) and known.of(x)[dim] % factor_of(op) == 0


def _apply(spread: _Spread) -> list[ir.Operation]:
    for value, dim in spread.dims.items():
        value.set_type(_expanded(value, dim))
    rewriter = Rewriter()
    for op in spread.splits:
        with rewriter.before(op):
            rewriter.replace(op, _expand_shape(op))
    for op in spread.empties:
        with rewriter.before(op):
            rewriter.replace(op, _empty(op, spread.dims[op.results[0]]))
    return [*spread.splits, *spread.empties]


def _expanded(value: ir.Value, dim: int) -> ir.RankedTensorType:
    old = shape(value)
    axis, _ = old.layout.locate(dim)
    return tensor_type(RaggedShape(old.layout.replace_axis(axis, "d", "d"), old.shape), value.type.element_type)


def _expand_shape(op: ir.Operation) -> ir.Value:
    x, dim = op.operands[0], dim_of(op)
    result = op.results[0].type
    rank = shape(x).rank
    groups = [[k] if k < dim else [k + 1] if k > dim else [k, k + 1] for k in range(rank)]
    static = list(result.shape)
    dynamic = [_extent(x, k, op) for k, extent in enumerate(shape(op.results[0]).shape) if extent is None]
    return tensor.ExpandShapeOp(result, x, groups, dynamic, static).result


def _extent(x: ir.Value, result_dim: int, op: ir.Operation) -> ir.Value:
    """The extent of a dynamic dim of the expanded tensor; of a ragged one its longest length."""
    dim = dim_of(op)
    source = result_dim if result_dim <= dim else result_dim - 1
    if shape(x).layout.letter(source) in RAGGED:
        return builders.max_length(x, source)
    extent = tensor.DimOp(x, build.value(source)).result
    return arith.DivUIOp(extent, build.value(factor_of(op))).result if result_dim == dim else extent


def _empty(op: ir.Operation, dim: int) -> ir.Value:
    """The empty of the expanded type: dense, or with the other levels of its likes."""
    type_ = op.results[0].type
    likes = [v for v in op.operands if is_tensor(v.type)]
    extents = [v for v in op.operands if not is_tensor(v.type)]
    if shape(op.results[0]).layout.is_dense:
        return tensor.EmptyOp(_sizes(op, extents), type_.element_type).result
    sources = None
    if "from" in op.attributes:
        sources = [None if k in (dim, dim + 1) else s for k, s in enumerate(view_of(op, EmptyOp).sources())]
    return builders.empty(likes, type_, sources, extents)


def _sizes(op: ir.Operation, extents: Sequence[ir.Value]) -> list[Mixed]:
    rest = iter(extents)
    return [next(rest) if e is None else e for e in shape(op.results[0]).shape]
