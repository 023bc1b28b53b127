"""Numbers that write arith ops: formulas over them read like formulas.

`Emitter(op)` inserts before `op`, or at the insertion point without one; `Number` is a float, `Bits` an integer, each a
scalar or a vector of them. Every float
op carries `fastmath<contract>`, which lets LLVM form fused multiply-adds and changes nothing else;
the formulas are accurate with and without the fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.ir.match import element_of, with_element

_ORDERED = {"==": arith.CmpFPredicate.OEQ, "<": arith.CmpFPredicate.OLT, "<=": arith.CmpFPredicate.OLE,
            ">": arith.CmpFPredicate.OGT, ">=": arith.CmpFPredicate.OGE}  # fmt: skip
_SIGNED = {"==": arith.CmpIPredicate.eq, "<": arith.CmpIPredicate.slt, ">": arith.CmpIPredicate.sgt}

EXACT = Context(prec=60)
"""Where constants are computed: digits that no part of them has."""

LN2 = Decimal(2).ln(EXACT)


def two_parts(value: Decimal, bits: int) -> tuple[float, float]:
    """The multiple of 2**-bits next to a value, and the rest."""
    high = round(EXACT.multiply(value, 2**bits)) / 2**bits
    return high, float(EXACT.subtract(value, Decimal(high)))


class Emitter:
    """Where ops are inserted, and the constants made so far."""

    def __init__(self, op: ir.Operation | None = None) -> None:
        self.ip = ir.InsertionPoint.current if op is None else ir.InsertionPoint(op)
        self.loc = ir.Location.current if op is None else op.location
        self.contract = ir.Attribute.parse("#arith.fastmath<contract>")
        self.f32, self.f64 = ir.F32Type.get(), ir.F64Type.get()
        self._constants: dict[tuple[ir.Type, str], ir.Value] = {}

    def constant(self, kind: ir.Type, value: float | int) -> ir.Value:
        """`value` as a constant of the type `kind`, in every lane of a vector; one op per type and value."""
        key = (kind, repr(value))
        if key not in self._constants:
            make = ir.IntegerAttr if isinstance(value, int) else ir.FloatAttr
            attribute = make.get(element_of(kind), value)
            if isinstance(kind, ir.VectorType):
                attribute = ir.DenseElementsAttr.get_splat(kind, attribute)
            self._constants[key] = arith.ConstantOp(kind, attribute, loc=self.loc, ip=self.ip).result
        return self._constants[key]

    def float(self, op: Callable[..., ir.Value], *operands: ir.Value | ir.Type) -> ir.Value:
        """The result of a float op of the arith dialect with the contract flag."""
        return op(*operands, fastmath=self.contract, loc=self.loc, ip=self.ip)

    def plain(self, op: Callable[..., ir.Value], *operands: ir.Value | ir.Type) -> ir.Value:
        """The result of an op without flags."""
        return op(*operands, loc=self.loc, ip=self.ip)

    def number(self, value: ir.Value) -> Number:
        return Number(self, value)

    def select(self, condition: ir.Value, yes: Number | float, no: Number | float) -> Number:
        """`yes` where the i1 value `condition` holds, else `no`; at least one is a Number."""
        known = yes if isinstance(yes, Number) else no
        assert isinstance(known, Number)
        return Number(self, self.plain(arith.select, condition, known.same(yes), known.same(no)))


class Number:
    """A float value; Python floats become constants of its type."""

    def __init__(self, emitter: Emitter, value: ir.Value) -> None:
        self.emitter, self.value = emitter, value

    @property
    def is_long(self) -> bool:
        """Whether it is of f64."""
        return element_of(self.value.type) == self.emitter.f64

    def same(self, other: Number | float) -> ir.Value:
        """`other` as a value of this number's type."""
        return other.value if isinstance(other, Number) else self.emitter.constant(self.value.type, float(other))

    def constant(self, value: float) -> Number:
        """A constant of this number's type."""
        return Number(self.emitter, self.same(value))

    def _binary(self, op: Callable[..., ir.Value], left: Number | float, right: Number | float) -> Number:
        return Number(self.emitter, self.emitter.float(op, self.same(left), self.same(right)))

    def __add__(self, other: Number | float) -> Number:
        return self._binary(arith.addf, self, other)

    def __sub__(self, other: Number | float) -> Number:
        return self._binary(arith.subf, self, other)

    def __rsub__(self, other: float) -> Number:
        return self._binary(arith.subf, other, self)

    def __mul__(self, other: Number | float) -> Number:
        return self._binary(arith.mulf, self, other)

    def __truediv__(self, other: Number | float) -> Number:
        return self._binary(arith.divf, self, other)

    def __rtruediv__(self, other: float) -> Number:
        return self._binary(arith.divf, other, self)

    def fused(self, factor: Number | float, term: Number | float) -> Number:
        """The product plus `term`, rounded once, with or without an instruction for it."""
        return Number(self.emitter, self.emitter.plain(math.fma, self.value, self.same(factor), self.same(term)))

    def compare(self, predicate: str, other: Number | float) -> ir.Value:
        """An i1 value; the predicates are ordered: false on NaN."""
        return self.emitter.plain(arith.cmpf, _ORDERED[predicate], self.value, self.same(other))

    def at_most(self, bound: float) -> Number:
        """The smaller of the two; NaN stays NaN (one instruction on x86)."""
        return self.emitter.select(self.compare(">", bound), bound, self)

    def at_least(self, bound: float) -> Number:
        """The larger of the two; NaN stays NaN."""
        return self.emitter.select(self.compare("<", bound), bound, self)

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """Horner's scheme, lowest order first."""
        result = self * coefficients[-1] + coefficients[-2]
        for coefficient in reversed(coefficients[:-2]):
            result = result * self + coefficient
        return result

    def widen(self) -> Number:
        """The same value as f64."""
        return Number(
            self.emitter, self.emitter.plain(arith.extf, with_element(self.value.type, self.emitter.f64), self.value)
        )

    def narrow(self, kind: ir.Type) -> Number:
        """Rounded to the narrower float type `kind`, lane by lane."""
        kind = with_element(self.value.type, kind)
        return Number(self.emitter, self.emitter.plain(arith.truncf, kind, self.value))

    def bits(self) -> Bits:
        """The encoding, as an integer of the same width."""
        kind = self.value.type
        width = ir.IntegerType.get_signless(64 if self.is_long else 32)
        return Bits(self.emitter, self.emitter.plain(arith.bitcast, with_element(kind, width), self.value))

    def square_root(self) -> Number:
        """The square root, rounded once."""
        return Number(self.emitter, self.emitter.float(math.sqrt, self.value))

    def magnitude(self) -> Number:
        """The absolute value, by clearing the sign bit."""
        bits = self.bits()
        return (bits & (2 ** (bits.width - 1) - 1)).as_float()


