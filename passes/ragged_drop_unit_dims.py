"""`ragged-drop-unit-dims`: what is computed of one feature is computed of none."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, ir, tensor
from ragged_dialect.generic import index_loop, indexing_maps, input_count, left_of, renumber_loops, without_body
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import Attributes, copy_attributes, copy_regions
from ragged_dialect.ir.match import constant_int, definer, made_by, sums_products, view_of
from ragged_dialect.ir.walk import find_ops, is_outside, ops_in, replace
from ragged_dialect.iteration import (
    BACKWARDS,
    LINALG_OPS,
    analyze,
    expr_uses,
    is_elementwise,
    share_mapping,
    touches_ragged,
    whole_value,
)
from ragged_dialect.layout import Layout
from ragged_dialect.ops.grouping import CompressOp
from ragged_dialect.ops.making import EmptyOp, ScanOp
from ragged_dialect.ops.structure import CompactOp
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.values import empty_without
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import dense_type, is_ragged, is_tensor, shape_of, tensor_type

Dims = frozenset[int]

_ALONG = {"linalg.softmax": "dimension", ScanOp.OPERATION_NAME: "dim"}
"""Ops that go along one dim, which an attribute names, for all others apart."""

_NESTS = LINALG_OPS - {"linalg.fill", "linalg.map", *_ALONG}
"""Ops of loops: a fill goes where it is read, the body of a map has no element of its out."""


class RaggedDropUnitDims(RaggedPass):
    """Computes without the dense dims of extent 1 that ragged tensors have beside their components.

    ```mlir
    %1 = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d0, d1, d2), (d0, d1, d2) -> (d0, d2)], …}
      ins(%x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%o : tensor<?x1xf32>)
    // becomes
    %v = ragged.values %x : … -> tensor<?x1xf32>
    %w = tensor.collapse_shape %v [[0, 1]] : tensor<?x1xf32> into tensor<?xf32>
    %y = ragged.assemble %w, %offsets : … -> tensor<?x?xf32, #ragged.layout<"dr">>
    %0 = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d0)], …} ins(%y) outs(%p : tensor<?xf32>)
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
    ```

    Scores, weights and labels have one number for each row, and so an innermost loop of one iteration, which says
    nothing of how memory is read: rows are next to each other. In what is written once for a row, as `x / s` has it of
    an `s` whose dim was kept, that dim goes, too. Loops that reduce, `linalg.softmax` and `ragged.scan` along the dim,
    products, tensors with tiles and other ops stay as they are.
    """

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Rewrite in every block below `op`."""
        narrowed = _Narrowed()
        for found in [x for x in ops_in(op, _has_body) if _computes(x)]:
            with found.location:
                if found.name in _ALONG:
                    narrowed.along(found)
                elif found.name in _NESTS:
                    narrowed.nest(found)
                elif found.name == CompressOp.OPERATION_NAME:
                    narrowed.rows(found)
                else:
                    narrowed.elementwise(found)


