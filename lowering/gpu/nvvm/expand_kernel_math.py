"""`expand-kernel-math`: math ops in kernels that `convert-gpu-to-nvvm` leaves alone, or makes slow calls of."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, func, ir, math
from ragged_dialect.ir.match import around, bit_width
from ragged_dialect.ir.walk import locate, replace
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.lowering.math.classes import CLASSES, clamped
from ragged_dialect.lowering.math.emitter import Emitter
from ragged_dialect.passes.base import PassFailure, RaggedPass

_INTEGER = {
    "math.absi": ("llvm.intr.abs", "is_int_min_poison"),
    "math.ctlz": ("llvm.intr.ctlz", "is_zero_poison"),
    "math.cttz": ("llvm.intr.cttz", "is_zero_poison"),
    "math.ctpop": ("llvm.intr.ctpop", None),
}


class ExpandKernelMath(RaggedPass):
    """Rewrite math ops inside `gpu.module`s for which there is neither an NVVM op nor a libdevice function.

    ```mlir
    %r = math.ctlz %x : i64
    %s, %c = math.sincos %y : f32
    // becomes
    %r = llvm.intr.ctlz(%x) {is_zero_poison = false} : (i64) -> i64
    %s = math.sin %y : f32
    %c = math.cos %y : f32
    ```

    trunc, absi, ctlz, cttz, ctpop become LLVM's intrinsics; clampf, sincos, isnan, isinf, isfinite,
    isnormal other ops; ipowi and fpowi calls of a function that squares repeatedly (fpowi in f64; f64
    to an exponent of at most 32 bits is a powf). Precondition: scalars.
    """

    def run(self, op: ir.Operation) -> None:
        """Expand in every gpu.module of a module."""
        for found in device_ops(op, _EXPANSIONS.__contains__):
            kind = found.operands[0].type
            if isinstance(kind, ir.VectorType):
                raise PassFailure(found, f"expected a scalar operand for '{found.name}' in a kernel, got {kind}")
            with found.location, ir.InsertionPoint(found):
                values = _EXPANSIONS[found.name](found)
            replace(found, *values)


def _intrinsic(name: str, operand: ir.Value, flag: str | None = None) -> ir.Value:
    attributes = {} if flag is None else {flag: ir.BoolAttr.get(False)}
    return ir.Operation.create(name, results=[operand.type], operands=[operand], attributes=attributes).result


def _integer(op: ir.Operation) -> list[ir.Value]:
    name, flag = _INTEGER[op.name]
    value = op.operands[0]
    if not isinstance(value.type, ir.IndexType):
        return [_intrinsic(name, value, flag)]
    wide = arith.index_cast(ir.IntegerType.get_signless(64), value)
    return [arith.index_cast(value.type, _intrinsic(name, wide, flag))]


def _trunc(op: ir.Operation) -> list[ir.Value]:
    value = op.operands[0]
    if isinstance(value.type, (ir.F32Type, ir.F64Type)):
        return [_intrinsic("llvm.intr.trunc", value)]
    return [arith.truncf(value.type, _intrinsic("llvm.intr.trunc", arith.extf(ir.F32Type.get(), value)))]


def _class(op: ir.Operation) -> list[ir.Value]:
    return [CLASSES[op.name](Emitter(op).number(op.operands[0]))]


def _ipowi(op: ir.Operation) -> list[ir.Value]:
    i64 = ir.IntegerType.get_signless(64)
    power = call_power(op, "i64", *(_resized(v, i64) for v in op.operands))
    return [_resized(power, op.results[0].type)]


def _fpowi(op: ir.Operation) -> list[ir.Value]:
    base, exponent = op.operands
    f64 = ir.F64Type.get()
    if base.type == f64 and exponent.type.width <= 32:
        return [math.powf(base, arith.sitofp(f64, exponent))]
    wide = base if base.type == f64 else arith.extf(f64, base)
    power = call_power(op, "f64", wide, _resized(exponent, ir.IntegerType.get_signless(64)))
    return [power if base.type == f64 else arith.truncf(base.type, power)]


def _resized(value: ir.Value, kind: ir.Type) -> ir.Value:
    """A signed integer in another integer type, or index."""
    if value.type == kind:
        return value
    if isinstance(value.type, ir.IndexType) or isinstance(kind, ir.IndexType):
        return arith.index_cast(kind, value)
    return arith.extsi(kind, value) if value.type.width < bit_width(kind) else arith.trunci(kind, value)


_EXPANSIONS: dict[str, Callable[[ir.Operation], list[ir.Value]]] = {
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(CLASSES, _class),
    "math.trunc": _trunc,
    "math.clampf": lambda op: [clamped(Emitter(op), *op.operands)],
    "math.sincos": lambda op: [math.sin(op.operands[0]), math.cos(op.operands[0])],
    "math.ipowi": _ipowi,
    "math.fpowi": _fpowi,
}


_LOOP = """
  %steps:3 = scf.while (%e = %bits, %b = %base, %r = %one) : (i64, TYPE, TYPE) -> (i64, TYPE, TYPE) {
    %more = arith.cmpi ne, %e, %zero : i64
    scf.condition(%more) %e, %b, %r : i64, TYPE, TYPE
  } do {
  ^bb0(%e: i64, %b: TYPE, %r: TYPE):
    %odd = arith.trunci %e : i64 to i1
    %product = MULTIPLY %r, %b : TYPE
    %next = arith.select %odd, %product, %r : TYPE
    %square = MULTIPLY %b, %b : TYPE
    %rest = arith.shrui %e, %shift : i64
    scf.yield %rest, %square, %next : i64, TYPE, TYPE
  }
