"""PyTorch's gradients of operations and jit functions: against differences, and what is refused."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.buffer import PassingBuffer
from ragged_dialect.arrays.tracing.jit import JitFunction
from ragged_dialect.errors import ArgumentError, PassError

torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")

LENGTHS = [2, 0, 3]


def values(*shape: int) -> Any:
    made = np.random.default_rng(0).standard_normal(shape)
    return torch.tensor(made, requires_grad=True)


def ragged(x: Any) -> rg.RaggedArray:
    return rg.from_lengths(x, LENGTHS)


@rg.jit
def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w).max(axis=1), x * 2.0


def dense(results: Any) -> Any:
    return tuple(r.values if isinstance(r, rg.RaggedArray) else r for r in results)


QUICK: dict[str, Any] = {
    "softmax": lambda x, w: rg.softmax(ragged(x), axis=1).values,
    "jit": lambda x, w: dense(layer(ragged(x), w)),
    "window": lambda x, w: (ragged(x)[:, 1:] * 2.0).values,
    "pairs": lambda x, w: rg.einsum("bid,bjd->bij", ragged(x), ragged(x * 2.0)).values,
    "sort": lambda x, w: rg.sort(ragged(x[:, 0].contiguous()), axis=1).values * w[0, 0],
    "median": lambda x, w: rg.median(ragged(x[:, 1].contiguous())[::2], axis=1),
    "positions": lambda x, w: rg.attention(ragged(x), ragged(x), ragged(x), mask=w.T @ w).values,
}

SLOW: dict[str, Any] = {
    "product with a weight": lambda x, w: np.tanh(ragged(x) @ w).values,
    "prod": lambda x, w: ragged(x).prod(axis=1),
    "padded": lambda x, w: rg.to_padded(ragged(x) * w[:, 0]),
    "truncated": lambda x, w: rg.to_padded(ragged(x) * 2.0, 0.0, 2, truncate=True),
    "from padded": lambda x, w: np.exp(rg.from_padded((w * 2).reshape(2, 3, 1), [1, 3])).values,
    "norm": lambda x, w: rg.layer_norm(ragged(x), w[0, :2]).values,
    "components": lambda x, w: tuple(p * p for p in ragged(x).unbind()),
    "some components": lambda x, w: (ragged(x)[::2] * ragged(x)[::2]).values,
    "total": lambda x, w: (ragged(x) ** 2.0).sum(),
    "attention": lambda x, w: rg.attention(ragged(x), ragged(x), ragged(x)).values,
    "biases": lambda x, w: rg.attention(*[ragged(x)[..., None]] * 3, mask=w[:, :, None] * w[0]).values,
    "cumsum": lambda x, w: rg.cumsum(ragged(x) * ragged(x), axis=1).values,
    "no component": lambda x, w: (rg.from_lengths(x[:0], [0, 0]) * w[:, 0]).sum(axis=1),
}


def check(function: Any) -> None:
    def finite(*given: Any) -> Any:
        results = function(*given)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(torch.where(r.isfinite(), r, 0) for r in results)  # a max of nothing

    given = (values(5, 2), values(2, 3))
    assert torch.autograd.gradcheck(finite, given)
    assert torch.autograd.gradgradcheck(finite, given)


@pytest.mark.parametrize("name", QUICK)
def test_against_differences(name: str) -> None:
    check(QUICK[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_more_against_differences(name: str) -> None:
    check(SLOW[name])


def test_softmax_by_hand() -> None:
    x = torch.tensor([[0.0, 0], [1, 0], [0, 2], [1, 1], [3, 0]], requires_grad=True)
    made = rg.softmax(ragged(x), axis=1)
    assert made.requires_grad
    made.values.backward(torch.tensor([[1.0, 0], [0, 0], [0, 1], [0, 0], [2, 0]]))
    expected = [
        [0.196612, 0], [-0.196612, 0], [-0.070896, 0.222695], [-0.192715, -0.162803], [0.263610, -0.059892],
    ]  # fmt: skip
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-6)


def test_the_gradient_has_the_structure() -> None:
    x = ragged(values(5, 2).detach()).requires_grad_()
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.lengths.tolist() == LENGTHS
    np.testing.assert_allclose(x.grad.values.numpy(), 2 * x.detach().values.numpy())
    assert not x.detach().requires_grad
    assert not x.requires_grad_(False).requires_grad
    assert x.grad is None


def test_what_is_off() -> None:
    x = ragged(values(5, 2))
    assert (x * 2.0).requires_grad
    assert not (x > 0.0).requires_grad
    with torch.no_grad():
        assert not (x * 2.0).requires_grad
    assert not (x.detach() * 2.0).requires_grad
    assert x.tolist() == x.detach().tolist()
    assert repr(x) == repr(x.detach())


def test_changes_in_place_are_noticed() -> None:
    x = ragged(values(5, 2) * 1.0)
    y = (x * x).sum()
    x.values.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_gradients_are_those_of_what_was_computed() -> None:
    """Whatever a function would read of Python by the time of its gradient: it is traced once."""
    x, held = values(5, 2), [torch.ones(5, 2, dtype=torch.float64)]
    losses = []
    for factor in (1.0, 2.0, 3.0):
        losses.append(rg.jit(lambda x: (x * ragged(held[0]) * factor).sum())(ragged(x)))
        held[0] = held[0] * 2.0
    sum(losses).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((5, 2), 1.0 + 2.0 * 2.0 + 3.0 * 4.0))


@pytest.mark.parametrize("kind", ["dense", "ragged"])
def test_changes_of_what_a_function_holds_on_to_are_noticed(kind: str) -> None:
    memory = torch.ones(5, 2, dtype=torch.float64)
    held = ragged(memory) if kind == "ragged" else memory[:2]
    y = rg.jit(lambda x: (x * held).sum() if kind == "ragged" else (x @ held).sum())(ragged(values(5, 2)))
    memory.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_arrays_of_numpy_are_copied() -> None:
    """Operands, indices and what a function holds on to: PyTorch notices no change of them."""
    x, w, ids, scale, rows = values(5, 2), np.ones(2), np.array([0, 2]), np.ones(2), np.ones(5, bool)
    y = ((ragged(x) * w)[ragged(rows)] * 1.0)[ids].sum() + rg.jit(lambda x: (x * scale).sum())(rg.from_lengths(x, [5]))
    for array in (w, ids, scale, rows):
        array[:] = 1 - array
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((5, 2), 2.0))


@pytest.mark.parametrize("function", [lambda x: rg.softmax(x, axis=1).values, lambda x: x.max(axis=1)])
def test_changes_of_kept_results_are_noticed(function: Any) -> None:
    y = function(ragged(values(5, 2)))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_a_node_keeps() -> None:
    """Arguments, of attention its results and the sums of its rows; of what is linear no more than arguments."""
    x = values(5, 2, 3)
    attention = rg.attention(ragged(x), ragged(x), ragged(x)).values
    assert [tuple(kept.shape) for kept in attention.grad_fn.saved_tensors] == [(5, 2, 3)] * 4 + [(5, 2)]
    assert attention.grad_fn.saved_tensors[3].data_ptr() == attention.data_ptr()
    assert len((ragged(x) * 2.0).values.grad_fn.saved_tensors) == 1
    with torch.no_grad():
        assert rg.attention(ragged(x), ragged(x), ragged(x)).values.grad_fn is None


def test_saved_tensors_may_be_replaced() -> None:
    """By ones that are not contiguous, as a hook may make them."""
    x = values(5, 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.t().contiguous().t()):
        y = np.exp(ragged(x)).values
        y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


@pytest.mark.parametrize(
    ("other", "got"),
    [
        (lambda t: t.half(), "torch.float16 of shape (5, 2) on cpu"),
        (lambda t: t[:1].clone(), "torch.float64 of shape (1, 2) on cpu"),
        (lambda t: t.to("meta"), "torch.float64 of shape (5, 2) on meta"),
    ],
)
@pytest.mark.parametrize("function", [np.exp, lambda x: rg.softmax(x, axis=1), rg.jit(lambda x: x * np.tanh(x))])
def test_saved_tensors_are_replaced_by_what_is_like_them(function: Any, other: Any, got: str) -> None:
    with torch.autograd.graph.saved_tensors_hooks(other, lambda t: t):
        y = function(ragged(values(5, 2))).values
    expected = ": expected hooks to give back what was saved, torch.float64 of shape (5, 2) on cpu"
    with pytest.raises(ArgumentError, match=re.escape(f"{expected}, got {got}")):
        y.sum().backward()


def test_vjp_of_tensors_of_a_graph() -> None:
    x = values(5, 2)
    result, pull = rg.vjp(lambda x: rg.softmax(x, axis=1), ragged(x))
    (gradient,) = pull(ragged(torch.ones(5, 2, dtype=torch.float64) * torch.arange(5.0)[:, None]))
    (second,) = torch.autograd.grad((gradient.values**2).sum(), x)
    y, function = x.detach().requires_grad_(), rg.jit(lambda x, c: rg.vjp(lambda x: rg.softmax(x, axis=1), x)[1](c)[0])
    whole = function(ragged(y), ragged(torch.ones(5, 2, dtype=torch.float64) * torch.arange(5.0)[:, None]))
    (expected,) = torch.autograd.grad((whole.values**2).sum(), y)
    np.testing.assert_allclose(second.numpy(), expected.numpy(), atol=1e-12)
    assert result.requires_grad


def test_what_is_refused() -> None:
    x = ragged(values(5, 2))
    with pytest.raises(PassError, match=r"prod: expected 'ragged\.reduce_across' of kind sum, max or min, got prod"):
        x.prod(axis=0)
    text = "expected what requires a gradient as an argument, got an array that the traced function holds on to"
    for held in (x, values(2)):
        with pytest.raises(ArgumentError, match=text):
            _holding(held)(x.detach())
    cases = {
        "expected what requires no gradient, got a tensor that does": lambda: pickle.dumps(x),
        "requires_grad_: expected an array of floats, got int64": lambda: ragged(torch.arange(5)).requires_grad_(),
        "requires_grad_: expected an array of PyTorch's, got one of numpy": lambda: ragged(np.ones(5)).requires_grad_(),
        "requires_grad_: expected an array that was not computed, got a result \\(use detach\\)": lambda: (
            x * 2.0
        ).requires_grad_(False),
    }
    for text, run in cases.items():
        with pytest.raises(ArgumentError, match=text):
            run()


def _holding(held: Any) -> Any:
    return rg.jit(lambda y: y * held)


@pytest.mark.slow
def test_training_in_two_processes(tmp_path: Path) -> None:
    script = ROOT / "test" / "support" / "ddp_training.py"
    command = [sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ranks = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meeting")], env=environment, stdout=subprocess.PIPE)
        for rank in range(2)
    ]
    assert [process.communicate(timeout=300)[0].decode().strip() for process in ranks] == ["equal", "equal"]


def test_autocast_leaves_dtypes_alone() -> None:
    x, w = ragged(torch.ones(5, 2)), torch.ones(2, 3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = x @ w
        made.values.sum().backward()
    assert made.dtype == np.float32
    assert w.grad.dtype == torch.float32


def test_hooks_and_half_precision() -> None:
    x = torch.ones(5, 2, dtype=torch.bfloat16, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda gradient: seen.append(gradient) or gradient * 2)
    made = ragged(x).sum(axis=1)
    made.register_hook(seen.append)
    made.sum().backward()
    assert [s.dtype for s in seen] == [torch.bfloat16] * 2
    assert x.grad.tolist() == [[2, 2]] * 5


def test_held_arrays_that_require_a_gradient_later() -> None:
    """A layer that was frozen when it was traced."""
    x, w, y = torch.ones(5, 2, requires_grad=True), torch.ones(2), ragged(torch.ones(5, 2))
    held = (rg.jit(lambda a: (a * w).sum()), rg.jit(lambda a: (a * y).sum()))
    for given in (x, x.detach()):
        for function in held:
            function(ragged(given))
    w.requires_grad_()
    y.requires_grad_()
    for given in (x, x.detach()):
        for function in held:
            with pytest.raises(ArgumentError, match="got an array that the traced function holds on to"):
                function(ragged(given))


ADVICE: dict[str, tuple[Any, str]] = {
    "exp": (lambda x: torch.exp(x), "rg.exp"),
    "relu": (lambda x: torch.nn.functional.relu(x), "rg.nn.relu"),
    "sum": (lambda x: torch.sum(x), "x.sum"),
    "cat": (lambda x: torch.cat([x, x]), "rg.concat"),
    "linear": (lambda x: torch.nn.Linear(3, 2)(x), "x @ w.T"),
    "sinc": (lambda x: torch.sinc(x), "what rg has, or x.values"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_functions_of_pytorch_name_what_does_their_work(name: str) -> None:
    call, advice = ADVICE[name]
    with pytest.raises(ArgumentError) as caught:
        call(ragged(values(5, 3)))
    text = f"{name}: expected tensors for a function of PyTorch, got a ragged array (use {advice})"
    assert str(caught.value) == text


def test_operators_of_tensors_are_those_of_arrays() -> None:
    x, w = ragged(values(5)), torch.ones(3, 1, dtype=torch.float64)
    for made in (w + x, w - x, w / x, w == x, w < x, (w > 0) & (x > 0)):
        assert isinstance(made, rg.RaggedArray)


def of_a_fake_tensor(function: Any) -> Any:
    def call(x: Any) -> Any:
        with torch._subclasses.FakeTensorMode():
            return function(torch.rand(5))

    return call


@pytest.mark.parametrize("kind", ["grad", "vmap", "jacrev", "fake"])
def test_tensors_without_values(kind: str) -> None:
    transform = of_a_fake_tensor if kind == "fake" else getattr(torch.func, kind)
    call, x = transform(lambda x: ragged(x).sum()), values(5)
    with pytest.raises(ArgumentError, match=r"expected a tensor that has values, got one that stands for others \("):
        call(x.reshape(1, 5) if kind == "vmap" else x)


def functional(x: Any, left: int) -> Any:
    return torch.func.functionalize(lambda x: np.exp(ragged(x)).values)(x)


def of_freed_memory(x: Any, left: int) -> Any:
    x.untyped_storage().resize_(left)
    return rg.jit(lambda a, b: a + b)(ragged(torch.ones(5, dtype=x.dtype)), x)


def saved_and_freed(x: Any, left: int) -> Any:
    y = ragged(values(5, 3).to(x.dtype)) @ x
    x.untyped_storage().resize_(left)
    y.values.sum().backward()


def in_another_order(x: Any, left: int) -> Any:
    w = x.t()
    x.untyped_storage().resize_(left)
    return rg.jit(lambda a, b: a @ b)(ragged(torch.ones(5, 2, dtype=x.dtype)), w)


@pytest.mark.parametrize("call", [functional, of_freed_memory, saved_and_freed, in_another_order])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("left", [0, 8])
def test_tensors_without_memory(call: Any, dtype: Any, left: int) -> None:
    """Or with less than their elements take."""
    x = torch.ones(*((3, 2) if call in (saved_and_freed, in_another_order) else (5,)), dtype=dtype)
    text = "expected a tensor that has values, got one without memory (its storage was resized)"
    with pytest.raises(ArgumentError, match=re.escape(text)):
        call(x, left)


@pytest.mark.parametrize("change", [lambda t: t.t_(), lambda t: t.unsqueeze_(0), lambda t: t.transpose_(0, 1)])
def test_values_of_another_shape(change: Any) -> None:
    """Programs would read what is not there. Arrays without gradients have a tensor that nobody else has."""
    x = ragged(values(5, 2) * 1.0)
    y = rg.softmax(x, axis=1)
    detached = y.detach()
    for array in (x, y):
        change(array.values)
        for function in (lambda a: rg.softmax(a, axis=1), rg.jit(lambda a: a * 2.0), lambda a: a.detach()):
            with pytest.raises(
                ArgumentError, match=r"expected values as they were, torch\.float64 of shape \(5, 2\), got"
            ):
                function(array)
    assert detached.values.shape == (5, 2)
    assert detached.sum().item() == pytest.approx(4)


def test_parameters_in_other_memory() -> None:
    """What `model.to` and others do: `.data` is another tensor's."""
    p = torch.nn.Parameter(torch.ones(5, 2))
    x = ragged(p)
    for data in (torch.full((5, 2), 2.0), torch.full((2, 5), 3.0).t(), torch.full((5, 2), 4.0)):
        p.data = data
        for _ in range(2):
            (gradient,) = torch.autograd.grad((x * 2.0).sum(), p)
            assert gradient.tolist() == [[2, 2]] * 5
            assert (x * x).sum().item() == 10 * data[0, 0] ** 2
            assert x.detach().values[0, 0] == data[0, 0]
            data.mul_(2)
    for data in (torch.ones(4, 2), torch.ones(2, 5)):
        p.data = data
        with pytest.raises(ArgumentError, match="expected values as they were"):
            x.sum()


