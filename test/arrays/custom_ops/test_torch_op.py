"""Functions of arrays as custom ops of PyTorch: PyTorch's own checks of them, `torch.compile`, gradients, and what is
refused."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.custom_ops import op as custom_op
from ragged_dialect.errors import ArgumentError, PassError, RuntimeCheckError

torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")

LENGTHS = ([3, 0, 5, 2], [1, 1], [7, 0, 0, 9, 4, 4, 4], [2, 0, 4])
NUMBERS = itertools.count()


def made(lengths: Sequence[int], *shape: int, dtype: str = "float64", seed: int = 0) -> tuple[Any, Any]:
    """Values, and offsets."""
    values = np.random.default_rng(seed).standard_normal((sum(lengths), *shape)).astype(dtype)
    return torch.tensor(values), torch.tensor(np.cumsum([0, *lengths]))


def op_of(function: Callable[..., Any], *examples: Any) -> Any:
    """An op of a name of its own."""
    return rg.torch_op(f"rg_test::op{next(NUMBERS)}", function, *examples)


def pytorch(op: Any) -> Any:
    """What PyTorch has of an op."""
    namespace, name = op.name.split("::")
    return getattr(getattr(torch.ops, namespace), name).default


def pooled(x: Any, query: Any) -> Any:
    weights = rg.softmax(x @ query, axis=1)
    return (weights[..., None] * x).sum(axis=1)


def several(x: Any, y: Any, factor: float, shift: int) -> Any:
    kept = x[x[..., 0] > 0.5]
    return {"sum": (x * y).sum(axis=1), "more": [x * factor, kept], "all": x.sum(), "scan": rg.cumsum(x, 1) + shift}


def pad(x: Any) -> Any:
    return x.to_padded()


def swapped(x: Any, y: Any) -> Any:
    return y, x, x


LEVELS = made([2, 3], 2)[0], torch.tensor([0, 1, 3]), torch.tensor([0, 1, 3, 5])
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "pooled": (pooled, [made([3, 0, 5, 2], 4), torch.ones(4, dtype=torch.float64)]),
    "several": (several, [made([3, 0, 5, 2], 4), made([3, 0, 5, 2], 4, seed=1), 2.5, 3]),
    "join": (lambda x, y: rg.concat([x, y], axis=1), [made([1, 0], 2), made([2, 4], 2)]),
    "padded": (pad, [made([3, 0, 5], 2)]),
    "arguments": (swapped, [made([1, 2]), made([3, 0])]),
    "ragged": (lambda x: rg.attention(x, x, x), [made([3, 0, 6], 2, 4, dtype="float32")]),
    "rows": (lambda x, i: x[i], [made([3, 0, 6], 2), torch.tensor([2, 0, 0])]),
    "slices": (lambda x: (x[:, 1:], x[1:]), [made([3, 0, 6, 1], 2)]),
    "dense": (lambda a: (a[1:], a[:3] * 2), [torch.ones(5, 2, dtype=torch.float64)]),
    "levels": (
        lambda x: (x * 2, x.sum(axis=2)),
        [(made([2, 3], 2)[0], torch.tensor([0, 1, 3]), torch.tensor([0, 1, 3, 5]))],
    ),
}


def flat(arguments: Sequence[Any]) -> list[Any]:
    """The tensors of arguments, which are pairs of values and offsets, tensors and numbers."""
    return [part for x in arguments for part in (x if isinstance(x, tuple) else (x,))]


def arrays(arguments: Sequence[Any]) -> list[Any]:
    return [rg.from_offsets(*x) if isinstance(x, tuple) else x for x in arguments]


def plain(result: Any) -> Any:
    """A result of arrays as an op has it."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return type(result)(map(plain, result))
    if not isinstance(result, rg.RaggedArray):
        return torch.as_tensor(result)
    x = rg.compact(result)
    return (x.values, *(x.offsets_of(dim) for dim, letter in enumerate(str(x.layout)) if letter == "r"))


