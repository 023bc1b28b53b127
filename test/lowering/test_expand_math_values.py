"""Values of expanded math ops, computed by JIT-compiled loops, against float64 or wider references."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest

from ragged_dialect._mlir import execution_engine, ir, passmanager
from ragged_dialect._mlir import llvm as mlir_llvm
from ragged_dialect.dialect import context
from ragged_dialect.lowering.math.expand_ragged_math import ExpandRaggedMath
from ragged_dialect.lowering.math.library import required_libraries
from ragged_dialect.ptx.llvm22 import to_llvm22

Array = np.ndarray[Any, Any]
TAIL = (
    "func.func(llvm-request-c-wrappers),canonicalize,cse,arith-expand{include-bf16=true},convert-linalg-to-loops,"
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-math-to-funcs,convert-math-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts"
)
POLYNOMIALS = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "asinh", "acosh",
               "atanh", "asin", "acos", "atan", "cbrt", "erf", "sin", "cos", "tan")  # fmt: skip
LIBRARY = ("erfc",)
NATIVE = ("absf", "ceil", "floor", "round", "roundeven", "rsqrt", "sqrt", "trunc")
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
# Bits of the significand, exponent of the smallest subnormal.
FORMATS = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}
SPECIALS = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 2.0, -2.0, 1e-45, -1e-45, 1e-40, 3.4e38, -3.4e38)


def _round(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _by_element(function: Callable[..., float]) -> Callable[..., Array]:
    return np.vectorize(function, otypes=[np.float64])


NUMPY: dict[str, Callable[..., Array]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "erf": _by_element(math.erf), "erfc": _by_element(math.erfc), "absf": np.abs,
    "round": _round, "roundeven": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x), "powf": np.power, "atan2": np.arctan2,
}  # fmt: skip


def reference(name: str, *arguments: Array) -> Array:
    """The value in float64, or in long double for float64 where NumPy has the function."""
    wide = np.longdouble if arguments[0].dtype == np.float64 and not name.startswith("erf") else np.float64
    function = NUMPY.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(*(a.astype(wide) for a in arguments)))


def loop(symbol: str, body: str, kind: str, arity: int = 1) -> str:
    """A function that applies `body` (%v from %x0, %x1, …) to every element."""
    parameters = ", ".join(f"%a{i}: memref<?x{kind}>" for i in range(arity))
    loads = "\n".join(f"%x{i} = memref.load %a{i}[%i] : memref<?x{kind}>" for i in range(arity))
    return f"""
      func.func @{symbol}({parameters}, %out: memref<?x{kind}>) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = memref.dim %out, %c0 : memref<?x{kind}>
        scf.for %i = %c0 to %n step %c1 {{
          {loads}
          {body}
          memref.store %v, %out[%i] : memref<?x{kind}>
        }}
        return
      }}"""


def function(name: str, kind: str, arity: int = 1) -> str:
    """The loop `<name>_<kind>` of one math op."""
    operands = ", ".join(f"%x{i}" for i in range(arity))
    return loop(f"{name}_{kind}", f"%v = math.{name} {operands} : {kind}", kind, arity)


def lowered(text: str, isa: str = "auto", expand: bool = True, fused: bool = True) -> Any:
    """A module in the LLVM dialect; its context is the current one or lives as long as the module."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        manager = passmanager.PassManager("builtin.module")
        if expand:
            manager.add(ExpandRaggedMath(isa=isa), name="ExpandRaggedMath", argument="expand-ragged-math")
        manager.run(module.operation)
        if not fused:
            module = ir.Module.parse(str(module).replace(" fastmath<contract>", ""))
        passmanager.PassManager.parse(f"builtin.module({TAIL})").run(module.operation)
        return module


