"""Side by side with FBGEMM's CPU operators: the same torch tensors to both. Where FBGEMM leaves memory unset
or refuses, the loops of `test_compat_fbgemm.py` decide alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES as LENGTHS
from support.jagged import STRUCTURES, random_jagged

from ragged_dialect.compat import fbgemm

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("fbgemm_gpu", reason="fbgemm-gpu-cpu is not installed", exc_type=ImportError)
peer: Any = torch.ops.fbgemm

single = pytest.mark.parametrize("lengths", LENGTHS)
several = pytest.mark.parametrize(("levels", "seed"), STRUCTURES)
limits = pytest.mark.parametrize("limit", [1, 3, 9])


def _equal(got: Any, expected: Any) -> None:
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            _equal(a, b)
        return
    assert isinstance(got, torch.Tensor)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def _both(name: str, *arguments: Any) -> None:
    _equal(getattr(fbgemm, name)(*arguments), getattr(peer, name)(*arguments))


def _tensor(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array, np.float32 if np.asarray(array).dtype.kind == "f" else None))


def _jagged(levels: int, seed: int) -> tuple[Any, list[Any], list[int]]:
    values, offsets, _ = random_jagged(levels, seed, (3,))
    longest = [int(np.diff(o).max(initial=0)) for o in offsets]
    return _tensor(values), [torch.from_numpy(o) for o in offsets], longest


def _single(lengths: tuple[int, ...], width: int, seed: int = 0) -> tuple[Any, Any]:
    values = np.random.default_rng(seed).standard_normal((sum(lengths), width))
    return _tensor(values), torch.from_numpy(np.cumsum([0, *lengths]))


@several
def test_padded(levels: int, seed: int) -> None:
    values, offsets, longest = _jagged(levels, seed)
    for change in (0, 1, -1):
        maxima = [max(1, n + change) for n in longest]
        _both("jagged_to_padded_dense", values, offsets, maxima, 2.5)


@single
@limits
def test_padded_with_one_level(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets = _single(lengths, 2)
    _both("jagged_2d_to_dense", values, offsets, limit)
    _both("jagged_1d_to_dense", torch.arange(sum(lengths)), offsets, limit, -1)


@pytest.mark.parametrize("change", [1, 0, -1])
@several
def test_dense_operands(levels: int, seed: int, change: int) -> None:
    values, offsets, longest = _jagged(levels, seed)
    extents = [max(1, n + change) for n in longest]
    y, z = (torch.randn(len(offsets[0]) - 1, *extents, 3) for _ in range(2))
    _both("dense_to_jagged", y, offsets)
    _both("dense_to_jagged", y, offsets, len(values))
    _both("jagged_dense_elementwise_add", values, offsets, y)
    _both("jagged_dense_elementwise_add_jagged_output", values, offsets, y)
    _both("jagged_dense_elementwise_mul", values, offsets, y)
    _both("jagged_dense_dense_elementwise_add_jagged_output", values, offsets, y, z)


@single
@limits
def test_products(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets = _single(lengths, 4)
    others, _ = _single(lengths, 3, 1)
    y = torch.randn(len(lengths), 4, 5)
    _both("jagged_dense_bmm", values, offsets, y, limit)
    _both("jagged_jagged_bmm", values, others, offsets, limit)
    if lengths:  # without a component FBGEMM takes one head for granted
        _both("batched_dense_vec_jagged_2d_mul", torch.randn(2 * len(lengths), limit), values, offsets)


@single
def test_softmax(lengths: tuple[int, ...]) -> None:
    values, offsets = _single(lengths, 2)
    _both("jagged_softmax", values, offsets, max(lengths, default=1))


@single
def test_softmax_of_the_first_rows(lengths: tuple[int, ...]) -> None:
    values, offsets = _single(lengths, 2)
    got, expected = fbgemm.jagged_softmax(values, offsets, 2)[0], peer.jagged_softmax(values, offsets, 2)[0]
    rows = torch.cat([torch.zeros(0, dtype=torch.int64), *(torch.arange(n) for n in lengths)])
    _equal(got[rows < 2], expected[rows < 2])
    assert not got[rows >= 2].any()  # FBGEMM leaves these unset


@single
@limits
def test_slices(lengths: tuple[int, ...], limit: int) -> None:
    values, _ = _single(lengths, 1)
    sizes = torch.tensor(lengths, dtype=torch.int64)
    _both("jagged_slice", values[:, 0], sizes, sizes // 2, limit)


@pytest.mark.parametrize("indices", [[2, 0], [1, 1, 2, 0, 1], [0]])
def test_selections(indices: list[int]) -> None:
    values, _ = _single((2, 0, 3), 2)
    _both("jagged_index_select", values, torch.tensor([2, 0, 3]), torch.tensor(indices))


def _learned(name: str, *arguments: Any) -> None:
    """Both have the same gradients, of all arguments that are floats."""
    own = [x.clone().requires_grad_() if _is_float(x) else x for x in arguments]
    theirs = [x.clone().requires_grad_() if _is_float(x) else x for x in arguments]
    got, expected = getattr(fbgemm, name)(*own), getattr(peer, name)(*theirs)
    got, expected = (x[0] if isinstance(x, (list, tuple)) else x for x in (got, expected))
    weights = torch.rand(expected.shape, generator=torch.Generator().manual_seed(1))
    for result in (got, expected):
        (result * weights).sum().backward()
    for a, b in zip(own, theirs, strict=True):
        if _is_float(a):
            torch.testing.assert_close(a.grad, torch.zeros_like(b) if b.grad is None else b.grad, rtol=1e-4, atol=1e-5)


def _is_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


@pytest.mark.filterwarnings("ignore:.*autograd kernel was not registered")
@pytest.mark.parametrize("longer", [0, 2])
@single
def test_gradients(lengths: tuple[int, ...], longer: int) -> None:
    rng = np.random.default_rng(sum(lengths))
    batch, total, longest = len(lengths), sum(lengths), max(1, max(lengths, default=1)) + longer
    offsets = _tensor(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    if not batch or not total:
        return  # FBGEMM's backward has no case for it
    values, others = (_tensor(rng.standard_normal((total, n))) for n in (4, 3))
    dense, second = (_tensor(rng.standard_normal((batch, longest, 4))) for _ in range(2))
    _learned("jagged_to_padded_dense", values, [offsets], [longest], 0.5)
    _learned("jagged_2d_to_dense", values, offsets, longest)
    _learned("dense_to_jagged", dense, [offsets])
    _learned("jagged_dense_elementwise_add", values, [offsets], dense)
    _learned("jagged_dense_elementwise_add_jagged_output", values, [offsets], dense)
    _learned("jagged_dense_dense_elementwise_add_jagged_output", values, [offsets], dense, second)
    _learned("jagged_dense_elementwise_mul", values, [offsets], dense)
    _learned("jagged_jagged_bmm", values, others, offsets, longest)
    _learned("jagged_softmax", values, offsets, longest)
    _learned("jagged_dense_bmm", values, offsets, _tensor(rng.standard_normal((batch, 4, 3))), longest)
    _learned("batched_dense_vec_jagged_2d_mul", _tensor(rng.standard_normal((batch * 2, longest))), values, offsets)
    every = _tensor(np.array([batch - 1, 0, batch - 1], np.int64))
    _learned("jagged_index_select", values, offsets.diff(), every)
