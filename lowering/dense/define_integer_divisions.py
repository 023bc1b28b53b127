"""`define-integer-divisions`: a result for divisors that MLIR leaves undefined."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import constant_int, defining_op, made_by
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.types import is_tensor

_SIGNED = ("arith.divsi", "arith.ceildivsi", "arith.floordivsi", "arith.remsi")
_POWER = "math.ipowi"
_UNSIGNED = ("arith.divui", "arith.ceildivui", "arith.remui")


class DefineIntegerDivisions(RaggedPass):
    """Let integers divided by 0 give 0, and the least integer divided by -1 itself, without a remainder.

    ```mlir
    %q = arith.divui %a, %b : i32
    // becomes
    %zero = arith.cmpi eq, %b, %c0 : i32
    %safe = arith.select %zero, %c1, %b : i32
    %r = arith.divui %a, %safe : i32
    %q = arith.select %zero, %c0, %r : i32
    ```

    So does 0 to a negative power (`math.ipowi`), a quotient by 0. Where the processor divides, such a divisor would end
    the process. Divisions of whole tensors are left alone, but by themselves: they are scalar ones once
    `convert-elementwise-to-linalg` has run. Divisors that are constants, or that this pass has made, are left as they
    are.
    """

    def run(self, op: ir.Operation) -> None:
        """Define the scalar divisions of a module."""
        for found in find_ops(op, *_SIGNED, *_UNSIGNED, _POWER):
            if found.name != _POWER and is_tensor(found.results[0].type):
                _define_by_itself(found)
            elif isinstance(found.results[0].type, (ir.IntegerType, ir.IndexType)):
                with ir.InsertionPoint(found), found.location:
                    if found.name == _POWER:
                        _define_power(found)
                    elif not _is_safe(found.operands[1]):
                        _define(found, found.name in _SIGNED)


def _is_safe(divisor: ir.Value) -> bool:
    known = constant_int(divisor)
    if known is not None:
        return known not in (0, -1)
    chosen = made_by(divisor, "arith.select")
    if chosen is None:
        return False
    condition, one, given = chosen.operands
    return constant_int(one) == 1 and any(given in test.operation.operands for test in _tests(condition))


def _tests(condition: ir.Value) -> list[ir.Operation]:
    """The comparisons that a condition is, or is made of by `or`."""
    op = defining_op(condition)
    if op is not None and op.name == "arith.ori":
        return [test for operand in op.operands for test in _tests(operand)]
    return [op] if op is not None and op.name == "arith.cmpi" else []


def _define(division: ir.Operation, signed: bool) -> None:
    dividend, divisor = division.operands
    zero = build.equal(divisor, 0)
    minus = build.equal(divisor, -1) if signed else None
    unsafe = zero if minus is None else arith.ori(zero, minus)
    division.operands[1] = arith.select(unsafe, build.constant(divisor.type, 1), divisor)
    if "rem" in division.name:  # by 1 there is none
        return
    result = division.results[0]
    with ir.InsertionPoint.after(division):
        nothing = build.constant(result.type, 0)
        value = result if minus is None else arith.select(minus, arith.subi(nothing, dividend), result)
        defined = arith.select(zero, nothing, value)
    result.replace_all_uses_except(defined, [value.owner.operation, defined.owner.operation])


def _define_by_itself(division: ir.Operation) -> None:
    """Let whole tensors divided by themselves be 1 where they are not 0: MLIR would say 1 before they are scalars."""
    x, divisor = division.operands
    if x != divisor or "rem" in division.name:
        return
    type_ = division.results[0].type
    with ir.InsertionPoint(division), division.location:
        some = build.unequal(x, arith.subi(x, x))
        widen = arith.index_castui if isinstance(type_.element_type, ir.IndexType) else arith.extui
        made = some if some.type == type_ else widen(type_, some)
    replace(division, made)


def _define_power(power: ir.Operation) -> None:
    """Let the base be 2 instead of 0 where the exponent is negative: of that nothing is left either."""
    base, exponent = power.operands
    known, chosen = constant_int(exponent), made_by(base, "arith.select")
    if (known is not None and known >= 0) or constant_int(base) or (chosen and constant_int(chosen.operands[1]) == 2):
        return
    nothing = arith.andi(build.equal(base, 0), build.less(exponent, 0))
    power.operands[0] = arith.select(nothing, build.constant(base.type, 2), base)
