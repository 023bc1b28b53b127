"""What every PTX instruction computes: against Python's integers and exact fractions, or NumPy.

The section numbers are those of the PTX ISA manual, version 8.7.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.ptx_text import DTYPES, run

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

Reference = Callable[..., Any]


def words(kind: str, rng: np.random.Generator, count: int) -> list[int]:
    """Integers of a type: the ends of its range, small ones, and random ones."""
    bits, signed = TYPES[kind].bits, TYPES[kind].signed
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    some = [low, low + 1, high, high - 1, 0, 1, 2, 7, 31, 32, 33, high // 2, low // 2]
    return [*some, *(int(rng.integers(low, high, endpoint=True, dtype=DTYPES[kind])) for _ in range(count - len(some)))]


def wrapped(number: int, kind: str) -> int:
    """A number as its bits in a type are read."""
    bits = TYPES[kind].bits
    number &= (1 << bits) - 1
    return number - (1 << bits) if TYPES[kind].signed and number >> bits - 1 else number


def shifted(a: int, n: int, kind: str) -> int:
    return a >> min(n, TYPES[kind].bits)


def extracted(a: int, start: int, length: int) -> int:
    """`a` has as many copies of its sign as are asked for."""
    start, length = start & 255, length & 255
    field = a >> start & (1 << length) - 1
    return field - (1 << length) if a < 0 and length and field >> length - 1 else field


def permuted(a: int, b: int, s: int) -> int:
    data, result = (b << 32 | a).to_bytes(8, "little"), 0
    for k in range(4):
        byte = data[s >> 4 * k & 7]
        result |= (255 * (byte >> 7) if s >> 4 * k & 8 else byte) << 8 * k
    return result


# 9.7.1 Integer arithmetic, 9.7.5 extended, 9.7.6 comparison and selection, 9.7.8 logic and shift
INTEGERS: list[tuple[str, str, str, Reference]] = []
for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
    wide, t2 = TYPES[kind].bits, f"{kind} {kind}"
    INTEGERS += [
        (f"add.{kind} %d, %a, %b", t2, kind, lambda a, b: a + b),
        (f"sub.{kind} %d, %a, %b", t2, kind, lambda a, b: a - b),
        (f"mul.lo.{kind} %d, %a, %b", t2, kind, lambda a, b: a * b),
        (f"mul.hi.{kind} %d, %a, %b", t2, kind, lambda a, b, n=wide: a * b >> n),
        (f"mad.lo.{kind} %d, %a, %b, %c", f"{t2} {kind}", kind, lambda a, b, c: a * b + c),
        (f"min.{kind} %d, %a, %b", t2, kind, min),
        (f"max.{kind} %d, %a, %b", t2, kind, max),
        (f"setp.lt.{kind} %d, %a, %b", t2, "pred", lambda a, b: a < b),
        (f"setp.le.{kind} %d, %a, %b", t2, "pred", lambda a, b: a <= b),
        (f"setp.gt.{kind} %d, %a, %b", t2, "pred", lambda a, b: a > b),
        (f"setp.ge.{kind} %d, %a, %b", t2, "pred", lambda a, b: a >= b),
        (f"setp.eq.{kind} %d, %a, %b", t2, "pred", lambda a, b: a == b),
        (f"setp.ne.{kind} %d, %a, %b", t2, "pred", lambda a, b: a != b),
        *([(f"bfe.{kind} %d, %a, %b, %c", f"{kind} u32 u32", kind, extracted)] if wide > 16 and kind[0] == "u" else []),
        (f"shr.{kind} %d, %a, %b", f"{kind} u32", kind, lambda a, n, k=kind: shifted(a, n, k)),
    ]
    if wide < 64:
        double = kind[0] + str(2 * wide)
        INTEGERS += [
            (f"mul.wide.{kind} %d, %a, %b", t2, double, lambda a, b: a * b),
            (f"mad.wide.{kind} %d, %a, %b, %c", f"{t2} {double}", double, lambda a, b, c: a * b + c),
        ]
for n in (16, 32, 64):
    bits = f"b{n}"
    INTEGERS += [
        (f"and.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a & b),
        (f"or.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a | b),
        (f"xor.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a ^ b),
        (f"not.{bits} %d, %a", bits, bits, lambda a: ~a),
        (f"shl.{bits} %d, %a, %b", f"{bits} u32", bits, lambda a, k, w=n: a << min(k, w)),
        (f"neg.s{n} %d, %a", f"s{n}", f"s{n}", lambda a: -a),
        (f"abs.s{n} %d, %a", f"s{n}", f"s{n}", abs),
        (f"selp.{bits} %d, %a, %b, %c", f"{bits} {bits} pred", bits, lambda a, b, p: a if p else b),
        (f"@%b mov.{bits} %d, %a;\n@!%b mov.{bits} %d, 5", f"{bits} pred", bits, lambda a, p: a if p else 5),
    ]
INTEGERS += [
    ("max.relu.s32 %d, %a, %b", "s32 s32", "s32", lambda a, b: max(a, b, 0)),
    ("min.relu.s32 %d, %a, %b", "s32 s32", "s32", lambda a, b: max(min(a, b), 0)),
    ("prmt.b32 %d, %a, %b, %c", "b32 b32 b32", "b32", permuted),
    ("shf.l.wrap.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    ("shf.l.clamp.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    ("shf.r.wrap.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) >> (n & 31)),
    ("shf.r.clamp.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    ("popc.b32 %d, %a", "b32", "u32", int.bit_count),
    ("popc.b64 %d, %a", "b64", "u32", int.bit_count),
    ("clz.b32 %d, %a", "b32", "u32", lambda a: 32 - a.bit_length()),
    ("clz.b64 %d, %a", "b64", "u32", lambda a: 64 - a.bit_length()),
    ("brev.b32 %d, %a", "b32", "b32", lambda a: int(f"{a:032b}"[::-1], 2)),
    ("brev.b64 %d, %a", "b64", "b64", lambda a: int(f"{a:064b}"[::-1], 2)),
    ("setp.lo.u32 %d, %a, %b", "u32 u32", "pred", lambda a, b: a < b),
    ("setp.hs.u64 %d, %a, %b", "u64 u64", "pred", lambda a, b: a >= b),
    ("setp.lt.and.s32 %d, %a, %b, %c", "s32 s32 pred", "pred", lambda a, b, p: a < b and p),
    ("setp.lt.or.s32 %d, %a, %b, !%c", "s32 s32 pred", "pred", lambda a, b, p: a < b or not p),
    ("setp.eq.s32 %p8|%d, %a, %b", "s32 s32", "pred", lambda a, b: a != b),
    ("and.pred %d, %a, %b", "pred pred", "pred", lambda a, b: a and b),
    ("xor.pred %d, %a, %b", "pred pred", "pred", lambda a, b: a != b),
    ("not.pred %d, %a", "pred", "pred", lambda a: not a),
    ("mov.b32 %d, {%a, %b}", "b16 b16", "b32", lambda a, b: a | b << 16),
    ("mov.b64 %d, {%a, %b}", "b32 b32", "b64", lambda a, b: a | b << 32),
    ("mov.b64 {%r8, %d}, %a", "b64", "b32", lambda a: a >> 32),
    ("mov.b32 {%d, %rs8}, %a", "b32", "b16", lambda a: a),
    ("{ .reg .pred __$t; setp.lt.s32 __$t, %a, %b; selp.s32 %d, %a, %b, __$t; }", "s32 s32", "s32", min),
]
# 9.7.9.22 cvt between integers: cut, or filled up as the source says
for source, target in itertools.product(("s16", "u16", "s32", "u32", "s64", "u64"), repeat=2):
    if source != target:
        INTEGERS.append((f"cvt.{target}.{source} %d, %a", source, target, lambda a: a))


@pytest.mark.parametrize(("text", "sources", "target", "reference"), INTEGERS, ids=[row[0] for row in INTEGERS])
def test_integers(text: str, sources: str, target: str, reference: Reference) -> None:
    rng, kinds = np.random.default_rng(0), sources.split()
    given = [rng.permutation(np.array(words(k, rng, 96) if k != "pred" else [0, 1] * 48, object)) for k in kinds]
    if "u32" in kinds[1:] and text.startswith(("sh", "shf")):
        given[-1][:64] = range(64)
    found = run(text, kinds, target, *given)
    for k, row in enumerate(zip(*given, strict=True)):
        want = reference(*map(int, row))
        want = bool(want) if target == "pred" else wrapped(int(want), target)
        assert int(found[k]) == want, (text, row)


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_division_rounds_to_zero(kind: str) -> None:
    rng = np.random.default_rng(1)
    a = np.array(words(kind, rng, 64), object)
    b = np.array([n or 3 for n in rng.permutation(np.array(words(kind, rng, 64), object))], object)
    quotient, rest = (run(f"{name}.{kind} %d, %a, %b", [kind, kind], kind, a, b) for name in ("div", "rem"))
    for k in range(len(a)):
        exact = abs(a[k]) // abs(b[k]) * (-1 if (a[k] < 0) != (b[k] < 0) else 1)
        assert int(quotient[k]) == wrapped(exact, kind)
        assert int(rest[k]) == a[k] - exact * b[k]


def test_division_by_zero_is_reported() -> None:
    with pytest.raises(EmulatorError, match="expected a divisor other than 0, got 0"):
        run("div.s32 %d, %a, %b", ["s32", "s32"], "s32", [1], [0])


# Floats: exact fractions, rounded once to nearest even --------------------------------------------------
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1.5, np.inf, -np.inf, np.nan)


def floats(kind: str, count: int = 200, seed: int = 0) -> Any:
    """Numbers of a type by random bits, so that all magnitudes come, and the special ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(DTYPES[kind])
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=f"u{dtype.itemsize}").view(dtype)
    near = (rng.standard_normal(count) * 4).astype(dtype)
    made = rng.permutation(np.concatenate([bits, near, np.array(SPECIAL * 4).astype(dtype)]))
    with np.errstate(all="ignore"):  # signalling NaNs, which become quiet ones
        made[np.isnan(made.astype(np.float64))] = np.nan
    return made


