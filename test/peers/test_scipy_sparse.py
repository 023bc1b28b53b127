"""Matrices in CSR form as ragged arrays, and what graphs do with them, beside scipy.sparse and PyTorch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

sparse: Any = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")

RNG = np.random.default_rng(0)
STRUCTURES = {
    "random": RNG.poisson(4, 60),
    "one long row": np.array([0, 2, 700, 0, 1]),
    "empty rows": np.array([0, 0, 3, 0]),
    "no entries": np.zeros(5, np.int64),
    "one entry": np.array([1]),
}


def matrix(name: str, dtype: str, columns: int = 60) -> tuple[Any, Any, Any]:
    """Rows of columns, some of them there twice, and of entries; and SciPy's matrix of them."""
    lengths = STRUCTURES[name]
    at = rg.from_lengths(RNG.integers(0, columns, lengths.sum()), lengths)
    entries = rg.from_lengths(RNG.integers(-4, 5, lengths.sum()).astype(dtype), lengths)
    return at, entries, sparse.csr_array((entries.values, at.values, at.offsets), shape=(len(lengths), columns))


def multiplied(entries: Any, at: Any, x: Any) -> Any:
    taken = rg.take(x, at)
    return ((entries if x.ndim == 1 else entries[..., None]) * taken).sum(axis=1)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("features", [None, 1, 3, 8, 20])
def test_products(name: str, dtype: str, features: int | None) -> None:
    at, entries, a = matrix(name, dtype)
    x = RNG.integers(-9, 9, (60,) if features is None else (60, features)).astype(dtype)
    np.testing.assert_array_equal(rg.jit(multiplied)(entries, at, x), a @ x)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("features", [None, 8, 13])
def test_transposed_products(name: str, features: int | None) -> None:
    """By the places of columns, and as the gradient of a product."""
    at, entries, a = matrix(name, "float64")
    rows = a.shape[0]
    more = () if features is None else (features,)
    x = RNG.integers(-9, 9, (rows, *more)).astype(np.float64)

    def transposed(entries: Any, at: Any, x: Any) -> Any:
        places = rg.group_by(at.values, 60)
        weights = entries.values if features is None else entries.values[:, None]
        return rg.take(weights * rg.take(x, row), places).sum(axis=1)

    row = np.repeat(np.arange(rows), at.lengths)
    np.testing.assert_array_equal(rg.jit(transposed)(entries, at, x), a.T @ x)
    table = np.zeros((60, *more))
    gradient = rg.grad(lambda table: (multiplied(entries, at, table) * x).sum())(table)
    np.testing.assert_array_equal(gradient, a.T @ x)


@pytest.mark.parametrize("name", STRUCTURES)
def test_dot_products_of_edges(name: str) -> None:
    """Of rows of two dense matrices, where a sparse one has entries; and their gradients, beside dense products."""
    at, _, a = matrix(name, "float64")
    u, v = RNG.standard_normal((a.shape[0], 9)), RNG.standard_normal((60, 9))

    def loss(u: Any, v: Any) -> Any:
        return ((rg.take(v, at) * u[:, None]).sum(axis=2) ** 2).sum()

    dots = rg.jit(lambda u, v: (rg.take(v, at) * u[:, None]).sum(axis=2))(u, v)
    there, dense = np.zeros(a.shape), u @ v.T
    np.add.at(there, (np.repeat(np.arange(len(u)), at.lengths), at.values), 1)
    np.testing.assert_allclose(dots.values, dense[np.repeat(np.arange(len(u)), at.lengths), at.values], atol=1e-12)
    by_u, by_v = rg.grad(loss, argnums=(0, 1))(u, v)
    np.testing.assert_allclose(by_u, 2 * (there * dense) @ v, atol=1e-10)
    np.testing.assert_allclose(by_v, 2 * (there * dense).T @ u, atol=1e-10)


def test_attention_over_neighbours() -> None:
    """A layer of a graph attention network of two heads, with the gradients that PyTorch's index operations give."""
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    at, _, a = matrix("random", "float32")
    rows, heads, size = a.shape[0], 2, 8
    row = torch.tensor(np.repeat(np.arange(rows), at.lengths))
    column = torch.tensor(at.values)
    x, w, to, by = (RNG.standard_normal(shape) for shape in ((60, 5), (5, heads * size), (heads, size), (heads, size)))
    upstream = RNG.standard_normal((rows, heads, size))

    def layer(x: Any, w: Any, to: Any, by: Any) -> Any:
        h = (x @ w).reshape((60, heads, size))
        scores = rg.take((h * by).sum(axis=2), at) + (h * to).sum(axis=2)[:rows, None]
        weights = rg.softmax(np.where(scores > 0, scores, 0.2 * scores), axis=1)
        return (weights[..., None] * rg.take(h, at)).sum(axis=1)

    def theirs(x: Any, w: Any, to: Any, by: Any) -> Any:
        h = (x @ w).reshape(-1, heads, size)
        scores = (h * by).sum(2)[column] + (h * to).sum(2)[row]
        scores = torch.nn.functional.leaky_relu(scores, 0.2)
        most = torch.full((rows, heads), -torch.inf, dtype=scores.dtype)
        most = most.scatter_reduce(0, row[:, None].expand(-1, heads), scores.detach(), "amax")
        exponentials = torch.exp(scores - most[row])
        total = torch.zeros(rows, heads, dtype=scores.dtype).index_add(0, row, exponentials)
        messages = (exponentials / total[row])[..., None] * h[column]
        return torch.zeros(rows, heads, size, dtype=scores.dtype).index_add(0, row, messages)

    tensors = [torch.tensor(each, requires_grad=True) for each in (x, w, to, by)]
    expected = theirs(*tensors)
    (expected * torch.tensor(upstream)).sum().backward()
    np.testing.assert_allclose(rg.jit(layer)(x, w, to, by), expected.detach().numpy(), atol=1e-12)
    found = rg.grad(lambda *given: (layer(*given) * upstream).sum(), argnums=(0, 1, 2, 3))(x, w, to, by)
    for gradient, tensor in zip(found, tensors, strict=True):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-9)
