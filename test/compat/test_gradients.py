"""Gradients of PyTorch through the classes of other libraries."""

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.compat import torch_nested
from ragged_dialect.compat.fvdb import JaggedTensor

torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")


def rows(*lengths: int) -> list[Any]:
    return [torch.arange(2.0 * n).reshape(n, 2) for n in lengths]


def test_jagged_tensors() -> None:
    data = [part.requires_grad_() for part in rows(2, 0, 3)]
    jt = JaggedTensor(data)
    assert jt.requires_grad
    (jt * jt).jsum().jdata.sum().backward()
    for part in data:
        assert part.grad.tolist() == (2 * part).tolist()
    leaf = JaggedTensor(rows(1, 2)).detach()
    leaf.requires_grad_(True)
    torch.relu(leaf).jdata.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.lshape == [1, 2]
    assert not leaf.detach().requires_grad
    assert leaf.clone().requires_grad
    assert leaf.jlidx.tolist() == []


def test_nested_tensors() -> None:
    leaf = torch_nested.nested_tensor(rows(2, 0, 3), requires_grad=True)
    made = leaf * leaf
    assert made.requires_grad
    assert made.dtype == torch.float32
    made.backward(torch_nested.nested_tensor([part + 1 for part in rows(2, 0, 3)]))
    assert leaf.grad is not None
    for gradient, part in zip(leaf.grad.unbind(), rows(2, 0, 3), strict=True):
        assert gradient.tolist() == (2 * part * (part + 1)).tolist()
    with pytest.raises(rg.RuntimeCheckError, match="expected length"):
        (leaf * leaf).backward(torch_nested.nested_tensor(rows(1, 1, 3)))
    with pytest.raises(rg.ArgumentError, match="backward: expected a nested tensor, got Tensor"):
        (leaf * leaf).backward(torch.ones(5, 2))  # pyright: ignore[reportArgumentType]
    parts = [part.requires_grad_() for part in rows(1, 2)]
    torch_nested.as_nested_tensor(parts).sum(dim=1).sum().backward()
    assert parts[1].grad.tolist() == np.ones((2, 2)).tolist()
    assert not torch_nested.nested_tensor(parts).requires_grad
    assert not leaf.detach().requires_grad
