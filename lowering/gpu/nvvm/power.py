"""Powers with an integer exponent in kernels: functions that square repeatedly, added where one is called."""

from __future__ import annotations

from ragged_dialect._mlir import func, ir
from ragged_dialect.ir.match import enclosing

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
_INTEGER = """
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
    "i64": _INTEGER.replace("LOOP", _LOOP).replace("TYPE", "i64").replace("MULTIPLY", "arith.muli"),
    "f64": _FLOAT.replace("LOOP", _LOOP).replace("TYPE", "f64").replace("MULTIPLY", "arith.mulf"),
}


def call_power(op: ir.Operation, kind: str, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """A call of `base ** exponent` at the insertion point. `kind` is the base's type, i64 or f64; the
    exponent is an i64. The function goes into the `gpu.module` around `op`."""
    module = op
    while module.name != "gpu.module":
        module = enclosing(module)
    name = f"__ragged_power_{kind}"
    block = module.regions[0].blocks[0]
    if name not in ir.SymbolTable(module):
        parsed = ir.Module.parse(_TEXTS[kind].replace("NAME", name))
        [function] = parsed.body.operations
        block.append(function.operation.detach_from_parent())
    return func.CallOp([base.type], name, [base, exponent]).results[0]
