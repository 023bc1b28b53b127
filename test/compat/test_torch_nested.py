"""The examples of torch.nested's documentation as written, on NumPy and, where it is installed, on torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.torch_like import NumpyTorch, RealTorch

from ragged_dialect.errors import ArgumentError, RuntimeCheckError

ragged = None
"""What shapes have where torch's have a symbol, `j1`."""


@pytest.fixture(params=[NumpyTorch, RealTorch], ids=["numpy", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """What the examples import."""
    return request.param()


def test_construction(torch: Any) -> None:
    a, b = torch.arange(3), torch.arange(5) + 3
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    assert [component.tolist() for component in nt] == [[0, 1, 2], [3, 4, 5, 6, 7]]
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    assert nt.dtype == nt.unbind()[0].dtype == torch.float32
    assert str(nt.device) == "cpu"


def test_ranks_have_to_match(torch: Any) -> None:
    a = torch.randn(50, 128)
    b = torch.randn(2, 50, 128)
    with pytest.raises(ArgumentError, match="nested_tensor: expected tensors of one rank, got ranks 2 and 3"):
        torch.nested.nested_tensor([a, b], layout=torch.jagged)


def test_as_nested_tensor(torch: Any) -> None:
    a = torch.randn(12, 512)
    b = torch.randn(23, 512)
    nt = torch.nested.as_nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    assert nt.shape == (2, ragged, 512)
    np.testing.assert_allclose(nt.sum(), float(a.sum() + b.sum()), 1e-3, 1e-2)


def test_narrow(torch: Any) -> None:
    padded = torch.randn(3, 5, 4)
    seq_lens = torch.tensor([3, 2, 5], dtype=torch.int64)
    nt = torch.nested.narrow(padded, dim=1, start=0, length=seq_lens, layout=torch.jagged)
    assert nt.shape == (3, ragged, 4)
    assert not nt.is_contiguous()
    padded[1, 1, 0] = 7
    assert float(nt.unbind()[1][1, 0]) == 7


def test_data_layout(torch: Any) -> None:
    a = torch.randn(50, 128)
    b = torch.randn(32, 128)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    assert tuple(nt.values().shape) == (82, 128)
    assert nt.offsets().tolist() == [0, 50, 82]
    assert (nt.dim(), nt.shape) == (3, (2, ragged, 128))


def test_from_jagged(torch: Any) -> None:
    values = torch.randn(82, 128)
    offsets = torch.tensor([0, 50, 82], dtype=torch.int64)
    nt = torch.nested.nested_tensor_from_jagged(values=values, offsets=offsets)
    assert nt.shape == (2, ragged, 128)
    values[50, 0] = 7
    assert float(nt.unbind()[1][0, 0]) == 7


def test_sums_need_equal_lengths_only(torch: Any) -> None:
    a = torch.randn(50, 128)
    b = torch.randn(32, 128)
    nt1 = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    nt2 = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    assert nt1.offsets() is not nt2.offsets()
    assert (nt1 + nt2).shape == (2, ragged, 128)
    with pytest.raises(RuntimeCheckError, match="component 0: expected length 50, got 32"):
        nt1 + torch.nested.nested_tensor([b, a], layout=torch.jagged)


def test_unbind(torch: Any) -> None:
    a = torch.randn(2, 3)
    b = torch.randn(3, 3)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    assert [torch.equal(x, y) for x, y in zip(nt.unbind(), (a, b), strict=True)] == [True, True]
    assert nt.unbind()[0] is not a
    first = nt.unbind()[0]
    first *= 3
    assert torch.equal(nt.unbind()[0], a * 3)


def test_to_padded(torch: Any) -> None:
    a = torch.randn(2, 3)
    b = torch.randn(6, 3)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    padded = torch.nested.to_padded_tensor(nt, padding=4.2)
    assert tuple(padded.shape) == (2, 6, 3)
    assert torch.equal(padded[0, :2], a)
    assert torch.equal(padded[1], b)
    assert set(padded[0, 2:].flatten().tolist()) == {float(np.float32(4.2))}


def test_from_padded(torch: Any) -> None:
    padded = torch.randn(3, 5, 4)
    seq_lens = torch.tensor([3, 2, 5], dtype=torch.int64)
    nt = torch.nested.narrow(padded, dim=1, length=seq_lens, layout=torch.jagged)
    assert nt.shape == (3, ragged, 4)
    nt = nt.contiguous()
    assert nt.shape == (3, ragged, 4)
    assert nt.is_contiguous()
    assert nt.offsets().tolist() == [0, 3, 5, 10]


def test_shape_manipulations(torch: Any) -> None:
    a = torch.randn(2, 6)
    b = torch.randn(4, 6)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    assert nt.shape == (2, ragged, 6)
    assert nt.unsqueeze(-1).shape == (2, ragged, 6, 1)
    assert nt.unflatten(-1, [2, 3]).shape == (2, ragged, 2, 3)
    assert torch.cat([nt, nt], dim=2).shape == (2, ragged, 12)
    assert torch.stack([nt, nt], dim=2).shape == (2, ragged, 2, 6)
    assert nt.transpose(-1, -2).shape == (2, 6, ragged)
    assert torch.equal(nt.transpose(-1, -2).unbind()[1], b.T)


def test_compile(torch: Any) -> None:
    a = torch.randn(2, 3)
    b = torch.randn(4, 3)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)

    def f(x: Any) -> Any:
        return x.sin() + 1

    compiled_f = torch.compile(f, fullgraph=True)
    output = compiled_f(nt)
    assert output.shape == (2, ragged, 3)

    def g(values: Any, offsets: Any) -> Any:
        return torch.nested.nested_tensor_from_jagged(values, offsets) * 2.0

    compiled_g = torch.compile(g, fullgraph=True)
    output2 = compiled_g(nt.values(), nt.offsets())
    assert output2.shape == (2, ragged, 3)
    np.testing.assert_allclose(output2.array.buffer.array, nt.array.buffer.array * 2)


def test_other_structures_do_not_recompile(torch: Any) -> None:
    a = torch.randn(2, 3)
    b = torch.randn(4, 3)
    c = torch.randn(5, 3)
    d = torch.randn(6, 3)
    nt1 = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    nt2 = torch.nested.nested_tensor([c, d], layout=torch.jagged)

    def f(x: Any) -> Any:
        return x.sin() + 1

    compiled_f = torch.compile(f, fullgraph=True)
    output1 = compiled_f(nt1)
    output2 = compiled_f(nt2)
    assert compiled_f.compilations == 1
    for x, output in ((nt1, output1), (nt2, output2)):
        np.testing.assert_allclose(output.array.buffer.array, np.sin(x.array.buffer.array) + 1, 1e-6)


def test_structure_of_another(torch: Any) -> None:
    a = torch.randn(50, 128)
    b = torch.randn(32, 128)
    nt1 = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    nt2 = torch.nested.nested_tensor_from_jagged(values=torch.randn(82, 128), offsets=nt1.offsets())
    nt3 = nt1 + nt2
    assert nt3.shape == (2, ragged, 128)


def test_chunk(torch: Any) -> None:
    a = torch.randn(50, 128)
    b = torch.randn(32, 128)
    nt = torch.nested.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float32)
    first, second = nt.chunk(2, dim=0)
    assert (first.shape, second.shape) == ((1, ragged, 128),) * 2
    assert torch.equal(second.unbind()[0], b)


