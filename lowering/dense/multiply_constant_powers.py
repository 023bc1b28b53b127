"""`multiply-constant-powers`: squares and inverses are no powers."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import is_number, made_by
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass

Power = Callable[[ir.Value], ir.Value]


class MultiplyConstantPowers(RaggedPass):
    """Compute powers of scalars whose exponent is a small constant by products.

    ```mlir
    %y = math.powf %x, %c2 : f32
    // becomes
    %y = arith.mulf %x, %x : f32
    ```

    A power is a call of a function, of some 10 ns. Exponents are -1, 0, 1 and 2 of floats, for which the number is the
    same, and 0 to 3 of integers (`math.ipowi`).
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the powers of a module."""
        for found in find_ops(op, "math.powf", "math.ipowi"):
            constant = made_by(found.operands[1], "arith.constant")
            type_ = found.results[0].type
            if constant is None or not is_number(type_):
                continue
            power = (_floats if isinstance(type_, ir.FloatType) else _integers)(
                type_, constant.attributes["value"].value
            )
            if power is not None:
                with ir.InsertionPoint(found), found.location:
                    replace(found, power(found.operands[0]))


def _floats(type_: ir.Type, exponent: float) -> Power | None:
    """A power of floats by products; None for others."""
    known: dict[float, Power] = {
        -1: lambda x: arith.divf(build.constant(type_, 1.0), x),
        0: lambda x: build.constant(type_, 1.0),
        1: lambda x: x,
        2: lambda x: arith.mulf(x, x),
    }
    return known.get(exponent)


def _integers(type_: ir.Type, exponent: int) -> Power | None:
    """The same of integers."""
    known: dict[int, Power] = {
        0: lambda x: build.constant(type_, 1),
        1: lambda x: x,
        2: lambda x: arith.muli(x, x),
        3: lambda x: arith.muli(arith.muli(x, x), x),
    }
    return known.get(exponent)