class Kernels:
    """Functions on 1-D memrefs, given one by one, called with NumPy arrays; the last argument is the result. Each is
    compiled when it is called, as samples call few of them."""

    def __init__(self, *texts: str, isa: str = "auto", fused: bool = True) -> None:
        self.texts = {text.split("@", 1)[1].split("(")[0]: text for text in texts}
        self.isa, self.fused = isa, fused
        self.engines: dict[str, Any] = {}

    def _engine(self, symbol: str) -> Any:
        if symbol not in self.engines:
            module = lowered(self.texts[symbol], self.isa, fused=self.fused)
            with module.context:
                made = execution_engine.ExecutionEngine(module, opt_level=3, shared_libs=required_libraries())
            self.engines[symbol] = made
        return self.engines[symbol]

    def __call__(self, symbol: str, *arguments: Array) -> Array:
        """Call with C-contiguous 1-D arrays; the result is a new array like the first."""
        out = np.empty_like(arguments[0])
        fields = [(ctypes.c_int64 * 5)(a.ctypes.data, a.ctypes.data, 0, a.size, 1) for a in (*arguments, out)]
        pointers = [ctypes.c_void_p(ctypes.addressof(f)) for f in fields]
        packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
        self._engine(symbol).lookup(symbol)(packed)
        return out


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    """Every function and element type, compiled once."""
    arities = dict.fromkeys((*POLYNOMIALS, *LIBRARY, *NATIVE), 1)
    arities |= {"powf": 2, "atan2": 2, "copysign": 2, "fma": 3}
    return Kernels(*(function(name, kind, arity) for name, arity in arities.items() for kind in DTYPES))


@pytest.fixture(scope="module")
def singles() -> Array:
    """float32 of every exponent and sign, dense samples where functions change, and special values."""
    every = np.arange(0, 2**32, 29989, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ranges = [(-110, 110), (-1.5, 1.5), (0.4, 2.5), (-8192, 8192), (-4, 4), (126, 130), (-152, -124)]
    dense = [np.linspace(low, high, 20011, dtype=np.float32) for low, high in ranges]
    multiples = (np.arange(1, 84000) * (math.pi / 2)).astype(np.float32)
    with np.errstate(all="ignore"):
        return np.concatenate([every, *dense, multiples, np.array(SPECIALS, np.float32)])


def worst_ulps(kind: str, got: Array, expected: Array) -> float:
    """The largest error; infinite where one of the two is NaN, or infinite, or a zero of the other sign."""
    digits, smallest = FORMATS[kind]
    with np.errstate(all="ignore"):
        rounded = expected.astype(DTYPES[kind])
        finite = np.isfinite(expected) & np.isfinite(rounded)
        exponents = np.frexp(np.where(finite, expected, 1))[1]
        ulp = np.ldexp(expected.dtype.type(1), np.maximum(exponents - digits, smallest))
        error = np.abs(got.astype(expected.dtype) - expected) / ulp
    same = (got == rounded) | (np.isnan(got) & np.isnan(expected))
    zero = (expected == 0) & (np.signbit(got) != np.signbit(expected))
    wrong = np.where(finite, zero | np.isnan(got), ~same)
    return math.inf if wrong.any() else float(np.where(finite, error, 0).max())


def worst(name: str) -> float:
    """What a polynomial may be off: tan is a quotient of two."""
    return 4.0 if name == "tan" else 2.0


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_f32_polynomials(kernels: Kernels, singles: Array, name: str) -> None:
    limit = {**dict.fromkeys(("exp", "exp2", "log", "log1p"), 1.1), "log2": 1.5, "log10": 1.5}.get(name, worst(name))
    assert worst_ulps("f32", kernels(f"{name}_f32", singles), reference(name, singles)) <= limit


@pytest.fixture(scope="module")
def unfused() -> Kernels:
    """The polynomials without multiply-adds, as on machines that have none."""
    return Kernels(*(function(name, "f32") for name in POLYNOMIALS), isa="sse", fused=False)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_f32_polynomials_without_fma(unfused: Kernels, singles: Array, name: str) -> None:
    assert worst_ulps("f32", unfused(f"{name}_f32", singles), reference(name, singles)) <= worst(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_f32_polynomials_on_a_dense_grid(kernels: Kernels, name: str) -> None:
    """One float32 of 101, in blocks."""
    for start in range(0, 2**32, 2**28):
        x = np.arange(start, start + 2**28, 101, dtype=np.uint64).astype(np.uint32).view(np.float32)
        assert worst_ulps("f32", kernels(f"{name}_f32", x), reference(name, x)) <= worst(name), hex(start)


@pytest.mark.parametrize("name", LIBRARY)
def test_f32_library_functions(kernels: Kernels, singles: Array, name: str) -> None:
    x = singles[::3].copy()
    assert worst_ulps("f32", kernels(f"{name}_f32", x), reference(name, x)) <= 0.51


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*POLYNOMIALS, *LIBRARY])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_precision_exhaustively(kernels: Kernels, kind: str, name: str) -> None:
    x = np.arange(65536, dtype=np.uint16).view(DTYPES[kind])
    assert worst_ulps(kind, kernels(f"{name}_{kind}", x), reference(name, x)) <= 0.51


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*POLYNOMIALS, *LIBRARY])
def test_f64_library_functions(kernels: Kernels, name: str) -> None:
    generator = np.random.default_rng(3)
    anything = generator.integers(0, 2**64, 20000, dtype=np.uint64).view(np.float64)
    ranges = [generator.uniform(-bound, bound, 20000) for bound in (1.0, 30.0, 700.0, 2.0**28)]
    multiples = generator.integers(-(2**27), 2**27, 20000) * (math.pi / 2)
    x = np.concatenate([anything, *ranges, multiples, np.array(SPECIALS)])
    limit = 4.0 if name in (*LIBRARY, "asinh", "acosh", "atanh", "erf", "expm1", "sinh", "tanh", "tan") else 2.0
    assert worst_ulps("f64", kernels(f"{name}_f64", x), reference(name, x)) <= limit


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("kind", DTYPES)
def test_native_functions(kernels: Kernels, kind: str, name: str) -> None:
    x = np.array([*SPECIALS, 0.25, 1.5, 2.5, -1.5, -2.5, 3.49, 1e4, 0.49999997])
    with np.errstate(all="ignore"):
        x = x.astype(DTYPES[kind])
    limit = {"sqrt": 0.5, "rsqrt": 1.5}.get(name, 0.0)
    assert worst_ulps(kind, kernels(f"{name}_{kind}", x), reference(name, x)) <= limit