def test_detached_results_hold_no_graph() -> None:
    x = values(5, 2)
    y = rg.softmax(ragged(x), axis=1)
    detached = y.detach()
    assert detached.buffer.of_torch().tensor.grad_fn is None
    with torch.no_grad():
        y.values.mul_(2)
    assert detached.values._version == y.values._version
    np.testing.assert_array_equal(detached.values.numpy(), y.values.detach().numpy())


def unaligned(x: Any) -> Any:
    memory = torch.frombuffer(bytearray(x.numel() * 8 + 1), dtype=x.dtype, offset=1, count=x.numel())
    return memory.view(x.shape).copy_(x)


LIKE_X: dict[str, Any] = {
    "negative": lambda x: torch.complex(torch.zeros_like(x), -x).conj().imag,
    "another order": lambda x: x.t().contiguous().t(),
    "unaligned": unaligned,
    "a parameter": torch.nn.Parameter,
}


@pytest.mark.parametrize("name", LIKE_X)
def test_tensors_that_are_not_plainly_in_memory(name: str) -> None:
    """Programs take the addresses of the others: as arguments, as what was saved and as cotangents."""
    x, w, like = values(5, 2), values(2, 3), LIKE_X[name]
    product = rg.jit(lambda x, w: x @ w)
    for function in (product, lambda x, w: x @ w):
        made = function(ragged(x), like(w.detach())).values
        np.testing.assert_allclose(made.detach().numpy(), (x @ w).detach().numpy(), atol=1e-12)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), like):
            y = function(ragged(x), w).values
        given = values(5, 3).detach()
        for got, expected in zip(torch.autograd.grad(y, (x, w), like(given)), (given @ w.T, x.T @ given), strict=True):
            np.testing.assert_allclose(got.numpy(), expected.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("like", [unaligned, lambda x: torch._neg_view(-x), lambda x: x.t().contiguous().t()])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_programs_read_the_memory_of_values(like: Any, requires_grad: bool) -> None:
    x = ragged(like(values(5, 2).detach()).requires_grad_(requires_grad))
    x.values.data.mul_(2)
    np.testing.assert_allclose(np.exp(x).detach().values.numpy(), x.values.detach().exp().numpy())


def test_saved_tensors_that_are_sparse() -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.detach().to_sparse()):
        y = np.exp(ragged(values(5, 2))).values
    with pytest.raises(ArgumentError, match=r"expected a dense tensor, got a tensor that is torch\.sparse_coo"):
        y.sum().backward()


