"""The tables of rules, by op class: `linearizes` gives tangents, `transposes` cotangents.

A rule of `linearizes` takes the tangents known so far and an op, and makes the tangents of its results, of ops that
are linear in the tangents of its operands: a value of the result's type, or a list with one for each result, None where
it is 0. A rule of `transposes` takes the cotangents known so far, an op that is linear in some operands, and the
cotangent of its result (a list for an op of several results), and adds to the cotangents of these operands, None for 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ragged_dialect._mlir import Op, ir
from ragged_dialect.ir.match import element_of
from ragged_dialect.passes.base import PassFailure

View: TypeAlias = Any
"""An op as one of its class, which has its operands as fields; the stubs of the bindings have no such classes."""

Rule = Callable[..., ir.Value | Sequence[ir.Value | None] | None]


class DerivativeFailure(PassFailure):
    """What `ragged-differentiate` fails with at an op: its text begins with the name of the pass."""

    def __init__(self, op: Op, message: str) -> None:
        super().__init__(op, f"ragged-differentiate: {message}")


class Rules:
    """A table of rules by op class, or by name for ops that the bindings have no class of."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}

    def __call__(self, *ops: View) -> Callable[[Rule], Rule]:
        """Decorate the rule of some ops. TypeError for none, for what is no function, and for an op that has a rule."""
        if not ops:
            raise TypeError("expected ops that a rule is for, got none")

        def add(rule: Rule) -> Rule:
            if not callable(rule):
                raise TypeError(f"expected a function as rule, got {rule!r}")
            for op in ops:
                name = op if isinstance(op, str) else op.OPERATION_NAME
                if _is_second(self._rules.get(name), rule):
                    raise TypeError(f"expected one rule for '{name}', got another one")
                self._rules[name] = rule
            return rule

        return add

    def find(self, op: Op) -> Rule | None:
        """The rule of an op, None where there is none."""
        return self._rules.get(op.operation.name)

    def __contains__(self, name: object) -> bool:
        return name in self._rules


def _is_second(first: Rule | None, rule: Rule) -> bool:
    """Whether a rule comes beside another one, and not in its place: as of the same module, imported anew."""
    if first is None:
        return False
    known, new = (getattr(one, "__globals__", None) for one in (first, rule))
    return known is new or first.__module__ != rule.__module__


linearizes = Rules()
transposes = Rules()

CONSTANT: dict[str, str] = {}
"""Ops whose results have no derivative, or derivative 0, each with the reason."""


def constant(reason: str, *ops: View) -> None:
    """Note ops whose results no tangent reaches."""
    CONSTANT.update((op if isinstance(op, str) else op.OPERATION_NAME, reason) for op in ops)


def has_derivative(value: ir.Value) -> bool:
    """Whether a value is a float, or a tensor of floats; others have no cotangent."""
    return isinstance(element_of(value.type), ir.FloatType)


def hides_floats(value: ir.Value) -> bool:
    """Whether there may be floats in a value that has no derivative: memory, complex numbers, wide floats, tensors
    without a rank."""
    return not isinstance(element_of(value.type), (ir.FloatType, ir.IntegerType, ir.IndexType))
