"""`expand-ragged-math`: scalar math ops in a form that LLVM's loop vectoriser can vectorise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.ir.match import constant_int, defining_op, enclosing
from ragged_dialect.ir.walk import ops_in, replace
from ragged_dialect.lowering.loops.annotations import LOOP
from ragged_dialect.lowering.math import (
    cube_root,
    erf,
    exponential,
    logarithm,
    power,
    remainder,
    trigonometry,
)
from ragged_dialect.lowering.math.classes import CLASSES, clamped
from ragged_dialect.lowering.math.emitter import Bits, Emitter, Number
from ragged_dialect.lowering.math.library import MathLibrary, require_isa
from ragged_dialect.passes.base import PassFailure, RaggedPass

# f32 in plain arith ops.
_SHORTEST, _LONG = 8, 16
"""Iterations of loops that LLVM leaves scalar unless told otherwise; it unrolls shorter ones."""

_VECTORISED = "#llvm.loop_annotation<vectorize = <disable = false>>"
_ACCESSES = ("memref.load", "memref.store", "scf.yield")

_POLYNOMIALS: dict[str, Callable[[Number], Number]] = {
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.tanh": exponential.tanh,
    "math.sinh": exponential.sinh,
    "math.cosh": exponential.cosh,
    "math.log": logarithm.log,
    "math.log2": logarithm.log2,
    "math.log10": logarithm.log10,
    "math.log1p": logarithm.log1p,
    "math.asinh": logarithm.asinh,
    "math.acosh": logarithm.acosh,
    "math.atanh": logarithm.atanh,
    "math.asin": trigonometry.asin,
    "math.acos": trigonometry.acos,
    "math.atan": trigonometry.atan,
    "math.cbrt": cube_root.cbrt,
    "math.erf": erf.erf,
}
_LONG_POLYNOMIALS = tuple(
    f"math.{name}" for name in "exp exp2 expm1 log log2 log10 log1p sinh cosh tanh asin acos atan cbrt".split()
)
"""Those that f64 has too."""

_SHORT: dict[str, Callable[[Number], Number]] = {"math.tanh": exponential.tanh_of_short}
"""What takes fewer instructions for f16 and bf16, as f32."""
_HALF: dict[str, Callable[[Number], Number]] = {**_SHORT, "math.exp": exponential.exp_of_half}

_GUARDED: dict[str, Callable[..., Number]] = {
    "math.atan2": trigonometry.atan2,
    "math.sin": trigonometry.sin,
    "math.cos": trigonometry.cos,
    "math.tan": trigonometry.tan,
}
FUNCTIONS = frozenset({*_POLYNOMIALS, *_GUARDED})
"""What takes many instructions, and as many for one number as for a vector of them."""

# The C name of the f64 function; f32 goes through it where no entry above exists.
_LIBRARY = {
    name: name.removeprefix("math.")
    for name in (*_POLYNOMIALS, *_GUARDED, "math.erfc")
} | {"math.powf": "pow", "math.fpowi": "pow"}  # fmt: skip
# LLVM has these natively; f16 and bf16 go through f32, which rounds to the same result.
_NATIVE = frozenset(("math.ceil", "math.floor", "math.fma", "math.round", "math.roundeven", "math.rsqrt",
                     "math.sqrt", "math.trunc"))  # fmt: skip
_REMAINDER = "arith.remf"
_SIGNS = ("math.absf", "math.copysign")


@dataclass(frozen=True)
class ExpandRaggedMath(RaggedPass):
    """Rewrite scalar `math` ops so that loops that contain them vectorise.

    ```mlir
    %y = math.exp %x : f32      // before
    %0 = arith.mulf %x, %log2e fastmath<contract> : f32      // after: 32 arith ops, no call
    …
    %y = arith.mulf %8, %9 fastmath<contract> : f32
    ```

    f32: exp, exp2, expm1, log, log2, log10, log1p, sinh, cosh, tanh, asinh, acosh, atanh, asin, acos,
    atan, cbrt, erf become straight-line arith ops; sin, cos and tan too, with a library call behind a
    branch for |x| > 2**20, and atan2 for points next to 0 or to infinity; powf, by a logarithm that is
    a sum of two numbers; all at most 2 ulp on the full range, tan 4. f64: exp to tanh and asin to cbrt
    too, and where fused multiply-adds are instructions powf, sin, cos, tan (|x| up to 2**27) and atan2,
    at most 3 ulp, tan 4.
    Remainders (`arith.remf`), which are exact, are a division and a fused multiply-add, with such a
    call for quotients that have more bits than the type.
    The other functions, and those of f64, become calls of f64 library functions (`llvm.call`) with vector
    variants from libmvec. f16 and bf16 go through f32, where tanh, and exp of f16, take fewer instructions, but for
    signs, which are bits. Tests such as isnan become
    comparisons. Integer ops and what LLVM has natively stay.

    Works on scalars anywhere outside GPU modules: run it after elementwise ops on tensors became
    linalg or loops. After it, in this order where they occur: arith-expand{include-bf16=true} (the
    x86 conversion to bf16 flushes subnormals), convert-linalg-to-loops, convert-scf-to-cf,
    convert-math-to-funcs (math.ipowi), convert-math-to-llvm, convert-arith-to-llvm,
    finalize-memref-to-llvm, convert-cf-to-llvm, convert-func-to-llvm. The JIT loads
    `math.library.required_libraries()`; an object file links -lmvec -lm.

    `isa` chooses the vector variants: none, sse, avx2, avx512, avx512bf16 and amxbf16 (as avx512), or auto for what the
    host has.
    """

    isa: str = "auto"

    def run(self, op: ir.Operation) -> None:
        require_isa(op, self.isa)
        library = MathLibrary(op, self.isa)
        for found in _math_ops(op):
            loop = enclosing(found)
            _expand(found, library)
            if loop.name == "scf.for" and _is_short(loop):
                loop.attributes[LOOP] = ir.Attribute.parse(_VECTORISED)
        library.keep_variants()


def _math_ops(op: ir.Operation) -> list[ir.Operation]:
    """The math ops in `op`, in order, GPU modules left out."""
    inside = ops_in(op, lambda inner: inner.name == "gpu.module")
    return [inner for inner in inside if inner.name.startswith("math.") or inner.name == _REMAINDER]


def _is_short(loop: ir.Operation) -> bool:
    """Whether a loop has fewer iterations than LLVM takes for worth a vector, and nothing in it that does not
    fit one: LLVM warns where it is told to and cannot."""
    low, high, step = (constant_int(x) for x in list(loop.operands)[:3])
    if low is None or high is None or step != 1 or not _SHORTEST <= high - low < _LONG or loop.results:
        return False
    body = [op.operation for op in loop.regions[0].blocks[0].operations]
    return all(op.name.startswith("arith.") or op.name in _ACCESSES for op in body) and not any(map(_is_running, body))


def _is_running(op: ir.Operation) -> bool:
    """Whether an op of a loop stores what the next iteration reads, and this one uses otherwise: a scan."""
    if op.name != "memref.store":
        return False
    value, _, *indices = op.operands
    makers = [(x.owner, defining_op(x)) for x in indices]
    varies = any((owner if maker is None else maker.block) == op.block for owner, maker in makers)
    return not varies and len(list(value.uses)) > 1


def _expand(op: ir.Operation, library: MathLibrary) -> None:
    name, emitter = op.operation.name, Emitter(op)
    if name == "math.sincos":
        replace(op, *(_compute(f"math.{part}", op, emitter, library) for part in ("sin", "cos")))
    elif name == "math.clampf":
        replace(op, clamped(emitter, *op.operands))
    elif name == _REMAINDER:
        if _width(op) and library.fuses:  # without, a fused multiply-add is a call
            replace(op, _remainder(op, emitter, library))
    elif name in _SIGNS and _width(op) == 16:
        replace(op, _with_sign(emitter, *op.operands))
    elif name in CLASSES:
        replace(op, CLASSES[name](emitter.number(op.operands[0])))
    elif name in _LIBRARY or (name in _NATIVE and _width(op) == 16):
        if name == "math.fpowi" and _width(op) and op.operands[1].type.width > 32:
            return  # f64 cannot hold every exponent: convert-math-to-funcs multiplies
        replace(op, _compute(name, op, emitter, library))


def _width(op: ir.Operation) -> int:
    kind = op.operands[0].type
    return int(kind.width) if isinstance(kind, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)) else 0


def _compute(name: str, op: ir.Operation, emitter: Emitter, library: MathLibrary) -> ir.Value:
    """The value of the function `name` of the op's operands, in their type."""
    kind, width = op.operands[0].type, _width(op)
    if width == 0:
        raise PassFailure(op, f"expected scalars of f16, bf16, f32 or f64 to expand {name}, got {kind}")
    if width == 64:
        return _double(name, _floats(op, emitter, emitter.f64), emitter, library)
    operands = _floats(op, emitter, emitter.f32)
    short = _HALF if isinstance(kind, ir.F16Type) else _SHORT if width == 16 else {}
    found = short.get(name)
    result = _single(name, operands, emitter, library) if found is None else found(emitter.number(operands[0])).value
    return result if width == 32 else emitter.number(result).narrow(kind).value