"""
# A negative power is 1 / base ** n rounded to zero: only the parity of n counts, and only for 1 and -1.
_INTEGER_POWER = """
func.func private @NAME(%base: i64, %exponent: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %shift = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %negative = arith.cmpi slt, %exponent, %zero : i64
  %parity = arith.andi %exponent, %one : i64
  %bits = arith.select %negative, %parity, %exponent : i64
LOOP
  %is.one = arith.cmpi eq, %base, %one : i64
  %is.minus = arith.cmpi eq, %base, %minus : i64
  %unit = arith.ori %is.one, %is.minus : i1
  %inverse = arith.select %unit, %steps#2, %zero : i64
  %result = arith.select %negative, %inverse, %steps#2 : i64
  return %result : i64
}
"""
_FLOAT = """
func.func private @NAME(%base: f64, %exponent: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1.0 : f64
  %shift = arith.constant 1 : i64
  %negative = arith.cmpi slt, %exponent, %zero : i64
  %positive = arith.subi %zero, %exponent : i64
  %bits = arith.select %negative, %positive, %exponent : i64
LOOP
  %inverse = arith.divf %one, %steps#2 : f64
  %result = arith.select %negative, %inverse, %steps#2 : f64
  return %result : f64
}
"""
_TEXTS = {
    "i64": _INTEGER_POWER.replace("LOOP", _LOOP).replace("TYPE", "i64").replace("MULTIPLY", "arith.muli"),
    "f64": _FLOAT.replace("LOOP", _LOOP).replace("TYPE", "f64").replace("MULTIPLY", "arith.mulf"),
}


def call_power(op: ir.Operation, kind: str, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """A call of `base ** exponent` at the insertion point. `kind` is the base's type, i64 or f64; the
    exponent is an i64. The function goes into the `gpu.module` around `op`."""
    module = around(op, "gpu.module")
    name = f"__ragged_power_{kind}"
    block = module.regions[0].blocks[0]
    if name not in ir.SymbolTable(module):
        parsed = ir.Module.parse(_TEXTS[kind].replace("NAME", name))
        locate(parsed.operation, op.location)
        [function] = parsed.body.operations
        block.append(function.operation.detach_from_parent())
    return func.CallOp([base.type], name, [base, exponent]).results[0]