# Of the docstrings that the document includes ---------------------------------------------------------


def test_holes(torch: Any) -> None:
    values = torch.randn(6, 5)
    offsets = torch.tensor([0, 2, 3, 6])
    lengths = torch.tensor([1, 1, 2])
    nt = torch.nested.nested_tensor_from_jagged(values, offsets, lengths)
    a, b, c = nt.unbind()
    assert torch.equal(a, values[0:1, :])
    assert torch.equal(b, values[2:3, :])
    assert torch.equal(c, values[3:5, :])
    assert nt.lengths().tolist() == [1, 1, 2]


def test_narrow_with_starts(torch: Any) -> None:
    starts = torch.tensor([0, 1, 2, 3, 4], dtype=torch.int64)
    lengths = torch.tensor([3, 2, 2, 1, 5], dtype=torch.int64)
    narrow_base = torch.randn(5, 10, 20)
    nt_narrowed = torch.nested.narrow(narrow_base, 1, starts, lengths, layout=torch.jagged)
    assert not nt_narrowed.is_contiguous()
    assert torch.equal(nt_narrowed.unbind()[4], narrow_base[4, 4:9])
    assert nt_narrowed.offsets().tolist() == [0, 11, 22, 33, 44, 49]


def test_masked_select(torch: Any) -> None:
    tensor = torch.randn(3, 3)
    mask = torch.tensor([[False, False, True], [True, False, True], [False, False, True]])
    nt = torch.nested.masked_select(tensor, mask)
    assert nt.shape == (3, ragged)
    assert nt.offsets().tolist() == [0, 1, 3, 4]
    assert nt.values().tolist() == tensor[mask].tolist()
    tensor = torch.randn(6, 5)
    mask = torch.tensor([False])
    nt = torch.nested.masked_select(tensor, mask)
    assert nt.shape == (6, ragged)
    assert nt.offsets().tolist() == [0] * 7
