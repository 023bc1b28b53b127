"""Derive the polynomial coefficients of the math expansion: `python benchmarks/math_coefficients.py`.

Each polynomial is the minimax fit, over its interval, of the error of the function it is part of.
The fit is a weighted least-squares fit whose weights are moved to where the error is largest
(Lawson's iteration). Coefficients of float32 polynomials are then rounded one by one, lowest order
first, and the rest is fitted again around the rounded ones. Those of float64 interpolate. The printed tuples are
those in `lowering/math/*.py`, lowest order first, with the largest error of the fit in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

Function = Callable[[float], float]
_LN2_HALF = math.log(2) / 2 * 1.001


@dataclass(frozen=True)
class Fit:
    """`function(x)` is approximated by `sum(c[i] * x**powers[i])` on `interval`, error times `scale(x)` minimal."""

    name: str
    function: Function
    interval: tuple[float, float]
    powers: Sequence[int]
    scale: Function
    single: bool = True
    bits: int = 26


def _series(terms: Callable[[int], float | Fraction], x: float, first: int, step: int = 1) -> float:
    """`sum(terms(k) * x**(k - first))` for k = first, first + step, …: cancellation-free near 0."""
    found = (terms(k) * x ** (k - first) for k in range(first, first + 60 * step, step))
    return sum(found) if isinstance(x, Fraction) else math.fsum(found)


def _exp_tail(x: float) -> float:
    return _series(lambda k: 1 / math.factorial(k), x, 2)


def _exp2_tail(x: float) -> float:
    return _series(lambda k: math.log(2) ** k / math.factorial(k), x, 1)


def _log_tail(x: float) -> float:
    """`(log(1 + x) - x + x**2 / 2) / x**3`."""
    if abs(x) < 0.1:
        return _series(lambda k: (-1) ** (k + 1) / k, x, 3)
    return (math.log1p(x) - x + x * x / 2) / x**3


def _tanh_tail(z: float) -> float:
    """`(tanh(x) / x - 1) / x**2` as a function of `z = x**2`."""
    if z < 1e-3:
        return -1 / 3 + 2 / 15 * z - 17 / 315 * z * z + 62 / 2835 * z**3
    x = math.sqrt(z)
    return (math.tanh(x) / x - 1) / z


def _log_erfc(a: float) -> float:
    """`log2(1 - erf(a)) / a`."""
    if a == 0:
        return -2 / math.sqrt(math.pi) / math.log(2)
    return (math.log1p(-math.erf(a)) if a < 1 else math.log(math.erfc(a))) / math.log(2) / a


def _log_erfc_scale(a: float) -> float:
    """What an error of it is of `erf(a)`."""
    return math.log(2) * (math.sqrt(math.pi) / 2 if a < 1e-9 else a * math.erfc(a) / math.erf(a))


def _sin_tail(z: float) -> float:
    return _series(lambda k: (-1) ** k / math.factorial(2 * k + 1), z, 1)


def _cos_tail(z: float) -> float:
    return _series(lambda k: (-1) ** k / math.factorial(2 * k), z, 2)


def _asin_tail(z: float) -> float:
    """`(asin(x) / x - 1) / x**2` as a function of `z = x**2`."""
    return _series(lambda k: Fraction(math.comb(2 * k, k), 4**k * (2 * k + 1)), z, 1)


def _atan_tail(z: float) -> float:
    """`(atan(x) / x - 1) / x**2` as a function of `z = x**2`."""
    return _series(lambda k: Fraction((-1) ** k, 2 * k + 1), z, 1)


def _sinh_tail(z: float) -> float:
    """`(sinh(x) / x - 1) / x**2` as a function of `z = x**2`."""
    return _series(lambda k: 1 / math.factorial(2 * k + 1), z, 1)


_EIGHTH = math.sqrt(2) - 1
_SQUARE = (math.pi / 4 * 1.01) ** 2
FITS = (
    Fit("EXP", _exp_tail, (-_LN2_HALF, _LN2_HALF), range(5), lambda x: x * x / max(abs(math.expm1(x)), 1e-9)),
    Fit("EXP2", _exp2_tail, (-0.5005, 0.5005), range(6), lambda x: abs(x) / 2**x),
    Fit("LOG", _log_tail, (2**-0.5 - 1, 2**0.5 - 1), range(8), lambda x: abs(x) ** 3 / max(abs(math.log1p(x)), 1e-9)),
    Fit("ATANH_SMALL", lambda z: _series(lambda k: 1 / (2 * k + 1), z, 1), (0, 0.25), range(6), lambda z: z),
    Fit("TANH", _tanh_tail, (0, 0.625**2), range(5), lambda z: z * math.sqrt(z) / max(math.tanh(math.sqrt(z)), 1e-9)),
    Fit("LOG_ERFC", _log_erfc, (0, 3.95), range(9), _log_erfc_scale),
    Fit("SIN", _sin_tail, (0, _SQUARE), range(3), lambda z: z),
    Fit("ASIN", _asin_tail, (0, 0.25), range(5), lambda z: z),
    Fit("ASIN_LONG", _asin_tail, (0, 0.25), range(14), lambda z: z, single=False, bits=53),
    Fit("ATAN", _atan_tail, (0, _EIGHTH**2), range(5), lambda z: z),
    Fit("ATAN_LONG", _atan_tail, (0, _EIGHTH**2), range(12), lambda z: z, single=False, bits=53),
    Fit(
        "CBRT", lambda f: (1 + f) ** (-1 / 3), (2**-0.5 - 1, 2**0.5 - 1), range(4), lambda f: (1 + f) ** (1 / 3), bits=9
    ),
    Fit("SINH", _sinh_tail, (0, 1), range(4), lambda z: z),
    Fit("COS", _cos_tail, (0, _SQUARE), range(3), lambda z: z * z / math.cos(math.sqrt(z))),
)


def _lawson(basis: np.ndarray, values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Coefficients that make `max(abs(basis @ c - values) * scale)` small."""
    weights = np.ones_like(values)
    best, best_error = np.zeros(basis.shape[1]), math.inf
    norms = np.abs(basis).max(axis=0)
    for _ in range(300):
        rows = np.sqrt(weights) * scale
        found = np.linalg.lstsq(basis / norms * rows[:, None], values * rows, rcond=None)[0] / norms
        error = np.abs(basis @ found - values) * scale
        if error.max() < best_error:
            best, best_error = found, float(error.max())
        weights = weights * (error + 1e-30)
        weights /= weights.sum()
    return best