def same(found: Any, want: Any) -> None:
    """Equal bits, but for NaNs."""
    width = f"u{found.dtype.itemsize}"
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    np.testing.assert_array_equal(found.view(width)[~nan], want.view(width)[~nan])


def nearest(exact: Fraction, kind: str) -> Any:
    """A fraction as the nearest number of a type, ties to even."""
    dtype = np.dtype(DTYPES[kind])
    info: Any = ml_dtypes.finfo(dtype) if kind == "bf16" else np.finfo(dtype)
    if not exact:
        return dtype.type(0)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    count = round(size / step)  # Python rounds ties to even
    value = count * step
    if value > Fraction(float(info.max)):
        return dtype.type(np.inf if exact > 0 else -np.inf)
    return dtype.type(float(value) * (1 if exact > 0 else -1))


def finite(values: Any) -> Any:
    return values[np.isfinite(values.astype(np.float64))]


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


ROUNDINGS = [("rzi", np.trunc), ("rni", np.rint), ("rmi", np.floor), ("rpi", np.ceil)]


# 9.7.9.22: cvt
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_conversions_of_floats(source: str, target: str) -> None:
    if source == target or {source, target} == {"f16", "bf16"}:
        return
    a = floats(source, 400)
    narrowing = TYPES[target].bits < TYPES[source].bits
    found = run(f"cvt{'.rn' if narrowing else ''}.{target}.{source} %d, %a", [source], target, a)
    fine = np.isfinite(a.astype(np.float64))
    want = np.array([nearest(Fraction(float(x)), target) if ok else 0 for x, ok in zip(a, fine, strict=True)])
    zero = a.astype(np.float64) == 0
    same(found[fine & ~zero], want.astype(DTYPES[target])[fine & ~zero])
    with np.errstate(all="ignore"):
        same(found[~fine | zero], a[~fine | zero].astype(DTYPES[target]))


