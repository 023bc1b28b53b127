"""Rules of the ops that make ragged tensors or convert to and from padded ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.kinds import combine, neutral
from ragged_dialect.ir.match import is_float, view_of
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.lowering.nests.exact_sums import add_to_pair
from ragged_dialect.lowering.rules.access import extract_element
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.external_calls import call_external, module_of
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.empty import Empty
from ragged_dialect.lowering.structure.making import copy_into, run_nest
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of, storage_type


def lower_empty(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.empty."""
    view = view_of(op, EmptyOp)
    likes = [ctx.parts(v) for v in view.likes]
    type_ = op.results[0].type
    made = Empty(ctx, likes, view.sources(), shape_of(type_), view.extents).make(type_.element_type)
    ctx.bind(op.results[0], made)


def lower_to_padded(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.to_padded: fill, then copy every component."""
    source = ctx.parts(op.operands[0])
    pad, maxima = op.operands[1], [build.to_index(v) for v in list(op.operands)[2:]]
    ragged = [d for d, c in enumerate(source.layout.letters) if c in RAGGED]
    if not maxima:
        maxima = [vectors.largest(walks.logical_lengths(source, d)) for d in ragged]
    limits: dict[int, Mixed] = dict(zip(ragged, maxima, strict=True))
    sizes = [limits[d] if d in limits else source.extent(d) for d in range(source.shape.rank)]
    init = shapes.empty(sizes, source.element)
    filled = shapes.fill(pad, init)
    if "truncate" in op.attributes:
        source = _clipped(ctx, source, limits)
    ctx.bind(op.results[0], copy_into(source, ctx.parts(filled)))


def _clipped(ctx: Lowering, source: Parts, limits: dict[int, Mixed]) -> Parts:
    """The value with every ragged level a window of at most the limit."""
    new: dict[tuple[str, int], ir.Value] = {}
    for dim, limit in limits.items():
        lengths = walks.element_lengths(source, dim)
        new["starts", dim] = walks.element_starts(source, dim)
        new["lengths", dim] = vectors.generate(
            shapes.dim(lengths, 0),
            lambda i, lengths=lengths, limit=limit: build.minimum(shapes.load(lengths, i), limit),
        )
    layout = Layout(tuple(axis.replace("r", "w") for axis in source.layout.axes))
    return Parts(ctx, RaggedShape(layout, source.shape.shape), source.held, new, source.extents)


def lower_from_padded(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.from_padded: copy the rows that the offsets have."""
    dense, *given = op.operands
    type_ = op.results[0].type
    shape = shape_of(type_)
    source = ctx.parts(dense)
    levels = [d for d, c in enumerate(shape.layout.letters) if c == "r"]
    made: dict[tuple[str, int], ir.Value] = {
        ("offsets", d): shapes.as_vector(v) for d, v in zip(levels, given, strict=True)
    }
    extents = {d: source.extent(d) for d in range(shape.rank) if shape.has_extent_part(d)}
    sizes: list[Mixed] = []
    for axis, letters in enumerate(shape.layout.axes):
        last = shape.layout.dims(axis)[-1]
        sizes.append(source.extent(last) if letters == "d" else vectors.last(made["offsets", last]))
    init = shapes.cast(shapes.empty(sizes, type_.element_type), storage_type(shape, type_.element_type))
    ctx.bind(op.results[0], copy_into(source, Parts(ctx, shape, init, made, extents)))


def lower_reduce_across(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.reduce_across: one pass over the components, each into the rows that it has. Short
    floats accumulate in f32 and are rounded once; sums of floats are kept in pairs."""
    source, limit = ctx.parts(op.operands[0]), build.to_index(op.operands[1])
    dim, kind = op.attributes["dim"].value, op.attributes["kind"].value
    axis, _ = source.layout.locate(dim)
    element = source.element
    inner = wide(element)
    kept = [d for d in range(source.shape.rank) if d not in source.layout.above(dim)]
    sizes = [limit if k == axis else s for k, s in enumerate(source.storage_dims())]
    shape = shape_of(op.results[0].type)

    def out() -> Parts:
        filled = shapes.fill(neutral(kind, inner), shapes.empty(sizes, inner))
        return ctx.parts(filled) if shape.layout.is_dense else _structured(ctx, source, shape, kept, filled)

    outs = [out(), out()] if kind == "sum" and is_float(inner) else [out()]
    kinds = ["parallel" if d in kept else "reduction" for d in range(source.shape.rank)]

    def payload(arguments: list[ir.Value], index: Callable[[int], ir.Value]) -> list[ir.Value]:
        x = converted(arguments[0], inner)
        return list(add_to_pair(arguments[1], arguments[2], x)) if len(outs) > 1 else [combine(kind, arguments[1], x)]

    loops = [list(range(source.shape.rank)), *[kept] * len(outs)]
    result = run_nest(source, outs, loops, kinds, payload)
    if inner != element:
        narrow = result.replace(shapes.empty(result.storage_dims(), element))
        result = copy_into(result, narrow, lambda x: arith.truncf(element, x))
    ctx.bind(op.results[0], result)


def _structured(ctx: Lowering, source: Parts, shape: RaggedShape, kept: list[int], values: ir.Value) -> Parts:
    """The result's structure where another axis is still ragged: the vectors of the source."""
    to = {old: new for new, old in enumerate(kept)}
    found = {
        (kind, to[d]): v for (kind, d), v in source.vectors.items() if d in to and shape.layout.letter(to[d]) in RAGGED
    }
    extents = {to[d]: source.extent(d) for d in kept if shape.has_extent_part(to[d])}
    values = shapes.cast(values, storage_type(shape, values.type.element_type))
    return Parts(ctx, shape, values, found, extents)


def lower_print(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.print: calls of the host's printing functions, one per element and bracket."""
    parts = ctx.parts(op.operands[0])
    label = op.attributes["label"].value if "label" in op.attributes else ""
    call = _Printer(op)
    call("begin", [build.constant(build.i64(), call.label(label))])
    _print_dims(ctx, parts, call, [])
    call("end", [])


def _print_dims(ctx: Lowering, parts: Parts, call: _Printer, fixed: list[Mixed]) -> None:
    dim = len(fixed)
    if dim == parts.shape.rank:
        call.element(extract_element(parts, fixed))
        return
    _, at = parts.layout.locate(dim)
    call("open", [])

    def body(i: ir.Value, _: list[ir.Value]) -> None:
        with ctx.scope():
            _print_dims(ctx, parts, call, [*fixed, i])

    above = fixed[dim - at :]
    flow.for_loop(parts.loop_extent(dim, above), [], body)
    call("close", [])


class _Printer:
    """Calls of `ragged_print_*`. Labels are collected in the
    module's `ragged.labels`."""

    def __init__(self, op: ir.Operation) -> None:
        self.module = module_of(op)

    def label(self, text: str) -> int:
        """Number of a label."""
        attributes = self.module.attributes
        labels = list(attributes["ragged.labels"]) if "ragged.labels" in attributes else []
        attributes["ragged.labels"] = ir.ArrayAttr.get([*labels, ir.StringAttr.get(text)])
        return len(labels)

    def element(self, x: ir.Value) -> None:
        """Print a scalar."""
        if isinstance(x.type, ir.IndexType):
            x = build.to_i64(x)
        if isinstance(x.type, ir.IntegerType):
            if x.type.width == 1:
                self("bool", [arith.extui(build.i64(), x)])
            else:
                self("int", [x if x.type.width == 64 else arith.extsi(build.i64(), x)])
            return
        self("float", [converted(x, ir.F64Type.get())])

    def __call__(self, name: str, operands: Sequence[ir.Value]) -> None:
        call_external(self.module, f"ragged_print_{name}", operands)


RULES = {
    "ragged.empty": lower_empty,
    "ragged.to_padded": lower_to_padded,
    "ragged.from_padded": lower_from_padded,
    "ragged.reduce_across": lower_reduce_across,
    "ragged.print": lower_print,
}
