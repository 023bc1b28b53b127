"""Reductions of pairs under masks of their indices: loops that run over what the masks keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.on_targets import called

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


def test_numbers_that_are_left_out_may_be_unsigned() -> None:
    """What is -1 among bytes is 255 as a number without a sign."""
    program = """
    func.func @f(%x: tensor<?x?xi8, #ragged.layout<"dr">>, %init: tensor<?xf64>) -> tensor<?xf64> {
      %none = arith.constant -1 : i8
      %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, j)>,
          affine_map<(b, i, j) -> (b)>], iterator_types = ["parallel", "reduction", "reduction"]}
          ins(%x, %x : tensor<?x?xi8, #ragged.layout<"dr">>, tensor<?x?xi8, #ragged.layout<"dr">>)
          outs(%init : tensor<?xf64>) {
        ^bb0(%a: i8, %b: i8, %acc: f64):
          %i = linalg.index 1 : index
          %j = linalg.index 2 : index
          %later = arith.cmpi slt, %i, %j : index
          %chosen = arith.select %later, %a, %none : i8
          %number = arith.uitofp %chosen : i8 to f64
          %more = arith.maximumf %acc, %number : f64
          linalg.yield %more : f64
      } -> tensor<?xf64>
      return %y : tensor<?xf64>
    }"""
    given: list[Any] = [(np.arange(6, dtype=np.int8), np.array([0, 2, 6])), np.zeros(2)]
    for target in ("reference", "cpu"):
        assert called(program, "f", given, target)[0].tolist() == [255, 255]


def test_the_first_row_goes_on_from_what_is_known() -> None:
    """A row that is found does not come before one of the rows before, which the result has at first."""
    program = """
    func.func @f(%x: tensor<?x?x64xf32, #ragged.layout<"dr|d">>, %init: tensor<?x64xi64>) -> tensor<?x64xi64> {
      %zero = arith.constant 0.0 : f32
      %none = arith.constant -1 : i64
      %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, j)>],
          iterator_types = ["parallel", "reduction", "parallel"]}
          ins(%x : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) outs(%init : tensor<?x64xi64>) {
        ^bb0(%a: f32, %so_far: i64):
          %i = linalg.index 1 : index
          %row = arith.index_cast %i : index to i64
          %found = arith.cmpf ogt, %a, %zero : f32
          %chosen = arith.select %found, %row, %none : i64
          %first = arith.minui %so_far, %chosen : i64
          linalg.yield %first : i64
      } -> tensor<?x64xi64>
      return %y : tensor<?x64xi64>
    }"""
    values = np.random.default_rng(0).standard_normal((20, 64), np.float32) - 1
    given: list[Any] = [(values, np.array([0, 20])), np.full((1, 64), 2)]
    expected, found = (called(program, "f", given, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, expected)
