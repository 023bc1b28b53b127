"""Builders that infer the result type: `y = ragged.merge(x, dim=0)`.

Each takes MLIR values and Python integers, creates the op at the current insertion point and
location, and returns its result. LayoutError for operands that the op's rules refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.clone import Attributes, copy_regions
from ragged_dialect.layout import RAGGED, Extent, Layout
from ragged_dialect.ops import access, exchange, grouping, making, structure
from ragged_dialect.ops.attention import result_shapes, wide
from ragged_dialect.ops.base import RaggedOp, infer_shape
from ragged_dialect.ops.steps import result_types, row_type
from ragged_dialect.segments import MIXED_OPS, MIXED_RESULTS, REGION_OPS, segments
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import dense_type, shape_of, tensor_type, vector_type

Score = Callable[[ir.Value, Sequence[ir.Value]], ir.Value]
"""Makes a score of one, and of the numbers of its component, head, query and key."""

Step = Callable[[list[ir.Value], list[ir.Value]], tuple[Sequence[ir.Value], Sequence[ir.Value]]]
"""Makes the next states, and rows that are results, of rows of the elements and of the states."""


def create(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    attributes: Attributes,
) -> ir.Operation:
    """Create an op of the dialect; integers, strings, True (unit) and None (absent) are accepted
    as attribute values."""
    attrs = {key: _attr(value) for key, value in attributes.items() if value is not None and value is not False}
    values = [operand.result if isinstance(operand, ir.OpView) else operand for operand in operands]
    if name in MIXED_OPS:
        attrs["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments([v.type for v in values]))
    if name in MIXED_RESULTS:
        attrs["resultSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments(results))
    regions = 1 if name in REGION_OPS else 0
    return ir.Operation.create(name, results=list(results), operands=values, attributes=attrs, regions=regions)


def _attr(value: ir.Attribute | int | str) -> ir.Attribute:
    if value is True:
        return ir.UnitAttr.get()
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return ir.StringAttr.get(value) if isinstance(value, str) else value


def inferred(kind: type[RaggedOp], operands: Sequence[ir.Value], /, **attributes: int | str) -> ir.Value:
    """An op whose class infers its result, of our dialect or of a plug-in's."""
    shape = infer_shape(kind, operands, attributes, lambda value: shape_of(value.type))
    type_ = tensor_type(shape, operands[0].type.element_type)
    return create(kind.OPERATION_NAME, [type_], operands, attributes).result


def _make(
    name: str, x: ir.Value, shape: RaggedShape, operands: Sequence[ir.Value], **attributes: int | str
) -> ir.Value:
    return create(f"ragged.{name}", [tensor_type(shape, x.type.element_type)], operands, attributes).result


def partition(x: ir.Value, vector: ir.Value, dim: int, lengths: bool = False) -> ir.Value:
    """`ragged.partition`: group `dim` by offsets (or lengths) of rank 1 or 2."""
    return inferred(structure.PartitionOp, [x, vector], dim=dim, lengths=lengths)


def merge(x: ir.Value, dim: int) -> ir.Value:
    """`ragged.merge`: merge `dim` with `dim + 1`."""
    return inferred(structure.MergeOp, [x], dim=dim)


def split(x: ir.Value, dim: int, factor: int) -> ir.Value:
    """`ragged.split`: split `dim` by a static factor."""
    return inferred(structure.SplitOp, [x], dim=dim, factor=factor)


def select(x: ir.Value, index: ir.Value, dim: int) -> ir.Value:
    """`ragged.select`: one index of `dim`."""
    return inferred(structure.SelectOp, [x, index], dim=dim)


def slice(x: ir.Value, lo: ir.Value, hi: ir.Value, dim: int, extent: int | None = None) -> ir.Value:
    """`ragged.slice`: the range [lo, hi) of `dim`, of an extent that is static where it is given."""
    shape = shape_of(x.type).slice(dim)
    if extent is not None:
        shape = RaggedShape(shape.layout, (*shape.shape[:dim], extent, *shape.shape[dim + 1 :]))
    return _make("slice", x, shape, [x, lo, hi], dim=dim)


def concat(xs: Sequence[ir.Value], dim: int) -> ir.Value:
    """`ragged.concat`: concatenation along `dim`."""
    return inferred(structure.ConcatOp, xs, dim=dim)


