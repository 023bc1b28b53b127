"""Reading `ragged.assert_valid` ops on dense vectors."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.check_conditions import evaluate
from ragged_dialect.lowering.nested import find_ops


def drop_guards(module: Any) -> None:
    """Erase every `ragged.guard`: checks that become control flow hold back what is behind them."""
    for guard in find_ops(module, "ragged.guard"):
        guard.results[0].replace_all_uses_with(guard.operands[0])
        guard.erase()


def factor_of(op: Any) -> int | None:
    """The `factor` of an assert, None without one."""
    return op.attributes["factor"].value if "factor" in op.attributes else None


def evaluate_assert(op: Any) -> list[Any]:
    """`evaluate` for a `ragged.assert_valid`."""
    return evaluate(op.attributes["kind"].value, list(op.operands), factor_of(op))


def statement(op: Any) -> tuple[Any, ...]:
    """What an assert says: asserts with equal statements hold or fail together."""
    return op.attributes["kind"].value, factor_of(op), *op.operands


def description(op: Any) -> Any:
    """Kind, op and level of an assert, as an entry of the module's `ragged.checks`."""
    return ir.ArrayAttr.get([op.attributes[name] for name in ("kind", "op", "level")])