class Bits:
    """An integer value; Python ints become constants of its type."""

    def __init__(self, emitter: Emitter, value: ir.Value) -> None:
        self.emitter, self.value = emitter, value

    @property
    def width(self) -> int:
        return int(ir.IntegerType(element_of(self.value.type)).width)

    def _binary(self, op: Callable[..., ir.Value], left: Bits | int, right: Bits | int) -> Bits:
        values = (x.value if isinstance(x, Bits) else self.emitter.constant(self.value.type, x) for x in (left, right))
        return Bits(self.emitter, self.emitter.plain(op, *values))

    def __add__(self, other: Bits | int) -> Bits:
        return self._binary(arith.addi, self, other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._binary(arith.subi, self, other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._binary(arith.andi, self, other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._binary(arith.ori, self, other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._binary(arith.xori, self, other)

    def __lshift__(self, count: int) -> Bits:
        return self._binary(arith.shli, self, count)

    def __rshift__(self, count: int) -> Bits:
        """Logical: zeros come in from the left."""
        return self._binary(arith.shrui, self, count)

    def compare(self, predicate: str, other: int) -> ir.Value:
        """An i1 value; the predicates are signed."""
        constant = self.emitter.constant(self.value.type, other)
        return self.emitter.plain(arith.cmpi, _SIGNED[predicate], self.value, constant)

    def low_half(self) -> Bits:
        """The low 32 bits of a 64-bit value."""
        return Bits(self.emitter, self.emitter.plain(arith.trunci, ir.IntegerType.get_signless(32), self.value))

    def as_float(self) -> Number:
        """The float with this encoding."""
        kind = with_element(self.value.type, self.emitter.f64 if self.width == 64 else self.emitter.f32)
        return Number(self.emitter, self.emitter.plain(arith.bitcast, kind, self.value))


def with_sign_of(value: Number, source: Number) -> Number:
    """A non-negative `value` with the sign bit of `source`."""
    return (value.bits() | (source.bits() & -(1 << (value.bits().width - 1)))).as_float()
