"""Values that rules make: of a structure that another value has, of a number, with less or more precision."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir, tensor
from ragged_dialect.generic import indexing_maps
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import defining_op, made_by, terminator
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import is_ragged, is_tensor, shape_of, tensor_type


def empty_like(x: ir.Value, element: ir.Type | None = None) -> ir.Value:
    """An uninitialised tensor with the type and the structure of another, perhaps of other elements."""
    made = x.type if element is None else tensor_type(shape_of(x.type), element)
    if not is_ragged(made):
        return shapes.cast(shapes.empty(shapes.dims(x), made.element_type), made)
    return empty_of(made, x)


def empty_of(type_: ir.RankedTensorType, like: ir.Value) -> ir.Value:
    """An uninitialised tensor of a ragged type, with the structure and the dense extents of another."""
    layout = shape_of(type_).layout
    dynamic = [d for d, size in enumerate(type_.shape) if layout.is_plain(d) and size == DYNAMIC]
    return builders.empty([like], type_, extents=[tensor.dim(like, build.value(d)) for d in dynamic])


def empty_without(
    x: ir.Value, dims: frozenset[int], element: ir.Type | None = None, more: Sequence[build.Mixed] = ()
) -> ir.Value:
    """An uninitialised tensor with the structure of another without some dims, and with `more` dense ones behind."""
    kept = [d for d in range(len(x.type.shape)) if d not in dims]
    shape = shape_of(x.type).reduce(dims)
    layout = Layout.of_axes([*shape.layout.axes, *("d" for _ in more)])
    type_ = tensor_type(RaggedShape(layout, (*shape.shape, *shapes.static(more))), element or x.type.element_type)
    if layout.is_dense:
        return shapes.cast(shapes.empty([*(shapes.dim(x, d) for d in kept), *more], type_.element_type), type_)
    plain = [shape.layout.is_plain(k) for k in range(len(kept))]
    sources = [*(None if own else Source(0, d) for d, own in zip(kept, plain, strict=True)), *(None for _ in more)]
    sizes = [*(shapes.dim(x, d) for d, own in zip(kept, plain, strict=True) if own), *more]
    return builders.empty([x], type_, sources, [s for s in sizes if not isinstance(s, int)])


def number_like(x: ir.Value, number: float) -> ir.Value:
    """A number, as many times as another value has elements."""
    if isinstance(x.type, ir.VectorType):
        one = ir.FloatAttr.get(x.type.element_type, number)
        return arith.ConstantOp(x.type, ir.DenseElementsAttr.get_splat(x.type, one)).result
    if not is_tensor(x.type):
        return build.constant(x.type, number)
    return shapes.fill(build.constant(x.type.element_type, number), empty_like(x))


def zeros_like(x: ir.Value) -> ir.Value:
    """Zeros of the type and the structure of another value."""
    return number_like(x, 0)


def or_zeros(found: ir.Value | None, like: ir.Value) -> ir.Value:
    """A tangent or cotangent, zeros like another value where there is none."""
    return zeros_like(like) if found is None else found


def assert_like(value: ir.Value, other: ir.Value, op: str) -> None:
    """Ask for equal lengths of two values of one type; `op` is named where they differ."""
    if not is_tensor(value.type):
        return
    layout = shape_of(value.type).layout
    for dim, letter in enumerate(layout.letters):
        if letter in RAGGED:
            builders.assert_conform(value, other, [(d, d) for d in (*layout.above(dim), dim)], op)
        elif value.type.shape[dim] == DYNAMIC and layout.is_plain(dim):
            builders.assert_conform(value, other, [(dim, dim)], op)


def unrounded(x: ir.Value, type_: ir.Type) -> ir.Value:
    """A float in the precision of a type, as it was before it was rounded to its own, if it had that precision."""
    op = made_by(x, "arith.truncf")
    if op is not None and op.operands[0].type == type_:
        return op.operands[0]
    return converted(x, type_)


def before_widening(x: ir.Value) -> ir.Value:
    """A tensor of floats, as it was before each element was extended, if nothing else was done: half as much is read
    where it is used, and products of short floats have instructions of their own."""
    op = defining_op(x)
    if op is None or op.name not in ("arith.extf", "linalg.generic") or len(op.results) > 1:
        return x
    if op.name == "linalg.generic":
        block = op.regions[0].blocks[0]
        widened = made_by(terminator(block).operands[0], "arith.extf")
        if widened is None or widened.operands[0] != block.arguments[0] or len(set(indexing_maps(op))) > 1:
            return x
    return op.operands[0]


def compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """A comparison of floats."""
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate.upper()), a, b)


def is_chosen(name: str, x: ir.Value, result: ir.Value) -> ir.Value:
    """Whether a maximum or minimum, by the name of its op, is an operand: where it is the result, or nan that wins."""
    same = compare("oeq", result, x)
    return arith.ori(same, compare("uno", x, x)) if name in ("arith.maximumf", "arith.minimumf") else same
