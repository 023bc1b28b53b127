"""`ragged-compute-once`: gradients of products whose rows are summed, beside loops, and how often they multiply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.on_targets import TARGETS, called

import ragged_dialect as rg

LENGTHS = [3, 0, 4, 1]
X = np.random.default_rng(0).standard_normal((8, 5))
W = np.random.default_rng(1).standard_normal((5, 6))
IDS = np.repeat(np.arange(4), LENGTHS)
OF_ROWS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "sum": (lambda x, w: (x @ w).sum(), np.ones((8, 6))),
    "mean": (lambda x, w: (x @ w).mean(), np.full((8, 6), 1 / 48)),
    "sums": (lambda x, w: ((x @ w).sum(1) ** 2).sum(), 2 * np.add.reduceat(X @ W, [0, 3, 7])[[0, 0, 0, 1, 1, 1, 1, 2]]),
    "of a function": (lambda x, w: (np.tanh(x) @ w).sum(), np.ones((8, 6))),
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_gradients(name: str) -> None:
    """By rows and by weights, where the gradient of a product is the same for all rows, or those of a component."""
    loss, of_product = OF_ROWS[name]
    by_x, by_w = rg.grad(loss, (0, 1))(rg.from_lengths(X, LENGTHS), W)
    inner, slope = (np.tanh(X), 1 - np.tanh(X) ** 2) if name == "of a function" else (X, 1)
    np.testing.assert_allclose(by_x.values, of_product @ W.T * slope, rtol=1e-12)
    np.testing.assert_allclose(by_w, inner.T @ of_product, rtol=1e-12)


def test_nothing_is_multiplied_for_each_row() -> None:
    """Of the loops that reduce, only the product has a ragged result."""
    loss, _ = OF_ROWS["sums"]
    ragged = rg.grad(loss).lower(rg.from_lengths(X, LENGTHS), W).stages["ragged"]
    reducing = [line for line in ragged.splitlines() if '"reduction"' in line and "outs(" in line]
    assert sum("#ragged.layout" in line.split("outs(")[1] for line in reducing) == 1


REPEATED = """
#numbers = affine_map<(b, i, j, k) -> (b, k)>
#all = affine_map<(b, i, j, k) -> (b, i, j)>
!lists = tensor<?x?x?xf64, #ragged.layout<"drr">>
func.func @f(%x: !lists, %g: tensor<?x4xf64>) -> !lists {
  %zero = arith.constant 0.5 : f64
  %e = ragged.empty %x : (!lists) -> !lists
  %s = linalg.fill ins(%zero : f64) outs(%e : !lists) -> !lists
  %0 = linalg.generic {indexing_maps = [#numbers, #all],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%g : tensor<?x4xf64>) outs(%s : !lists) {
  ^bb0(%a: f64, %c: f64):
    %t = arith.addf %c, %a : f64
    linalg.yield %t : f64
  } -> !lists
  return %0 : !lists
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_of_lists_of_lists(target: str) -> None:
    outer, inner = np.array([0, 2, 2, 3]), np.array([0, 1, 4, 6])
    g = np.arange(12.0).reshape(3, 4)
    made = called(REPEATED, "f", [(np.zeros(6), outer, inner), g], target)[0]
    np.testing.assert_array_equal(made, g.sum(1)[[0, 0, 0, 0, 2, 2]] + 0.5)
