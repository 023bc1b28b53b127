"""Groups of operands, and of results, of the ops that have such of different types (`ops.base.MixedOp`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ragged_dialect.errors import LayoutError

GROUPS = 12
"""Operand groups a mixed op has: the most runs of equal types among its operands."""

MIXED_OPS = {
    "ragged.assemble", "ragged.empty", "ragged.concat", "ragged.from_padded", "ragged.group_by", "ragged.sort",
    "ragged.assert_valid", "ragged.steps", "ragged.yield", "ragged.compress",
}  # fmt: skip

MIXED_RESULTS = {"ragged.steps"}
"""Those whose results are so too."""

REGION_OPS = {
    "ragged.attention", "ragged.attention_jvp", "ragged.attention_vjp_q", "ragged.attention_vjp_kv",
    "ragged.steps",
}  # fmt: skip
"""Ops with a region, which may be empty: the short form leaves that out."""


def segments(types: Sequence[object]) -> list[int]:
    """Sizes of the groups for operands of these types: one per run of equal ones, then zeros.
    Raises LayoutError when there are more runs than groups."""
    runs = [len(list(run)) for _, run in groupby(types)]
    if len(runs) > GROUPS:
        raise LayoutError(f"expected at most {GROUPS} runs of operands of equal type, got {len(runs)}")
    return runs + [0] * (GROUPS - len(runs))
