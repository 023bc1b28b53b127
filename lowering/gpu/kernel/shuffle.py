"""Exchanging scalars of any type between the lanes of a warp."""

from __future__ import annotations

from ragged_dialect._mlir import arith, gpu, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.match import bit_width


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _constant(number: int) -> ir.Value:
    return arith.constant(_i32(), number)


def shuffle_xor(value: ir.Value, distance: int) -> ir.Value:
    """The value of the lane whose number differs in the bits of `distance`."""
    return _shuffle(value, distance, "xor")


def shuffle_up(value: ir.Value, distance: int) -> ir.Value:
    """The value of the lane `distance` before; of the lane itself where there is none."""
    return _shuffle(value, distance, "up")


def _shuffle(value: ir.Value, distance: int, mode: str) -> ir.Value:
    kind = ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")
    moved = [gpu.shuffle(word, _constant(distance), _constant(DEVICE.warp), kind)[0] for word in to_words(value)]
    return from_words(moved, value.type)


def bits_of(value: ir.Value) -> ir.Value:
    """The bits of a scalar, as an integer."""
    if isinstance(value.type, ir.IndexType):
        return build.to_i64(value)
    if isinstance(value.type, ir.IntegerType):
        return value
    return arith.bitcast(ir.IntegerType.get_signless(value.type.width), value)


def of_bits(bits: ir.Value, type_: ir.Type) -> ir.Value:
    """The scalar of a type from an integer with its bits, and maybe more."""
    if isinstance(type_, ir.IndexType):
        return build.to_index(bits)
    width = bit_width(type_)
    if width < bits.type.width:
        bits = arith.trunci(ir.IntegerType.get_signless(width), bits)
    return bits if bits.type == type_ else arith.bitcast(type_, bits)


def to_words(value: ir.Value) -> list[ir.Value]:
    """A scalar as i32 words, low first."""
    value = bits_of(value)
    width = value.type.width
    if width < 32:
        return [arith.extui(_i32(), value)]
    if width == 32:
        return [value]
    high = arith.shrui(value, build.constant(value.type, 32))
    return [arith.trunci(_i32(), value), arith.trunci(_i32(), high)]


def from_words(words: list[ir.Value], type_: ir.Type) -> ir.Value:
    """The scalar of a type from its words."""
    if len(words) == 1:
        return of_bits(words[0], type_)
    low, high = (arith.extui(build.i64(), word) for word in words)
    return of_bits(arith.ori(arith.shli(high, build.constant(build.i64(), 32)), low), type_)