def _remainder(op: ir.Operation, emitter: Emitter, library: MathLibrary) -> ir.Value:
    kind = op.results[0].type
    x, y = (emitter.number(value) for value in _floats(op, emitter, kind if _width(op) == 64 else emitter.f32))
    found = remainder.fmod(x, y, library)
    return found.value if _width(op) >= 32 else found.narrow(kind).value


def _floats(op: ir.Operation, emitter: Emitter, kind: ir.Type) -> list[ir.Value]:
    """The operands as `kind`, which is at least as wide; the integer exponent of fpowi as f64."""
    values: list[ir.Value] = []
    for value in op.operands:
        if isinstance(value.type, ir.IntegerType):
            values.append(emitter.plain(arith.sitofp, emitter.f64, value))
        else:
            values.append(value if value.type == kind else emitter.plain(arith.extf, kind, value))
    return values


def _double(name: str, operands: list[ir.Value], emitter: Emitter, library: MathLibrary) -> ir.Value:
    """The value of the function `name` of f64 operands, in f64."""
    numbers = [emitter.number(x) for x in operands]
    if name in _LONG_POLYNOMIALS:
        return _POLYNOMIALS[name](*numbers).value
    if name in _GUARDED and library.fuses:
        return _GUARDED[name](*numbers, library).value
    if _LIBRARY[name] == "pow" and library.fuses:
        return power.power(*numbers, fuses=True).value
    return library.call(_LIBRARY[name], operands, emitter.ip, emitter.loc)


