"""The tables of lowering rules: every op has one, and every one is of an op."""

from __future__ import annotations

from ragged_dialect.dialect import Ragged
from ragged_dialect.lowering.scf.convert_ragged_to_scf import RULES
from ragged_dialect.lowering.scf.prepare import EXPANDED

TENSOR_OPS = frozenset(
    f"tensor.{name}" for name in ("dim", "cast", "extract", "extract_slice", "expand_shape", "collapse_shape")
)


def test_every_op_of_the_dialect_has_a_rule() -> None:
    names = {op.OPERATION_NAME for op in Ragged.operations}
    assert len(names) >= 24
    assert names | TENSOR_OPS == set(RULES) | set(EXPANDED)
    assert not set(RULES) & set(EXPANDED)