def compact(x: ir.Value) -> ir.Value:
    """`ragged.compact`: windows to contiguous levels."""
    return inferred(structure.CompactOp, [x])


def assemble(parts: Sequence[ir.Value], layout: str | Layout, shape: Sequence[Extent]) -> ir.Value:
    """`ragged.assemble`: a tensor of a layout and shape from the parts of its 1:N form."""
    made = RaggedShape(Layout.parse(layout) if isinstance(layout, str) else layout, tuple(shape))
    if not parts:
        raise LayoutError("expected at least 1 operand, got 0")
    shape_of(parts[0].type)
    return _make("assemble", parts[0], made, parts)


def values(x: ir.Value) -> ir.Value:
    """`ragged.values`: the dense tensor that holds the values."""
    return inferred(access.ValuesOp, [x])


def _vector(name: str, x: ir.Value, level: int, **attributes: int | str) -> ir.Value:
    return create(f"ragged.{name}", [vector_type()], [x], {"level": level, **attributes}).result


def offsets(x: ir.Value, level: int) -> ir.Value:
    """`ragged.offsets`: element offsets of a level."""
    return _vector("offsets", x, level)


def starts(x: ir.Value, level: int) -> ir.Value:
    """`ragged.starts`: component starts of a level."""
    return _vector("starts", x, level)


def lengths(x: ir.Value, level: int, stored: bool = False) -> ir.Value:
    """`ragged.lengths`: logical lengths of a level, or those it is stored with."""
    return _vector("lengths", x, level, stored=stored)


def row_ids(x: ir.Value, level: int) -> ir.Value:
    """`ragged.row_ids`: the component of every element of a level."""
    return _vector("row_ids", x, level)


def total(x: ir.Value, level: int) -> ir.Value:
    """`ragged.total`: sum of the logical lengths of a level."""
    return create("ragged.total", [ir.IndexType.get()], [x], {"level": level}).result


def max_length(x: ir.Value, level: int) -> ir.Value:
    """`ragged.max_length`: largest logical length of a level."""
    return create("ragged.max_length", [ir.IndexType.get()], [x], {"level": level}).result


def print_(x: ir.Value, label: str | None = None) -> None:
    """`ragged.print`: print a tensor as nested lists."""
    create("ragged.print", [], [x], {"label": label})


def empty(
    likes: Sequence[ir.Value],
    result: ir.RankedTensorType,
    sources: Sequence[Source | tuple[int, int] | None] | None = None,
    extents: Sequence[ir.Value] = (),
) -> ir.Value:
    """`ragged.empty`: an uninitialised tensor of type `result` with the structure of others."""
    attribute = None
    if sources is not None:
        i64 = ir.IntegerType.get_signless(64)
        attribute = ir.ArrayAttr.get(
            [
                ir.IntegerAttr.get(i64, -1)
                if source is None
                else ir.ArrayAttr.get([ir.IntegerAttr.get(i64, part) for part in source])
                for source in sources
            ]
        )
    return create("ragged.empty", [result], [*likes, *extents], {"from": attribute}).result


def to_padded(x: ir.Value, pad: ir.Value, maxima: Sequence[ir.Value] = (), truncate: bool = False) -> ir.Value:
    """`ragged.to_padded`: a dense tensor with every ragged dim padded."""
    return inferred(making.ToPaddedOp, [x, pad, *maxima], truncate=truncate)


def from_padded(dense: ir.Value, vectors: Sequence[ir.Value], layout: str | Layout) -> ir.Value:
    """`ragged.from_padded`: a ragged tensor of a layout from a padded one."""
    made = Layout.parse(layout) if isinstance(layout, str) else layout
    extents = shape_of(dense.type).shape
    ragged = {dim for dim, letter in enumerate(made.letters) if letter in RAGGED}
    shape = tuple(None if dim in ragged else extent for dim, extent in enumerate(extents))
    return _make("from_padded", dense, RaggedShape(made, shape), [dense, *vectors])


def scan(x: ir.Value, dim: int, kind: str, reverse: bool = False, exclusive: bool = False) -> ir.Value:
    """`ragged.scan`: every element combined with those before it, or behind it, or these without it."""
    return inferred(making.ScanOp, [x], dim=dim, kind=kind, exclusive=exclusive, reverse=reverse)


def recurrence(x: ir.Value, factors: ir.Value, dim: int, reverse: bool = False) -> ir.Value:
    """`ragged.recurrence`: what terms and factors have come to before each element, or behind it."""
    return inferred(making.RecurrenceOp, [x, factors], dim=dim, reverse=reverse)