def test_what_a_node_asks_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs take tensors by their addresses, with no array of NumPy; a result and a gradient that are ragged become
    tensors once."""
    x, w = values(5, 2), values(2, 3)
    layer = rg.jit(lambda x, w: np.tanh(x @ w))

    layer(ragged(x), w).values.sum().backward()
    seen: list[str] = []

    def count(owner: Any, name: str) -> None:
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **named: seen.append(name) or function(*given, **named))

    compiled = layer.compilations
    given = ragged(x)
    count(storage, "_elements")
    count(JitFunction, "_flatten")
    count(storage, "give")
    layer(given, w).values.sum().backward()
    assert layer.compilations == compiled
    assert seen == ["give"] * 4  # of the result, of what is kept and of both gradients


def test_weights_as_pytorch_has_them() -> None:
    """`x @ w.T + b` for more extents of `w` than have programs of their own: gradients are those of a dense array."""
    head = rg.jit(lambda x, w, b: rg.log_softmax(x @ w.T + b, -1))
    x = values(5, 2)
    for count in (3, 4, 3, 6, 7, 8, 9):
        w, b = values(count, 2), values(count)
        wanted = torch.autograd.grad(torch.log_softmax(x @ w.T + b, -1).square().sum(), (x, w, b))
        given = torch.autograd.grad(head(ragged(x), w, b).values.square().sum(), (x, w, b))
        for own, other in zip(given, wanted, strict=True):
            torch.testing.assert_close(own, other)
    assert head.compilations == 5


def test_copies_live_as_long_as_the_call() -> None:
    """Of a tensor whose elements have no address of their own."""
    passing = PassingBuffer(LIKE_X["unaligned"](values(5, 2).detach()), np.dtype(np.float64))
    assert int.from_bytes(passing.packed[:8], "little") == passing.array.ctypes.data
