"""jit: one program per key, arguments of every form, results, guards, and what `lower` shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
W = np.arange(4, dtype=np.float32)


def pooled(x: Any, w: Any) -> Any:
    """Attention pooling."""
    weight = rg.softmax((x * w).sum(-1, keepdims=True), axis=1)
    return (weight * x).sum(1)


def test_one_program_for_every_structure() -> None:
    fast = rg.jit(pooled)
    for lengths in STRUCTURES:
        x = array(lengths)
        np.testing.assert_allclose(fast(x, W), pooled(x, W), 1e-5, 1e-6)
    assert fast.compilations == 1


def test_two_structures_that_happen_to_be_equal() -> None:
    scores = rg.jit(lambda q, k: rg.einsum("bid,bjd->bij", q, k).sum())
    scores(array(LENGTHS), array((1, 1, 1, 1)))
    scores(array(LENGTHS), array(LENGTHS))
    scores(array(()), array(()))
    assert scores.compilations == 1


def test_key() -> None:
    double = rg.jit(lambda x: x * 2)
    for made, count in (
        (array(LENGTHS), 1),
        (array(LENGTHS, (5,)), 2),
        (array(LENGTHS, dtype=np.float64), 3),
        (array(LENGTHS)[:, 1:], 4),
        (nested(((1, 2), ())), 5),
        (array((1,)), 5),
    ):
        double(made)
        assert double.compilations == count
    double.clear()
    double(array(LENGTHS))
    assert double.compilations == 6


def test_dynamic_dims_widen_the_key() -> None:
    for dims in ((2,), {"x": (-1,)}):
        total = rg.jit(dynamic_dims=dims)(lambda x: (x * 2, x.sum(1)))
        for features in (3, 4, 7):
            x = array(LENGTHS, (features,))
            twice, sums = total(x)
            assert twice.shape == (4, None, features)
            np.testing.assert_allclose(sums, [c.sum(0) for c in components(x)], 1e-5, 1e-6)
            assert_components(twice + x, [3 * c for c in components(x)])
        assert total.compilations == 1


class Pair(NamedTuple):
    """A container."""

    x: Any
    y: Any


def test_containers_numbers_and_static_arguments() -> None:
    @rg.jit(static=("axis",))
    def run(data: dict[str, Any], pair: Pair, scale: float, flag: bool, axis: int = 1) -> Any:
        total = (data["x"] * scale + pair.x).sum(axis)
        return {"total": total if flag else -total, "rest": [Pair(pair.y, 3), None, "text"]}

    x = array(LENGTHS)
    made = run({"x": x}, Pair(x, W), 2.0, True)
    np.testing.assert_allclose(made["total"], [3 * c.sum(0) for c in components(x)], 1e-5, 1e-5)
    pair, nothing, text = made["rest"]
    assert isinstance(pair, Pair)
    np.testing.assert_array_equal(pair.x, W)
    assert (pair.y, nothing, text) == (3, None, "text")
    run({"x": x}, Pair(x, W), scale=7.5, flag=True)
    assert run.compilations == 1
    assert_components(
        run({"x": x}, Pair(x, W), 2.0, flag=False, axis=2)["total"], [-3 * c.sum(1) for c in components(x)]
    )
    assert run.compilations == 2


def test_defaults_are_part_of_the_function() -> None:
    x = rg.from_lengths(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), [3, 0, 1])
    for f in (rg.softmax, rg.layer_norm, rg.rms_norm):
        assert rg.jit(f)(x).tolist() == f(x).tolist()
    f = rg.jit(lambda x, dim=1, by=2: x.sum(dim) * by)
    assert f(x).tolist() == (x.sum(1) * 2).tolist()
    assert f(x, by=3).tolist() == (x.sum(1) * 3).tolist()
    assert f(x).tolist() == (x.sum(1) * 2).tolist()


def test_captured_arrays() -> None:
    y = array(LENGTHS, seed=1)
    add = rg.jit(lambda x: x + y + W)
    x = array(LENGTHS)
    assert_components(add(x), [a + b + W for a, b in zip(components(x), components(y), strict=True)])
    with pytest.raises(rg.RuntimeCheckError, match="add: level 1, component 0: expected length 1, got 3"):
        add(array((1, 1, 1, 1)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "function",
    [
        lambda y, w: (y * w).sum(),
        lambda y, w: rg.jit(lambda w: (w * 2).sum())(w),
        lambda y, w: rg.grad(lambda w: (w * w).sum())(w).sum(),
        lambda y, w: rg.vjp(lambda w: (w * w).sum(), w)[1](1.0)[0].sum(),
        lambda y, w: rg.jvp(lambda w: (w * w).sum(), [w], [w])[1],
    ],
    ids=["an operation", "jit", "grad", "vjp", "jvp"],
)
def test_what_captured_arrays_alone_make(function: Callable[[Any, Any], Any]) -> None:
    """It was computed when the function was traced, and never again."""
    y, w = rg.from_lengths(np.arange(1.0, 4.0), [2, 0, 1]), np.ones((3, 1))
    function(y, w)  # compiled before, too
    scaled = rg.jit(lambda z: function(y, w) * z)
    for _ in range(2):
        assert scaled(1.0) == pytest.approx(float(function(y, w)))
        w *= 3


def test_arrays_of_an_inner_function_are_its_arguments() -> None:
    table, ids = np.arange(5.0), rg.ragged([[0, 1], [], [4]])
    picked = rg.jit(lambda table, ids, n=1: table[ids].sum(axis=1) * (n if n else 2))
    np.testing.assert_array_equal(rg.jit(lambda ids: picked(table, ids))(ids), [1.0, 0.0, 4.0])
    assert rg.grad(lambda w: (picked(table, ids) * w).sum())(2.0) == 5.0
    nested = rg.jit(lambda given: given["t"][given["i"]].sum())
    assert rg.jit(lambda z: nested({"t": table, "i": ids}) * z)(2.0) == 10.0


def test_results_that_are_arguments_share_memory() -> None:
    x = array(LENGTHS)
    same, parts = rg.jit(lambda x: (x, x[:, 1:]))(x)
    assert np.shares_memory(same.values, x.values)
    assert np.shares_memory(parts.stored.values, x.values)
    assert same.structure(0) is x.structure(0)


def test_numpy_functions_inside() -> None:
    x = array(LENGTHS)
    made = rg.jit(lambda x: np.concatenate([np.exp(x), np.where(x > 0, x, 0)], axis=1))(x)
    assert_components(made, [np.concatenate([np.exp(c), np.where(c > 0, c, 0)]) for c in components(x)])


def test_indices_inside() -> None:
    x = array((2, 3, 5))
    pick = rg.jit(lambda x, i: (x[i], x[:, i], x[:, i:]))
    for at in (0, 1, -1):
        one, rows, rest = pick(x, at)
        np.testing.assert_array_equal(one, components(x)[at])
        np.testing.assert_array_equal(rows, [c[at] for c in components(x)])
        assert_components(rest, [c[at:] for c in components(x)])
    assert pick.compilations == 1


def test_jit_inside_jit_is_a_part_of_the_program() -> None:
    inner = rg.jit(lambda x: x * 2)
    outer = rg.jit(lambda x: inner(x) + 1)
    assert_components(outer(array(LENGTHS)), [2 * c + 1 for c in components(array(LENGTHS))])
    assert inner.compilations == 0


def test_many_threads() -> None:
    fast = rg.jit(pooled)
    expected = pooled(array(LENGTHS), W)
    failures: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(20):
                np.testing.assert_allclose(fast(array(LENGTHS), W), expected, 1e-5, 1e-6)
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_lower_shows_every_stage() -> None:
    lowered = rg.jit(pooled).lower(array(LENGTHS), W)
    assert "linalg.softmax" in lowered.source
    assert '#ragged.layout<"dr|d">' in str(lowered)
    assert next(iter(lowered.stages)) == "layouts"
    assert "scf.forall" in lowered.stages["scf"]
    assert "llvm.func" in lowered.stages["llvm"]
    assert "define" in lowered.llvm_ir()


def test_reductions_that_keep_dims_are_read_as_they_are() -> None:
    lowered = rg.jit(lambda x: (x - x.mean(1, keepdims=True)) / x.max((1, 2), keepdims=True)).lower(array(LENGTHS))
    assert "expand_shape" not in lowered.stages["ragged"]


class Scaled:
    """An object whose methods are compiled."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @rg.jit(static=("self",))
    def static(self, x: Any) -> Any:
        return x * self.factor

    @rg.jit
    def dynamic(self, x: Any) -> Any:
        return x