@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_integers_to_floats(source: str, target: str) -> None:
    halves = [257, 0x1010001, 0x1010000FF, 0x101000000000001, 0x1FEFFFFFFFFFFFFF]  # of bf16, or beside them
    fitting = [n for n in halves if n < 1 << TYPES[source].bits - 1]
    opposite = [-n for n in fitting] if TYPES[source].signed else []
    a = np.array([*words(source, np.random.default_rng(0), 100), *fitting, *opposite], object)
    found = run(f"cvt.rn.{target}.{source} %d, %a", [source], target, a)
    assert [float(x) for x in found] == [float(nearest(Fraction(int(x)), target)) for x in a]


@pytest.mark.parametrize(("mode", "reference"), ROUNDINGS)
@pytest.mark.parametrize("target", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_floats_to_integers(source: str, target: str, mode: str, reference: Reference) -> None:
    """Clamped; a NaN gives 0, or the highest bit where a side has 64 bits."""
    a = np.concatenate([floats(source), np.array([0.5, -0.5, 2.5, -2.5, 1e4, 3e4, -3e4], DTYPES[source])])
    found = run(f"cvt.{mode}.{target}.{source} %d, %a", [source], target, a)
    info = np.iinfo(DTYPES[target])
    for x, got in zip(a.astype(np.float64), found, strict=True):
        if np.isnan(x):
            highest = 1 << TYPES[target].bits - 1
            want = wrapped(highest, target) if source == "f64" or target.endswith("64") else 0
        elif np.isinf(x):
            want = info.max if x > 0 else info.min
        else:
            want = min(max(int(reference(x)), int(info.min)), int(info.max))
        assert int(got) == want, (x, mode)


@pytest.mark.parametrize(("mode", "reference"), ROUNDINGS)
def test_rounding_to_integral_numbers(mode: str, reference: Reference) -> None:
    for kind in ("f32", "f64"):
        a = floats(kind)
        same(run(f"cvt.{mode}.{kind}.{kind} %d, %a", [kind], kind, a), reference(a))


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


# 5.2: a register wider than the access
@pytest.mark.parametrize(("kind", "want"), [("u8", 0xFE), ("b8", 0xFE), ("s8", -2)])
def test_narrow_loads_fill_up(kind: str, want: int) -> None:
    text = f"st.global.b8 [%rd20], 254;\nld.global.{kind} %d, [%rd20]"
    assert int(run(text, ["b32"], "s32", [7])[0]) == want


def test_unknown_instructions_are_refused() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nwgmma.fence.sync.aligned;\nret;\n}\n"
    with pytest.raises(EmulatorError, match=r"line 6: expected a PTX instruction that the executor knows, got wgmma"):
        PtxExecutor(text).launch("k", (1, 1, 1), (1, 1, 1), [])


@pytest.mark.parametrize("text", ["add.sat.s32 %d, %a, %b", "setp.weird.s32 %d, %a, %b", "cvt.rz.f16.f32 %d, %a"])
def test_unknown_modifiers_are_refused(text: str) -> None:
    with pytest.raises(EmulatorError, match="expected"):
        run(text, ["b32", "b32"], "b32", [1], [1])