@pytest.mark.parametrize("name", ["powf", "atan2", "copysign"])
@pytest.mark.parametrize("kind", DTYPES)
def test_functions_of_two_arguments(kernels: Kernels, kind: str, name: str) -> None:
    generator = np.random.default_rng(4)
    left = np.concatenate([np.exp(generator.normal(0, 8, 20000)), np.repeat(SPECIALS, len(SPECIALS))])
    right = np.concatenate([generator.uniform(-30, 30, 20000), np.tile(SPECIALS, len(SPECIALS))])
    with np.errstate(all="ignore"):
        x, y = left.astype(DTYPES[kind]), right.astype(DTYPES[kind])
    limit = {"powf": 1.0, "atan2": 2.0}.get(name, 0.0) if kind in ("f32", "f64") else 0.51
    assert worst_ulps(kind, kernels(f"{name}_{kind}", x, y), reference(name, x, y)) <= limit


@pytest.mark.parametrize("kind", DTYPES)
def test_fma(kernels: Kernels, kind: str) -> None:
    x, y, z = (np.array(v, DTYPES[kind]) for v in ([1.5, -2.0, 3.0], [2.0, 0.5, -0.25], [-3.0, 1.0, 0.75]))
    assert kernels(f"fma_{kind}", x, y, z).astype(float).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["sin", "exp", "cbrt"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_value_depends_on_its_argument_alone(kernels: Kernels, kind: str, name: str) -> None:
    """The vector loop and the remainder agree to the bit, so chunks of any size give the same result."""
    x = np.random.default_rng(5).normal(0, 50, 1003).astype(DTYPES[kind])
    x[::9] *= 1e5
    whole = kernels(f"{name}_{kind}", x)
    for start, stop in ((0, 7), (3, 3 + 64), (1, 1003), (990, 1003)):
        part = kernels(f"{name}_{kind}", x[start:stop].copy())
        np.testing.assert_array_equal(part, whole[start:stop])


def _optimised(module: Any, symbol: str) -> str:
    """LLVM IR of a function, optimised for AVX2."""
    text = to_llvm22(mlir_llvm.translate_module_to_llvmir(module.operation))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(text)
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="haswell", opt=3)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(parsed, builder)
    body = re.search(rf"^define [^\n]*@{symbol}\(.*?^}}", str(parsed), re.M | re.S)
    assert body is not None
    return body[0]


