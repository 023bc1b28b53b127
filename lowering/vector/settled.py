"""Folds of booleans end early: one that is true is all that a disjunction needs, one that is false a conjunction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ragged_dialect._mlir import arith, ir, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import constant_int
from ragged_dialect.lowering.nests.combiners import Combiner

_EVERY = 8
"""Iterations after which it is asked whether a fold is settled: 1,024 components of 64 rows of 64 float32, half of them
positive, take 0.25 of the time so, with 16 0.4, and where none is as long as before (Zen 4)."""


def folded(
    combiners: Sequence[Combiner],
    low: Mixed,
    step: int,
    high: ir.Value,
    inits: Sequence[ir.Value],
    body: flow.Body,
    *,
    across: bool,
) -> list[ir.Value]:
    """`flow.strided` of a body that does nothing but fold by some combiners, in the order of what it carries. It ends
    early where no further iteration changes anything: `across` lanes, which become one, or in each of them."""
    last = constant_int(high)
    if not combiners or not all(map(_is_boolean, combiners)) or (last is not None and last <= _EVERY * step):
        return flow.strided(low, step, high, inits, body)

    def open_(carried: Sequence[ir.Value]) -> ir.Value:
        return reduce(arith.ori, [_is_open(c, x, across) for c, x in zip(combiners, carried, strict=True)])

    def goes_on(state: list[ir.Value]) -> ir.Value:
        return arith.andi(build.less(state[0], high), open_(state[1:]))

    def block(state: list[ir.Value]) -> list[ir.Value]:
        at, *carried = state
        end = build.minimum(build.add(at, _EVERY * step), high)
        return [end, *flow.strided(at, step, end, carried, body)]

    return flow.repeat([build.value(low), *inits], goes_on, block)[1:]


def _is_boolean(combiner: Combiner) -> bool:
    return combiner.ops[0].name in ("arith.ori", "arith.andi") and str(combiner.result.type) == "i1"


def _is_open(combiner: Combiner, lanes: ir.Value, across: bool) -> ir.Value:
    """Whether more elements can change what is folded."""
    is_or = combiner.ops[0].name == "arith.ori"
    kind = "or" if is_or == across else "and"
    found = vector.reduction(lanes.type.element_type, ir.Attribute.parse(f"#vector.kind<{kind}>"), lanes)
    return arith.xori(found, build.constant(found.type, 1)) if is_or else found
