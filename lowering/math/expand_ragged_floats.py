"""`expand-ragged-floats`: roundings to and from short floats that processors lack, in integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.host_cpu import host_has, is_x86
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.match import blocks_of, element_of, with_element
from ragged_dialect.ir.walk import ops_in, replace
from ragged_dialect.lowering.math.emitter import Bits, Emitter, Number
from ragged_dialect.passes.base import PassFailure, RaggedPass

BFLOAT_ROUNDING = "__truncsfbf2"
"""The function that LLVM calls to make a bf16 of an f32, even of a constant; C compilers bring it since GCC 13."""

_ROUND_TO_BFLOAT = f"""
func.func @{BFLOAT_ROUNDING}(%x: f32) -> bf16 {{
  %y = arith.truncf %x : f32 to bf16
  return %y : bf16
}}"""

_MOVES = ("constant", "select", "bitcast")
_CALLS = (
    *("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"),
    *("sitofp", "uitofp", "fptosi", "fptoui", "ipowi", "fpowi"),
)
"""Ops of `arith` and `math` on integers that LLVM has functions for where they are of more than 64 bits."""

HALVES = ("auto", "native", "soft")


def has_halves() -> bool:
    """Whether this machine converts between f16 and f32; without, LLVM calls functions by names that no
    library has everywhere."""
    return not is_x86() or host_has("f16c")


@dataclass(frozen=True)
class ExpandRaggedFloats(RaggedPass):
    """Rewrite conversions of f16 for which LLVM would call a function that need not exist.

    ```mlir
    %y = arith.truncf %x : f64 to f16      // before
    %b = arith.bitcast %x : f64 to i64     // after: rounded to odd, so that rounding twice is rounding once
    …
    %y = arith.truncf %odd : f32 to f16
    ```

    Refused are divisions and conversions of integers of more than 64 bits, for which LLVM calls functions, too, what is
    computed with integers of more than 128 bits, and with f128.
    `half=soft` rewrites those between f32 and f16 too (x86 without F16C), `auto` does so where the host
    needs it. A module with bf16 gets the function that LLVM rounds constants with.
    Preconditions: scalars and vectors, outside GPU modules, after arith-emulate-unsupported-floats, which leaves no
    arithmetic of the short types; its `contract` flags are removed here, as they let roundings be dropped. After it:
    arith-expand{include-bf16=true}.
    """

    half: str = "auto"

    def run(self, op: ir.Operation) -> None:
        if self.half not in HALVES:
            raise PassFailure(op, f"expected half to be one of {', '.join(HALVES)}, got {self.half}")
        soft = self.half == "soft" or (self.half == "auto" and not has_halves())
        ops = ops_in(op)
        values = (value for inner in ops for values in _values(inner) for value in values)
        elements = {element_of(type_) for type_ in {value.type for value in values}}
        named = BFLOAT_ROUNDING in functions_of(op)
        if not named and any(isinstance(element, ir.BF16Type) for element in elements):
            op.regions[0].blocks[0].append(ir.Operation.parse(_ROUND_TO_BFLOAT, source_name=BFLOAT_ROUNDING))
        if any(map(_is_wide, elements)):
            for inner in ops:
                lack = _lack(inner)
                if lack is not None:
                    raise PassFailure(inner, lack)
        for inner in ops:
            if inner.name in ("arith.extf", "arith.truncf"):
                _rewrite(inner, soft)


def _is_wide(element: ir.Type) -> bool:
    """Whether processors lack something for an element's type."""
    return (isinstance(element, ir.IntegerType) and element.width > 64) or str(element) == "f128"