def test_methods_and_ufuncs_are_compiled() -> None:
    x = array(LENGTHS)
    assert [Scaled(k).static(x).tolist() for k in (2, 3)] == [(x * k).tolist() for k in (2, 3)]
    assert Scaled.static.compilations == 2
    assert rg.jit(np.add)(x, 2).tolist() == (x + 2).tolist()
    assert [r.tolist() for r in rg.jit(np.divmod)(x, 2)] == [r.tolist() for r in np.divmod(x, 2)]


OPTIONS: list[tuple[Callable[..., Any], str]] = [
    (lambda x, k: rg.top_k(x, k, axis=1)[0], "top_k: expected an integer for k"),
    (lambda x, k: x.split(0, k), "split: expected an integer for factor"),
    (lambda x, k: x.sum((0, k)), "sum: expected an integer, a tuple of integers or None for axis"),
    (lambda x, k: x.sum(1, keepdims=k), "sum: expected a boolean for keepdims"),
    (lambda x, k: rg.layer_norm(x, eps=k), "layer_norm: expected a number for eps"),
    (lambda x, k: rg.einsum(k, x), "einsum: expected text for subscripts"),
    (lambda x, k: x[::k], "getitem: expected an integer for a step"),
    (lambda x, k: np.var(x, 1, keepdims=k), "var: expected a boolean for keepdims"),
]
"""What has to be a number of Python or text, and is traced."""

