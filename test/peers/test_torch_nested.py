"""Side by side with torch.nested: the same torch tensors to both, and components compared. Where torch is
known to be wrong, or refuses, loops over the components decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, dense, split

from ragged_dialect.compat import torch_nested
from ragged_dialect.errors import ArgumentError, RuntimeCheckError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
Pair = tuple[Any, Any]
structured = pytest.mark.parametrize("lengths", STRUCTURES)


def _made(lengths: Sequence[int], features: tuple[int, ...] = (4,), seed: int = 0) -> Pair:
    """The nested tensors of both."""
    values = torch.from_numpy(dense(lengths, features, np.float32, seed))
    offsets = torch.from_numpy(np.cumsum([0, *lengths]))
    made = torch.nested.nested_tensor_from_jagged(values, offsets, min_seqlen=0, max_seqlen=max(lengths, default=0))
    return torch_nested.nested_tensor_from_jagged(values, offsets), made


def _same(got: Any, expected: Any) -> None:
    """Equal components of nested tensors, or equal dense tensors."""
    if not isinstance(got, torch_nested.NestedTensor):
        torch.testing.assert_close(torch.as_tensor(got), expected, rtol=1e-5, atol=1e-6, equal_nan=True)
        return
    assert expected.is_nested
    assert [e for e in got.shape if e is not None] == [e for e in expected.shape if isinstance(e, int)]
    assert got.shape.index(None) == expected._ragged_idx
    for a, b in zip(got.unbind(), expected.unbind(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: x.sin() + 1,
    "torch.exp": lambda x: torch.exp(x) / 2,
    "twice": lambda x: x + x * 2,
    "row": lambda x: x * torch.arange(4.0),
    "row first": lambda x: torch.arange(4.0) - x,
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "unflatten": lambda x: x.unflatten(-1, [2, 2]),
    "cat": lambda x: torch.cat([x, x * 2], dim=2),
    "stack": lambda x: torch.stack([x, x * 2], dim=2),
    "transpose": lambda x: x.transpose(-1, -2),
    "heads": lambda x: x.unflatten(-1, [2, 2]).transpose(1, 2),
    "matmul": lambda x: torch.matmul(x, torch.arange(12.0).reshape(4, 3)),
    "sum of features": lambda x: x.sum(-1),
    "softmax of features": lambda x: torch.softmax(x, dim=-1),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@structured
def test_elementwise_and_shapes(lengths: tuple[int, ...], name: str) -> None:
    ours, theirs = _made(lengths)
    _same(ELEMENTWISE[name](ours), ELEMENTWISE[name](theirs))


def _refuses_softmax(lengths: Sequence[int]) -> bool:
    """Without elements torch cannot reshape the padded tensor it makes."""
    return not sum(lengths)


@structured
def test_over_the_ragged_dim(lengths: tuple[int, ...]) -> None:
    ours, theirs = _made(lengths)
    _same(ours.sum(1), theirs.sum(1))
    if lengths:
        _same(ours.mean(1), theirs.mean(1))
    if not _refuses_softmax(lengths):
        _same(ours.softmax(1), theirs.softmax(1))
    else:
        with pytest.raises(RuntimeError):
            theirs.softmax(1)
        assert [part.shape[0] for part in ours.softmax(1).unbind()] == list(lengths)


@structured
def test_padded(lengths: tuple[int, ...]) -> None:
    ours, theirs = _made(lengths)
    _same(torch_nested.to_padded_tensor(ours, 4.5), torch.nested.to_padded_tensor(theirs, 4.5))
    size = (len(lengths), max(lengths, default=0) + 2, 4)
    _same(torch_nested.to_padded_tensor(ours, 4.5, size), torch.nested.to_padded_tensor(theirs, 4.5, size))


def test_truncation_is_silent_there_and_an_error_here() -> None:
    ours, theirs = _made((3, 1))
    assert torch.nested.to_padded_tensor(theirs, 0.0, (2, 2, 4)).shape == (2, 2, 4)
    with pytest.raises(RuntimeCheckError, match="component 0: expected extent >= length 3, got 2"):
        torch_nested.to_padded_tensor(ours, 0.0, (2, 2, 4))


def _heads(lengths: tuple[int, ...]) -> list[list[Any]]:
    """Queries, keys and values [B, H, ragged, E] of both."""
    pairs = [_made(lengths, (8,), seed) for seed in range(3)]
    return [[x.unflatten(-1, [2, 4]).transpose(1, 2) for x in side] for side in zip(*pairs, strict=True)]


@pytest.mark.parametrize("lengths", [n for n in STRUCTURES if sum(n)])
def test_attention(lengths: tuple[int, ...]) -> None:
    ours, theirs = _heads(lengths)
    attend = torch.nn.functional.scaled_dot_product_attention
    _same(attend(*ours), attend(*theirs))


def test_causal_attention_is_that_of_every_component() -> None:
    ours, theirs = _heads((3, 0, 5))
    attend = torch.nn.functional.scaled_dot_product_attention
    with pytest.raises(RuntimeError, match="No viable backend"):
        attend(*theirs, is_causal=True)
    got = attend(*ours, is_causal=True)
    for part, *rows in zip(got.unbind(), *(x.unbind() for x in ours), strict=True):
        torch.testing.assert_close(part, attend(*rows, is_causal=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [n for n in STRUCTURES if n])
def test_construction_from_a_list(lengths: tuple[int, ...]) -> None:
    parts = [torch.from_numpy(p) for p in split(dense(lengths), lengths)]
    theirs = torch.nested.nested_tensor(parts, layout=torch.jagged)
    ours = torch_nested.nested_tensor(parts, layout=torch.jagged)
    _same(ours, theirs)
    assert ours.offsets().tolist() == theirs.offsets().tolist()
    batch = torch.randn(len(lengths), 3, 2)
    _same(
        torch_nested.as_nested_tensor(batch, layout=torch.jagged),
        torch.nested.as_nested_tensor(batch, layout=torch.jagged),
    )


def test_narrow() -> None:
    padded, start, length = torch.randn(3, 5, 4), torch.tensor([1, 0, 2]), torch.tensor([3, 0, 2])
    ours = torch_nested.narrow(padded, 1, start, length, layout=torch.jagged)
    theirs = torch.nested.narrow(padded, 1, start, length, layout=torch.jagged)
    _same(ours, theirs)
    assert ours.offsets().tolist() == theirs.offsets().tolist()
    assert ours.lengths().tolist() == theirs.lengths().tolist()
    assert ours.values().data_ptr() == padded.data_ptr()
    parts = [padded[b, s : s + n] for b, (s, n) in enumerate(zip(start.tolist(), length.tolist(), strict=True))]
    torch.testing.assert_close(torch.as_tensor(ours.sum()), torch.cat(parts).sum())  # torch sums the holes too


def test_masked_select() -> None:
    tensor, mask = torch.randn(4, 6), torch.rand(4, 6) > 0.5
    _same(torch_nested.masked_select(tensor, mask), torch.nested.masked_select(tensor, mask))


def test_ragged_dim_elsewhere() -> None:
    parts = [torch.randn(3, n, 2) for n in (4, 0, 1)]
    ours = torch_nested.nested_tensor(parts, layout=torch.jagged)
    theirs = torch.nested.nested_tensor(parts, layout=torch.jagged)
    _same(ours, theirs)
    _same(ours * 2, theirs * 2)
    _same(ours.transpose(1, 3), theirs.transpose(1, 3))


def test_equal_lengths_conform_here() -> None:
    (a, b), (c, d) = _made((2, 3)), _made((2, 3), seed=1)
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        b + d
    for got, x, y in zip((a + c).unbind(), a.unbind(), c.unbind(), strict=True):
        torch.testing.assert_close(got, x + y)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "maximum": lambda x: torch.maximum(x, x * -1),
    "where a row": lambda x: torch.arange(4.0) >= x,
    "sum": lambda x: torch.sum(x, dim=1),
    "mean": lambda x: torch.mean(x, dim=-1, keepdim=True),
    "softmax": lambda x: torch.nn.functional.softmax(x, dim=-1),
    "unsqueeze": lambda x: torch.unsqueeze(x, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_torch(name: str) -> None:
    ours, theirs = _made((3, 1, 5))
    _same(FUNCTIONS[name](ours), FUNCTIONS[name](theirs))


@pytest.mark.parametrize("name", ["relu", "add_"])
def test_functions_that_nested_tensors_do_not_have(name: str) -> None:
    ours, _ = _made((3, 1))
    with pytest.raises(
        ArgumentError, match=rf"torch\.{name}: expected a function that nested tensors have, got another"
    ):
        torch.relu(ours) if name == "relu" else torch.zeros(4).add_(ours)


def test_options_that_nested_tensors_do_not_have() -> None:
    ours, _ = _made((3, 1))
    with pytest.raises(ArgumentError, match=r"torch\.sum: expected arguments .* keyword argument 'dtype'"):
        torch.sum(ours, dim=1, dtype=torch.float64)
