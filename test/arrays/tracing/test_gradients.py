"""Gradients of functions of arrays: against differences, against NumPy component by component, and what is refused."""

import functools
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.components import array, components

import ragged_dialect as rg
from ragged_dialect.arrays.tracing.trace import running
from ragged_dialect.errors import ArgumentError, PassError, RuntimeCheckError, TraceError

STRUCTURES = ([2, 0, 3], [0], [], [0, 0, 5, 1], [1, 1])


def values(x):
    return x.values if isinstance(x, rg.RaggedArray) else np.asarray(x)


def with_values(x, new):
    return rg.like(x, new) if isinstance(x, rg.RaggedArray) else new


def rows(rng, lengths, features=2):
    return rg.from_lengths(rng.standard_normal((sum(lengths), features)), lengths)


def lists(rng, lengths):
    """A list of lists of rows; inner lists of 0 to 3."""
    inner = rng.integers(0, 4, sum(lengths))
    return rg.partition(rg.from_lengths(rng.standard_normal((inner.sum(), 2)), inner), np.cumsum([0, *lengths]), axis=0)


def check(f, arguments, rng):
    """The vector-Jacobian product, and the tangent, along a random direction against a central difference; both are
    finite wherever the result is."""
    jitted = _jitted(f)
    result = jitted(*arguments)
    finite = np.isfinite(values(result))
    upstream = rng.standard_normal(values(result).shape) * finite
    cotangent = with_values(result, upstream)
    gradients = rg.vjp(f, *arguments)[1](cotangent)
    directions = [rng.standard_normal(values(a).shape) for a in arguments]
    moved = [with_values(a, d) for a, d in zip(arguments, directions, strict=True)]
    tangent = np.where(finite, values(rg.jvp(f, arguments, moved)[1]), 0)
    step = 1e-6

    def at(amount):
        return values(
            jitted(*(with_values(a, values(a) + amount * d) for a, d in zip(arguments, directions, strict=True)))
        )

    with np.errstate(invalid="ignore"):
        expected = np.where(finite, (at(step) - at(-step)) / (2 * step), 0)
    scale = max(1, np.abs(expected).max(initial=0))
    assert np.abs(tangent - expected).max(initial=0) < 1e-6 * scale
    total = sum((values(g) * d).sum() for g, d in zip(gradients, directions, strict=True))
    assert abs(total - (expected * upstream).sum()) < 1e-6 * max(1, abs(total))
    for gradient, argument in zip(gradients, arguments, strict=True):
        assert np.isfinite(values(gradient)).all()
        assert np.shape(values(gradient)) == np.shape(values(argument))


_jitted = functools.cache(rg.jit)


def sign_choice(x):
    return rg.where(x > 0.0, x * x, -x)


QUICK = {
    "elementwise": (lambda x: np.tanh(x) / (1 + x * x) + np.exp(x), lambda r, s: [rows(r, s)]),
    "sum": (lambda x: (x * x).sum(axis=1), lambda r, s: [rows(r, s)]),
    "mean": (lambda x: x.mean(axis=1), lambda r, s: [rows(r, s)]),
    "max": (lambda x: x.max(axis=1), lambda r, s: [rows(r, s)]),
    "prod": (lambda x: x.prod(axis=1), lambda r, s: [rows(r, s)]),
    "across": (lambda x: x.sum(axis=0), lambda r, s: [rows(r, s)]),
    "softmax": (lambda x: rg.softmax(x, axis=1), lambda r, s: [rows(r, s)]),
    "layer norm": (lambda x, w: rg.layer_norm(x, w), lambda r, s: [rows(r, s), r.standard_normal(2)]),
    "product": (lambda x, w: x @ w, lambda r, s: [rows(r, s), r.standard_normal((2, 3))]),
    "scan": (lambda x: np.cumprod(x, axis=1), lambda r, s: [rows(r, s)]),
    "cumsum": (lambda x: rg.cumsum(x, axis=1), lambda r, s: [rows(r, s)]),
    "slice": (lambda x: x[:, :2], lambda r, s: [rows(r, s)]),
    "concat": (lambda x, y: rg.concat([x, y * 2.0], axis=1), lambda r, s: [rows(r, s), rows(r, s[::-1])]),
    "padded": (lambda x: rg.to_padded(x, 0.0, (2,), truncate=True), lambda r, s: [rows(r, s)]),
    "attention": (
        lambda q, k, v: rg.attention(q, k, v, causal=True),
        lambda r, s: [rows(r, s), rows(r, s), rows(r, s, 3)],
    ),
    "lists": (lambda x: rg.softmax(x, axis=2).max(axis=2), lambda r, s: [lists(r, s)]),
}

