"""Ufuncs that are functions of the package: the same on arrays, on dense ones and on traced values."""

from __future__ import annotations

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.ops import ufuncs

NAMES = sorted(name for name in vars(ufuncs) if isinstance(getattr(np, name, None), np.ufunc))
X = rg.ragged([[0.5, 2.0, 1.0], [3.0]])


@pytest.mark.parametrize("name", NAMES)
def test_as_numpys(name: str) -> None:
    own, numpys = getattr(rg, name), getattr(np, name)
    beside = () if numpys.nin == 1 else (1.0,)
    np.testing.assert_allclose(own(X, *beside).values, numpys(X.values, *beside))
    np.testing.assert_allclose(own(X.values, *beside), numpys(X.values, *beside))
    sums = rg.jit(lambda x: own(x.sum(axis=1), *beside))(X)
    np.testing.assert_allclose(sums, numpys(X.sum(axis=1), *beside))


def test_tensors_with_gradients() -> None:
    torch = pytest.importorskip("torch")
    leaf = torch.tensor([0.5, 2.0, 1.0, 3.0], requires_grad=True)

    def loss(x: rg.RaggedArray) -> object:
        return rg.maximum(rg.sqrt(x.sum(axis=1)), 1.0).sum()

    made = loss(rg.from_lengths(leaf, [3, 0, 1]))
    made.backward()
    wanted = 0.5 / np.sqrt(3.5)
    np.testing.assert_allclose(leaf.grad.numpy(), [wanted, wanted, wanted, 0.5 / np.sqrt(3.0)], rtol=1e-6)
    inside = rg.jit(loss)(rg.from_lengths(leaf, [3, 0, 1]))
    np.testing.assert_allclose(inside.detach().numpy(), made.detach().numpy(), rtol=1e-6)


def test_names() -> None:
    assert len(NAMES) == 17
    assert set(NAMES) <= set(dir(rg))
    with pytest.raises(rg.ArgumentError, match=r"^maximum: expected 2 arguments, got 1$"):
        rg.maximum(X)
