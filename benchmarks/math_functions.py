"""Time expanded math functions: `python benchmarks/math_functions.py [elements]`.

Per function, element type and code: nanoseconds per element, the best of many runs on one core.
`ours` is a loop expanded by expand-ragged-math, `calls` the same loop with one call of the C
library per element, `NumPy` its function on the same array. The last line is a softmax over rows of
64: maximum, `exp(x - maximum)`, sum, division.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from common import duration

from ragged_dialect._mlir import execution_engine, ir, passmanager
from ragged_dialect.dialect import context
from ragged_dialect.lowering.math.expand_ragged_math import ExpandRaggedMath
from ragged_dialect.lowering.math.library import host_isa, required_libraries

_TAIL = (
    "func.func(llvm-request-c-wrappers),canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "convert-math-to-llvm,convert-math-to-libm,convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts"
)
_COLUMNS = 64
_CASES: dict[str, tuple[Callable[[Any], Any] | None, float, float]] = {
    "exp": (np.exp, -20, 0),
    "log": (np.log, 0.01, 100),
    "tanh": (np.tanh, -4, 4),
    "erf": (None, -4, 4),
    "log1p": (np.log1p, 0, 10),
    "sin": (np.sin, -100, 100),
    "acos": (np.arccos, -1, 1),
}
_LOOP = """
func.func @{name}_{kind}(%x: memref<?x{kind}>, %y: memref<?x{kind}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x{kind}>
  scf.for %i = %c0 to %n step %c1 {{
    %u = memref.load %x[%i] : memref<?x{kind}>
    %v = math.{name} %u : {kind}
    memref.store %v, %y[%i] : memref<?x{kind}>
  }}
  return
}}
"""
_SOFTMAX = f"""
func.func @softmax(%x: memref<?xf32>, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {_COLUMNS} : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %step {{
    %end = arith.addi %i, %step : index
    %max = scf.for %j = %i to %end step %c1 iter_args(%m = %lowest) -> f32 {{
      %u = memref.load %x[%j] : memref<?xf32>
      %w = arith.maxnumf %m, %u fastmath<nnan,nsz> : f32
      scf.yield %w : f32
    }}
    %sum = scf.for %j = %i to %end step %c1 iter_args(%s = %zero) -> f32 {{
      %u = memref.load %x[%j] : memref<?xf32>
      %d = arith.subf %u, %max : f32
      %e = math.exp %d : f32
      memref.store %e, %y[%j] : memref<?xf32>
      %w = arith.addf %s, %e fastmath<reassoc,nsz,contract> : f32
      scf.yield %w : f32
    }}
    scf.for %j = %i to %end step %c1 {{
      %e = memref.load %y[%j] : memref<?xf32>
      %q = arith.divf %e, %sum : f32
      memref.store %q, %y[%j] : memref<?xf32>
    }}
  }}
  return
}}
"""


def _compile(text: str, expand: bool) -> Any:
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        manager = passmanager.PassManager("builtin.module")
        if expand:
            manager.add(ExpandRaggedMath(), name="ExpandRaggedMath", argument="expand-ragged-math")
        manager.add(_TAIL)
        manager.run(module.operation)
        return execution_engine.ExecutionEngine(module, opt_level=3, shared_libs=required_libraries())


def _best(function: Callable[[], object]) -> float:
    return min(duration(function) for _ in range(15))


def _run(engine: Any, symbol: str, *arrays: np.ndarray[Any, Any]) -> float:
    fields = [(ctypes.c_int64 * 5)(a.ctypes.data, a.ctypes.data, 0, a.size, 1) for a in arrays]
    pointers = [ctypes.c_void_p(ctypes.addressof(f)) for f in fields]
    packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
    compiled = engine.lookup(symbol)
    return _best(lambda: compiled(packed))


def _numpy_softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows = x.reshape(-1, _COLUMNS)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main(argv: list[str] | None = None) -> int:
    """Print the table; the argument is the number of elements, 2**20 if left out."""
    arguments = sys.argv[1:] if argv is None else argv
    size = int(arguments[0]) // _COLUMNS * _COLUMNS if arguments else 1 << 20
    text = "".join(_LOOP.format(name=name, kind=kind) for name in _CASES for kind in ("f32", "f64")) + _SOFTMAX
    engines = [_compile(text, True), _compile(text, False)]
    generator = np.random.default_rng(0)
    print(f"{size} elements, vector library: {host_isa()}; ns per element")
    print(f"{'':12} {'ours':>7} {'calls':>7} {'NumPy':>7}")
    for name, (peer, low, high) in _CASES.items():
        for kind in ("f32", "f64"):
            x = generator.uniform(low, high, size).astype(np.float32 if kind == "f32" else np.float64)
            y = np.empty_like(x)
            times = [_run(engine, f"{name}_{kind}", x, y) for engine in engines]
            if peer is not None:
                times.append(_best(lambda peer=peer, x=x, y=y: peer(x, out=y)))
            print(f"{name + ' ' + kind:12} " + " ".join(f"{t / size * 1e9:7.2f}" for t in times))
    x = generator.normal(0, 4, size).astype(np.float32)
    times = [*(_run(engine, "softmax", x, np.empty_like(x)) for engine in engines), _best(lambda: _numpy_softmax(x))]
    print(f"{'softmax f32':12} " + " ".join(f"{t / size * 1e9:7.2f}" for t in times))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