SLOW = {
    "choice": (sign_choice, lambda r, s: [rows(r, s)]),
    "abs": (lambda x: np.abs(x) ** 2.5, lambda r, s: [rows(r, s)]),
    "total": (lambda x: (x * x).sum(), lambda r, s: [rows(r, s)]),
    "min": (lambda x: np.exp(x).min(axis=1), lambda r, s: [rows(r, s)]),
    "max across": (lambda x: x.max(axis=0), lambda r, s: [rows(r, s)]),
    "variance": (lambda x: x.var(axis=-1), lambda r, s: [rows(r, s)]),
    "log softmax": (lambda x: rg.log_softmax(x, axis=1), lambda r, s: [rows(r, s)]),
    "logsumexp": (lambda x: rg.logsumexp(x, axis=1), lambda r, s: [rows(r, s)]),
    "rms norm": (lambda x: rg.rms_norm(x), lambda r, s: [rows(r, s)]),
    "layer norm of components": (lambda x: rg.layer_norm(x, axis=(1, 2)), lambda r, s: [rows(r, s)]),
    "cumsum of cumsum": (lambda x: np.exp(rg.cumsum(x * rg.cumsum(x, 1), 1)), lambda r, s: [rows(r, s)]),
    "cumsum of features": (lambda x: rg.cumsum(x, axis=2), lambda r, s: [rows(r, s, 3)]),
    "cumsum of dense": (lambda x: rg.cumsum(x.sum(axis=1), axis=0), lambda r, s: [rows(r, s)]),
    "cumsum of inner lists": (lambda x: rg.cumsum(x, axis=2), lambda r, s: [lists(r, s)]),
    "cumsum of outer lists": (lambda x: rg.cumsum(x, axis=1), lambda r, s: [lists(r, s)]),
    "reversed": (lambda x: x[:, ::-1], lambda r, s: [rows(r, s)]),
    "features": (lambda x: x[:, :, 1:], lambda r, s: [rows(r, s)]),
    "some components": (lambda x: x[1:], lambda r, s: [rows(r, s)]),
    "concat of batches": (lambda x: rg.concat([x, x * 2.0], axis=0), lambda r, s: [rows(r, s)]),
    "concat of features": (lambda x: rg.concat([x, x * 2.0], axis=2), lambda r, s: [rows(r, s)]),
    "centred": (lambda x: x - x.sum(axis=1, keepdims=True), lambda r, s: [rows(r, s)]),
    "outer": (lambda x: x[..., None] * x[:, :, None, :], lambda r, s: [rows(r, s)]),
    "merge": (lambda x: rg.merge(x * x, axis=0), lambda r, s: [rows(r, s)]),
    "positions": (lambda x, p: x * p[None], lambda r, s: [rows(r, s), r.standard_normal((9, 2))]),
    "padded operand": (lambda x, p: x * p, lambda r, s: [rows(r, s), r.standard_normal((len(s), 9, 2))]),
    "one per component": (lambda x, p: x * p[:, None], lambda r, s: [rows(r, s), r.standard_normal((len(s), 2))]),
    "number": (lambda x, a: x * a, lambda r, s: [rows(r, s), 0.7]),
    "keys of other lengths": (
        lambda q, k, v: rg.attention(q, k, v),
        lambda r, s: [rows(r, s), rows(r, [n + 1 for n in s]), rows(r, [n + 1 for n in s], 3)],
    ),
    "transposed product": (lambda a, b: rg.transposed_matmul(a, b), lambda r, s: [rows(r, s), rows(r, s, 3)]),
    "product of each group": (
        lambda a, b: rg.ragged_dot(a, b),
        lambda r, s: [rows(r, s, 4), r.standard_normal((len(s), 4, 3))],
    ),
    "scores": (lambda a, b: rg.einsum("bid,bjd->bij", a, b), lambda r, s: [rows(r, s), rows(r, s)]),
    "stack": (lambda x: rg.stack([x, x * x]), lambda r, s: [rows(r, s)]),
    "reshape": (lambda x: rg.reshape(x * x, dims=(2,), shape=(2, 1)), lambda r, s: [rows(r, s)]),
    "split": (lambda x: rg.merge(rg.split(x * x, 1, 2) * 2.0, axis=1), lambda r, s: [rows(r, s)]),
    "inner sums": (lambda x: (x * x).sum(axis=2), lambda r, s: [lists(r, s)]),
    "all levels": (lambda x: x.max(axis=(1, 2)), lambda r, s: [lists(r, s)]),
    "softmax of two levels": (lambda x: rg.softmax(x, axis=(1, 2)), lambda r, s: [lists(r, s)]),
    "inner merge": (lambda x: rg.merge(x * x, axis=1), lambda r, s: [lists(r, s)]),
    "outer merge": (lambda x: rg.merge(x * x, axis=0), lambda r, s: [lists(r, s)]),
    "centred lists": (lambda x: x - x.mean(axis=2, keepdims=True), lambda r, s: [lists(r, s)]),
    "dense": (lambda a, b: np.exp(a) @ b, lambda r, s: [r.standard_normal((3, 4)), r.standard_normal((4, 2))]),
}