def _interpolated(fit: Fit) -> np.ndarray:
    """Those of the polynomial that agrees at the zeros of Chebyshev's, which is next to the best one: exact but for the
    last rounding. In Newton's form first."""
    low, high = fit.interval
    count = len(fit.powers)
    angles = [(2 * k + 1) * math.pi / (2 * count) for k in range(count)]
    points = [Fraction((low + high) / 2 + (high - low) / 2 * math.cos(angle)) for angle in angles]
    values = [Fraction(fit.function(cast("float", x))) for x in points]  # which has what the functions use of floats
    for order in range(1, count):
        for k in reversed(range(order, count)):
            values[k] = (values[k] - values[k - 1]) / (points[k] - points[k - order])
    found: list[Fraction] = []
    for value, point in zip(reversed(values), reversed(points), strict=True):
        found = [b - point * a for a, b in zip([*found, Fraction(0)], [Fraction(0), *found], strict=True)]
        found[0] += value
    return np.array([float(c) for c in found])


def solve(fit: Fit) -> tuple[list[float], float]:
    """The coefficients, lowest order first, and the largest scaled error with them."""
    low, high = fit.interval
    points = (low + high) / 2 + (high - low) / 2 * np.cos(np.linspace(0, math.pi, 1500))
    values = np.array([fit.function(float(x)) for x in points])
    scale = np.array([fit.scale(float(x)) for x in points])
    basis = np.stack([points**p for p in fit.powers], axis=1)
    coefficients = _lawson(basis, values, scale) if fit.single else _interpolated(fit)
    if fit.single:
        for i in range(len(coefficients)):
            coefficients[i] = np.float32(coefficients[i])
            known = basis[:, : i + 1] @ coefficients[: i + 1]
            if i + 1 < len(coefficients):
                coefficients[i + 1 :] = _lawson(basis[:, i + 1 :], values - known, scale)
    error = np.abs(basis @ coefficients - values) * scale
    return [float(c) for c in coefficients], float(error.max())


def main() -> int:
    """Print every polynomial."""
    for fit in FITS:
        coefficients, error = solve(fit)
        show = (lambda c: f"{np.float32(c)!s}") if fit.single else repr
        print(f"{fit.name} = ({', '.join(map(show, coefficients))})  # error 2**{math.log2(error):.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
