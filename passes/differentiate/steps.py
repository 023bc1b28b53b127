"""The rules of `ragged.steps`: tangents go along the same steps, beside the states that there were before each. The
transpose goes the other way with the cotangents of states alone; those of rows and of what the steps capture are made
of all rows at once, as steps treat rows apart from each other."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.checks import CHECKED
from ragged_dialect.ir import shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap
from ragged_dialect.ir.walk import makers
from ragged_dialect.iteration import analyze, is_compute
from ragged_dialect.ops.steps import StepsOp, per_step
from ragged_dialect.passes.analysis.rows import rows_of
from ragged_dialect.passes.differentiate.control import Given, Pulled, captured_by, replayed, spread, tangents_inside
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.nests import erase_dead
from ragged_dialect.passes.differentiate.tables import has_derivative, linearizes, transposes
from ragged_dialect.passes.differentiate.values import or_zeros
from ragged_dialect.passes.differentiate.views import fitted, reassembled, storage_of
from ragged_dialect.traits import has_unit
from ragged_dialect.types import is_ragged, shape_of


@linearizes(StepsOp)
def _steps(ctx: Tangents, op: StepsOp) -> list[ir.Value | None]:
    states = op.states
    sums = _sums_of_all_rows(op)
    elements = [*op.elements, *op.before, *sums.values()]
    moving = [k for k, x in enumerate(op.elements) if ctx.of(x) is not None]
    floats = [k for k, x in enumerate(states) if has_derivative(x)]
    outs = [k for k, x in enumerate(op.yielded) if has_derivative(x)]
    tangents = [fitted(ctx.given(elements[k]), elements[k]) for k in moving]
    inits = [or_zeros(ctx.of(states[k]), states[k]) for k in floats]

    def body(rows: list[ir.Value], carried: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        known: ValueMap = dict(zip(op.block.arguments, rows, strict=False))
        ops, values = replayed(op.block, known)
        of_rows = [rows[k] for k in (*moving, *(len(op.elements) + k for k in floats))]
        moved = [*rows[len(elements) :], *carried]
        scope = ctx.inside(dict(zip(of_rows, moved, strict=True)))
        ctx.likes.update(zip(moved, of_rows, strict=True))
        made = tangents_inside(scope, ops, [values[k] for k in outs])
        for total, row in zip(sums, rows[len(elements) - len(sums) :], strict=False):
            known[total].replace_all_uses_with(row)
        return made[: len(floats)], made[len(floats) :]

    made = _made([*elements, *tangents], inits, body, has_unit(op, "reverse"))
    return spread(op.operation.results, [*made.before, *made.rows, *made.end])


def _made(elements: list[ir.Value], states: list[ir.Value], body: builders.Step, reverse: bool) -> builders.Steps:
    """Steps that treat rows apart from each other as those do that they are a derivative of, in lists as long."""
    made = builders.steps(elements, states, body, reverse)
    made.op.attributes[CHECKED] = ir.UnitAttr.get()
    return made


def _sums_of_all_rows(op: StepsOp) -> dict[ir.Value, ir.Value]:
    """Products and other sums that steps compute for each row, made of all rows at once: tangents read them there,
    and all else is cheap to compute again."""
    known: ValueMap = dict(zip(op.block.arguments, map(storage_of, (*op.elements, *op.before)), strict=True))
    rows = rows_of(op.block, strict=False)
    ops = makers(op.yielded, [inner.operation for inner in op.block.operations][:-1])
    sums: list[ir.Value] = [r for inner in ops if _sums(inner) for r in inner.results if rows.dim(r) == 0]
    if not sums:
        return {}
    replayed(op.block, known)
    x = op.elements[0]
    offsets = builders.offsets(x, 1)
    found: dict[ir.Value, ir.Value] = {}
    for total in sums:
        shape = shape_of(per_step(x.type, total.type))
        found[total] = builders.assemble([known[total], offsets], shape.layout, shape.shape)
    return found


def _sums(op: ir.Operation) -> bool:
    return is_compute(op) and "reduction" in analyze(op).kinds


@transposes(StepsOp)
def _transpose(back: Cotangents, op: StepsOp, given: Given) -> None:
    given = [given] if isinstance(given, ir.Value) else given
    elements, states = op.elements, op.states
    fixed = [k for k, x in enumerate(elements) if not back.is_linear(x)]
    linear = [k for k, x in enumerate(elements) if back.is_linear(x)]
    upstream = _Upstream(back, op, given)
    likes = [back.like(x) for x in (*(elements[k] for k in linear), *states)]
    places = [op.block.arguments[k] for k in (*linear, *range(len(elements), len(elements) + len(states)))]

    def pulled(rows: Sequence[ir.Value], count: Mixed, cotangents: Sequence[ir.Value]) -> Pulled:
        known: ValueMap = {op.block.arguments[k]: row for k, row in zip(fixed, rows, strict=True)}
        pairs = [(place, _rows_like(count, x, place.type)) for place, x in zip(places, likes, strict=True)]
        return Pulled(back, op.block, known, pairs, cotangents)

    def body(rows: list[ir.Value], carried: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        own, more = rows[: len(fixed)], rows[len(fixed) :]
        before, of_rows = upstream.split(more)
        found = pulled(own, shapes.dim(carried[0], 0), [*carried, *of_rows])
        after = [
            x if term is None else arith.addf(x, term)
            for x, term in zip(found.arguments[len(linear) :], before, strict=True)
        ]
        found.clean()
        return after, []

    whole = [elements[k] for k in fixed]
    after: list[ir.Value] = []
    if states:
        made = _made([*whole, *upstream.elements], upstream.ends, body, not has_unit(op, "reverse"))
        erase_dead(made.op.regions[0].blocks[0])  # cotangents of rows, and of what is captured
        after = made.before
        for x, cotangent in zip(states, made.end, strict=True):
            back.add(x, cotangent)
    captured = captured_by(back, op)
    if not linear and not captured:
        return
    _, of_rows = upstream.split(upstream.elements)
    cotangents = [storage_of(x) for x in (*after, *of_rows)]
    found = pulled([storage_of(x) for x in whole], shapes.dim(cotangents[0], 0), cotangents)
    for k, like, rows in zip(linear, likes, found.arguments, strict=False):
        back.add(elements[k], reassembled(rows, like))
    for value in captured:
        back.add(value, found.of(value, back.like(value)))
    found.clean()


class _Upstream:
    """The cotangents of results: of the states before steps where there are some, of all rows, and of the ends."""

    def __init__(self, back: Cotangents, op: StepsOp, given: Sequence[ir.Value | None]) -> None:
        count = len(op.states)
        self._before, rows, ends = given[:count], given[count : len(op.yielded)], given[len(op.yielded) :]
        self._rows = [or_zeros(c, like) for c, like in zip(rows, map(back.like, op.rows), strict=True)]
        self.ends = [or_zeros(c, like) for c, like in zip(ends, map(back.like, op.states), strict=True)]
        self.elements = [*(c for c in self._before if c is not None), *self._rows]

    def split(self, rows: Sequence[ir.Value]) -> tuple[list[ir.Value | None], list[ir.Value]]:
        """Of what stands for the elements that of states, None where there is none, and that of rows."""
        left = iter(rows)
        return [None if c is None else next(left) for c in self._before], list(left)


def _rows_like(count: Mixed, x: ir.Value, type_: ir.Type) -> ir.Value:
    """Rows of the type and the features of a ragged value or a state."""
    assert isinstance(type_, ir.RankedTensorType)
    features = [shapes.dim(x, dim) for dim in range(2 if is_ragged(x.type) else 1, len(x.type.shape))]
    return shapes.cast(shapes.empty([count, *features], type_.element_type), type_)