REFUSED: list[Refusal] = [
    (lambda x: rg.jit(lambda a, b: a + b)(x, array((3, 1, 5, 1))), rg.RuntimeCheckError,
     "add: level 1, component 1: expected length 0, got 1"),
    (lambda x: rg.jit(lambda a: a if a.sum() > 0 else -a)(x), TypeError,
     
     "expected a condition that is known when the function is traced, got a traced value (use rg.where; "
     "rg.while_loop for loops)"),
    (lambda x: rg.jit(lambda a: a)(x, x), TypeError,
     "<lambda>: expected arguments (a), got others: too many positional arguments"),
    (lambda x: rg.jit(min), TypeError, "jit: expected a function whose parameters are known, got min (use a lambda)"),
    (lambda x: rg.jit(dict), TypeError, "jit: expected a function whose parameters are known, got dict"),
    (lambda x: rg.jit(lambda a: a, dynamic_dims={"b": (2,)}), TypeError,
     "jit: expected names of parameters for dynamic_dims, got 'b'"),
    (lambda x: rg.jit(lambda a: a, dynamic_dims=(7,))(x), IndexError, "dynamic_dims: expected axis in [-3, 3), got 7"),
    (lambda x: rg.jit(lambda a, b: a, dynamic_dims={"b": (1,)})(x, np.ones(3)), IndexError,
     "dynamic_dims of 'b': expected axis in [-1, 1), got 1"),
    (lambda x: Scaled(2).dynamic(x), TypeError,
     "dynamic: expected an array or a number, got Scaled (use static, or a dataclass)"),
    (lambda x: rg.jit(lambda a: a * 2).lower(x).ptx([]), rg.CompileError, "expected an arch among sm_80,"),
    (lambda x: pow(x, 2, 3), TypeError, "pow: expected two arguments, got a modulus of int (use % after **)"),
    (lambda x: rg.jit(lambda a: a)(object()), TypeError, "expected an array or a number, got object"),
    (lambda x: rg.jit(lambda a: a)({1}), TypeError, "argument 'a': expected arrays, numbers or text, got set"),
    (lambda x: rg.jit(lambda a: a)({"b": [x, {1}]}), TypeError, "argument 'a'['b'][1]: expected arrays, numbers or "),
    (lambda x: rg.jit(static=("b",))(lambda a: a), TypeError, "jit: expected names of parameters for static, got 'b'"),
    (lambda x: rg.jit(lambda a: object())(x), TypeError, "expected an array or a number, got object"),
    *((lambda x, use=use: rg.jit(use)(x, 2), TypeError, f"{text}, got a traced value (name the parameter in static of ")
      for use, text in OPTIONS),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_a_refused_structure_is_refused_again() -> None:
    add = rg.jit(lambda a, b: a + b)
    add(array(LENGTHS), array(LENGTHS))
    for _ in range(2):
        with pytest.raises(rg.RuntimeCheckError, match="add: level 0: expected 4 components, got 1"):
            add(array(LENGTHS), array((1,)))


@rg.jit
def _endless(x: Any) -> Any:
    return _endless(x * 2)


@rg.jit
def _in_turns(x: Any) -> Any:
    return _endless_in_turns(x)


@rg.jit
def _endless_in_turns(x: Any) -> Any:
    return _in_turns(x)


@rg.jit(static=("times",))
def _doubled(x: Any, times: int) -> Any:
    return _doubled(x * 2, times - 1) if times else x


@pytest.mark.parametrize("call", [_endless, _endless.lower, _in_turns, lambda x: rg.vjp(_endless, x)])
def test_recursion_comes_to_an_end(call: Callable[[Any], Any]) -> None:
    with pytest.raises(rg.TraceError, match=": expected calls that come to an end, got a recursion without one"):
        call(array(LENGTHS))
    assert _doubled(array(LENGTHS), 5).tolist() == (array(LENGTHS) * 32).tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.full((x.shape[0], 1), 7.0),
        lambda x: x / (1.0 + x.shape[1]),
        lambda x: rg.scan(lambda c, z: (c + z, c), np.zeros(x.shape[0]), x),
    ],
)
def test_extents_that_calls_know_are_no_numbers(function: Callable[[Any], Any]) -> None:
    text = r"\w+: expected numbers of Python, got others: .+ \((in x.shape the|what only calls)|, or pass it in an"
    with pytest.raises(rg.TraceError, match=text):
        rg.jit(function)(array((2, 0, 3)))


