"""Accuracy of the math prelude, measured by running its LLVM IR on the host.

The special-function instructions are modelled as correctly rounded results that are then moved by
the error which NVIDIA documents for them, in both directions: ex2 two ulp, rcp one.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.typing import NDArray

from ragged_dialect.ptx import backend
from ragged_dialect.ptx.emission import fast_prelude, prelude

Floats = NDArray[Any]

_HOST = """
declare double @exp2(double)
declare double @log2(double)
@direction = global i32 0
define float @moved(float %x, i32 %ulps) {
  %d = load i32, ptr @direction
  %by = mul i32 %d, %ulps
  %bits = bitcast float %x to i32
  %sum = add i32 %bits, %by
  %moved = bitcast i32 %sum to float
  %a = call float @llvm.fabs.f32(float %x)
  %above = fcmp ogt float %a, 0x3810000000000000
  %below = fcmp olt float %a, 0x47D0000000000000
  %normal = and i1 %above, %below
  %r = select i1 %normal, float %moved, float %x
  ret float %r
}
define float @host.ex2.approx.f32(float %x) {
  %w = fpext float %x to double
  %p = call double @exp2(double %w)
  %n = fptrunc double %p to float
  %r = call float @moved(float %n, i32 2)
  ret float %r
}
define float @host.ex2.approx.ftz.f32(float %x) {
  %p = call float @host.ex2.approx.f32(float %x)
  %subnormal = fcmp olt float %p, 0x3810000000000000
  %r = select i1 %subnormal, float 0.0, float %p
  ret float %r
}
define float @host.lg2.approx.f(float %x) {
  %w = fpext float %x to double
  %p = call double @log2(double %w)
  %r = fptrunc double %p to float
  ret float %r
}
define float @host.rcp.approx.ftz.f(float %x) {
  %q = fdiv float 1.0, %x
  %r = call float @moved(float %q, i32 1)
  ret float %r
}
define float @host.rsqrt.approx.f(float %x) {
  %s = call float @llvm.sqrt.f32(float %x)
  %r = fdiv float 1.0, %s
  ret float %r
}
define float @host.saturate.f(float %x) {
  %positive = fcmp ogt float %x, 0.0
  %low = select i1 %positive, float %x, float 0.0
  %above = fcmp ogt float %low, 1.0
  %r = select i1 %above, float 1.0, float %low
  ret float %r
}
declare float @llvm.sqrt.f32(float)
"""
_LOOP = """
define void @sweep.NAME(ptr %in, ptr %out, i64 %n) {
  br label %body
body:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %a = getelementptr float, ptr %in, i64 %i
  %b = getelementptr float, ptr %out, i64 %i
  %x = load float, ptr %a
  %y = call float @__nv_NAME(float %x)
  store float %y, ptr %b
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}
"""
_NAMES = ("expf", "exp2f", "expm1f", "logf", "log1pf", "log2f", "log10f", "tanhf", "erff", "sinf", "cosf")


@cache
def _engine() -> Any:
    """The accurate functions, compiled for the host."""
    text = prelude()
    text = text[: text.index("define linkonce_odr float @__nv_rsqrtf")]
    text = re.sub(r"^declare .*@llvm\.nvvm\..*\n", "", text, flags=re.M).replace("@llvm.nvvm.", "@host.")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    module = backend.parse(_HOST + text + "".join(_LOOP.replace("NAME", name) for name in _NAMES))
    module.triple = llvm.get_default_triple()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def evaluate(name: str, x: Floats, direction: int = 0) -> Floats:
    """A function of the prelude on f32 values, with the instructions' errors in a direction."""
    with backend.LOCK:
        engine = _engine()
        ctypes.c_int32.from_address(engine.get_global_value_address("direction")).value = direction
        sweep = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            engine.get_function_address(f"sweep.{name}")
        )
        x = np.ascontiguousarray(x, np.float32)
        y = np.empty_like(x)
        sweep(x.ctypes.data, y.ctypes.data, x.size)
    return y