def _lack(op: ir.Operation) -> str | None:
    """What an op computes with that no processor has, and for which LLVM calls functions that C compilers bring, or
    makes code whose size has no bound; None for others."""
    dialect, _, name = op.name.partition(".")
    if dialect not in ("arith", "math") or name in _MOVES:
        return None
    for type_ in map(element_of, (op.operands[-1].type, op.results[0].type)):  # operands before are of the last one's
        if isinstance(type_, ir.IntegerType) and type_.width > 64 and name in _CALLS:
            return f"expected integers of at most 64 bits for '{op.name}', got {type_}"
        if isinstance(type_, ir.IntegerType) and type_.width > 128:
            return f"expected integers of at most 128 bits, got {type_}"
        if str(type_) == "f128":
            return f"expected floats of at most 80 bits, got {type_}"
    return None


def _values(op: ir.Operation) -> Iterator[Sequence[ir.Value]]:
    """What an op defines; a mere argument is rounded on its way too."""
    yield op.results
    if len(op.regions):  # few have some
        yield from (block.arguments for block in blocks_of(op))


def _rewrite(op: ir.Operation, soft: bool) -> None:
    if "fastmath" in op.attributes:
        del op.attributes["fastmath"]
    value = _expanded(op, soft)
    if value is not None:
        replace(op, value)


def _expanded(op: ir.Operation, soft: bool) -> ir.Value | None:
    """The value of a conversion made by other ops; None where the processor has it."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    emitter = Emitter(op)
    x = emitter.number(op.operands[0])
    if isinstance(target, ir.F16Type):
        if source == emitter.f64:
            x = _rounded_to_odd(x).narrow(emitter.f32)
        elif not soft:
            return None
        return _to_half(x, target) if soft else x.narrow(target).value
    if isinstance(source, ir.F16Type) and soft:
        wide = _from_half(emitter, op.operands[0])
        return wide.value if target == emitter.f32 else wide.widen().value
    return None


def _rounded_to_odd(x: Number) -> Number:
    """An f64 cut to the bits of an f32, the last of them set if any that are cut off were."""
    cut = (1 << 29) - 1
    bits = x.bits()
    return ((bits | (((bits & cut) + cut) & (cut + 1))) & (-1 - cut)).as_float()


def _to_half(x: Number, kind: ir.Type) -> ir.Value:
    """An f32 as f16. Below 2^-14 adding 0.5 leaves a half's mantissa, rounded, in the low bits; above,
    half of a last bit is added, less one for ties to even, where the exponent changes its bias."""
    emitter, bits = x.emitter, x.bits()
    size = bits & 0x7FFFFFFF
    small = (size.as_float() + 0.5).bits() - 0x3F000000
    large = (size + ((size >> 13) & 1) + (0xC8000FFF - (1 << 32))) >> 13
    nan = ((size >> 13) & 0x1FF) | 0x7E00
    magnitude = _select(size, "<", 0x38800000, small, large)
    magnitude = _select(size, ">", 0x477FFFFF, bits & 0 | 0x7C00, magnitude)
    magnitude = _select(size, ">", 0x7F800000, nan, magnitude)
    short = with_element(x.value.type, ir.IntegerType.get_signless(16))
    cut = emitter.plain(arith.trunci, short, (magnitude | ((bits >> 16) & 0x8000)).value)
    return emitter.plain(arith.bitcast, with_element(short, kind), cut)


def _from_half(emitter: Emitter, value: ir.Value) -> Number:
    """An f16 as f32: the factor 2^112 moves the exponent to its place, subnormals too."""
    short, long = (with_element(value.type, ir.IntegerType.get_signless(n)) for n in (16, 32))
    bits = Bits(emitter, emitter.plain(arith.extui, long, emitter.plain(arith.bitcast, short, value)))
    rest = (bits & 0x7FFF) << 13
    finite = (rest.as_float() * 2.0**112).bits()
    magnitude = _select(rest, ">", 0x0F7FFFFF, rest | 0x7F800000, finite)
    return (magnitude | ((bits & 0x8000) << 16)).as_float()


def _select(x: Bits, predicate: str, bound: int, yes: Bits, no: Bits) -> Bits:
    """`yes` where the non-negative x compares so with a bound, else `no`."""
    return Bits(x.emitter, x.emitter.plain(arith.select, x.compare(predicate, bound), yes.value, no.value))