def group_by(keys: ir.Value, count: ir.Value, *numbers: ir.Value) -> ir.Value:
    """`ragged.group_by`: the places of every key, or the numbers there."""
    type_ = tensor_type(grouping.GROUPS, ir.IntegerType.get_signless(64))
    return create("ragged.group_by", [type_], [keys, count, *numbers], {}).result


def sort(keys: ir.Value, offsets: ir.Value, *numbers: ir.Value, limit: int | None = None) -> ir.Value:
    """`ragged.sort`: keys in order, or numbers in that of their keys, in each segment; or the first few of it."""
    last = [keys, *numbers][-1]
    return create("ragged.sort", [last.type], [keys, offsets, *numbers], {"limit": limit}).result


def compress(mask: ir.Value, x: ir.Value | None = None) -> ir.Value:
    """`ragged.compress`: the rows where a mask is true, or their numbers."""
    if x is None:
        return create("ragged.compress", [vector_type()], [mask], {}).result
    rows = shape_of(x.type)
    type_ = tensor_type(RaggedShape(rows.layout, (None, *rows.shape[1:])), x.type.element_type)
    return create("ragged.compress", [type_], [mask, x], {}).result


def scatter_add(terms: ir.Value, positions: ir.Value, count: ir.Value, unique: bool = False) -> ir.Value:
    """`ragged.scatter_add`: sums of rows at positions, or the rows where these are `unique`."""
    return inferred(grouping.ScatterAddOp, [terms, positions, count], unique=unique)


def all_to_all(x: ir.Value) -> ir.Value:
    """`ragged.all_to_all`: what every rank has for every other one, exchanged."""
    return inferred(exchange.AllToAllOp, [x])


def all_to_all_start(x: ir.Value) -> ir.Value:
    """`ragged.all_to_all_start`: the same, begun."""
    return create("ragged.all_to_all_start", [ir.IndexType.get()], [x], {}).result


def all_to_all_wait(x: ir.Value, turn: ir.Value) -> ir.Value:
    """`ragged.all_to_all_wait`: what came of an exchange that was begun."""
    return inferred(exchange.AllToAllWaitOp, [x, turn])


def reduce_across(x: ir.Value, max_: ir.Value, dim: int, kind: str) -> ir.Value:
    """`ragged.reduce_across`: reduce over the components that have an element."""
    return inferred(making.ReduceAcrossOp, [x, max_], dim=dim, kind=kind)


def attention(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    scale: float,
    keys: str = "all",
    softcap: float | None = None,
    score: Score | None = None,
) -> tuple[ir.Value, ir.Value]:
    """`ragged.attention`: the output, and the log of each row's sum of exponentials. `score` makes a score of one and
    of the numbers of component, head, query and key, inside the op."""
    element = q.type.element_type
    shapes = result_shapes(*(shape_of(x.type) for x in (q, k, v)))
    types = [tensor_type(s, e) for s, e in zip(shapes, (element, wide(element)), strict=True)]
    f64 = ir.F64Type.get()
    attributes: Attributes = {
        "scale": ir.FloatAttr.get(f64, scale),
        "keys": None if keys == "all" else keys,
        "softcap": None if softcap is None else ir.FloatAttr.get(f64, softcap),
    }
    made = create("ragged.attention", types, [q, k, v], attributes)
    if score is not None:
        scores(made, lambda x, numbers: [score(x, numbers)])
    return made.results[0], made.results[1]


def scores(op: ir.Operation, make: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]) -> None:
    """Give an op of attention what its region yields."""
    block = op.regions[0].blocks.append(wide(op.operands[0].type.element_type), *[ir.IndexType.get()] * 4)
    with ir.InsertionPoint(block):
        score, *numbers = block.arguments
        create("ragged.yield", [], make(score, numbers), {})


