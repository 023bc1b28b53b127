"""Arithmetic in the emulator: libdevice's functions, approximate instructions, float conversions."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.emulator_kernels import elementwise
from support.kernels import all_kernels

from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.emulator import Emulator
from ragged_dialect.emulator.jit import Code
from ragged_dialect.emulator.machine import machine
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.ptx.backend import LOCK

Array = np.ndarray[Any, np.dtype[Any]]

ONE_OPERAND: dict[str, Callable[[float], float]] = {
    name: getattr(math, name)
    for name in (
        "acos asin atan atanh cosh cos erf erfc exp expm1 fabs log10 log1p log2 log sin sinh sqrt tan tanh".split()
    )
}
ONE_OPERAND |= {
    "acosh": lambda x: math.acosh(x + 1),
    "cbrt": lambda x: x ** (1 / 3),
    "exp2": lambda x: 2.0**x,
    "rsqrt": lambda x: x**-0.5,
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "rint": lambda x: float(round(x)),
    "round": lambda x: float(math.floor(x + 0.5)),
}
X = 0.3125


def applied(name: str, kind: str, operands: list[str], x: float, result: str = "") -> float:
    """The result of `@name` of %x and further operands, given as LLVM text."""
    result = result or kind
    types = ", ".join([kind, *(operand.split(" ")[0] for operand in operands)])
    call = f"  %r = call {result} @{name}({', '.join([f'{kind} %x', *operands])})"
    text = elementwise(call, result, kind, [f"declare {result} @{name}({types})"])
    dtypes = {"float": np.float32, "double": np.float64, "i32": np.int32}
    source, y = np.array([x], dtypes[kind]), np.zeros(1, dtypes[result])
    Emulator(text).launch("k", (1, 1, 1), (1, 1, 1), [source, y])
    return float(y[0])


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("name", ONE_OPERAND)
def test_library_functions(name: str, kind: str) -> None:
    x = X + 1 if name == "acosh" else X
    found = applied(f"__nv_{name}{'f' if kind == 'float' else ''}", kind, [], x)
    assert found == pytest.approx(ONE_OPERAND[name](X), rel=1e-6 if kind == "float" else 1e-14)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_library_functions_of_several_operands(kind: str) -> None:
    suffix = "f" if kind == "float" else ""
    cases = {"pow": X**2.5, "atan2": math.atan2(X, 2.5), "fmod": X, "copysign": X, "fmax": 2.5, "fmin": X}
    for name, expected in cases.items():
        assert applied(f"__nv_{name}{suffix}", kind, [f"{kind} 2.5"], X) == pytest.approx(expected, rel=1e-6)
    assert applied(f"__nv_fma{suffix}", kind, [f"{kind} 2.0", f"{kind} 1.0"], X) == 2 * X + 1
    assert applied(f"__nv_powi{suffix}", kind, ["i32 3"], X) == X**3


@pytest.mark.parametrize("name", ["fast_expf", "fast_logf", "fast_sinf", "fast_cosf", "fast_tanf", "fast_log2f"])
def test_fast_functions_are_exact(name: str) -> None:
    expected = getattr(math, name.removeprefix("fast_").removesuffix("f"))(X)
    assert applied(f"__nv_{name}", "float", [], X) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("x", [1.0, math.inf, -math.inf, math.nan])
def test_classes_of_floats(x: float) -> None:
    names = {"isinf": math.isinf, "isnan": math.isnan, "finite": math.isfinite}
    for name, test in names.items():
        assert applied(f"__nv_{name}f", "float", [], x, "i32") == test(x)
    for name, test in (("isinfd", math.isinf), ("isnand", math.isnan), ("isfinited", math.isfinite)):
        assert applied(f"__nv_{name}", "double", [], x, "i32") == test(x)


def test_absolute_value_of_an_integer() -> None:
    assert applied("__nv_abs", "i32", [], -5) == 5


INTRINSICS: dict[str, Callable[[float], float]] = {
    "ex2.approx.f": lambda x: 2.0**x,
    "ex2.approx.ftz.f": lambda x: 2.0**x,
    "lg2.approx.f": math.log2,
    "sin.approx.f": math.sin,
    "cos.approx.f": math.cos,
    "tanh.approx.f32": math.tanh,
    "rsqrt.approx.f": lambda x: x**-0.5,
    "sqrt.approx.f": math.sqrt,
    "sqrt.rn.f": math.sqrt,
    "rcp.approx.ftz.f": lambda x: 1 / x,
    "fabs.f32": abs,
    "saturate.f": lambda x: min(1.0, max(0.0, x)),
}


@pytest.mark.parametrize("x", [X, 1.75])
@pytest.mark.parametrize("name", INTRINSICS)
def test_approximate_instructions_are_exact(name: str, x: float) -> None:
    assert applied(f"llvm.nvvm.{name}", "float", [], x) == pytest.approx(INTRINSICS[name](x), rel=1e-6)


@pytest.mark.parametrize(("x", "expected"), [(-1.0, 0.0), (math.nan, 0.0), (math.inf, 1.0)])
def test_saturate(x: float, expected: float) -> None:
    assert applied("llvm.nvvm.saturate.f", "float", [], x) == expected


def test_instructions_of_several_operands() -> None:
    assert applied("llvm.nvvm.fma.rn.f", "float", ["float 2.0", "float 1.0"], X) == 2 * X + 1
    assert applied("llvm.nvvm.div.approx.f", "float", ["float 2.0"], X) == X / 2
    assert applied("llvm.nvvm.fmax.f", "float", ["float 2.0"], math.nan) == 2
    assert math.isnan(applied("llvm.nvvm.fmax.nan.f", "float", ["float 2.0"], math.nan))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "text"), list(all_kernels()), ids=[name for name, _ in all_kernels()])
def test_everything_that_kernels_may_compute_builds(name: str, text: str) -> None:
    made = Emulator(kernels_to_llvm(load_module(text, context(), f"<{name}>")))
    assert len(made.kernels) == text.count("gpu.func")


def converted(function: str, source: tuple[str, Any], target: tuple[str, Any], values: Array) -> Array:
    """A conversion that hosts without the instruction call, of every value."""
    machine()
    text = f"""declare {target[0]} @{function}({source[0]})