def _single(name: str, operands: list[ir.Value], emitter: Emitter, library: MathLibrary) -> ir.Value:
    """The value of the function `name` of f32 operands, in f32."""
    x = emitter.number(operands[0])
    if name in _POLYNOMIALS:
        return _POLYNOMIALS[name](x).value
    if name in _GUARDED:
        return _GUARDED[name](*map(emitter.number, operands), library).value
    if name == "math.powf":
        return power.power(x, emitter.number(operands[1]), library.fuses).value
    if name in _NATIVE:
        return emitter.plain(getattr(math, name.removeprefix("math.")), *operands)
    wide = [v if v.type == emitter.f64 else emitter.number(v).widen().value for v in operands]
    return emitter.number(_double(name, wide, emitter, library)).narrow(emitter.f32).value


def _with_sign(emitter: Emitter, value: ir.Value, sign: ir.Value | None = None) -> ir.Value:
    """A short float without its sign, or with that of another, by their bits: what else there is for them in vectors
    goes through f32, with a rounding back."""
    kind = ir.IntegerType.get_signless(16)
    bits = [Bits(emitter, emitter.plain(arith.bitcast, kind, x)) for x in (value, sign) if x is not None]
    found = bits[0] & 0x7FFF
    if len(bits) > 1:
        found = found | (bits[1] & -0x8000)
    return emitter.plain(arith.bitcast, value.type, found.value)
