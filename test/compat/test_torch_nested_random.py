"""Nested tensors on random structures against loops over their components, and what they refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, Array, dense, split

from ragged_dialect.compat import torch_nested as nested
from ragged_dialect.errors import ArgumentError, AxisError, LayoutError, RaggedError, RuntimeCheckError

Lengths = tuple[int, ...]
STRUCTURED = pytest.mark.parametrize("lengths", STRUCTURES)


def _made(lengths: Lengths, features: tuple[int, ...] = (4,), seed: int = 0) -> tuple[nested.NestedTensor, list[Array]]:
    values = dense(lengths, features, np.float64, seed)
    return nested.nested_tensor_from_jagged(values, np.cumsum([0, *lengths])), split(values, lengths)


def _same(got: nested.NestedTensor, expected: Sequence[Any]) -> None:
    found = got.unbind()
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)


@STRUCTURED
def test_lengths_are_as_good_as_offsets(lengths: Lengths) -> None:
    x, parts = _made(lengths)
    _same(nested.nested_tensor_from_jagged(x.values(), lengths=np.array(lengths, np.int64)), parts)
    assert x.lengths() is None
    assert (len(x), x.numel(), x.size(0), x.size()) == (len(lengths), 4 * sum(lengths), len(lengths), x.shape)


@STRUCTURED
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_any_dim_may_be_the_ragged_one(lengths: Lengths, dim: int) -> None:
    x, parts = _made(lengths, (3, 2))
    parts = [np.moveaxis(p, 0, dim - 1) for p in parts]
    values = np.moveaxis(x.values(), 0, dim - 1)
    got = nested.nested_tensor_from_jagged(values, x.offsets(), jagged_dim=dim)
    _same(got, parts)
    assert got.values().shape == values.shape
    shape = [len(lengths), 3, 2]
    assert got.shape == (*shape[:dim], None, *shape[dim:])
    if len(set(lengths)) > 1:
        _same(nested.nested_tensor(parts), parts)


@STRUCTURED
def test_transposes(lengths: Lengths) -> None:
    x, parts = _made(lengths, (3, 2))
    for a, b in ((1, 2), (2, 3), (1, 3), (3, 3), (-1, 1), (0, 0)):
        order = list(range(4))
        order[a], order[b] = order[b], order[a]
        dims = [d - 1 for d in order[1:]]
        moved = x.transpose(a, b)
        _same(moved, [p.transpose(dims) for p in parts])
        _same(moved.transpose(a, b), parts)
        back = moved.transpose(1, 2)
        dims[0], dims[1] = dims[1], dims[0]
        _same(back, [p.transpose(dims) for p in parts])


@STRUCTURED
def test_elementwise_after_a_transpose(lengths: Lengths) -> None:
    x, parts = _made(lengths, (3, 2))
    y, others = _made(lengths, (3, 2), 1)
    weights = np.arange(6.0).reshape(3, 1, 2)
    a, b = x.transpose(1, 2), y.transpose(1, 2)
    pairs = [(p.swapaxes(0, 1), o.swapaxes(0, 1)) for p, o in zip(parts, others, strict=True)]
    _same(a + b * 2, [p + o * 2 for p, o in pairs])
    _same(weights - a, [weights - p for p, _ in pairs])
    _same(a.sin().mul(weights[0, 0]), [np.sin(p) * weights[0, 0] for p, _ in pairs])
    _same(-abs(a) / 2 >= b, [-abs(p) / 2 >= o for p, o in pairs])
    _same(a @ weights[0].T, [p @ weights[0].T for p, _ in pairs])


@pytest.mark.sampled(2)
@STRUCTURED
@pytest.mark.parametrize("place", [1, 2])
def test_reductions(lengths: Lengths, place: int) -> None:
    x, parts = _made(lengths, (3, 2))
    x = x.transpose(1, place)
    parts = [p.swapaxes(0, place - 1) for p in parts]
    for keepdim in (False, True):
        for dim in (3, 3 - place, (3 - place, 3)):
            axes = tuple(d - 1 for d in (dim if isinstance(dim, tuple) else (dim,)))
            _same(x.sum(dim, keepdim), [p.sum(axes, keepdims=keepdim) for p in parts])
        got = x.sum((place, -1), keepdim=keepdim)
        rows = [p.sum((place - 1, 2), keepdims=keepdim) for p in parts]
        np.testing.assert_allclose(got, np.reshape(rows, got.shape))
    np.testing.assert_allclose(x.sum(), sum(p.sum() for p in parts))
    _same(x.softmax(-1), [np.exp(p) / np.exp(p).sum(-1, keepdims=True) for p in parts])
    _same(x.softmax(place), [np.exp(p) / np.exp(p).sum(place - 1, keepdims=True) for p in parts])


def test_extrema_and_means() -> None:
    x = nested.nested_tensor([[3.0, 1.0, 4.0], [1.0, 5.0]])
    assert (x.amax(1).tolist(), x.amin(1).tolist()) == ([4, 5], [1, 1])
    assert x.mean(dim=-1).tolist() == [8 / 3, 3]
    assert x.sum(0).tolist() == [4, 6, 4]


@STRUCTURED
def test_padded(lengths: Lengths) -> None:
    x, parts = _made(lengths)
    extent = max(lengths, default=0) + 1
    wanted = np.full((len(lengths), extent, 4), 2.5)
    for b, part in enumerate(parts):
        wanted[b, : len(part)] = part
    out = np.empty_like(wanted)
    np.testing.assert_array_equal(nested.to_padded_tensor(x, 2.5, wanted.shape, out), wanted)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(nested.to_padded_tensor(x, 2.5), wanted[:, :-1])
    moved = nested.to_padded_tensor(x.transpose(1, 2), 2.5)
    np.testing.assert_array_equal(moved, wanted[:, :-1].swapaxes(1, 2))


@pytest.mark.sampled(2)
@STRUCTURED
def test_shapes(lengths: Lengths) -> None:
    x, parts = _made(lengths, (6,))
    turned, rows = x.transpose(1, 2), [p.T for p in parts]
    _same(x.unsqueeze(1), [p[None] for p in parts])
    _same(turned.unsqueeze(2), [p[:, None] for p in rows])
    _same(turned.unsqueeze(3), [p[..., None] for p in rows])
    _same(turned.unflatten(1, (2, -1)), [p.reshape(2, 3, len(p.T)) for p in rows])
    _same(turned.unflatten(1, (2, -1)).flatten(1, 2), rows)
    _same(nested.cat([turned, turned], 1), [np.concatenate([p, p]) for p in rows])
    _same(nested.cat([x, x]), parts + parts)
    _same(nested.cat([turned, turned], -1), [np.concatenate([p, p], 1) for p in rows])
    for dim in (1, 2, 3):
        _same(nested.stack([x, x], dim), [np.stack([p, p], dim - 1) for p in parts])
        _same(nested.stack([turned, turned], dim), [np.stack([p, p], dim - 1) for p in rows])
    got = [part for chunk in x.chunk(2) for part in chunk.unbind()]
    assert [g.tolist() for g in got] == [p.tolist() for p in parts]


@STRUCTURED
def test_holes_may_overlap(lengths: Lengths) -> None:
    values = dense((9,), (2,))
    starts = np.arange(len(lengths) + 1)
    x = nested.nested_tensor_from_jagged(values, starts, np.array(lengths, np.int64) // 2)
    parts = [values[s : s + n // 2] for s, n in zip(starts, lengths, strict=False)]
    _same(x, parts)
    _same(x * 2, [p * 2 for p in parts])
    assert x.values() is not None
    assert x.lengths().tolist() == [n // 2 for n in lengths]
    assert x.offsets().tolist() == [*starts[:-1], *[starts[-1] - 1 + lengths[-1] // 2 for _ in lengths[-1:]]] or [0]


def _attended(q: Array, k: Array, v: Array, causal: bool) -> Array:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.sampled(6)
@STRUCTURED
@pytest.mark.parametrize("causal", [False, True])
def test_attention(lengths: Lengths, causal: bool) -> None:
    tensors, parts = zip(*(_made(lengths, (6,), seed) for seed in range(3)), strict=True)
    rows = [_attended(*row, causal) for row in zip(*parts, strict=True)]
    _same(nested.scaled_dot_product_attention(*tensors, is_causal=causal), rows)
    heads = [x.unflatten(-1, (2, 3)).transpose(1, 2) for x in tensors]
    got = nested.scaled_dot_product_attention(*heads, is_causal=causal)
    assert got.shape == (len(lengths), 2, None, 3)
    split_ = [[p.reshape(-1, 2, 3).swapaxes(0, 1) for p in own] for own in parts]
    _same(got, [_attended(*row, causal) for row in zip(*split_, strict=True)])


@STRUCTURED
def test_attention_with_masks_and_grouped_queries(lengths: Lengths) -> None:
    (q, queries), (k, keys), (v, values) = (_made(lengths, (6 if seed == 0 else 2,), seed) for seed in range(3))
    longest = max(lengths, default=0)
    mask = np.tril(np.random.default_rng(4).random((6, longest, longest)) < 0.7)
    mask |= np.eye(longest, dtype=bool)
    fewer = [x.unflatten(-1, (heads, 1)).transpose(1, 2) for x, heads in ((q, 6), (k, 2), (v, 2))]
    got = nested.scaled_dot_product_attention(*fewer, attn_mask=mask, enable_gqa=True)
    rows: list[Array] = []
    for a, b, c in zip(queries, keys, values, strict=True):
        own = mask[:, : len(a), : len(a)]
        rows.append(
            np.stack([_masked(a[:, h, None], b[:, h // 3, None], c[:, h // 3, None], own[h]) for h in range(6)])
        )
    _same(got, rows)


def _masked(q: Array, k: Array, v: Array, mask: Array) -> Array:
    weights = np.where(mask, np.exp(q @ k.T), 0)
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.sampled(6)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [(0,), (0, 1), (0, 3), (1, 2), (1, 3), (0, 1, 3), (0, 2)])
def test_sums_of_a_transposed_tensor(dim: tuple[int, ...], keepdim: bool) -> None:
    lengths = (2, 0, 4)
    x, parts = _made(lengths, (6,))
    padded = np.zeros((3, 2, 4, 3))
    for row, part in zip(padded, parts, strict=True):
        row[:, : len(part)] = part.reshape(-1, 2, 3).swapaxes(0, 1)
    got = x.unflatten(-1, (2, 3)).transpose(1, 2).sum(dim, keepdim)
    dense = got.to_padded_tensor(0.0) if isinstance(got, nested.NestedTensor) else got
    expected = padded.sum(dim, keepdims=keepdim)
    assert dense.shape == expected.shape
    np.testing.assert_allclose(dense, expected, 1e-5, 1e-6)


def test_a_batch_is_a_view() -> None:
    batch = np.arange(24.0).reshape(2, 3, 4)
    x = nested.as_nested_tensor(batch)
    assert np.shares_memory(x.values(), batch)
    _same(x, list(batch))
    assert nested.as_nested_tensor(x, dtype=np.float32).dtype == np.float32
    assert nested.as_nested_tensor(x) is x
    assert nested.as_nested_tensor(x, device="cpu").array is x.array


def test_dtype_of_the_first() -> None:
    assert nested.nested_tensor([np.zeros(2, np.float32), np.zeros(3)]).dtype == np.float32


def test_looking() -> None:
    x = nested.nested_tensor([[1, 2], [3]])
    assert repr(x).startswith('NestedTensor(RaggedArray([2, ~], int64, "dr"), ragged_dim=1)')
    assert (x.tolist(), x[1].tolist(), x[-2].tolist(), x.device) == ([[1, 2], [3]], [3], [1, 2], "cpu")
    assert nested.cat([x, x])[1:3].tolist() == [[3], [1, 2]]
    assert (x.is_nested, x.layout, x.requires_grad, x.ndim) == (True, "jagged", False, 2)


def test_compiled_containers() -> None:
    x = nested.nested_tensor([np.ones((2, 3)), np.ones((1, 3))])

    def f(pair: Any, *, scale: Any) -> Any:
        return {"sum": pair[0] + pair[1], "turned": [pair[0].transpose(1, 2) * scale]}

    compiled = nested.compile(f)
    got = compiled((x, x), scale=3.0)
    _same(got["sum"], [np.full((2, 3), 2.0), np.full((1, 3), 2.0)])
    _same(got["turned"][0], [np.full((3, 2), 3.0), np.full((3, 1), 3.0)])
    compiled((x, x), scale=4.0)
    assert compiled.compilations == 1


# Errors -----------------------------------------------------------------------------------------------

ROWS, COLUMNS = np.ones((2, 3)), np.ones((4, 3))
X = nested.nested_tensor([ROWS, COLUMNS])
TURNED = X.transpose(1, 2)
HEADS = X.unflatten(-1, (1, -1)).transpose(1, 2)
SDPA = nested.scaled_dot_product_attention
CASES: dict[str, tuple[type[RaggedError], str, Callable[[], Any]]] = {
    "two ragged dims": (
        ArgumentError,
        "nested_tensor: expected tensors that differ along one dim, got dims 0 and 1",
        lambda: nested.nested_tensor([ROWS, COLUMNS.T]),
    ),
    "numbers": (
        ArgumentError,
        r"expected a list or an array at \[0\], got a number",
        lambda: nested.nested_tensor([1, 2]),
    ),
    "nothing": (ArgumentError, "expected at least one array, got none", lambda: nested.nested_tensor([])),
    "gradients": (
        ArgumentError,
        "requires_grad_: expected an array of PyTorch's, got one of numpy",
        lambda: nested.nested_tensor([ROWS], requires_grad=True),
    ),
    "backward": (
        ArgumentError,
        "backward: expected a tensor that requires a gradient, got one that does not",
        lambda: nested.nested_tensor([ROWS]).backward(nested.nested_tensor([ROWS])),
    ),
    "pinned": (
        ArgumentError,
        "nested_tensor: expected pin_memory=False, got True",
        lambda: nested.nested_tensor([ROWS], pin_memory=True),
    ),
    "strided": (
        LayoutError,
        "nested_tensor: expected the jagged layout, got torch.strided",
        lambda: nested.nested_tensor([ROWS], layout="torch.strided"),
    ),
    "rank of a batch": (
        ArgumentError,
        "as_nested_tensor: expected a tensor of rank 2 or more, got rank 1",
        lambda: nested.as_nested_tensor(np.ones(3)),
    ),
    "no structure": (
        ArgumentError,
        "nested_tensor_from_jagged: expected offsets or lengths, got neither",
        lambda: nested.nested_tensor_from_jagged(ROWS),
    ),
    "bad offsets": (
        RuntimeCheckError,
        r"expected offsets\[0\] == 0, got 1",
        lambda: nested.nested_tensor_from_jagged(ROWS, [1, 2]),
    ),
    "jagged_dim": (
        AxisError,
        r"expected dim in \[-2, 2\), got 2",
        lambda: nested.nested_tensor_from_jagged(ROWS, [0, 2], jagged_dim=3),
    ),
    "dim of narrow": (LayoutError, "narrow: expected dim 1, got 0", lambda: nested.narrow(ROWS, 0, 0, 1)),
    "length of narrow": (ArgumentError, "narrow: expected a length, got none", lambda: nested.narrow(ROWS, 1)),
    "outside": (
        RuntimeCheckError,
        r"component 0: expected starts\[0\] \+ lengths\[0\] <= 3, got 4",
        lambda: nested.narrow(ROWS, 1, 2, 2),
    ),
    "rank of masked_select": (
        ArgumentError,
        "masked_select: expected a tensor of rank 2, got rank 1",
        lambda: nested.masked_select(np.ones(3), np.ones(3, bool)),
    ),
    "mask": (
        ArgumentError,
        r"masked_select: expected a mask that broadcasts to \(2, 3\), got \(2,\)",
        lambda: nested.masked_select(ROWS, np.ones(2, bool)),
    ),
    "output_size": (
        ArgumentError,
        r"to_padded_tensor: expected output_size \(2, \*, 3\), got \(2, 9, 4\)",
        lambda: nested.to_padded_tensor(X, 0.0, (2, 9, 4)),
    ),
    "too small": (
        RuntimeCheckError,
        "component 1: expected extent >= length 4, got 3",
        lambda: nested.to_padded_tensor(X, 0.0, (2, 3, 3)),
    ),
    "out": (
        ArgumentError,
        r"to_padded_tensor: expected out of shape \(2, 4, 3\), got \(1, 4, 3\)",
        lambda: nested.to_padded_tensor(X, 0.0, out=np.ones((1, 4, 3))),
    ),
    "places": (
        LayoutError,
        "add: expected ragged dims at one place, got dim 1 of 3 and 2 of 3",
        lambda: X + TURNED,
    ),
    "places of cat": (
        LayoutError,
        "cat: expected ragged dims at one place, got dims 1 and 2",
        lambda: nested.cat([X, TURNED]),
    ),
    "no tensors": (ArgumentError, "cat: expected at least one tensor, got none", lambda: nested.cat([])),
    "dense": (ArgumentError, "stack: expected nested tensors, got ndarray", lambda: nested.stack([ROWS])),  # pyright: ignore[reportArgumentType]
    "stack": (LayoutError, "stack: expected a dim behind the batch, got dim 0", lambda: nested.stack([X, X], 0)),
    "unsqueeze": (LayoutError, "unsqueeze: expected a dim behind the batch, got dim 0", lambda: X.unsqueeze(0)),
    "transpose": (LayoutError, "transpose: expected dims behind the batch, got 0 and 1", lambda: X.transpose(0, 1)),
    "unflatten": (LayoutError, "expected adjacent plain dims", lambda: X.unflatten(1, (2, 1))),
    "flatten": (LayoutError, "expected adjacent plain dims", lambda: X.flatten(1, 2)),
    "dim": (AxisError, r"sum: expected dim in \[-3, 3\), got 3", lambda: X.sum(3)),
    "unbind": (LayoutError, "unbind: expected dim 0, got 1", lambda: X.unbind(1)),
    "no list": (ArgumentError, "nested_tensor: expected a list of tensors, got int", lambda: nested.nested_tensor(5)),
    "no nested tensor": (
        ArgumentError,
        "to_padded_tensor: expected a nested tensor, got ndarray",
        lambda: nested.to_padded_tensor(ROWS, 0.0),
    ),
    "kind of index": (ArgumentError, "index: expected a number or a slice, got str", lambda: X["a"]),
    "index": (AxisError, r"index: expected dim in \[-2, 2\), got 2", lambda: X[2]),
    "product": (
        LayoutError,
        "matmul: expected the ragged dim second, got it at dim 2",
        lambda: TURNED @ np.ones((2, 2)),
    ),
    "array": (
        ArgumentError,
        r"expected a dense array, got a nested tensor \(use to_padded_tensor, values or unbind\)",
        lambda: np.asarray(X),
    ),
    "ufunc": (
        ArgumentError,
        "np.add: expected a plain call on nested tensors, got its accumulate",
        lambda: np.add.accumulate(X),  # pyright: ignore[reportArgumentType]
    ),
    "mask of attention": (
        ArgumentError,
        "scaled_dot_product_attention: expected attn_mask or is_causal, got both",
        lambda: SDPA(X, X, X, ROWS, is_causal=True),
    ),
    "dropout": (
        ArgumentError,
        "scaled_dot_product_attention: expected no dropout_p, got 0.1",
        lambda: SDPA(X, X, X, dropout_p=0.1),
    ),
    "groups": (
        LayoutError,
        "scaled_dot_product_attention: expected 1 heads without enable_gqa, got 2",
        lambda: SDPA(HEADS, nested.cat([HEADS, HEADS], 1), nested.cat([HEADS, HEADS], 1)),
    ),
    "attention": (
        LayoutError,
        "scaled_dot_product_attention: expected the ragged dim second last, got dim 2 of 3",
        lambda: SDPA(TURNED, TURNED, TURNED),
    ),
    "softmax over the batch": (
        LayoutError,
        "softmax: expected a dim behind the batch, got dim 0",
        lambda: X.softmax(-3),
    ),
    "equal": (ArgumentError, "equal: expected nested tensors, got int", lambda: X.equal(3)),
    "truth": (
        ArgumentError,
        r"expected one truth value, got a nested tensor \(use equal, or any and all of values\)",
        lambda: bool(X == X),
    ),
    "kind of dim": (ArgumentError, "sum: expected an integer for dim, got NestedTensor", lambda: X.sum(X)),  # pyright: ignore[reportArgumentType]
    "both when compiled": (
        ArgumentError,
        "nested_tensor_from_jagged: expected offsets or lengths in a compiled function, got both",
        lambda: nested.compile(nested.nested_tensor_from_jagged)(ROWS, np.array([0, 2]), np.array([1])),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    error, text, call = CASES[case]
    with pytest.raises(error, match=text):
        call()


def test_equal_is_one_truth_value() -> None:
    """torch.equal asks for all elements, NumPy's function of this name for each."""
    other = nested.nested_tensor([x + 1 for x in X.unbind()])
    shorter = nested.nested_tensor([x[:1] for x in X.unbind()])
    torch_equal = nested.NestedTensor.__torch_function__
    for a, b in ((X, X), (X, other), (X, shorter), (X, TURNED)):
        function = SimpleNamespace(__name__="equal")
        assert a.equal(b) is torch_equal(function, (), (a, b)) is (a is b)
    assert isinstance(np.equal(X, X), nested.NestedTensor)


@pytest.mark.parametrize("name", ["conv2d", "add_", "__index__"])
def test_no_such_attribute(name: str) -> None:
    with pytest.raises(AttributeError, match=f"nested tensors have no attribute '{name}'"):
        getattr(X, name)


def test_not_in_place() -> None:
    x = X
    with pytest.raises(ArgumentError, match=r"np\.add: expected a plain call on nested tensors"):
        x += 1


def test_pickled() -> None:
    got = pickle.loads(pickle.dumps(TURNED))
    _same(got, TURNED.unbind())
    assert got.ragged_dim == 2