def leaves(result: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(result)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_arrays(name: str) -> None:
    function, arguments = FUNCTIONS[name]
    found = op_of(function, *arrays(arguments))(*flat(arguments))
    expected = plain(rg.jit(function)(*arrays(arguments)))
    assert torch.utils._pytree.tree_structure(found) == torch.utils._pytree.tree_structure(expected)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_pytorch_asks_of_an_op(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = FUNCTIONS[name]
    op = op_of(function, *arrays(arguments))
    given = [x.requires_grad_() if getattr(x, "is_floating_point", bool)() else x for x in map(_copy, flat(arguments))]
    assert set(torch.library.opcheck(pytorch(op), tuple(given)).values()) == {"SUCCESS"}
    floats = [x for x in leaves(op(*given)) if x.requires_grad]
    (gradient,) = op._gradients.values()
    calls: list[Any] = []
    own = gradient._op
    monkeypatch.setattr(gradient, "_op", lambda *tensors: calls.append(tensors) or own(*tensors))
    torch.autograd.backward(floats, [torch.ones_like(x) for x in floats])
    (call,) = calls
    assert set(torch.library.opcheck(pytorch(gradient), call).values()) == {"SUCCESS"}


def _copy(x: Any) -> Any:
    return x.clone() if hasattr(x, "clone") else x


@pytest.mark.parametrize("name", ["pooled", "several", "join", "padded", "rows"])
def test_gradients_and_their_gradients(name: str) -> None:
    function, arguments = FUNCTIONS[name]
    op = op_of(function, *arrays(arguments))
    given = [x.requires_grad_() if getattr(x, "is_floating_point", bool)() else x for x in map(_copy, flat(arguments))]

    def floats(*tensors: Any) -> Any:
        return tuple(x for x in leaves(op(*tensors)) if x.is_floating_point())

    assert torch.autograd.gradcheck(floats, given)
    assert torch.autograd.gradgradcheck(floats, given)


def test_only_what_is_needed_is_differentiated() -> None:
    values, offsets = made([3, 0, 5, 2], 4)
    op = op_of(pooled, rg.from_offsets(values, offsets), torch.ones(4, dtype=torch.float64))
    query = torch.ones(4, dtype=torch.float64, requires_grad=True)
    op(values, offsets, query).sum().backward()
    assert query.grad is not None
    assert list(op._gradients) == [(1,)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_one_compilation_for_all_lengths(backend: str) -> None:
    testing = pytest.importorskip("torch._dynamo.testing")
    if backend == "inductor":
        _needs_a_compiler()
    counter = testing.CompileCounterWithBackend(backend)
    x, y = made(LENGTHS[0], 4, dtype="float32"), made(LENGTHS[0], 4, dtype="float32")
    op = op_of(several, rg.from_offsets(*x), rg.from_offsets(*y), 1.0, 1)

    def step(x: Any, y: Any, offsets: Any) -> Any:
        found = op(x * 2, offsets, y, offsets, 2.5, 1)
        values, ends = found["more"][1]
        return found["sum"].relu().sum() + values.sum() * 2 + found["all"], ends

    compiled = torch.compile(step, fullgraph=True, backend=counter, dynamic=True)
    for seed, lengths in enumerate(LENGTHS):
        (x, offsets), (y, _) = (made(lengths, 4, dtype="float32", seed=s) for s in (seed, seed + 9))
        expected, found = [], []
        for function, results in ((step, expected), (compiled, found)):
            given = [x.clone().requires_grad_(), y.clone().requires_grad_()]
            loss, ends = function(*given, offsets)
            loss.backward()
            results += [loss.detach(), ends, *(g.grad for g in given)]
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
    assert counter.frame_count == 1


def _needs_a_compiler() -> None:
    try:
        torch.compile(lambda x: x + 1, fullgraph=True)(torch.ones(2))
    except Exception as error:
        pytest.skip(f"inductor does not run here: {error}")


def test_nested_tensors_are_values_and_offsets() -> None:
    op = op_of(pooled, rg.from_lengths(torch.ones(2, 4), [2]), torch.ones(4))

    def layer(x: Any, query: Any) -> Any:
        return op(x.values(), x.offsets(), query)

    nested = torch.nested.nested_tensor([torch.rand(3, 4), torch.rand(1, 4)], layout=torch.jagged)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    expected = pooled(rg.from_lengths(nested.values(), [3, 1]), torch.ones(4))
    torch.testing.assert_close(compiled(nested, torch.ones(4)), expected)


def test_an_exported_program_calls_it() -> None:
    op = op_of(pooled, rg.from_lengths(torch.ones(2, 4), [2]), torch.ones(4))

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = torch.nn.Parameter(torch.ones(4))

        def forward(self, values: Any, offsets: Any) -> Any:
            return op(values, offsets, self.query)

    rows, components = torch.export.Dim("rows"), torch.export.Dim("ends", min=3)
    example = made([3, 0, 5], 4, dtype="float32")
    program = torch.export.export(Layer(), example, dynamic_shapes=({0: rows}, {0: components}))
    other = made([1, 4, 0, 2], 4, dtype="float32")
    torch.testing.assert_close(program.module()(*other), Layer()(*other))


def test_no_gradient_of_integers_and_none_without_a_derivative() -> None:
    values, offsets = made([2, 1])
    counted = op_of(lambda x: x.astype("int64"), rg.from_offsets(values, offsets))
    assert not counted(values.clone().requires_grad_(), offsets)[0].requires_grad
    product = op_of(lambda x: x.prod(axis=0), rg.from_offsets(*made([2, 1])))
    assert product(values, offsets) is not None
    with pytest.raises(PassError, match=re.escape("expected 'ragged.reduce_across' of kind sum, max or min, got prod")):
        product(values.clone().requires_grad_(), offsets)


def test_arrays_that_a_function_holds_on_to() -> None:
    held, ends = made([2, 1], 4)
    weights = torch.arange(4.0, dtype=torch.float64)
    array = rg.from_offsets(held, ends)
    op = op_of(lambda x: ((x + array) * weights, array), array)
    (values, _), (same, offsets) = op(held, ends)
    torch.testing.assert_close(values, held * 2 * weights)
    torch.testing.assert_close(same, held)
    assert offsets.tolist() == [0, 2, 3]
    assert set(torch.library.opcheck(pytorch(op), (held, ends)).values()) == {"SUCCESS"}


def test_it_does_what_it_did_when_it_was_made() -> None:
    factor = [2.0]
    values, offsets = made([2, 1])
    op = op_of(lambda x: (x * factor[0]).sum(axis=1), rg.from_offsets(values, offsets))
    factor[0] = 5.0
    x = values.requires_grad_()
    result = op(x, offsets)
    factor[0] = 7.0
    result.sum().backward()
    torch.testing.assert_close(result.sum(), 2.0 * values.sum())
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("step", [1, 2])
def test_changes_of_what_a_function_holds_on_to_are_noticed(step: int) -> None:
    values, offsets = made([2, 1], 4)
    weights = torch.arange(4.0 * step, dtype=torch.float64)[::step]
    result = op_of(lambda x: x * weights, rg.from_offsets(values, offsets))(values.requires_grad_(), offsets)[0]
    weights.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda x, o, q: (x.float(), o, q), ArgumentError, "expected dtype float64, got float32"),
        (lambda x, o, q: (x[:, :3], o, q), ArgumentError, "x: expected values of shape (any, 4), got (3, 3)"),
        (lambda x, o, q: (x[0], o, q), ArgumentError, "x: expected values of shape (any, 4), got (4,)"),
        (lambda x, o, q: (x, o[:-1], q), RuntimeCheckError, "expected offsets[1] == 3, got 2"),
        (lambda x, o, q: (x, o[:0], q), RuntimeCheckError, "expected at least 1 offset"),
        (lambda x, o, q: (x, o.flip(0), q), RuntimeCheckError, "expected offsets[0] == 0, got 3"),
        (lambda x, o, q: (x, o.double(), q), ArgumentError, "expected integers, got dtype float64"),
        (lambda x, o, q: (x, o, q[:2]), RuntimeCheckError, "expected extent 4, got 2"),
    ],
)
def test_calls_that_do_not_fit(change: Callable[..., Any], error: type[Exception], text: str) -> None:
    values, offsets = made([2, 1], 4)
    query = torch.ones(4, dtype=torch.float64)
    op = op_of(pooled, rg.from_offsets(values, offsets), query)
    with pytest.raises(error, match=re.escape(text)):
        op(*change(values, offsets, query))


