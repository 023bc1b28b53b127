"""Tensors of one memory that are changed in place between forward and backward: PyTorch counts them as one."""

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")

LENGTHS = np.array([2, 0, 3])


def ragged(x: Any) -> rg.RaggedArray:
    return rg.from_lengths(x, LENGTHS)


def result(x: Any) -> Any:
    return np.exp(ragged(x))


ARRAYS: dict[str, Any] = {"an argument": ragged, "a result": result}

VIEWS: dict[str, Any] = {
    "itself": lambda x: x,
    "window": lambda x: x[:, :1],
    "another rank": lambda x: x[..., None],
    "a view of a view": lambda x: x[..., None].reshape((2, 3), (-1,))[:, :1],
}

TENSORS: dict[str, Any] = {
    "values": lambda x: x.values,
    "stored": lambda x: x.stored.values,
    "component": lambda x: next(iter(x)),
}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("by", ["the array", "the view"])
def test_values_and_views(array: str, view: str, tensor: str, by: str) -> None:
    x, w = ARRAYS[array](torch.ones(5, 2)), torch.ones((), requires_grad=True)
    known = TENSORS[tensor](x)
    used, changed = VIEWS[view](x), known
    if by == "the view":
        used, changed = x, used.stored.values
    product = rg.jit(lambda y, w: y * w)(used, w)
    changed.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.values.sum().backward()


@pytest.mark.parametrize("like", [lambda x: x, lambda x: x[..., None]])
def test_dense_arguments_that_results_show(like: Any) -> None:
    given, w = torch.ones(5, 2), torch.ones((), requires_grad=True)
    y = rg.jit(lambda x, lengths: like(rg.from_lengths(x, lengths)))(given, LENGTHS)
    product = rg.jit(lambda y, w: y * w)(y, w)
    given.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.values.sum().backward()