@pytest.mark.parametrize(("name", "kind"), [("exp", "f32"), ("sin", "f32"), ("sin", "f64"), ("acos", "f32")])
def test_loops_are_vectorised(name: str, kind: str) -> None:
    """Code for vectors in place of a call per element; intrinsics of this kind become such calls."""
    calls = re.compile(rf"call [^@]*@(?:llvm\.)?{name}")
    expanded, library = (_optimised(lowered(function(name, kind), "avx2", e), f"{name}_{kind}") for e in (True, False))
    assert re.search(r"<[48] x (?:float|double)>", expanded)
    assert not calls.search(expanded)
    assert calls.search(library)


def test_other_ops_lower_and_link() -> None:
    powers = Kernels(
        loop("power", "%e = arith.constant -3 : i32\n%v = math.fpowi %x0, %e : f32, i32", "f32"),
        loop("wide_power", "%e = arith.constant 3 : i64\n%v = math.fpowi %x0, %e : f64, i64", "f64"),
        loop("clamp", "%v = math.clampf %x0 to [%x1, %x2] : f32", "f32", 3),
        loop("sum", "%s, %c = math.sincos %x0 : f32\n%v = arith.addf %s, %c : f32", "f32"),
        loop("test", "%t = math.isnan %x0 : f32\n%v = arith.select %t, %x1, %x0 : f32", "f32", 2),
        loop("ipower", "%v = math.ipowi %x0, %x1 : i32", "i32", 2),
        *(loop(name, f"%v = math.{name} %x0 : i32", "i32") for name in ("absi", "ctlz", "cttz", "ctpop")),
    )
    x = np.array([0.5, -2.0, 3.0], np.float32)
    assert powers("power", x).tolist() == [8.0, -0.125, float(np.float32(1 / 27))]
    assert powers("wide_power", x.astype(np.float64)).tolist() == [0.125, -8.0, 27.0]
    assert powers("clamp", x, np.zeros_like(x), np.ones_like(x)).tolist() == [0.5, 0.0, 1.0]
    np.testing.assert_allclose(powers("sum", x), np.sin(x) + np.cos(x), rtol=1e-6)
    assert powers("test", np.array([np.nan, 1], np.float32), np.array([5, 6], np.float32)).tolist() == [5.0, 1.0]
    n = np.array([3, -2, 1], np.int32)
    assert powers("ipower", n, np.array([4, 3, -1], np.int32)).tolist() == [81, -8, 1]
    values = {name: powers(name, n).tolist() for name in ("absi", "ctlz", "cttz", "ctpop")}
    assert values == {"absi": [3, 2, 1], "ctlz": [30, 0, 31], "cttz": [0, 1, 0], "ctpop": [2, 31, 1]}


def test_without_vector_library() -> None:
    scalar = Kernels(function("exp", "f64"), function("acos", "f32"), function("powf", "f16", 2), isa="none")
    x = np.linspace(-1, 1, 101)
    for name, kind, arguments in (("exp", "f64", 1), ("acos", "f32", 1), ("powf", "f16", 2)):
        values = [x.astype(DTYPES[kind])] * arguments
        assert worst_ulps(kind, scalar(f"{name}_{kind}", *values), reference(name, *values)) <= 1.0
