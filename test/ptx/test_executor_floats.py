"""What PTX instructions compute of floats: against exact fractions, or NumPy.

The section numbers are those of the PTX ISA manual, version 8.7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.ptx_numbers import finite, floats, nearest, same
from support.ptx_text import run

import ragged_dialect as rg

Reference = Callable[..., Any]


# 9.7.3, 9.7.4: add, sub, mul, fma with one rounding
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma.rn"])
def test_one_rounding(name: str, kind: str) -> None:
    a, b, c = (finite(floats(kind, 300, seed))[:300] for seed in range(3))
    if name == "fma.rn":
        found = run(f"fma.rn.{kind} %d, %a, %b, %c", [kind] * 3, kind, a, b, c)
        exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    else:
        found = run(f"{name}.{kind} %d, %a, %b", [kind] * 2, kind, a, b)
        operator = {"add": Fraction.__add__, "sub": Fraction.__sub__, "mul": Fraction.__mul__}[name]
        exact = [operator(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    want = np.array([nearest(e, kind) for e in exact])
    zero = np.array([not e for e in exact])
    same(found[~zero], want[~zero])
    assert not found[zero].astype(np.float64).any()


def towards_zero(exact: Fraction) -> Any:
    """A fraction as the f32 next to it that is no larger in size."""
    found = nearest(exact, "f32")
    larger = np.isinf(found) or abs(Fraction(float(found))) > abs(exact)
    return np.nextafter(found, np.float32(0)) if larger else found


# 9.7.3.3, 9.7.3.6: .rz
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_rounding_towards_zero(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (finite(floats("f32", 3000, seed))[:3000] for seed in range(3))
    b[:1000] = np.ldexp(a[:1000], rng.integers(-60, 0, 1000).astype(np.int32))  # so that sums are rounded
    with np.errstate(all="ignore"):
        c[1000:2000] = np.nan_to_num(a * b, posinf=1, neginf=1)[1000:2000]
    operands = "%a, %b, %c" if name == "fma" else "%a, %b"
    given = [a, b, c] if name == "fma" else [a, b]
    operator: Reference = {"add": Fraction.__add__, "sub": Fraction.__sub__, "mul": Fraction.__mul__}.get(
        name, lambda x, y, z: x * y + z
    )
    found = run(f"{name}.rz.f32 %d, {operands}", ["f32"] * len(given), "f32", *given)
    exact = [operator(*(Fraction(float(x)) for x in row)) for row in zip(*given, strict=True)]
    want = np.array([towards_zero(e) for e in exact])
    zero = np.array([not e for e in exact])
    np.testing.assert_array_equal(found[~zero], want[~zero])
    assert not found[zero].any()
    assert (want[~zero] != np.array([nearest(e, "f32") for e in exact])[~zero]).sum() > 100


def test_what_has_no_size_rounded_towards_zero() -> None:
    a = np.array([np.inf, np.inf, np.nan, 0, -0.0, 1e-39, 3e38], np.float32)
    b = np.array([1, -np.inf, 1, -0.0, -0.0, 0, 3e38], np.float32)
    same(run("add.rz.f32 %d, %a, %b", ["f32"] * 2, "f32", a, b),
         np.array([np.inf, np.nan, np.nan, 0, -0.0, 1e-39, np.finfo(np.float32).max], np.float32))  # fmt: skip
    same(run("add.rz.ftz.f32 %d, %a, %b", ["f32"] * 2, "f32", a[5:6].copy(), b[5:6].copy()), np.zeros(1, np.float32))
    same(run("fma.rz.sat.f32 %d, %a, %b, %a", ["f32"] * 2, "f32", a[:2], b[:2]), np.array([1, 0], np.float32))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("text", ["div.rn", "sqrt.rn", "rcp.rn"])
def test_divisions_and_roots(text: str, kind: str) -> None:
    a, b = floats(kind), floats(kind, seed=1)
    with np.errstate(all="ignore"):
        want = {"div.rn": lambda: a / b, "sqrt.rn": lambda: np.sqrt(a), "rcp.rn": lambda: a.dtype.type(1) / a}[text]()
    operands, given = ("%d, %a, %b", [a, b]) if text == "div.rn" else ("%d, %a", [a])
    same(run(f"{text}.{kind} {operands}", [kind] * len(given), kind, *given), want)


# 9.7.3.12: min and max, the other operand for a NaN; .NaN keeps it
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extrema(name: str, kind: str) -> None:
    a, b = floats(kind), floats(kind, seed=1)
    ordered = np.where(a.astype(np.float64) == b.astype(np.float64), 0, 1)
    low = np.where(np.signbit(a.astype(np.float64)), a, b)
    high = np.where(np.signbit(a.astype(np.float64)), b, a)
    for suffix, function in (("", np.fmin if name == "min" else np.fmax), (".NaN", getattr(np, f"{name}imum"))):
        if kind == "f64" and suffix:
            continue
        with np.errstate(all="ignore"):
            want = np.where(ordered, function(a, b), low if name == "min" else high).astype(a.dtype)
        same(run(f"{name}{suffix}.{kind} %d, %a, %b", [kind] * 2, kind, a, b), want)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_signs(kind: str) -> None:
    a = floats(kind)
    same(run(f"neg.{kind} %d, %a", [kind], kind, a), -a)
    same(run(f"abs.{kind} %d, %a", [kind], kind, a), np.abs(a))
    if kind in ("f32", "f64"):
        b = floats(kind, seed=1)
        same(run(f"copysign.{kind} %d, %a, %b", [kind] * 2, kind, a, b), np.copysign(b, a))


COMPARISONS: dict[str, Reference] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": lambda a, b: a != b,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_float_comparisons(name: str, kind: str) -> None:
    a, b = floats(kind), floats(kind, seed=1)
    found = run(f"setp.{name}.{kind} %d, %a, %b", [kind] * 2, "pred", a, b)
    want = COMPARISONS[name](a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(found.astype(bool), want)


# 9.7.3.1: testp
@pytest.mark.parametrize(
    ("name", "reference"),
    [("finite", np.isfinite), ("infinite", np.isinf), ("number", lambda x: ~np.isnan(x)), ("notanumber", np.isnan)],
)
def test_classes(name: str, reference: Reference) -> None:
    for kind in ("f32", "f64"):
        a = floats(kind)
        np.testing.assert_array_equal(run(f"testp.{name}.{kind} %d, %a", [kind], "pred", a).astype(bool), reference(a))


# .ftz and .sat
def test_flush_to_zero() -> None:
    tiny = np.array([1e-39, -1e-39, 1e-30, 2**-126, -0.0, 1e-20], np.float32)
    flushed = np.where(np.abs(tiny) < 2**-126, np.copysign(np.float32(0), tiny), tiny)
    same(run("add.ftz.f32 %d, %a, %b", ["f32"] * 2, "f32", tiny, -0.0 * np.ones(6)), flushed)
    product = run("mul.ftz.f32 %d, %a, %b", ["f32"] * 2, "f32", tiny, np.full(6, 1e-20, np.float32))
    assert not product[2:5].any()


def test_saturation() -> None:
    a = np.array([-1, -0.0, 0.25, 1, 2, np.inf, -np.inf, np.nan], np.float32)
    want = np.array([0, 0, 0.25, 1, 1, 1, 0, 0], np.float32)
    same(run("cvt.sat.f32.f32 %d, %a", ["f32"], "f32", a), want)
    same(run("add.sat.f32 %d, %a, %b", ["f32"] * 2, "f32", a, np.zeros(8)), want)


# 9.7.5: mixed precision, PTX 8.6
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_mixed_precision(kind: str) -> None:
    a, b, c = finite(floats(kind)), finite(floats(kind, seed=1)), finite(floats("f32", seed=2))
    n = min(len(a), len(b), len(c))
    a, b, c = a[:n], b[:n], c[:n]
    with np.errstate(all="ignore"):
        wide = a.astype(np.float32)
        same(run(f"add.rn.f32.{kind} %d, %a, %b", [kind, "f32"], "f32", a, c), wide + c)
        same(run(f"sub.rn.f32.{kind} %d, %a, %b", [kind, "f32"], "f32", a, c), wide - c)
        found = run(f"fma.rn.f32.{kind} %d, %a, %b, %c", [kind, kind, "f32"], "f32", a, b, c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert [float(x) for x in found] == [float(nearest(e, "f32")) for e in exact]


def test_flush_to_zero_of_halves() -> None:
    tiny = np.array([2**-15, -(2**-15), 2**-14, 1], np.float16)
    found = run("add.ftz.f16 %d, %a, %b", ["f16"] * 2, "f16", tiny, -0.0 * np.ones(4, np.float16))
    same(found, np.array([0, -0.0, 2**-14, 1], np.float16))
    found = run("mul.ftz.f16x2 %d, %a, %b", ["f16x2"] * 2, "f16x2", tiny.view(np.uint32), np.full(2, 0x3C003C00, "u4"))
    same(found.view(np.float16), np.array([0, -0.0, 2**-14, 1], np.float16))


# 9.7.3.14, 9.7.3.17: the gross approximations of f64
@pytest.mark.parametrize(("name", "reference"), [("rcp", lambda x: 1 / x), ("rsqrt", lambda x: 1 / np.sqrt(x))])
def test_gross_approximations(name: str, reference: Reference) -> None:
    a = np.concatenate([np.abs(finite(floats("f64"))), [5e-324, 0, np.inf, 1, 3]])
    found = run(f"{name}.approx.ftz.f64 %d, %a", ["f64"], "f64", a)
    upper = (a.view(np.uint64) & 0xFFFFFFFF00000000).view(np.float64)
    with np.errstate(all="ignore"):
        wanted = reference(np.where(upper < 2.0**-1022, 0, upper))
    wanted = np.where(wanted < 2.0**-1022, 0, wanted)
    np.testing.assert_allclose(found, wanted, rtol=2**-20)
    assert not (found.view(np.uint64) & 0xFFFFFFFF).any()


# 9.7.3 (f32x2, PTX 8.6), 9.7.4: packed floats
@pytest.mark.parametrize(("kind", "element"), [("f16x2", "f16"), ("bf16x2", "bf16"), ("f32x2", "f32")])
def test_packed(kind: str, element: str) -> None:
    a, b, c = (finite(floats(element, 100, seed))[:100] for seed in range(3))
    packed = [x.view(np.uint64 if element == "f32" else np.uint32) for x in (a, b, c)]
    for name in ("add", "sub", "mul"):
        found = run(f"{name}.{kind} %d, %a, %b", [kind] * 2, kind, *packed[:2]).view(a.dtype)
        same(found, run(f"{name}.{element} %d, %a, %b", [element] * 2, element, a, b))
    found = run(f"fma.rn.{kind} %d, %a, %b, %c", [kind] * 3, kind, *packed).view(a.dtype)
    same(found, run(f"fma.rn.{element} %d, %a, %b, %c", [element] * 3, element, a, b, c))
    if element == "f32":
        return
    high, low = floats("f32", 100), floats("f32", 100, 1)
    found = run(f"cvt.rn.{kind}.f32 %d, %a, %b", ["f32", "f32"], kind, high, low).view(a.dtype)
    with np.errstate(all="ignore"):
        same(found[::2].copy(), low.astype(a.dtype))
        same(found[1::2].copy(), high.astype(a.dtype))


# 9.7.3.16 to 9.7.3.22: the approximate ones, which are exact here up to the host's library
@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("ex2.approx.f32", np.exp2),
        ("ex2.approx.ftz.f32", np.exp2),
        ("lg2.approx.f32", np.log2),
        ("sin.approx.f32", np.sin),
        ("cos.approx.f32", np.cos),
        ("tanh.approx.f32", np.tanh),
        ("sqrt.approx.f32", np.sqrt),
        ("rcp.approx.f32", lambda x: 1 / x),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
    ],
)
def test_approximate_functions(text: str, reference: Reference) -> None:
    a = (np.random.default_rng(0).standard_normal(200) * 3).astype(np.float32)
    with np.errstate(all="ignore"):
        want = reference(a.astype(np.float64))
    np.testing.assert_allclose(run(f"{text} %d, %a", ["f32"], "f32", a), want, rtol=1e-6, atol=1e-7)


def test_the_largest_of_products_less_itself_is_zero() -> None:
    """Rounded once, the difference would be what the product was rounded by, of which an exponential is taken."""
    x = rg.from_lengths(np.random.default_rng(0).standard_normal(40, np.float32), [3, 0, 37])

    def shares(x: rg.RaggedArray, factor: np.float32) -> rg.RaggedArray:
        product = x * factor
        return np.exp(product - product.max(axis=1, keepdims=True))

    found = rg.jit(shares, target="ptx-emulator")(x, np.float32(3e9))
    assert found.max(axis=1).tolist() == [1, -np.inf, 1]
