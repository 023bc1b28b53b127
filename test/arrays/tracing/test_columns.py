"""First dims of dense arguments that become columns of a product, as those of the weights `w` of `x @ w.T`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.tracing.columns import _EXTENTS

X = rg.from_lengths(np.random.default_rng(0).standard_normal((9, 3)), [4, 0, 5])
PRODUCTS: dict[str, Callable[..., Any]] = {
    "transposed": lambda x, w: x @ w.T,
    "einsum": lambda x, w: rg.einsum("bik,nk->bin", x, w),
    "within containers": lambda x, w: [{"made": x @ np.swapaxes(w, 0, 1)}],
}


def weights(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 3))


def made(result: Any) -> np.ndarray:
    while not isinstance(result, rg.RaggedArray):
        result = result["made"] if isinstance(result, dict) else result[0]
    return result.values


@pytest.mark.parametrize("name", PRODUCTS)
def test_columns_are_static_for_a_few_extents(name: str) -> None:
    """Each of the first has a program, all others share one: those of a batch that changes with every call."""
    f = rg.jit(PRODUCTS[name])
    counts = [*range(2, 2 + _EXTENTS), 30, 31, 2, 40]
    for count in counts:
        w = weights(count)
        np.testing.assert_allclose(made(f(X, w)), X.values @ w.T)
    assert f.compilations == _EXTENTS + 1
    assert "tensor<7x3xf64>" in f.lower(X, weights(7)).source


@pytest.mark.parametrize(
    "f",
    [
        rg.jit(lambda x, w: x @ w.T, dynamic_dims=()),
        rg.jit(lambda x, w: x @ w),  # columns are its last dim, rows are summed
        rg.jit(lambda x, w: (x * rg.take(w, [0, 1, 0])[:, None]).sum(1)),
        rg.jit(lambda x, w: rg.einsum("bik,bk->bi", x, w)),
    ],
)
def test_other_first_dims_are_no_part_of_a_key(f: Any) -> None:
    assert "tensor<?x3xf64>" in f.lower(X, weights(3)).source


def test_gradients_and_memory() -> None:
    """Of a loss by weights whose rows are columns: those of the product of numbers."""
    loss = rg.value_and_grad(lambda w, x: ((x @ w.T) * (x @ w.T)).sum(), 0)
    for count in (2, 5, 2):
        w = weights(count)
        value, gradient = loss(w, X)
        product = X.values @ w.T
        np.testing.assert_allclose(value, (product * product).sum())
        np.testing.assert_allclose(gradient, 2 * product.T @ X.values)
    assert loss.compilations == 2
    used = rg.jit(PRODUCTS["transposed"]).memory(X, weights(5))
    assert used == rg.jit(lambda x, w: x @ w).memory(X, weights(5).T.copy())
    assert used.saved == 0


def test_pullbacks_of_other_extents() -> None:
    for count in (2, 5, 2):
        w = weights(count)
        product, pull = rg.vjp(PRODUCTS["transposed"], X, w)
        by_x, by_w = pull(product)
        np.testing.assert_allclose(by_w, product.values.T @ X.values)
        np.testing.assert_allclose(by_x.values, product.values @ w)


def test_arrays_that_are_held_have_static_extents() -> None:
    held = weights(6)
    f = rg.jit(lambda x: x @ held.T)
    assert "tensor<3x6xf64>" in f.lower(X).source
    np.testing.assert_allclose(f(X).values, X.values @ held.T)


def test_columns_are_those_of_the_first_program() -> None:
    """Of a function that does something else by now: no program is static in what its key does not have."""
    chosen = [0]

    def product(x: Any, w: Any, v: Any) -> Any:
        return x @ (w, v)[chosen[0]].T

    f = rg.jit(product)
    f(X, weights(5), weights(6))
    chosen[0] = 1
    for count in (6, 4):
        w = weights(count)
        np.testing.assert_allclose(f(X, weights(7), w).values, X.values @ w.T)


def test_threads_with_other_extents() -> None:
    """They share what there is for a few extents, and for all others."""
    f = rg.jit(PRODUCTS["transposed"])
    threads = [threading.Thread(target=f, args=(X, weights(count))) for count in range(2, 10)]
    f(X, weights(10))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.compilations == _EXTENTS + 1


def test_what_fails_to_compile_is_not_counted() -> None:
    fails = [False, False, True]

    def product(x: Any, w: Any) -> Any:
        if fails.pop(0):
            raise KeyError
        return x @ w.T

    f = rg.jit(product)
    f(X, weights(2))
    with pytest.raises(KeyError):
        f(X, weights(3))
    assert f.compilations == 1
