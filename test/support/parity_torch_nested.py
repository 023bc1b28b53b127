"""The names of the documentation of torch.nested."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.parity import Table, refused

import ragged_dialect as rg
from ragged_dialect.compat import torch_nested as nested
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError

TABLE = Table("torch.nested", "ragged_dialect.compat.torch_nested")
A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)


def made() -> nested.NestedTensor:
    """A nested tensor [2, ragged, 3]."""
    return nested.nested_tensor([A, B], layout=nested.jagged)


def same(got: nested.NestedTensor, *parts: Any) -> None:
    """Assert components."""
    assert len(got) == len(parts)
    for a, b in zip(got.unbind(), parts, strict=True):
        np.testing.assert_allclose(a, b)


@TABLE.works(
    "nested_tensor", "torch.jagged", note="a `NestedTensor` of layout `jagged`; dtypes of Python's numbers are NumPy's"
)
def _nested_tensor() -> None:
    same(made(), A, B)
    assert nested.nested_tensor([A, B], dtype=np.float32).dtype == np.float32
    refused(ArgumentError, lambda: nested.nested_tensor([A, B[None]]))


@TABLE.differs("layout", why="jagged whenever it is left out; `torch.strided` is refused")
def _layout() -> None:
    assert nested.nested_tensor([A, B]).layout == nested.jagged
    refused(LayoutError, lambda: nested.nested_tensor([A, B], layout="torch.strided"))


@TABLE.works("dtype", "device", note="`device` cuda needs CuPy")
def _dtype() -> None:
    assert nested.as_nested_tensor(made(), dtype="float32", device="cpu").dtype == np.float32


@TABLE.differs("requires_grad", "backward", "grad", why="as there for PyTorch's tensors; others are refused")
def _requires_grad() -> None:
    assert not made().requires_grad
    refused(ArgumentError, lambda: nested.nested_tensor([A], requires_grad=True))
    refused(ArgumentError, lambda: made().backward(made()))
    assert made().grad is None


@TABLE.works("as_nested_tensor")
def _as_nested_tensor() -> None:
    same(nested.as_nested_tensor([A, B]), A, B)
    batch = np.ones((2, 3, 4))
    assert np.shares_memory(nested.as_nested_tensor(batch).values(), batch)


@TABLE.works("nested_tensor_from_jagged", note="offsets are checked; a copy where `jagged_dim` is not 1")
def _from_jagged() -> None:
    same(nested.nested_tensor_from_jagged(B, np.array([0, 1, 4])), B[:1], B[1:])
    same(nested.nested_tensor_from_jagged(B, np.array([0, 2, 4]), np.array([1, 2])), B[:1], B[2:])
    same(nested.nested_tensor_from_jagged(B.T, lengths=np.array([1, 3]), jagged_dim=2), B[:1].T, B[1:].T)


@TABLE.works("narrow", note="`start` is 0 when it is left out, as in one of the examples")
def _narrow() -> None:
    padded = np.arange(24.0).reshape(2, 3, 4)
    got = nested.narrow(padded, dim=1, length=np.array([3, 1]), layout=nested.jagged)
    same(got, padded[0], padded[1, :1])
    assert np.shares_memory(got.values(), padded)


@TABLE.works("masked_select")
def _masked_select() -> None:
    mask = np.eye(3, dtype=bool)[:2]
    same(nested.masked_select(A, mask), [A[0, 0]], [A[1, 1]])


@TABLE.works(
    "to_padded_tensor", note="an `output_size` that is too small is an error, as documented; torch 2.13 truncates"
)
def _to_padded_tensor() -> None:
    got = nested.to_padded_tensor(made(), 4.2)
    assert (got.shape, got[0, 2:].tolist()) == ((2, 4, 3), [[4.2] * 3] * 2)
    refused(RuntimeCheckError, lambda: nested.to_padded_tensor(made(), 4.2, (2, 3, 3)))


@TABLE.differs("shape", "size", why="the ragged extent is None, not a symbol `j1`")
def _shape() -> None:
    assert made().shape == made().size() == (2, None, 3)


@TABLE.works("dim", "numel")
def _dim() -> None:
    assert (made().dim(), made().numel()) == (3, 18)


@TABLE.works(
    "values", "offsets", "lengths", note="int64; `lengths` is None without holes; last offset of holes: the last end"
)
def _jagged() -> None:
    assert made().values().shape == (6, 3)
    assert made().offsets().tolist() == [0, 2, 6]
    assert made().lengths() is None
    assert nested.narrow(np.ones((2, 3)), 1, 1, 2).lengths().tolist() == [2, 2]


@TABLE.works("unbind", "iteration", note="views of the memory")
def _unbind() -> None:
    x = made()
    x.unbind()[0][...] *= 3
    same(x, A * 3, B)
    assert [part.shape for part in x] == [(2, 3), (4, 3)]


@TABLE.works("is_contiguous", "contiguous")
def _contiguous() -> None:
    x = nested.narrow(np.ones((2, 3)), 1, 1, np.array([2, 0]))
    assert (x.is_contiguous(), x.contiguous().is_contiguous()) == (False, True)


@TABLE.differs("binary operations", why="tensors are compatible when their lengths are equal, whatever object has them")
def _binary() -> None:
    same(made() + made() * 2.0, A * 3, B * 3)
    refused(RuntimeCheckError, lambda: made() + nested.nested_tensor([B, A]))


@TABLE.works("sin", note="and all other functions of elements that NumPy has")
def _sin() -> None:
    same(made().sin() + 1, np.sin(A) + 1, np.sin(B) + 1)


TABLE.not_applicable("mul_", why="nested tensors do not change; components of torch tensors do")


@TABLE.works("sum", "mean", "softmax", note="over ragged and dense dims, each component by its own length")
def _reductions() -> None:
    assert made().sum() == A.sum() + B.sum()
    assert made().mean(1).tolist() == [A.mean(0).tolist(), B.mean(0).tolist()]
    np.testing.assert_allclose(made().softmax(1).sum(1), np.ones((2, 3)))


@TABLE.works("unsqueeze", "unflatten", "flatten", "transpose", note="not of the batch")
def _shapes() -> None:
    assert made().unsqueeze(-1).shape == (2, None, 3, 1)
    assert made().unflatten(-1, [1, 3]).shape == (2, None, 1, 3)
    assert made().unflatten(-1, [1, 3]).flatten(2, 3).shape == (2, None, 3)
    same(made().transpose(-1, -2), A.T, B.T)


@TABLE.works("torch.cat", "torch.stack", note="`cat` and `stack` of the module; torch's own take nested tensors, too")
def _joining() -> None:
    same(nested.cat([made(), made()], dim=2), np.hstack([A, A]), np.hstack([B, B]))
    assert nested.stack([made(), made()], dim=2).shape == (2, None, 2, 3)


@TABLE.works("chunk", note="along the batch or a dense dim, and the ragged one: a part of every component")
def _chunk() -> None:
    same(made().chunk(2, dim=0)[1], B)
    same(made().chunk(2, dim=1)[0], A[:1], B[:2])


@TABLE.works("scaled_dot_product_attention", note="without dropout; masks, grouped queries and causal on every device")
def _attention() -> None:
    got = nested.scaled_dot_product_attention(made(), made(), made(), is_causal=True)
    np.testing.assert_allclose(got.unbind()[1][0], B[0])
    got = nested.scaled_dot_product_attention(made(), made(), made(), attn_mask=np.eye(4, dtype=bool))
    same(got, A, B)


@TABLE.works("FlexAttention", note="`rg.attention(score=)`: a function of score, component, head, query and key")
def _scores() -> None:
    arrays = [made().array for _ in range(3)]
    found = rg.attention(*arrays, score=lambda s, b, h, q, k: rg.where(q == k, s, -np.inf))
    np.testing.assert_allclose(found.values, np.concatenate([A, B]), rtol=1e-6)


@TABLE.works(
    "torch.compile", "dynamic shapes", note="`compile` of the module, by `rg.jit`: one program for all lengths"
)
def _compile() -> None:
    function = nested.compile(lambda x: x.sin() + 1, fullgraph=True)
    same(function(made()), np.sin(A) + 1, np.sin(B) + 1)
    same(function(nested.nested_tensor([B])), np.sin(B) + 1)
    assert function.compilations == 1


@TABLE.differs(
    "chunk of the batch in torch.compile", why="refused: how many components there are is no part of a program"
)
def _compiled_chunk() -> None:
    refused(LayoutError, lambda: nested.compile(lambda x: x.chunk(2, dim=0)[0])(made()))