class _Narrowed:
    """Values without dims of extent 1: those that a value was made of by giving it such dims are what it is without."""

    def __init__(self) -> None:
        self.known: dict[tuple[ir.Value, Dims], ir.Value] = {}

    def nest(self, op: ir.Operation) -> None:
        """Rewrite loops, those of one iteration that reduce nothing are left out."""
        operands = list(op.operands)
        if not any(map(_unit_dims, operands)):
            return
        maps, kinds = indexing_maps(op), analyze(op).kinds
        if "reduction" in kinds and (op.name != "linalg.generic" or sums_products(op) or not touches_ragged(op)):
            return  # a product, which others know by its name or its loops
        reads = [_reads(m) for m in maps]
        unit = {loop for loop, kind in enumerate(kinds) if kind == "parallel"}
        for x, m in zip(operands, reads, strict=True):
            unit -= {k for d, loops in enumerate(m) for k in loops if d not in _unit_dims(x) or len(loops) > 1}
        unit &= {loop for m in reads for loops in m for loop in loops}
        drops = [frozenset(d for d in _unit_dims(x) if m[d] <= unit) for x, m in zip(operands, reads, strict=True)]
        if not any(drops):
            return
        place = {loop: k for k, loop in enumerate(k for k in range(len(kinds)) if k not in unit)}
        inputs = input_count(op)
        narrow = [self.of(x, dims) for x, dims in zip(operands, drops, strict=True)]
        renamed = [left_of(m, place, dims) for m, dims in zip(maps, drops, strict=True)]
        with ir.InsertionPoint(op):
            made = without_body(narrow[:inputs], narrow[inputs:], renamed, [kinds[loop] for loop in place])
        copy_regions(op, made)
        if BACKWARDS in op.attributes:
            loop = place[op.attributes[BACKWARDS].value]
            made.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), loop)
        for index in find_ops(made, "linalg.index"):
            if index_loop(index.results[0]) in unit:
                with ir.InsertionPoint(index):
                    index.results[0].replace_all_uses_with(build.value(0))
                index.erase()
        renumber_loops(made, place)
        for extract in find_ops(made, "tensor.extract"):
            self._extract(extract, made)
        self._replace(op, made, drops[inputs:])

    def along(self, op: ir.Operation) -> None:
        """Rewrite an op along one dim, without all others of one element."""
        along = op.attributes[_ALONG[op.name]].value
        dims = _common(op) - {along}
        self._narrowed(
            op, dims, {_ALONG[op.name]: ir.IntegerAttr.get(build.i64(), along - sum(d < along for d in dims))}
        )

    def rows(self, op: ir.Operation) -> None:
        """Rewrite an op that keeps rows of its last operand, if it has more than a mask."""
        self._narrowed(op, _unit_dims(list(op.operands)[-1]) - {0}, {})

    def elementwise(self, op: ir.Operation) -> None:
        """Rewrite an op on tensors of one shape."""
        self._narrowed(op, _common(op), {})

    def _narrowed(self, op: ir.Operation, dims: Dims, attributes: Attributes) -> None:
        """Rewrite an op whose tensors all have some dims."""
        if dims:
            operands = [self.of(x, dims & _unit_dims(x)) for x in op.operands]
            results = [_type_without(result.type, dims) for result in op.results]
            attributes = {**copy_attributes(op), **attributes}
            with ir.InsertionPoint(op):
                made = ir.Operation.create(op.name, results=results, operands=operands, attributes=attributes)
            self._replace(op, made, [dims for _ in results])

    def of(self, x: ir.Value, dims: Dims) -> ir.Value:
        """A value without some dims of extent 1, made where it is."""
        if not dims:
            return x
        if (x, dims) not in self.known:
            with _behind(x):
                self.known[x, dims] = self._made(x, dims)
        return self.known[x, dims]

    def _made(self, x: ir.Value, dims: Dims) -> ir.Value:
        if (compact := made_by(x, CompactOp.OPERATION_NAME)) is not None:
            return builders.compact(self.of(compact.operands[0], dims))
        if (filled := made_by(x, "linalg.fill")) is not None:
            return shapes.fill(filled.operands[0], self.of(filled.operands[1], dims))
        if (empty := made_by(x, EmptyOp.OPERATION_NAME)) is not None:
            return self._empty(view_of(empty, EmptyOp), dims)
        if made_by(x, "tensor.empty") is not None:
            return empty_without(x, dims)
        storage = shapes.collapse(_storage(x), _groups(x.type, dims))
        return _over(x, storage, _shape_without(x.type, dims))

    def _empty(self, op: EmptyOp, dims: Dims) -> ir.Value:
        """An empty tensor with the structure of what its likes are without dims of extent 1, where it takes none."""
        sources = [source for d, source in enumerate(op.sources()) if d not in dims]
        likes: list[ir.Value] = []
        for number, like in enumerate(op.likes):
            used = {source.level for source in sources if source is not None and source.like == number}
            gone = _unit_dims(like) - used
            likes.append(self.of(like, gone))
            sources = [
                Source(number, source.level - sum(d < source.level for d in gone))
                if source is not None and source.like == number
                else source
                for source in sources
            ]
        return builders.empty(likes, _type_without(op.res.type, dims), sources, op.extents)

    def _extract(self, op: ir.Operation, inside: ir.Operation) -> None:
        """Let a body look up an element of a tensor from outside without its dims of extent 1."""
        x, *places = op.operands
        dims = _unit_dims(x)
        if dims and not is_ragged(x.type) and is_outside(x, inside):
            with ir.InsertionPoint(op), op.location:
                replace(op, tensor.extract(self.of(x, dims), [at for d, at in enumerate(places) if d not in dims]))

    def _replace(self, op: ir.Operation, made: ir.Operation, drops: Sequence[Dims]) -> None:
        share_mapping(op, made)
        for old, new, dims in zip(op.results, made.results, drops, strict=True):
            value = new
            if dims:
                _measure(new, old, dims)
                with ir.InsertionPoint(op):
                    value = _widened(new, old.type, dims)
                self.known[value, dims] = new
            old.replace_all_uses_with(value)
        op.erase()


