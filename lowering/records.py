"""What the lowering leaves on a module for the runtime."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.checks import Check

REFUSES = "ragged.refuses_skew"
"""On a module of a program that refuses data of which a component is much longer than the others: whoever loads it, and
no pass, reads this."""


def checks_of(module: ir.Module) -> tuple[Check, ...]:
    """The run-time checks of a lowered module, in the order of their numbers from 1."""
    attributes = module.operation.attributes
    return tuple(_check(c) for c in attributes["ragged.checks"]) if "ragged.checks" in attributes else ()


def labels_of(module: ir.Module) -> tuple[str, ...]:
    """What `ragged.print` prints before tensors, by number."""
    attributes = module.operation.attributes
    return tuple(a.value for a in attributes["ragged.labels"]) if "ragged.labels" in attributes else ()


def _check(attr: ir.ArrayAttr) -> Check:
    kind, op, level = attr
    return Check(kind.value, op.value, level.value)
