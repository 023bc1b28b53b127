"""Quotients of integers in vectors, by floats: there are no vector instructions for those of integers, and LLVM takes
lanes apart to divide them (1.4 to 1.7 ns each on a Zen 5 core)."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, math, vector
from ragged_dialect.ir import build
from ragged_dialect.lowering.vector.machine import Registers

_SHORT = frozenset(f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui"))
_LONG = frozenset({"arith.divsi", "arith.remsi"})


def has_floats(op: ir.Operation, registers: Registers | None) -> bool:
    """Whether an op is a division that floats do in vectors: of up to 32 bits, or of 64, signed, where the processor
    converts these (AVX-512)."""
    type_ = op.results[0].type
    if not isinstance(type_, ir.IntegerType):
        return False
    if 8 <= type_.width <= 32:
        return op.name in _SHORT
    return type_.width == 64 and op.name in _LONG and registers is not None and registers.bytes == 64


def divided(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """The result of a division of vectors."""
    if a.type.element_type.width == 64:
        quotient, rest = _long(a, b)
        return quotient if name == "arith.divsi" else rest
    quotient = _short(a, b, name.endswith("si"))
    return quotient if name.startswith("arith.div") else arith.subi(a, arith.muli(quotient, b))


def _short(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """The quotient of floats that hold the numbers: it is nearer to the exact one than that is to the next integer."""
    kind = ir.F32Type.get() if a.type.element_type.width <= 16 else ir.F64Type.get()
    widen, narrow = (arith.sitofp, arith.fptosi) if signed else (arith.uitofp, arith.fptoui)
    floats = ir.VectorType.get(a.type.shape, kind)
    return narrow(a.type, arith.divf(widen(floats, a), widen(floats, b)))


def _long(a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The quotient and what is left. Quotients of floats are off by up to 2**12: what is left is divided again, rounded
    to the nearest, so that what is left then is not above half of the divisor, and of the wrong sign at most."""
    floats = ir.VectorType.get(a.type.shape, ir.F64Type.get())
    inverse = arith.divf(_splat(floats, 1.0), arith.sitofp(floats, b))
    most = _splat(floats, 2.0**63 - 2.0**10)  # what is more is no integer of 64 bits

    def nearest(x: ir.Value) -> ir.Value:
        return math.roundeven(arith.mulf(arith.sitofp(floats, x), inverse))

    first = arith.fptosi(a.type, arith.minimumf(nearest(a), most))
    left = arith.subi(a, arith.muli(first, b))
    second = arith.fptosi(a.type, nearest(left))
    quotient, rest = arith.addi(first, second), arith.subi(left, arith.muli(second, b))
    zero, one = _splat(a.type, 0), _splat(a.type, 1)
    apart = build.less(arith.xori(a, b), zero)
    other = build.less(arith.xori(a, rest), zero)
    wrong = arith.andi(other, build.unequal(rest, zero))
    step = arith.select(apart, arith.subi(zero, b), b)
    down = arith.select(apart, one, arith.subi(zero, one))
    return (
        arith.select(wrong, arith.addi(quotient, down), quotient),
        arith.select(wrong, arith.addi(rest, step), rest),
    )


def _splat(type_: ir.VectorType, number: float) -> ir.Value:
    return vector.broadcast(type_, build.constant(type_.element_type, number))