def test_extents_that_arguments_decide() -> None:
    """Slices and joins have as many components as their arguments; how many elements only lengths tell."""
    values, offsets = made([3, 0, 5], 2)
    op = op_of(lambda x: (x[:, 1:], rg.concat([x, x], axis=1)), rg.from_offsets(values, offsets))

    def lengths(values: Any, offsets: Any) -> Any:
        (_, sliced), (_, joined) = op(values, offsets)
        return torch.diff(sliced) - torch.diff(joined) + torch.diff(offsets)

    compiled = torch.compile(lengths, fullgraph=True, dynamic=True, backend="aot_eager")
    assert compiled(values, offsets).tolist() == lengths(values, offsets).tolist() == [-1, 0, -1]


def test_gradients_by_other_arguments_are_other_ops() -> None:
    x = rg.from_offsets(*made([2, 1], 2))

    def function(a: Any, b_c: Any, a_b: Any, c: Any) -> Any:
        return (a * 2.0 + b_c * 3.0 + a_b * 5.0 + c * 7.0).sum(axis=1)

    op = op_of(function, x, x, x, x)
    for active in ((0, 1), (2, 3), (0, 1), (1,), (0, 1, 2, 3)):
        given = [x.values.clone().requires_grad_(k in active) for k in range(4)]
        op(*(part for values in given for part in (values, x.offsets))).sum().backward()
        assert [float(given[k].grad[0, 0]) for k in active] == [(2, 3, 5, 7)[k] for k in active]


