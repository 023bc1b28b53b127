"""Dataclasses among the arguments and results of programs, and what a loss gives back beside its value."""

from __future__ import annotations

import pickle
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import pytest
from support.components import array, components
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)


@dataclass
class Layer:
    """A linear layer over features, and a fold."""

    weights: Any
    bias: Any
    axis: int = field(default=1, metadata={"static": True})

    @rg.jit
    def __call__(self, x: Any) -> Any:
        return (x @ self.weights + self.bias).sum(self.axis)

    def loss(self, x: Any) -> Any:
        return (self(x) ** 2).sum()


@dataclass(frozen=True)
class Model:
    """Layers, in a list and one without weights."""

    layers: list[Layer]
    name: str
    nothing: None = None


@dataclass
class Empty:
    """No fields."""


def layer() -> Layer:
    return Layer(np.ones((4, 2)), np.arange(2.0))


def test_methods() -> None:
    x, own = array(LENGTHS, dtype=np.float64), layer()
    expected = [(c @ own.weights + own.bias).sum(0) for c in components(x)]
    np.testing.assert_allclose(own(x), expected)
    own.weights = own.weights * 2  # what changes is read again
    np.testing.assert_allclose(own(x), [(c @ own.weights + own.bias).sum(0) for c in components(x)])
    own.axis = 2
    np.testing.assert_allclose(own(x).values, (np.asarray(x.values) @ own.weights + own.bias).sum(1))


def test_static_fields_are_part_of_the_key() -> None:
    x, f = array(LENGTHS), rg.jit(lambda own, x: x.sum(own.axis))
    for axis, count in ((1, 1), (2, 2), (1, 2)):
        f(Layer(1.0, 2.0, axis), x)
        assert f.compilations == count


def test_results_and_gradients_are_of_the_class() -> None:
    x, model = array(LENGTHS, dtype=np.float64), Model([layer(), layer()], "two")
    made = rg.jit(lambda m: Model([Layer(one.weights * 2, one.bias, one.axis) for one in m.layers], m.name))(model)
    assert isinstance(made, Model)
    assert (made.name, made.nothing, made.layers[0].axis) == ("two", None, 1)
    np.testing.assert_array_equal(made.layers[1].weights, model.layers[1].weights * 2)
    value, gradient = rg.value_and_grad(lambda m, x: sum(one.loss(x) for one in m.layers))(model, x)
    assert value == pytest.approx(2 * layer().loss(x))
    rows = [c.sum(0) for c in components(x)]
    sums = layer()(x)
    np.testing.assert_allclose(gradient.layers[1].weights, sum(2 * np.outer(r, s) for r, s in zip(rows, sums)))
    _, pull = rg.vjp(Layer.loss, layer(), x)
    np.testing.assert_allclose(pull(1.0)[0].weights, gradient.layers[1].weights)
    assert isinstance(rg.jit(lambda e: e)(Empty()), Empty)


@dataclass
class Scaled:
    """Its constructor changes what it is given, and one field is set later."""

    weights: Any
    scale: InitVar[float] = 3.0
    kept: Any = field(default=None, init=False)

    def __post_init__(self, scale: float) -> None:
        assert isinstance(self.weights, np.ndarray)
        self.weights = self.weights * scale


@dataclass(init=False)
class Bare:
    """No constructor, and a field without a value."""

    weights: Any
    other: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """No dict."""

    weights: Any


def test_objects_are_as_they_are() -> None:
    own = Scaled(np.array([1.0, 3.0]))
    own.kept = np.array([5.0])
    value, gradient = rg.value_and_grad(lambda own: (own.weights**2.0).sum() + own.kept.sum())(own)
    assert value == 95.0
    assert (gradient.weights.tolist(), gradient.kept.tolist()) == ([6.0, 18.0], [1.0])
    assert rg.jit(lambda own: own)(own).weights.tolist() == [3.0, 9.0]
    bare = Bare()
    bare.weights = np.ones(2)
    assert rg.jit(lambda own: own.weights.sum())(bare) == 2.0
    assert not hasattr(rg.jit(lambda own: own)(bare), "other")
    slots = rg.jit(lambda own: Slots(weights=own.weights * 2))(Slots(weights=np.ones(2)))
    assert slots.weights.tolist() == [2.0, 2.0]


def test_derivatives_of_methods_are_of_what_the_object_has_now() -> None:
    x, own = array(LENGTHS, dtype=np.float64), layer()
    for _ in range(2):
        value, _ = rg.vjp(own.loss, x)
        pushed, _ = rg.jvp(own.loss, (x,), (x,))
        assert value == pytest.approx(own.loss(x))
        assert pushed == pytest.approx(own.loss(x))
        own.weights = own.weights * 2
    before = rg.compilations()
    rg.vjp(own.loss, x)
    own.weights *= 2
    assert rg.vjp(own.loss, x)[0] == pytest.approx(own.loss(x))
    assert rg.compilations() == before


