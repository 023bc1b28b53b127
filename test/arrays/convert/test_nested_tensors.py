"""Nested tensors, both ways: equal components, shared memory, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.components import NESTED, array, nested

import ragged_dialect as rg


def test_torch_nested_tensors_share_memory() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    parts = [torch.arange(6.0).reshape(2, 3), torch.ones(0, 3), torch.full((4, 3), 7.0)]
    nt = torch.nested.nested_tensor(parts, layout=torch.jagged)
    x = rg.from_torch_nested(nt)
    assert (str(x.layout), x.shape, x.lengths.tolist()) == ("dr|d", (3, None, 3), [2, 0, 4])
    assert x.values.data_ptr() == nt.values().data_ptr()
    assert isinstance((x * 2).values, torch.Tensor)
    back = x.to_torch_nested()
    assert back.values().data_ptr() == nt.values().data_ptr()
    assert [part.tolist() for part in back.unbind()] == x.tolist()


def test_torch_narrow_has_windows() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    base = torch.arange(24.0).reshape(2, 4, 3)
    nt = torch.nested.narrow(base, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    x = rg.from_torch_nested(nt)
    assert (str(x.layout), x.tolist()) == ("dw|d", [base[0, :2].tolist(), base[1, 1:].tolist()])
    back = x.to_torch_nested()
    assert [part.tolist() for part in back.unbind()] == x.tolist()


def test_torch_takes_numpy_results_and_bfloat16() -> None:
    """The memory of a result is read-only, which PyTorch warns of (and warnings are errors here)."""
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    result = array((3, 0, 2)) + 1
    assert [part.tolist() for part in result.to_torch_nested().unbind()] == result.tolist()
    import ml_dtypes

    x = array((3, 0, 2), dtype=ml_dtypes.bfloat16)
    there = x.to_torch_nested()
    assert there.dtype == torch.bfloat16
    assert rg.from_torch_nested(there).values.float().tolist() == x.values.astype(np.float32).tolist()
    assert array(()).to_torch_nested().size(0) == 0


def test_torch_refuses() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    with warnings.catch_warnings():  # of a prototype, once in a process
        warnings.simplefilter("ignore")
        strided = torch.nested.nested_tensor(parts, layout=torch.strided)
    cases = [
        (parts[0], rg.ArgumentError, "from_torch_nested: expected a nested tensor, got Tensor"),
        (strided, rg.ArgumentError, "from_torch_nested: expected layout torch.jagged, got torch.strided"),
        (jagged.transpose(1, 2), rg.LayoutError, ": expected the ragged dim to be dim 1, got dim 2 (transpose it)"),
    ]
    for value, kind, message in cases:
        with pytest.raises(kind) as caught:
            rg.from_torch_nested(value)
        assert message in str(caught.value)
    with pytest.raises(
        rg.LayoutError, match='to_torch_nested: expected one ragged dim behind the batch, got layout "drr"'
    ):
        nested(NESTED[0]).to_torch_nested()