def _has_body(op: ir.Operation) -> bool:
    """Whether what is in an op are its loops, of which another op gets a copy."""
    return op.name in LINALG_OPS


def _computes(op: ir.Operation) -> bool:
    if op.name in (*_NESTS, *_ALONG, CompressOp.OPERATION_NAME):
        return True
    return is_elementwise(op) and touches_ragged(op) and not whole_value(op)


def _measure(x: ir.Value, old: ir.Value, dims: Dims) -> None:
    """Ask one without some dims for the extents of the others, so that nothing else of the old value is needed."""
    for use in list(old.uses):
        asks = use.owner.operation
        dim = constant_int(asks.operands[1]) if asks.name == "tensor.dim" else None
        if dim is not None and dim not in dims:
            with ir.InsertionPoint(asks), asks.location:
                replace(asks, tensor.dim(x, build.value(dim - sum(d < dim for d in dims))))


def _behind(x: ir.Value) -> ir.InsertionPoint:
    """Where a value is known."""
    return (
        ir.InsertionPoint.at_block_begin(x.owner)
        if isinstance(x.owner, ir.Block)
        else ir.InsertionPoint.after(definer(x))
    )


def _reads(m: ir.AffineMap) -> list[Dims]:
    """The loops that each dim of an operand is read by."""
    return [frozenset(k for k in range(m.n_dims) if expr_uses(expr, k)) for expr in m.results]


def _unit_dims(x: ir.Value) -> Dims:
    """The dense dims of a tensor without tiles that have one element."""
    if not is_tensor(x.type):
        return frozenset()
    shape = shape_of(x.type)
    if shape.layout.has_tiles:
        return frozenset()
    return frozenset(d for d, extent in enumerate(shape.shape) if extent == 1 and shape.layout.is_plain(d))


def _common(op: ir.Operation) -> Dims:
    """The dims of one element that all operands have, by their types."""
    first, *others = map(_unit_dims, op.operands)
    return first.intersection(*others)


def _shape_without(type_: ir.RankedTensorType, dims: Dims) -> RaggedShape:
    shape = shape_of(type_)
    axes = [axis for k, axis in enumerate(shape.layout.axes) if shape.layout.dims(k)[0] not in dims]
    return RaggedShape(Layout(tuple(axes)), tuple(n for d, n in enumerate(shape.shape) if d not in dims))


def _type_without(type_: ir.RankedTensorType, dims: Dims) -> ir.RankedTensorType:
    return tensor_type(_shape_without(type_, dims), type_.element_type)


def _groups(type_: ir.RankedTensorType, dims: Dims) -> list[list[int]]:
    """The axes of storage that become one each without some dims, which go with the axis before them."""
    layout = shape_of(type_).layout
    gone = {layout.locate(d)[0] for d in dims}
    groups: list[list[int]] = []
    for axis in range(layout.storage_rank):
        if groups and (axis in gone or gone.issuperset(groups[-1])):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return [] if len(gone) == layout.storage_rank else groups


def _storage(x: ir.Value) -> ir.Value:
    return builders.values(x) if is_ragged(x.type) else x


def _over(like: ir.Value, storage: ir.Value, shape: RaggedShape) -> ir.Value:
    """A tensor of the levels of another, with more or fewer plain dims, over other storage."""
    if shape.layout.is_dense:
        return storage
    parts = [storage]
    for part in shape_of(like.type).parts()[1:]:
        if part.kind == "extent":
            parts.append(tensor.dim(like, build.value(part.dim)))
        elif part.kind == "lengths":
            parts.append(builders.lengths(like, part.dim, stored=True))
        else:
            parts.append((builders.offsets if part.kind == "offsets" else builders.starts)(like, part.dim))
    return builders.assemble(parts, shape.layout, shape.shape)


def _widened(x: ir.Value, type_: ir.RankedTensorType, dims: Dims) -> ir.Value:
    """A tensor of a type, of one without some of its dims."""
    storage, groups = _storage(x), _groups(type_, dims)
    layout = shape_of(type_).layout
    gone = {layout.locate(d)[0] for d in dims}
    own = iter(shapes.dims(storage))
    sizes = [1 if axis in gone else next(own) for axis in range(layout.storage_rank)]
    dynamic, static = build.split(sizes)
    shape = tuple(None if s == DYNAMIC else s for s in static)
    made = tensor.expand_shape(dense_type(shape, type_.element_type), storage, groups, dynamic, static)
    return shapes.cast(made, type_) if layout.is_dense else _over(x, made, shape_of(type_))
