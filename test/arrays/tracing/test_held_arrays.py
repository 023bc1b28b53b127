"""Arrays that a jit function holds on to, in any order of their elements: what is written into them later is seen."""

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

LENGTHS = [2, 0, 3]
ORDERS: dict[str, Any] = {
    "C": lambda w: w,
    "transposed": lambda w: w.T,
    "steps": lambda w: w[:, ::2],
    "backwards": lambda w: w[::-1],
}


def product(w: Any) -> Any:
    return rg.jit(lambda x: np.tanh(x @ w))


@pytest.mark.parametrize("order", ORDERS)
def test_arrays_of_numpy(order: str) -> None:
    known = np.random.default_rng(0).standard_normal((4, 4))
    w = ORDERS[order](known)
    x = rg.from_lengths(np.random.default_rng(1).standard_normal((5, 4)), LENGTHS)
    call = product(w)
    for _ in range(3):
        np.testing.assert_allclose(call(x).values, np.tanh(x.values @ w))
        result, pull = rg.vjp(call, x)
        known *= 2
        slopes = (1 - result.values**2) * result.values
        np.testing.assert_allclose(pull(result)[0].values, slopes @ (w / 2).T)


@pytest.mark.parametrize("order", ["C", "transposed", "steps", "negated"])
def test_tensors(order: str) -> None:
    torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")
    known = torch.randn(4, 4, dtype=torch.float64)
    w = {**ORDERS, "negated": torch._neg_view}[order](known)
    x = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    call = product(w)
    for _ in range(3):
        for given in (x, x.detach()):
            assert torch.allclose(call(rg.from_lengths(given, LENGTHS)).values, torch.tanh(given @ w))
        (gradient,) = torch.autograd.grad(call(rg.from_lengths(x, LENGTHS)).values.sum(), x)
        (expected,) = torch.autograd.grad(torch.tanh(x @ w).sum(), x)
        assert torch.allclose(gradient, expected)
        known.mul_(2)