def attention_jvp(like: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
    """`ragged.attention_jvp` with the attributes of an op of attention: the tangents of both results. What has a score
    of its own needs one that yields its slope too: `scores`."""
    o, lse = operands[3:5]
    return create("ragged.attention_jvp", [o.type, lse.type], operands, _scores(like))


def attention_vjp_q(like: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
    """`ragged.attention_vjp_q` with attributes and score of another derivative: the cotangent of the queries."""
    made = create("ragged.attention_vjp_q", [operands[0].type], operands, _scores(like))
    copy_regions(like, made)
    return made.result


def attention_vjp_kv(like: ir.Operation, operands: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """`ragged.attention_vjp_kv` with attributes and score of another derivative: the cotangents of keys and values."""
    k, v = operands[:2]
    made = create("ragged.attention_vjp_kv", [k.type, v.type], operands, _scores(like))
    copy_regions(like, made)
    return made.results[0], made.results[1]


def _scores(op: ir.Operation) -> Attributes:
    return {name: op.attributes[name] for name in ("scale", "keys", "softcap") if name in op.attributes}


class Steps(NamedTuple):
    """A `ragged.steps`, and its results in the order of what it was made of."""

    op: ir.Operation
    before: list[ir.Value]
    rows: list[ir.Value]
    end: list[ir.Value]


def steps(elements: Sequence[ir.Value], states: Sequence[ir.Value], body: Step, reverse: bool = False) -> Steps:
    """`ragged.steps`: `body` makes the next states, and rows that are results, of rows of the elements and states. The
    op has them by their types, in as few groups as there can be."""
    own, carried = _by_type(elements), _by_type(states)
    operands = [*(elements[k] for k in own), *(states[k] for k in carried)]
    made = create("ragged.steps", [], operands, {"reverse": reverse})
    block = made.regions[0].blocks.append(*(row_type(x.type) for x in operands))
    left = iter(block.arguments)
    of_elements, of_states = ({k: next(left) for k in order} for order in (own, carried))
    with ir.InsertionPoint(block):
        after, rows = body(_in_order(of_elements), _in_order(of_states))
        found = _by_type(rows)
        yielded = [*(after[k] for k in carried), *(rows[k] for k in found)]
        create("ragged.yield", [], yielded, {})
    types = result_types(operands[0].type, [states[k].type for k in carried], [x.type for x in yielded])
    typed = create("ragged.steps", types, operands, {"reverse": reverse})
    block.append_to(typed.regions[0])
    made.erase()
    results = iter(typed.results)
    before, of_rows, end = ({k: next(results) for k in order} for order in (carried, found, carried))
    return Steps(typed, *map(_in_order, (before, of_rows, end)))


def _by_type(values: Sequence[ir.Value]) -> list[int]:
    """The numbers of values, those of one type behind one another."""
    types = [str(x.type) for x in values]
    return sorted(range(len(types)), key=lambda k: (types.index(types[k]), k))


def _in_order(values: Mapping[int, ir.Value]) -> list[ir.Value]:
    return [values[k] for k in sorted(values)]


def assume(
    x: ir.Value, level: int, divisible_by: int | None = None, min: int | None = None, max: int | None = None
) -> ir.Value:
    """`ragged.assume`: the operand with facts about the lengths of a level."""
    facts: Attributes = {"level": level, "divisible_by": divisible_by, "min": min, "max": max}
    return create("ragged.assume", [x.type], [x], facts).result


def guard(x: ir.Value) -> ir.Value:
    """`ragged.guard`: the operand, not before the checks above."""
    return create("ragged.guard", [x.type], [x], {}).result


def assert_valid(data: Sequence[ir.Value], kind: str, op: str, level: int, factor: int | None = None) -> ir.Operation:
    """`ragged.assert_valid`: a run-time check of index data; the op."""
    return create("ragged.assert_valid", [], data, {"kind": kind, "op": op, "level": level, "factor": factor})


def assert_conform(a: ir.Value, b: ir.Value, pairs: Sequence[tuple[int, int]], op: str) -> None:
    """`ragged.assert_conform`: a run-time check that lengths are equal on a loop."""
    lhs = ir.DenseI64ArrayAttr.get([i for i, _ in pairs])
    rhs = ir.DenseI64ArrayAttr.get([j for _, j in pairs])
    create("ragged.assert_conform", [], [a, b], {"lhs": lhs, "rhs": rhs, "op": op})


def annotate(x: ir.Value, layout: str | Layout | None) -> ir.Value:
    """`ragged.annotate`: the operand with a layout added, or removed for None."""
    shape = shape_of(x.type)
    if layout is None:
        return create("ragged.annotate", [dense_type(shape.shape, x.type.element_type)], [x], {}).result
    made = Layout.parse(layout) if isinstance(layout, str) else layout
    return _make("annotate", x, RaggedShape(made, shape.shape), [x])
