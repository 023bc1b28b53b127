"""The rule of an op: of its class, or for upstream's ops from the tables here."""

from typing import cast

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q, Rule
from ragged_dialect.checking.compute import check_compute
from ragged_dialect.checking.dense import RULES as DENSE
from ragged_dialect.checking.elements import check_extract
from ragged_dialect.errors import require_nothing
from ragged_dialect.generic import indexing_maps
from ragged_dialect.ir.match import view_of
from ragged_dialect.iteration import is_compute, touches_ragged, whole_value
from ragged_dialect.ops import OPS
from ragged_dialect.ops.base import RaggedOp

RAGGED: dict[str, Rule] = {**DENSE, "tensor.extract": check_extract}
"""Rules of upstream's ops on ragged tensors."""


def rule_of(op: ir.Operation, dense: bool = True) -> Rule | None:
    """What makes the checks of an op, None where there are none: with `dense=False` of an op on dense tensors alone."""
    if op.name in OPS:
        return _of_class
    ragged = touches_ragged(op)
    if not ragged and not dense:
        return None
    rule = (RAGGED if ragged else DENSE).get(op.name)
    if rule is None and not whole_value(op):
        # Dense linalg ops that say nothing of their loops, such as linalg.pack, are checked by nobody.
        with_loops = op.name.startswith("linalg.") and (ragged or bool(indexing_maps(op)))
        return check_compute if is_compute(op) or with_loops else None
    return rule


def _of_class(ask: Checker[Q], op: ir.Operation) -> None:
    view = view_of(op, RaggedOp)
    require_nothing(cast(object, view.checks(ask)), "checks", type(view).checks)