def test_an_op_made_again_takes_the_name() -> None:
    values, offsets = made([2, 1], 2)
    x = rg.from_offsets(values, offsets)
    first = rg.torch_op("rg_test::again", lambda x: x * 2.0, x)
    given = values.clone().requires_grad_()
    result, _ = first(given, offsets)
    second = rg.torch_op("rg_test::again", lambda x: x * 3.0, x)
    torch.testing.assert_close(second(values, offsets)[0], values * 3)
    text = "rg_test::again: expected the op that has this name, got one that it was taken from"
    with pytest.raises(ArgumentError, match=text):
        first(values, offsets)
    with pytest.raises(ArgumentError, match="rg_test::again__gradient_0: expected the op that has this name"):
        result.sum().backward()
    assert copy.deepcopy(second) is second
    assert pickle.loads(pickle.dumps(second)) is second
    assert repr(second) == "TorchOp('rg_test::again')"


def test_results_with_the_structure_of_what_is_held() -> None:
    values, offsets = made([3, 0, 5], 4)
    held = rg.from_offsets(values, offsets)
    op = op_of(lambda q: rg.softmax(held * q, 1), torch.ones(4, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda q: op(q)[0], torch.rand(4, dtype=torch.float64, requires_grad=True))


def test_threads_share_one_gradient() -> None:
    values, offsets = made([3, 0, 5], 4)
    op = op_of(lambda x: (rg.softmax(x, 1) * x).sum(axis=1), rg.from_offsets(values, offsets))

    def step(_: int) -> Any:
        given = values.clone().requires_grad_()
        op(given, offsets).sum().backward()
        return given.grad

    with ThreadPoolExecutor(6) as pool:
        first, *others = pool.map(step, range(12))
    assert all(torch.equal(first, other) for other in others)
    assert len(op._gradients) == 1


NAME = "torch_op: expected a name like 'namespace::name', of no keywords, got "


def test_what_is_refused() -> None:
    x = rg.from_offsets(*made([2, 1], 4))
    with pytest.raises(ArgumentError, match=f"{NAME}'pooled'"):
        rg.torch_op("pooled", pooled, x)
    with pytest.raises(ArgumentError, match="rg_test::number: expected an array among the examples, got none"):
        rg.torch_op("rg_test::number", lambda x: x, 1.0)
    with pytest.raises(ArgumentError, match=f"{NAME}'rg_test::class'"):
        rg.torch_op("rg_test::class", pooled, x)
    text = "torch_op: expected a name without '__gradient_', as gradients have, got 'rg_test::a__gradient_0'"
    with pytest.raises(ArgumentError, match=text):
        rg.torch_op("rg_test::a__gradient_0", pooled, x)
    with pytest.raises(
        ArgumentError, match="rg_test::none: expected a function that returns arrays, got one that returns none"
    ):
        rg.torch_op("rg_test::none", lambda x: None, x)
    op = op_of(lambda x: x * 2.0, x)
    with pytest.raises(ArgumentError, match="x: expected a tensor, got None"):
        op(x.values, None)
    with pytest.raises(ArgumentError, match=re.escape(": expected tensors (x.values, x.offsets), got a ragged array")):
        op(x)
    text = "torch_op: expected 'rg_test::other' to be made before it is unpickled, got none of this name"
    with pytest.raises(ArgumentError, match=text):
        custom_op._of_name("rg_test::other")
    windows = rg.from_starts_lengths(torch.ones(4), [0, 1], [2, 2])
    text = 'rg_test::w: x: expected ragged dims with offsets below a batch, got layout "dw"'
    with pytest.raises(ArgumentError, match=re.escape(text)):
        rg.torch_op("rg_test::w", lambda x: x, windows)
    with pytest.raises(ArgumentError, match="jit: expected a function, got int"):
        rg.torch_op("rg_test::f", 3, x)  # pyright: ignore[reportArgumentType]