def ulps(got: Floats, exact: Floats) -> Floats:
    """Errors of f32 results in units of their last place; exact values are f64."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        error = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(rounded)).astype(np.float64)
        same = (got == rounded) | (np.isnan(got) & np.isnan(exact))
    return np.where(same & ~np.isfinite(rounded), 0, error)


def sweep_values(step: int) -> Floats:
    """Every `step`-th f32, of both signs, infinities and NaN among them."""
    bits = np.arange(0, 0x7F800000, step, dtype=np.uint32)
    x = np.concatenate([bits, np.array([0x7F800000, 0x7FC00000, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF], np.uint32)])
    return np.concatenate([x, x | np.uint32(0x80000000)]).view(np.float32)


def _erf(x: Floats) -> Floats:
    return np.array([math.erf(v) for v in x.tolist()])


# The reference, and the bound of docs/ptx.md in ulp.
BOUNDS: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "expf": (np.exp, 3.5),
    "exp2f": (np.exp2, 3.5),
    "expm1f": (np.expm1, 1.6),
    "logf": (np.log, 0.9),
    "log1pf": (np.log1p, 1.6),
    "log2f": (np.log2, 1.0),
    "log10f": (np.log10, 1.0),
    "tanhf": (np.tanh, 2.5),
    "erff": (_erf, 1.8),
    "sinf": (np.sin, 1.8),
    "cosf": (np.cos, 1.8),
}


def worst(name: str, step: int) -> tuple[float, float]:
    """The largest error of a function in ulp over a sweep, and where it is."""
    reference, _ = BOUNDS[name]
    x = sweep_values(step)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
    errors = np.max([ulps(evaluate(name, x, d), exact) for d in (-1, 0, 1)], axis=0)
    at = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
    return float(errors[at]), float(x[at])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BOUNDS)
def test_error_bound(name: str) -> None:
    error, at = worst(name, 200_003 if name == "erff" else 2503)
    assert error <= BOUNDS[name][1], f"{error} ulp at {at!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDS)
def test_error_bound_densely(name: str) -> None:
    error, at = worst(name, 4001 if name == "erff" else 307)
    assert error <= BOUNDS[name][1], f"{error} ulp at {at!r}"


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e38, -3e38, 1e-45, -1e-45], np.float32)


@pytest.mark.parametrize("name", BOUNDS)
def test_special_values(name: str) -> None:
    with np.errstate(all="ignore"):
        exact = BOUNDS[name][0](SPECIAL.astype(np.float64)).astype(np.float32)
    got = evaluate(name, SPECIAL)
    np.testing.assert_allclose(got, exact, rtol=3e-7, atol=0)
    assert (np.signbit(got) == np.signbit(exact))[~np.isnan(exact)].all()


def test_errors_are_seen() -> None:
    """The measure itself: one ulp off is one, and the modelled instructions do move."""
    x = np.array([1.0, 2.0], np.float32)
    assert ulps(np.nextafter(x, np.float32(9)), x.astype(np.float64)).tolist() == [1.0, 1.0]
    assert (evaluate("exp2f", x, 1) > evaluate("exp2f", x, 0)).all()


def test_fast_functions_stand_in_for_accurate_ones() -> None:
    text = fast_prelude()
    for name in re.findall(r"@__nv_fast_(\w+)\(", text):
        assert f"@__nv_{name}(" in text
        assert f"define linkonce_odr float @__nv_fast_{name}(" in prelude()


def test_documented_bounds(root: Path) -> None:
    text = (root / "docs" / "ptx.md").read_text()
    documented = {f"{name}f": float(bound) for name, bound in re.findall(r"^\| (\w+) \| ([\d.]+) \|", text, re.M)}
    assert documented == {name: bound for name, (_, bound) in BOUNDS.items()}