def test_what_a_loss_gives_back_beside_its_value() -> None:
    x = array(LENGTHS, dtype=np.float64)

    def loss(x: Any, scale: float) -> Any:
        sums = x.sum(1) * scale
        return (sums**2).sum(), {"sums": sums, "lengths": x.lengths, "name": "sums"}

    (value, other), gradient = rg.value_and_grad(loss, has_aux=True)(x, 2.0)
    alone = rg.value_and_grad(lambda x, scale: loss(x, scale)[0])(x, 2.0)
    assert value == alone[0]
    np.testing.assert_array_equal(gradient.values, alone[1].values)
    np.testing.assert_allclose(other["sums"], 2 * x.sum(1))
    assert (other["lengths"].tolist(), other["name"]) == (list(LENGTHS), "sums")
    again, found = rg.grad(loss, argnums=(0, 1), has_aux=True)(x, 2.0)
    np.testing.assert_array_equal(again[0].values, gradient.values)
    np.testing.assert_array_equal(found["sums"], other["sums"])
    second = rg.grad(lambda x: rg.grad(lambda x: ((x**3).sum(), x), has_aux=True)(x)[0].sum())(x)
    np.testing.assert_allclose(second.values, 6 * np.asarray(x.values))
    assert pickle.loads(pickle.dumps(rg.grad(_pair, has_aux=True)))(x)[1] == 1


def _pair(x: Any) -> Any:
    return x.sum(), 1


class Plain:
    """No container."""

    def __call__(self, x: Any) -> Any:
        return x


@dataclass
class Both(dict[str, Any]):
    """Fields and items."""

    weights: Any


REFUSED: list[Refusal] = [
    (lambda x: rg.vjp(layer(), x), TypeError,
     "vjp: expected a function that can be hashed, got one of Layer (use a method of it)"),
    (lambda x: rg.jit(lambda own, x: x)(Both(1.0), x), TypeError,
     "expected a container of one kind, got Both, a dataclass that has items as well"),
    (lambda x: rg.grad(lambda x: x.sum(), has_aux=True)(x), TypeError,
     "grad: expected a function with a pair of results for has_aux, got another"),
    (lambda x: rg.grad(lambda x: [x.sum(), x], has_aux=True)(x), TypeError,
     "grad: expected a function with a pair of results for has_aux, got another"),
    (lambda x: rg.value_and_grad(lambda x: (x, x.sum()), has_aux=True)(x), TypeError,
     "value_and_grad: expected a function whose result is one number, got float32 of rank 3"),
    (lambda x: rg.value_and_grad(lambda x: ((), x.sum()), has_aux=True)(x), TypeError,
     "value_and_grad: expected a function whose result is one number, got nothing"),
    (lambda x: rg.grad(lambda x: x.sum(), has_aux=1), TypeError, "grad: expected a boolean for has_aux, got int"),
    (lambda x: rg.jit(lambda own, x: x)(Layer(1.0, 2.0, [1]), x), TypeError,
     "expected what can be hashed for 'Layer.axis', which is static, got list"),
    (lambda x: rg.jit(lambda own, x: x)(Plain(), x), TypeError,
     "argument 'own': expected arrays, numbers or text, got Plain (use static, or a dataclass)"),
]  # fmt: skip
test_refused = refused(REFUSED, lambda: array(LENGTHS))


class Counted(dict[str, Any]):
    """A dict that counts how often all of it is read."""

    read = 0

    def values(self) -> Any:
        """The values."""
        self.read += 1
        return super().values()


def test_a_call_reads_its_containers_once() -> None:
    double, given = rg.jit(lambda weights: weights["w"] * 2), Counted(w=np.ones(2))
    double(given)
    for _ in range(2):
        given.read = 0
        np.testing.assert_array_equal(double(given), [2.0, 2.0])
        assert given.read == 1


def test_a_proxy_is_the_container_that_it_says_it_is() -> None:
    class Proxy:
        """A dict, as `isinstance` has it."""

        __class__ = property(lambda self: dict)  # pyright: ignore[reportAssignmentType, reportUnknownLambdaType]

        def __iter__(self) -> Any:
            return iter(("w",))

        def values(self) -> Any:
            """The values."""
            return [np.ones(2)]

    np.testing.assert_array_equal(rg.jit(lambda weights: weights["w"] * 2)(Proxy()), [2.0, 2.0])


def test_a_traced_value_that_left_is_refused_wherever_it_is() -> None:
    kept: list[Any] = []
    rg.jit(lambda x: kept.append(x) or x)(np.ones(2))
    wanted = rg.jit(lambda given, fixed: given, static=("fixed",))
    for given, fixed in ((kept, 1), ({"x": kept[0]}, 1), (layer(), kept[0])):
        with pytest.raises(rg.TraceError, match="one that left the jit function"):
            wanted(given, fixed)
