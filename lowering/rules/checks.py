"""Rules of the asserts: on dense vectors and extents from here on."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import view_of
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.ops.checks import AssertConformOp
from ragged_dialect.traits import optional_int
from ragged_dialect.types import is_tensor


def lower_assert_valid(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.assert_valid: its operands are dense; vectors widen to i64."""
    ctx.close()
    data = [shapes.as_vector(v) if is_tensor(v.type) else build.to_index(v) for v in op.operands]
    attributes = op.attributes
    kind, name, level = (attributes[key].value for key in ("kind", "op", "level"))
    builders.assert_valid(data, kind, name, level, optional_int(op, "factor"))


def lower_assert_conform(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.assert_conform: an `assert_valid` of kind `conform` on two vectors of lengths, or on
    two extents."""
    ctx.close()
    a, b = ctx.parts(op.operands[0]), ctx.parts(op.operands[1])
    pairs = view_of(op, AssertConformOp).pairs
    x, y = pairs[-1]
    name = op.attributes["op"].value
    if a.has_one_extent(x) and b.has_one_extent(y):
        builders.assert_valid([build.value(a.extent(x)), build.value(b.extent(y))], "conform", name, x)
        return
    left = walks.logical_lengths(a, x)
    builders.assert_valid([left, _aligned(a, b, x, y, pairs[:-1])], "conform", name, x)


def _aligned(a: Parts, b: Parts, x: int, y: int, pairs: list[tuple[int, int]]) -> ir.Value:
    """Lengths of level y of b in the order of a's index tuples; b may lack some of a's levels, or have dense ones for
    ragged ones of a, which a's indices reach into."""
    above = b.layout.above(y)
    place = {j: k for k, (_, j) in enumerate(pairs)}
    order = [place[d] for d in above]
    kinds = [(a.layout.letter(i) == "d") == (b.layout.letter(j) == "d") for i, j in pairs if j != -1]
    if order == list(range(len(pairs))) and all(kinds):
        return walks.logical_lengths(b, y)
    a_axis, a_at = a.layout.locate(x)
    first = a.layout.dims(a_axis)[0]

    def length(fixed: list[Mixed]) -> Mixed:
        return b.loop_extent(y, [fixed[pairs[k][0] - first] for k in order])

    return walks.per_tuple(a, a_axis, a_at, length)


RULES = {
    "ragged.assert_valid": lower_assert_valid,
    "ragged.assert_conform": lower_assert_conform,
}
