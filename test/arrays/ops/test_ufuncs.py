"""Ufuncs and operators against NumPy's on the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, nested
from support.devices import on_a_gpu
from support.refusals import Refusal, refused

import ragged_dialect as rg
from ragged_dialect.arrays.ops.elementwise import UFUNCS

LENGTHS = (3, 0, 5, 4)
TARGETS = ("cpu", "emulator", "ptx-emulator")
INTEGERS = ("invert", "left_shift", "right_shift", "power", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")


def values(dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Twelve numbers, special ones among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        made = (rng.standard_normal(12) * 3).astype(dtype)
        made[:5] = [np.nan, np.inf, -np.inf, 0, -0.0]
        return rng.permutation(made)
    return (rng.random(12) < 0.5) if dtype.kind == "b" else rng.integers(-6, 7, 12).astype(dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufunc(name: str) -> None:
    ufunc = getattr(np, name)
    dtype = np.dtype("i4" if name in INTEGERS else "f4")
    given = [values(dtype if k == 0 or name != "ldexp" else np.dtype("i4"), k) for k in range(ufunc.nin)]
    if name == "power":
        given[1] = np.abs(given[1])
    with np.errstate(all="ignore"):
        expected = ufunc(*given)
        got = ufunc(*(rg.from_lengths(v, LENGTHS) for v in given))
    for a, b in zip(got if ufunc.nout > 1 else (got,), expected if ufunc.nout > 1 else (expected,), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.values.astype(np.float64), b.astype(np.float64), 2e-6, 1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["f2", "f8", "i1", "i8", "?"])
@pytest.mark.parametrize("name", ["add", "divide", "floor_divide", "remainder", "exp", "less"])
def test_dtypes(name: str, dtype: str) -> None:
    ufunc = getattr(np, name)
    given = [values(np.dtype(dtype), k) for k in range(ufunc.nin)]
    with np.errstate(all="ignore"):
        expected = ufunc(*given)
        got = ufunc(*(rg.from_lengths(v, LENGTHS) for v in given))
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.values.astype(np.float64), expected.astype(np.float64), 2e-3)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_structures(lengths: tuple[int, ...]) -> None:
    x, y = array(lengths), array(lengths, seed=1)
    assert_components(x * y - 2 * x, [a * b - 2 * a for a, b in zip(components(x), components(y), strict=True)])


OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: 2 - a, lambda a, b: a / b, lambda a, b: 1.5 * a, lambda a, b: a // 2,
    lambda a, b: 7 % b, lambda a, b: a**2, lambda a, b: -a, lambda a, b: abs(a), lambda a, b: a < b,
    lambda a, b: a != b, lambda a, b: a >= 1, lambda a, b: (a > 0) & (b > 0), lambda a, b: ~(a > 0) | (b > 0),
    lambda a, b: divmod(a, b)[0], lambda a, b: +a,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operator(operator: Callable[[Any, Any], Any]) -> None:
    x, y = array(LENGTHS), array(LENGTHS, seed=1)
    with np.errstate(all="ignore"):
        expected = operator(x.values, y.values)
    got = operator(x, y)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.values, expected, 1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(), (4,), (1,), (4, 1, 4), (1, 1, 4), (4, 1, 1), (4, 7, 4), (4, 5, 1)])
def test_broadcast_of_dense_arrays(shape: tuple[int, ...]) -> None:
    """Scalars, features, one row per component, and padded arrays."""
    x, other = array(LENGTHS), np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected: list[Any] = []
    for k, part in enumerate(components(x)):
        own = other if other.ndim < 3 else other[k if other.shape[0] > 1 else 0]
        expected.append(part + (own[: len(part)] if other.ndim == 3 and own.shape[0] > 1 else own))
    assert_components(x + other, expected)
    assert_components(other + x, expected)


def test_broadcast_of_a_level_less() -> None:
    x = nested(((3, 0), (), (5, 2)), (2,))
    inner = x.sum((2, 3), keepdims=True)
    got = (x - inner).tolist()
    expected = [[[[v - sum(map(sum, row)) for v in item] for item in row] for row in outer] for outer in x.tolist()]
    np.testing.assert_allclose(got[0][0], expected[0][0], 1e-6)
    np.testing.assert_allclose(got[2][1], expected[2][1], 1e-6)


def test_results_share_the_structure() -> None:
    x = array(LENGTHS)
    y = np.exp(x) + 1
    assert y.structure(0) is x.structure(0)


def test_structures_are_compared_by_value() -> None:
    assert_components(array(LENGTHS) + array(LENGTHS), [2 * c for c in components(array(LENGTHS))])


def test_numbers_do_not_compile_again() -> None:
    x = array(LENGTHS)
    assert (x * 3).dtype == np.float32
    before = rg.compilations()
    for number in (4, 5, -6):
        assert_components(x * number, [c * number for c in components(x)])
    assert_components(array((1, 2)) * 9, [c * 9 for c in components(array((1, 2)))])
    assert rg.compilations() == before


def test_where_clip_astype_erf() -> None:
    x = array(LENGTHS)
    parts = components(x)
    assert_components(rg.where(x > 0, x, 0), [np.where(c > 0, c, 0) for c in parts])
    assert_components(x.clip(-0.5, 0.5), [c.clip(-0.5, 0.5) for c in parts])
    assert_components(x.clip(min=0), [c.clip(0) for c in parts])
    assert x.astype(np.int64, copy=False).dtype == np.astype(x, np.int64, copy=False).dtype == np.int64
    assert_components((x * 3).astype(np.int8), [(c * 3).astype(np.int8) for c in parts])
    assert abs(rg.erf(rg.ragged([[0.5]])).tolist()[0][0] - 0.5204999) < 1e-6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_choices_of_short_floats_keep_all_bits(dtype: str) -> None:
    bits = np.arange(2**16).astype(np.uint16)
    values = bits.view(ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16)
    x, chosen = rg.from_lengths(values, [2**16 - 5, 0, 5]), rg.from_lengths(bits % 3 == 0, [2**16 - 5, 0, 5])
    got = rg.where(chosen, x, 0).values.view(np.uint16)
    np.testing.assert_array_equal(got, np.where(bits % 3 == 0, bits, 0))
    np.testing.assert_array_equal(abs(x).values.view(np.uint16), bits & 0x7FFF)
    other = rg.from_lengths(values[::-1].copy(), [2**16 - 5, 0, 5])
    signs = bits & 0x7FFF | ~bits & 0x8000
    np.testing.assert_array_equal(np.copysign(x, other).values.view(np.uint16), signs)


def test_windows_conform_with_what_they_show() -> None:
    x = array((3, 1, 5))
    rest = x[:, 1:]
    assert_components(rest * 2, [c[1:] * 2 for c in components(x)])
    assert_components(rest + x[:, :-1], [c[1:] + c[:-1] for c in components(x)])


REFUSED: list[Refusal] = [
    (lambda x: x + array((3, 1, 4, 4)), rg.RuntimeCheckError, "add: level 1, component 1: expected length 0, got 1"),
    (lambda x: x + array((3, 0, 5)), rg.RuntimeCheckError, "add: level 0: expected 4 components, got 3"),
    (lambda x: x + np.ones(5, np.float32), rg.RuntimeCheckError, "add: dim 2: expected extent 4, got 5"),
    (lambda x: x + np.ones((3, 1, 4)), rg.RuntimeCheckError, "add: dim 0: expected extent 4, got 3"),
    (lambda x: x + np.ones((4, 4, 4)), rg.RuntimeCheckError,
     "add: level 1, component 2: expected extent >= length 5, got 4"),
    (lambda x: x.astype(np.int8) + 300, rg.RuntimeCheckError, "add: expected a number in [-128, 127], got 300"),
    (lambda x: x & x, TypeError, "bitwise_and: expected dtypes that NumPy's bitwise_and takes, got float32"),
    (lambda x: x + "a", TypeError, "add: expected an array or a number, got str"),
    (lambda x: x + x[..., 0], rg.LayoutError, 'add: expected layouts whose ragged axes line up, got "dr|d" and "dr"'),
    (lambda x: x + np.ones(4, np.uint8), TypeError, "expected a dtype of bool, int8 to int64"),
    (lambda x: rg.jit(lambda a: a.astype(np.int8) + 300)(x), ValueError,
     "add: expected a number in [-128, 127], got 300"),
    (lambda x: x + on_a_gpu(x), TypeError, "add: expected arrays on one device, got cpu and cuda:0"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


def assert_as_numpy(ufunc: Any, *given: np.ndarray[Any, Any]) -> None:
    """The same numbers as NumPy's, with their signs."""
    with np.errstate(all="ignore"):
        expected = ufunc(*given)
        got = ufunc(*(rg.from_lengths(v, [v.size]) for v in given))
    for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, expected)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.values.astype(np.float64), b.astype(np.float64))
        if b.dtype.kind == "f":
            assert np.signbit(a.values)[b == b].tolist() == np.signbit(b)[b == b].tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_at_the_ends_of_their_range(dtype: Any) -> None:
    info = np.finfo(dtype)
    ends = [
        0.0,
        np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        info.tiny * 1.5 + info.smallest_subnormal,
        1.3,
    ]
    x = np.array([*ends, *np.negative(ends), 128, -128, -0.5], dtype)
    assert_as_numpy(np.spacing, x)
    for exponents in ([-3000, 3000, 0, 1], range(-170, 170, 3), range(-2100, 2100, 97), [2**31 - 1, -(2**31)]):
        x, exponent = (v.ravel() for v in np.meshgrid(x, np.array(exponents, np.int32)))
        assert_as_numpy(np.ldexp, x[:2000], exponent[:2000])