EXTENTS: list[Callable[[Any], Any]] = [
    lambda x: x.sum() / x.shape[0],
    lambda x: x.sum() / np.size(x, 0),
    lambda x: x.sum() / x.size,
    lambda x: x.sum() / np.size(x[:, 1:]),
    lambda x: x * x.total + x.max_length,
    lambda x: x.lengths / x.lengths.shape[0],
    lambda x: x.sum() / rg.concat([x, x]).shape[0],
    lambda x: x[x.lengths > 2].sum() / x[x.lengths > 2].shape[0],
    lambda x: rg.where(x.shape[0] > 3, x, -x),
    lambda x: rg.scan(lambda c, z: (c + z * x.shape[0], c), 0, x)[1] + x.shape[0],
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", EXTENTS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_extents_that_calls_know_are_numbers_of_the_program(function: Callable[[Any], Any], dtype: str) -> None:
    compiled = rg.jit(function)
    for lengths in ((2, 0, 3), (4, 1, 0, 3, 1)):
        x = (array(lengths, ()) * 4).astype(dtype)
        expected, got = function(x), compiled(x)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(*(np.asarray(getattr(y, "values", y)) for y in (got, expected)), 1e-6)


def test_numbers_that_do_not_fit_what_they_are_used_as() -> None:
    short, long = (rg.from_lengths(np.ones(n, np.int8), np.ones(n, int)) for n in (5, 400))
    for function, text in (
        (lambda x: x + x.shape[0], r"add: expected a number in \[-128, 127\], got 400"),
        (lambda x: x * -x.total, r"multiply: expected a number in \[-128, 127\], got -400"),
        (lambda x: x * rg.concat([x]).total, "multiply: level 0: expected at most 127, got 400"),
        (lambda x: x * -rg.concat([x]).total, "multiply: level 0: expected at most 128, got 400"),
    ):
        compiled = rg.jit(function)
        assert compiled(short).tolist() == function(short).tolist()
        with pytest.raises(rg.RuntimeCheckError, match=text):
            compiled(long)


@pytest.mark.parametrize(
    ("given", "function"),
    [
        (np.ones((6, 4)), lambda x: x.reshape(x.shape[0], 2, 2)),
        (np.ones((6, 4)), lambda x: x.reshape((x.shape[0], -1, 2))),
        (np.ones(6), lambda x: x.reshape(x.shape[0], 1)),
        (np.ones(6), lambda x: x.reshape(x.shape[0])),
        (array((2, 0, 3)), lambda x: x.reshape((x.shape[0], None, 2, 2))),
        (array((2, 0, 3)), lambda x: x.reshape((*x.shape, 1))),
        (array((2, 0, 3)), lambda x: x[:, 1:].reshape((x.shape[0], None, 2, 2))),
        (array((2, 0, 3)), lambda x: rg.concat([x, x]).reshape((2 * x.shape[0], None, 2, 2))),
        (array((2, 0, 3)), lambda x: x.sum(1).reshape((x.shape[0] * 2, 2))),
        (array((2, 0, 3), ()), lambda x: x.values.reshape(x.total, 1)),
        (np.ones((6, 4)), lambda x: np.reshape(x, (1, x.size))),
        (np.ones(6), lambda x: x.reshape(x.shape[0], -1)),
        (np.ones((6, 4)), lambda x: x.reshape(*x.shape, -1)),
        (np.ones((6, 4, 2)), lambda x: x.reshape(x.shape)),
    ],
)
def test_shapes_of_extents_that_calls_know(given: Any, function: Callable[[Any], Any]) -> None:
    expected, got = function(given), rg.jit(function)(given)
    assert got.shape == expected.shape
    assert got.tolist() == expected.tolist()


def test_shapes_that_do_not_fit_extents() -> None:
    for shape in ((2,), (-1, 2), (1, 2)):
        with pytest.raises(rg.RaggedError, match="reshape: expected "):
            rg.jit(lambda x, shape=shape: x.reshape(x.shape[0], *shape))(np.ones(6))
    with pytest.raises(rg.RuntimeCheckError, match="reshape: dim 0: expected extent 18, got 12"):
        rg.jit(lambda x: x.reshape(x.shape[0] * 3))(np.ones((6, 2)))
    text = r"reshape: expected one extent that only calls know beside those that stay in front, got \(n, -1\) \("
    with pytest.raises(rg.ArgumentError, match=text):
        rg.jit(lambda x: x.reshape(x.shape[0] * 2, -1))(np.ones((6, 2)))
    with pytest.raises(rg.ArgumentError, match="reshape: expected integers as extents, got float64 of rank 0"):
        rg.jit(lambda x: x.reshape(x.shape[0] / 2, 8))(np.ones((4, 4)))
    with pytest.raises(rg.RuntimeCheckError, match=r"multiply: expected a number in \[-9223372036854775808"):
        rg.jit(lambda x: x.lengths + x.total * 2**62)(array((2, 0, 3)))


def test_other_errors_of_functions_stay_what_they_are() -> None:
    with pytest.raises(TypeError, match="no numbers"):
        rg.jit(_without_numbers)(array((2, 0, 3)))


def _without_numbers(x: Any) -> Any:
    raise TypeError("no numbers")


def test_an_operation_compiled_as_it_is() -> None:
    x = array(LENGTHS)
    got = rg.jit(rg.transposed_matmul)(x, x)
    np.testing.assert_allclose(got, [c.T @ c for c in components(x)], 1e-5, 1e-5)


EMULATED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x, w: rg.softmax(np.exp(x) + w, axis=1), (array(LENGTHS), W)),
    (lambda x: (x.mean(1), x.argmax(1), x.sum(), x.sum(0)), (array(LENGTHS),)),
    (lambda x: (x[:, ::-1], x[[2, 0]] * 1, x[x[..., 0] > 0], x.cumsum(1)), (array(LENGTHS),)),
    (lambda x, y: (rg.concat([x, y], axis=1), rg.attention(x, y, y)), (array(LENGTHS), array((2, 4, 0, 3)))),
    (lambda x: (x.to_padded(0), rg.softmax(x, axis=2), x.merge(1) * 1), (nested(((3, 0), (), (5, 2))),)),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("function", "arguments"), EMULATED)
