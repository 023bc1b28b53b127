"""Reductions of pairs under masks of their indices: loops that run over what the masks keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

LENGTHS = [0, 1, 7, 0, 33, 2, 70, 130]
MASKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "before": lambda i, j, w: j < i,
    "up to": lambda i, j, w: i >= j,
    "after": lambda i, j, w: i < j,
    "shifted": lambda i, j, w: i + 2 <= j,
    "behind": lambda i, j, w: i - j > 3,
    "same": lambda i, j, w: i == j,
    "another": lambda i, j, w: i != j,
    "band": lambda i, j, w: abs(i - j) <= 2,
    "half a band": lambda i, j, w: (j <= i) & (j > i - 4),
    "outside": lambda i, j, w: abs(i - j) > 2,
    "either": lambda i, j, w: (j < i) | (j > i + 5),
    "a number away": lambda i, j, w: i - j <= w,
    "at least a number away": lambda i, j, w: w < j - i,
    "within a number": lambda i, j, w: abs(j - i) < w,
    "first": lambda i, j, w: j < w,
}
FOLDS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sum": lambda np, keep, x, axis: np.where(keep, x, 0).sum(axis=axis),
    "count": lambda np, keep, x, axis: (keep & (x > 0)).sum(axis=axis),
    "any": lambda np, keep, x, axis: (keep & (x > 1)).any(axis=axis),
    "all": lambda np, keep, x, axis: (keep | (x > 0)).all(axis=axis),
    "product": lambda np, keep, x, axis: np.where(keep, x, 1).prod(axis=axis),
    "max": lambda np, keep, x, axis: np.where(keep, x, -np.inf).max(axis=axis, initial=-5),
    "max from 2": lambda np, keep, x, axis: np.where(keep, x, 2).max(axis=axis, initial=-5),
    "min of others": lambda np, keep, x, axis: np.where(keep, x, np.inf).min(axis=axis, initial=9),
    "sum of ones": lambda np, keep, x, axis: np.where(keep, x, 1).sum(axis=axis),
}


class _Plain:
    """NumPy's functions on arrays of one component."""

    where, inf = staticmethod(np.where), np.inf


class _Ragged:
    where, inf = staticmethod(rg.where), np.inf


def _check(mask: str, fold: str, axis: Any, numbers: list[int]) -> None:
    rng = np.random.default_rng(sum(map(ord, mask + fold)))
    values = rng.choice(np.array([-1.5, -1, -0.5, 0.5, 1, 1.25, 2]), sum(LENGTHS))
    x = rg.from_lengths(values, LENGTHS)

    def program(x: Any, w: Any) -> Any:
        i = rg.local_index(x)
        keep = MASKS[mask](i[:, :, None], i[:, None, :], w)
        return FOLDS[fold](_Ragged, keep, x[:, :, None] * x[:, None, :], axis)

    compiled = rg.jit(program)
    for w in numbers:
        found = compiled(x, np.int64(w))
        expected: list[Any] = []
        for start, n in zip(np.cumsum([0, *LENGTHS]), LENGTHS, strict=False):
            part, i = values[start : start + n], np.arange(n)
            with np.errstate(over="ignore"):
                keep = np.broadcast_to(MASKS[mask](i[:, None], i[None, :], np.int64(w)), (n, n))
            expected.append(FOLDS[fold](_Plain, keep, part[:, None] * part[None, :], (0, 1) if axis != 2 else 1))
        packed = np.concatenate(expected) if axis == 2 else np.array(expected)
        np.testing.assert_allclose(np.asarray(getattr(found, "values", found)), packed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("mask", ["after", "band", "half a band"])
def test_folds(mask: str, fold: str) -> None:
    """All kinds of folds, of rows of pairs."""
    _check(mask, fold, 2, [3])


@pytest.mark.parametrize("fold", FOLDS)
def test_folds_of_components(fold: str) -> None:
    """All kinds of folds, of all pairs of a component."""
    _check("before", fold, (1, 2), [3])


@pytest.mark.parametrize("axis", [2, (1, 2)])
@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask: str, axis: Any) -> None:
    """All kinds of masks, with numbers of which some leave out all or nothing, or are as large as there are."""
    numbers = [0, 1, 5, -4, 10**6, 2**63 - 1, -(2**63)] if "number" in mask or mask == "first" else [0]
    _check(mask, "max from 2", axis, numbers)
    _check(mask, "sum", axis, numbers)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_left_out_may_be_anything(value: float) -> None:
    """Infinities and nan count where a mask keeps them, and nowhere else."""
    x = rg.from_lengths(np.array([1.0, 2, value, 4]), [4])
    i = rg.local_index(x)
    found = rg.jit(lambda x, i: rg.where(i[:, :, None] > i[:, None, :], x[:, None, :], 0).sum(2))(x, i)
    np.testing.assert_array_equal(found.values, [0, 1, 3, value])