define i64 @f(i64 %0) {{
  %frame = inttoptr i64 %0 to ptr
  %from = load ptr, ptr %frame
  %at = getelementptr ptr, ptr %frame, i64 1
  %to = load ptr, ptr %at
  %x = load {source[0]}, ptr %from
  %y = call {target[0]} @{function}({source[0]} %x)
  store {target[0]} %y, ptr %to
  ret i64 0
}}"""
    with LOCK:
        code = Code(text, level=1)
    result = np.zeros(values.size, target[1])
    for i, value in enumerate(values):
        one = np.array([value], source[1])
        frame = (ctypes.c_uint64 * 2)(one.ctypes.data, result.ctypes.data + i * result.itemsize)
        code.function("f")(ctypes.addressof(frame))
    return result


def same_bits(found: Array, expected: Array) -> None:
    """Equal, NaNs of any payload alike."""
    nans = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nans)
    unsigned = f"u{found.itemsize}"
    np.testing.assert_array_equal(found[~nans].view(unsigned), expected[~nans].view(unsigned))


HALF, BFLOAT, FLOAT, DOUBLE = (
    ("half", np.float16),
    ("bfloat", ml_dtypes.bfloat16),
    ("float", np.float32),
    ("double", np.float64),
)


def test_half_to_float() -> None:
    values: Array = np.arange(0, 1 << 16, 7, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        expected = values.astype(np.float32)
    same_bits(converted("__extendhfsf2", HALF, FLOAT, values), expected)


def hard_values(short: Any) -> Array:
    """Values at, and next to, where rounding to a short type changes; as float64."""
    bits = np.random.default_rng(4).integers(0, 1 << 16, 500).astype(np.uint16)
    exact = bits.view(short).astype(np.float64)
    after = (bits + np.uint16(1)).view(short).astype(np.float64)
    with np.errstate(all="ignore"):
        middle = (exact + after) / 2
        near = [np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    return np.concatenate(
        [exact, middle, *near, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-300, 65519.99, 65520.0]]
    )


@pytest.mark.parametrize("short", [HALF, BFLOAT], ids=["half", "bfloat"])
@pytest.mark.parametrize("long", [FLOAT, DOUBLE], ids=["float", "double"])
def test_rounding_to_short_floats(long: Any, short: Any) -> None:
    with np.errstate(all="ignore"):
        values = hard_values(short[1]).astype(long[1])
        if short is BFLOAT and long is DOUBLE:
            expected = _to_bfloat(values)
        else:
            expected = values.astype(short[1])
    name = f"__trunc{'sf' if long is FLOAT else 'df'}{'hf' if short is HALF else 'bf'}2"
    same_bits(converted(name, long, short, values), expected)


def _to_bfloat(values: Array) -> Array:
    """Rounded once: ml_dtypes goes through float32, so round to odd there."""
    near = values.astype(np.float32)
    wrong = (near.astype(np.float64) != values) & np.isfinite(near)
    bits = near.view(np.uint32).copy()
    bits -= (wrong & (np.abs(near.astype(np.float64)) > np.abs(values))).astype(np.uint32)
    bits |= wrong.astype(np.uint32)
    infinite = np.isinf(near) & np.isfinite(values)
    bits[infinite] = (bits[infinite] & np.uint32(0x80000000)) | np.uint32(0x7F7FFFFF)
    return bits.view(np.float32).astype(ml_dtypes.bfloat16)