def test_kernels_of_the_gpu_give_the_same(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    got, expected = rg.jit(target="emulator")(function)(*arguments), rg.jit(function)(*arguments)
    pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    for a, b in pairs:
        if isinstance(a, rg.RaggedArray):
            assert a.shape == b.shape
            assert a.lengths.tolist() == b.lengths.tolist()
            a, b = a.values, b.values
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


COMPUTED: list[tuple[Callable[..., Any], Any, str]] = [
    (lambda x, d: rg.concat([x, x]) + d, np.ones((7, 1, 4)), "add: dim 0: expected extent 8, got 7"),
    (lambda x, d: rg.concat([x, x], axis=1) + d, np.ones((4, 9, 4)),
     "add: level 1, component 2: expected extent >= length 10, got 9"),
    (lambda x, d: rg.partition(d, np.array([0, 2])) + x[1:2], np.ones((2, 4)),
     "add: level 1, component 0: expected length 2, got 0"),
    (lambda x, d: x[x[..., 0] > d] + x, 1e9, "add: level 1, component 0: expected length 0, got 3"),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("function", "other", "text"), COMPUTED)
def test_structures_made_in_the_program_are_checked_when_it_runs(
    function: Callable[..., Any], other: Any, text: str
) -> None:
    with pytest.raises(rg.RuntimeCheckError) as caught:
        rg.jit(function)(array(LENGTHS), other)
    assert str(caught.value) == text


def test_empty_windows_conform() -> None:
    x = array((3, 0))[0:0][:, 1:]
    assert_components(rg.attention(x, x, x), [])
    assert_components(rg.concat([x, x], axis=1), [])