def run_case(function, make):
    rng = np.random.default_rng(0)
    for lengths in STRUCTURES:
        check(function, make(rng, lengths), rng)


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_a_program_without_ragged_arrays(axis):
    x = np.arange(20.0).reshape(4, 5)
    got = rg.grad(lambda x: (rg.cumsum(x, axis=axis) * x).sum())(x)
    np.testing.assert_array_equal(got, x.cumsum(axis) + np.flip(np.flip(x, axis).cumsum(axis), axis))


@pytest.mark.sampled(36)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("lengths", [*STRUCTURES, [300, 0, 1100]])
@pytest.mark.parametrize("features", [(), (3,), (2, 16)])
def test_running_sums_are_exact_on_small_integers(lengths, dtype, features):
    c = np.random.default_rng(0).integers(-1, 2, (sum(lengths), *features)).astype(dtype)
    x = rg.from_lengths(c, lengths)
    (got,) = rg.vjp(lambda x: rg.cumsum(x, axis=1), x)[1](x)
    parts = [p[::-1].cumsum(0)[::-1] for p in np.split(c, np.cumsum(lengths)[:-1])] if lengths else [c]
    np.testing.assert_array_equal(got.values, np.concatenate(parts))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", QUICK)
def test_against_differences(name):
    run_case(*QUICK[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_more_against_differences(name):
    run_case(*SLOW[name])


TAKEN = {
    "sort": lambda x: rg.sort(x, axis=1),
    "sort of features": lambda x: rg.sort(x, axis=-1),
    "top_k": lambda x: rg.top_k(x, 1, axis=1)[0],
    "median": lambda x: rg.median(x, axis=1),
    "quantile": lambda x: rg.quantile(x, 0.3, axis=1),
    "take_along_axis": lambda x: rg.take_along_axis(x, rg.from_lengths(np.array([[1], [0], [1]]), [2, 1]), axis=-1),
    "mask": lambda x: rg.attention(np.ones_like(x), x, x, mask=x[:, :, None, 0] * x[:, None, :, 1]),
}
"""What bodies take of an array."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_of_a_computed_array_has_a_gradient(name):
    """As of an argument: a table that was made in a body had none."""
    taken, x = TAKEN[name], rg.from_lengths(np.random.default_rng(0).standard_normal((3, 2)), [2, 1])
    want = rg.grad(lambda x: np.sin(taken(x)).sum())(x * 2.0).values
    assert np.abs(want).max() > 0.1
    np.testing.assert_allclose(rg.grad(lambda x: np.sin(taken(x * 2.0)).sum())(x).values, 2 * want, rtol=1e-12)


def test_softmax_by_hand():
    x = rg.from_lengths(np.array([[0.0, 0], [1, 0], [0, 2], [1, 1], [3, 0]]), [2, 0, 3])
    upstream = rg.like(x, np.array([[1.0, 0], [0, 0], [0, 1], [0, 0], [2, 0]]))
    (gradient,) = rg.vjp(lambda x: rg.softmax(x, axis=1), x)[1](upstream)
    expected = [
        [0.196612, 0], [-0.196612, 0], [-0.070896, 0.222695], [-0.192715, -0.162803], [0.263610, -0.059892],
    ]  # fmt: skip
    np.testing.assert_allclose(gradient.values, expected, atol=1e-6)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_softmax_against_every_component(lengths):
    rng = np.random.default_rng(1)
    x, upstream = rows(rng, lengths), rows(rng, lengths)
    (gradient,) = rg.vjp(_softmax, x)[1](upstream)
    at = 0
    for length in lengths:
        part, given = x.values[at : at + length], upstream.values[at : at + length]
        if length:
            weights = np.exp(part - part.max(0))
            weights /= weights.sum(0)
            expected = weights * (given - (weights * given).sum(0))
            np.testing.assert_allclose(gradient.values[at : at + length], expected, rtol=1e-9, atol=1e-12)
        at += length


def _softmax(x):
    return rg.softmax(x, axis=1)


@pytest.mark.slow
def test_second_derivatives_of_products_of_features():
    """The zeros that derivatives are added to take the place of tangents."""
    x = rows(np.random.default_rng(0), [2, 0, 3], 3)

    def squared(x):
        return (rg.grad(lambda x: np.exp(x.prod(axis=2) * 0.1).sum())(x) ** 2.0).sum()

    check(squared, [x], np.random.default_rng(1))


def test_windows_get_the_gradient_of_what_they_show():
    x = rg.from_starts_lengths(np.arange(6.0), [1, 4], [3, 2])
    gradient = rg.grad(lambda x: (x * x).sum())(x)
    assert gradient.values.tolist() == [2, 4, 6, 8, 10]


def test_rows_taken_twice_add_up():
    x = rg.from_lengths(np.arange(5.0), [2, 0, 3])
    gradient = rg.grad(lambda x, at: (x[at] * 2.0).sum())(x, np.array([0, 2, 0, 1]))
    assert gradient.values.tolist() == [4, 4, 2, 2, 2]


def test_gradient_in_a_jit_function():
    @rg.jit
    def step(x, w):
        value, gradient = rg.value_and_grad(lambda w: ((x @ w) ** 2.0).sum())(w)
        return value, w - 0.1 * gradient

    rng = np.random.default_rng(2)
    x, w = rows(rng, [2, 0, 3]), rng.standard_normal((2, 3))
    value, new = step(x, w)
    product = x.values @ w
    np.testing.assert_allclose(value, (product**2).sum())
    np.testing.assert_allclose(new, w - 0.1 * 2 * x.values.T @ product)


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("keys", [{"causal": True}, {"window": (0, 0)}])
def test_second_derivatives_of_softcaps_with_hidden_keys(keys):
    """No key that is not seen has part in them, whose score is infinite."""
    x, step = (np.random.default_rng(n).standard_normal((3, 1)) for n in range(2))

    def loss(q):
        return rg.attention(q, q, q, softcap=1.0, **keys).sum()

    def slope(values):
        return rg.grad(loss)(rg.from_lengths(values, [2, 1])).values

    (second,) = rg.vjp(rg.grad(loss), rg.from_lengths(x, [2, 1]))[1](rg.from_lengths(step, [2, 1]))
    expected = (slope(x + 1e-6 * step) - slope(x - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(second.values, expected, atol=1e-8)


def test_second_derivatives():
    x = rg.from_lengths(np.array([0.5, -1.0, 2.0]), [1, 0, 2])
    second = rg.grad(lambda x: rg.grad(lambda x: (np.sin(x) * x).sum())(x).sum())(x)
    v = x.values
    np.testing.assert_allclose(second.values, 2 * np.cos(v) - v * np.sin(v))


def test_containers_and_argument_numbers():
    x = rg.from_lengths(np.arange(3.0), [1, 2])

    def loss(scale, parameters):
        return (x * parameters["w"] + parameters["b"]).sum() * scale

    parameters = {"w": np.float64(2) * np.ones(()), "b": 1.0}
    gradients = rg.grad(loss, argnums=(0, 1))(2.0, parameters)
    assert gradients[0] == 9
    assert gradients[1] == {"w": 6, "b": 6}


def test_numbers_of_python():
    x = rg.from_lengths(np.ones(3, np.float32), [1, 2])
    assert rg.grad(lambda a: a * a * a - 2 * a)(3.0) == 25
    assert rg.grad(rg.grad(lambda a: a**3), argnums=np.int64(0))(3.0) == 18
    assert rg.grad(lambda a, x: (x * a * a).sum())(3.0, x) == 18
    scaled = rg.jit(lambda x, a: x * (rg.grad(lambda b: b * b)(a) * 2))(x, 3.0)
    assert scaled.dtype == np.float32
    assert scaled.tolist() == [[12], [12, 12]]


@dataclass
class Line:
    """An argument with names."""

    values: Any
    slope: Any


class Pair(NamedTuple):
    """A tuple with names."""

    first: Any
    second: Any


def test_integers_have_no_gradient():
    x = rg.from_lengths(np.arange(3), [1, 2])
    with pytest.raises(ArgumentError, match="grad: expected an array of floats for argument 0, got int64"):
        rg.grad(lambda x: x.sum())(x)
    y = rg.from_lengths(np.arange(3.0), [1, 2])
    for part, kind in ((True, "bool"), ("mean", "str")):
        with pytest.raises(ArgumentError, match=f"grad: expected an array of floats for argument 1, got {kind}"):
            rg.grad(lambda x, part: x.sum(), argnums=(0, 1))(y, part)
    for leaves, place in [
        ({"w": y, "n": 3}, "['n']"),
        ((y, 3), "[1]"),
        ({"a": [y, {0: x}]}, "['a'][1][0]"),
        (Line(y, 3), ".slope"),
        ([Line(x, 3.0), y], "[0].values"),
        (Pair(y, x), ".second"),
    ]:
        with pytest.raises(ArgumentError, match=re.escape(f"array of floats for argument 1{place}, got ")):
            rg.grad(lambda y, leaves: y.sum(), argnums=1)(y, leaves)
    with pytest.raises(ArgumentError, match="grad: expected a result of floats, got int64"):
        rg.grad(lambda y: y.argmax())(y)


def test_what_is_refused():
    x = rg.from_lengths(np.arange(3.0), [1, 2])
    with pytest.raises(
        ArgumentError, match="grad: expected a function whose result is one number, got float64 of rank 2"
    ):
        rg.grad(lambda x: x * 2.0)(x)
    with pytest.raises(ArgumentError, match="grad: expected argument numbers below 1, got 1"):
        rg.grad(lambda x: x.sum(), argnums=1)(x)
    with pytest.raises(ArgumentError, match="grad: expected an integer for argnums, got str"):
        rg.grad(lambda x: x.sum(), argnums="x")(x)
    with pytest.raises(ArgumentError, match="jvp: expected a list of arguments, got RaggedArray"):
        rg.jvp(lambda x: x.sum(), x, x)
    with pytest.raises(ArgumentError, match="grad: expected a function, got int"):
        rg.grad(3)
    pull = rg.vjp(lambda x: x * 2.0, x)[1]
    with pytest.raises(ArgumentError, match="vjp: expected a derivative of float64 of rank 1, got float32"):
        rg.vjp(lambda x: x.sum(axis=1), x)[1](np.zeros(2, np.float32))
    with pytest.raises(RuntimeCheckError, match="expected length"):
        pull(rg.from_lengths(np.arange(3.0), [2, 1]))
    with pytest.raises(ArgumentError, match="vjp: expected cotangents nested as the results, got other containers"):
        pull((x, x))
    with pytest.raises(ArgumentError, match="jvp: expected tangents nested as the arguments, got other containers"):
        rg.jvp(lambda x: x, ((x,),), (x,))
    with pytest.raises(ArgumentError, match="jvp: expected a tangent for each of 1 arguments, got 0"):
        rg.jvp(lambda x: x, (x,), ())


def test_nothing_is_traced_outside():
    text = "grad: expected to be in a function that is traced, got a call outside of one"
    with pytest.raises(TraceError, match=text):
        running("grad")


def test_an_operation_without_a_derivative_is_named():
    x = rg.from_lengths(np.arange(3.0), [1, 2])
    with pytest.raises(PassError, match=r"grad: expected 'ragged\.reduce_across' of kind sum"):
        rg.grad(lambda x: x.prod(axis=0).sum())(x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "shape", [(2, 3, 4, 4), (2, 1, 4, 4), (1, 3, 4, 4), (1, 1, 4, 4), (3, 4, 4), (4, 4), (2, 1, 1, 4), (1, 1, 1, 4)]
)
def test_masks_that_broadcast(shape: tuple[int, ...]) -> None:
    """Their gradients are sums of those of a mask that does not."""
    rng = np.random.default_rng(0)
    x, mask = rg.from_lengths(rng.random((6, 3, 5)), [2, 4]), rng.random(shape)
    gradient = rg.grad(lambda m: (rg.attention(x, x, x, mask=m) ** 2.0).sum())
    whole = np.asarray(gradient(np.broadcast_to(mask, (2, 3, 4, 4)).copy()))
    axes = tuple(dim for dim, extent in enumerate((1,) * (4 - len(shape)) + shape) if extent == 1)
    np.testing.assert_allclose(gradient(mask), whole.sum(axis=axes, keepdims=True).reshape(shape), atol=1e-14)


BITS: dict[str, tuple[Any, Any]] = {
    "frexp": (lambda x: np.frexp(x)[0], lambda x: 0.5 ** np.frexp(x)[1]),
    "spacing": (np.spacing, lambda x: 0.0 * x),
    "nextafter": (lambda x: np.nextafter(x, 7.0), lambda x: 0.0 * x + 1.0),
    "towards": (lambda x: np.nextafter(7.0, x), lambda x: 0.0 * x),
    "ldexp": (lambda x: np.ldexp(x, -3), lambda x: 0.0 * x + 0.125),
    "modf": (lambda x: np.modf(x)[0], lambda x: 0.0 * x + 1.0),
    "copysign": (lambda x: np.copysign(x, -1.0), lambda x: -np.sign(x)),
    "heaviside": (lambda x: np.heaviside(x, 0.5), lambda x: 0.0 * x),
}
"""Ufuncs that look at bits, and their derivatives."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", BITS)
def test_ufuncs_of_bits(name: str, dtype: str) -> None:
    function, derivative = BITS[name]
    x = np.array([0.3, 1.75, -2.5, 1e-3, -96.0], dtype)
    gradient = rg.grad(lambda x: function(x).sum())(rg.from_lengths(x, [2, 3]))
    np.testing.assert_allclose(gradient.values.astype("float64"), derivative(x.astype("float64")))


def test_terms_of_short_floats_are_not_rounded() -> None:
    """A gradient is added up in float32 and rounded once: its terms may be beyond what float16 holds."""
    x = rg.from_lengths(np.array([[300], [-300], [1]], np.float16), [3])
    g = np.array([[300], [300], [1]], np.float16)
    w = np.ones((1, 1, 1), np.float16)
    gradient = rg.grad(lambda w: (rg.ragged_dot(x, w) * rg.from_lengths(g, [3])).sum())(w)
    np.testing.assert_array_equal(gradient, np.ones((1, 1, 1), np.float16))


def test_a_learned_element_in_front_of_every_component() -> None:
    """Its extent is no part of the key, that of the others is."""

    def with_token(token: Any, x: Any) -> Any:
        first = token[None, None] * rg.ones((x.shape[0], 1, 1), x.dtype)
        return rg.concat([first, x], axis=1), rg.attention(first, x, x)

    x, token = array((3, 0, 5), dtype=np.float64), np.arange(4.0)
    joined, seen = rg.jit(with_token)(token, x)
    np.testing.assert_array_equal(joined.values, np.concatenate([np.stack([token, *c]) for c in components(x)]))
    np.testing.assert_allclose(seen, rg.attention(np.tile(token, (3, 1, 1)), x, x))
    found = rg.grad(lambda token, x: (with_token(token, x)[0] ** 2).sum())(token, x)
    np.testing.assert_allclose(found, 2 * 3 * token)