def test_ldexp_of_integers_and_exponents_of_64_bits() -> None:
    assert_as_numpy(np.ldexp, np.array([0, 3, -1], np.int8), np.array([63, -20, 7], np.int8))
    assert_as_numpy(np.ldexp, np.array([0.0, 3, 1]), np.array([2**62, -(2**62), 40]))


def test_short_floats_are_rounded_once() -> None:
    x = np.array([180.2, 0.1, 0.3, -127.0, 60000.0, 1e-7], np.float16)
    assert_as_numpy(np.hypot, x, x[::-1].copy())
    assert_as_numpy(np.logaddexp, x, x[::-1].copy())
    assert_as_numpy(np.frexp, x)
    mantissa, exponent = np.frexp(rg.from_lengths(x.astype(ml_dtypes.bfloat16), [x.size]))
    wanted = np.frexp(x.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert (mantissa.dtype, exponent.dtype) == (ml_dtypes.bfloat16, np.int32)
    assert [mantissa.values.tolist(), exponent.values.tolist()] == [wanted[0].tolist(), wanted[1].tolist()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_integers_at_the_ends_of_their_range(dtype: Any) -> None:
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, -3, -2, -1, 0, 1, 2, 6, info.max // 2 + 1, info.max - 1, info.max], dtype)
    a, b = (v.ravel() for v in np.meshgrid(ends, ends))
    for ufunc in (np.lcm, np.gcd, np.isclose):
        assert_as_numpy(ufunc, a, b)
    assert_as_numpy(np.isclose, a > 0, b > 0)


def as_numpy_on(target: str, function: Callable[..., Any], *given: np.ndarray[Any, Any]) -> None:
    """The numbers that a function of arrays has of the same ones elsewhere, on a target."""
    with np.errstate(all="ignore"):
        expected = function(*given)
    got = rg.jit(function, target=target)(*(rg.from_lengths(v, [v.size]) for v in given))
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.values, expected)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_shifts_by_any_amount(dtype: Any, target: str) -> None:
    """PTX's instructions have 32 bits of an amount."""
    info, bits = np.iinfo(dtype), np.iinfo(dtype).bits
    some = [0, 1, bits - 1, bits, bits + 1, -1, info.min, info.max]
    some += [n for n in (2**31, 2**32, 2**32 + 3, -(2**32)) if info.min <= n <= info.max]
    x, amounts = (v.ravel() for v in np.meshgrid(np.array([1, -5, info.max], dtype), np.array(some, dtype)))
    for ufunc in (np.left_shift, np.right_shift):
        as_numpy_on(target, ufunc, x, amounts)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_signs_of_integers(dtype: Any, target: str) -> None:
    info = np.iinfo(dtype)
    as_numpy_on(target, np.sign, np.array([0, 1, -1, info.min, info.max], dtype))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_powers_of_integers(dtype: Any, target: str) -> None:
    """NumPy refuses negative ones; 0 to such a power is a quotient by 0, which is 0."""
    base, exponent = (v.ravel() for v in np.meshgrid(np.array([0, 1, -1, 2, -3], dtype), np.arange(-3, 4, dtype=dtype)))
    x, y = (rg.from_lengths(v, [v.size]) for v in (base, exponent))
    got = rg.jit(lambda x, y: x**y, target=target)(x, y)
    wanted = [
        int(a) ** int(b) if b >= 0 else {1: 1, -1: (-1) ** int(-b)}.get(int(a), 0)
        for a, b in zip(base, exponent, strict=True)
    ]
    assert got.values.tolist() == wanted


LARGE = [200.0, -300.0, 30000.0, 2e5, -1e6, 1e10, 2.0**31, 2.0**62, 2.0**63, -(2.0**63), np.inf, -np.inf, np.nan, -0.9,
         3.99, -128.9]  # fmt: skip


def as_integers(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Floats as integers of 32 bits, or of 64 for those, which the least one stands for if out of range; then cut."""
    wide = np.iinfo(max(dtype, np.dtype("i4"), key=lambda d: d.itemsize))
    whole = [int(v) if abs(v) < 2.0 ** (wide.bits - 1) else wide.min for v in x.astype(np.float64).tolist()]
    return np.array(whole, wide.dtype).astype(dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("target", "features"), [*((target, "") for target in TARGETS), ("cpu", "-avx512f"), ("cpu", "-avx2")]
)
def test_floats_as_integers(target: str, features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of range as NumPy on x86."""
    if features:
        monkeypatch.setenv("RAGGED_CPU_FEATURES", features)
    for source in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        with np.errstate(all="ignore"):
            x = np.array(LARGE).astype(source)
        names = ("i1", "i2", "i4", "i8")
        got = rg.jit(lambda a: [a.astype(n) for n in names], target=target)(rg.from_lengths(x, [x.size]))
        for found, name in zip(got, names, strict=True):
            np.testing.assert_array_equal(found.values, as_integers(x, np.dtype(name)), err_msg=f"{source} to {name}")
        assert rg.jit(lambda a: a.astype(bool), target=target)(rg.from_lengths(x, [x.size])).values.all()


@pytest.mark.parametrize("number", [2, -2, 0.5, 0, 1, 0.0, np.int64(2), True])
@pytest.mark.parametrize("call", [rg.jit, lambda f: f], ids=["jit", "eager"])
def test_numbers_as_booleans(call: Any, number: Any) -> None:
    """Any number but 0 is true, also where the code has it."""
    x, b = rg.ragged([[1.0, 2.0], [3.0]]), rg.ragged([[True, False], [True]])
    chosen = call(lambda x: rg.where(number, x, 9.0))(x)
    np.testing.assert_array_equal(chosen.values, np.where(number, x.values, 9.0))
    for name in ("logical_and", "logical_or", "logical_xor"):
        function = getattr(np, name)
        made = call(lambda b, function=function: function(b, number))(b)
        np.testing.assert_array_equal(made.values, function(b.values, number))
