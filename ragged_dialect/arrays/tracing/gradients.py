"""`grad`, `value_and_grad`, `vjp` and `jvp`: derivatives of functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.tree import Tree, flatten, unflatten
from ragged_dialect.arrays.tracing.agreement import equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.elements import kind
from ragged_dialect.arrays.tracing.function import as_tensor
from ragged_dialect.arrays.tracing.jit import JitFunction, jit
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, known, running
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, PassError
from ragged_dialect.ir import build
from ragged_dialect.layout import Layout
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.differentiate import program
from ragged_dialect.passes.differentiate.values import number_like
from ragged_dialect.passes.differentiate.views import fitted, storage_of

Numbers = int | Sequence[int]
Nested: TypeAlias = Any
"""Tuples, lists and dicts, in one another, of arrays, numbers or tracers."""
Function = Callable[..., Nested]
_CACHED = 256
"""How many functions `vjp` and `jvp` remember the programs of."""


@dataclass(frozen=True)
class _Leaf:
    """An array to differentiate by, and the value of the program that stands for all of its elements."""

    tensor: Tensor
    root: ir.Value

    def tracer(self) -> Tensor:
        """What the function gets."""
        x = self.tensor
        if x.weak:
            return Tensor(x.trace, self.root, x.dtype, (), weak=True)
        return x.trace.assembled(self.root, x.axes, x.dtype)


class _Recorded:
    """A function that was traced on some arguments, with the ops that it made."""

    def __init__(self, op: str, function: Function, arguments: Sequence[Nested], numbers: Sequence[int]) -> None:
        self.op = op
        self.trace = running(op)
        given = [flatten(arguments[k]) for k in numbers]
        self.trees: list[Tree] = [tree for _, tree in given]
        self.leaves = [[self._leaf(x, k) for x in leaves] for (leaves, _), k in zip(given, numbers, strict=True)]

        def run() -> Nested:
            changed = list(arguments)
            for k, leaves, tree in zip(numbers, self.leaves, self.trees, strict=True):
                changed[k] = unflatten(tree, [leaf.tracer() for leaf in leaves])
            return function(*changed)

        self.ops, results = program.recorded(self.trace.block, run)
        found, self.tree = flatten(results)
        self.results = [as_tensor(self.trace, r) for r in found]

    def _leaf(self, value: Nested, number: int) -> _Leaf:
        x = contiguous(as_tensor(self.trace, value))
        _check_float(f"{self.op}: expected an array of floats for argument {number}", x)
        if x.weak:
            return _Leaf(x, arith.mulf(x.value, build.constant(x.value.type, 1)))
        return _Leaf(x, ir.Operation.create("tensor.cast", results=[x.storage.type], operands=[x.storage]).result)

    @property
    def _roots(self) -> list[ir.Value]:
        return [leaf.root for leaves in self.leaves for leaf in leaves]

    def pulled(self, cotangents: Sequence[Tensor]) -> list[Nested]:
        """The gradient of every argument that was asked for, as its tree."""
        pairs = [(r, c) for r, c in zip(self.results, cotangents, strict=True) if kind(r.dtype) == "f"]
        values = [r.value for r, _ in pairs]
        given = [_like(self.op, r, c) for r, c in pairs]
        trace = self.trace

        def made() -> list[ir.Value]:
            return program.vjp(self.ops, self._roots, values, given, trace.block)

        found = iter(_derived(trace, self.op, made))
        return [
            unflatten(tree, [self._gradient(leaf.tensor, next(found)) for leaf in leaves])
            for leaves, tree in zip(self.leaves, self.trees, strict=True)
        ]

    def _gradient(self, x: Tensor, value: ir.Value) -> Tensor:
        if x.weak:
            return Tensor(self.trace, value, x.dtype, (), weak=True)
        return self.trace.assembled(value, x.axes, x.dtype)

    def pushed(self, tangents: Sequence[Sequence[Nested]]) -> Nested:
        """The tangents of the results, as their tree; those of results that are no floats are zeros."""
        given: list[ir.Value] = []
        for leaves, values in zip(self.leaves, tangents, strict=True):
            for leaf, value in zip(leaves, values, strict=True):
                tangent = as_tensor(self.trace, value)
                value = _like(self.op, leaf.tensor, tangent)
                given.append(storage_of(value) if leaf.tensor.axes else value)
        values = [r.value for r in self.results]

        def made() -> list[ir.Value]:
            return program.jvp(self.ops, self._roots, given, values)

        found = _derived(self.trace, self.op, made)
        made_of = zip(self.results, found, strict=True)
        return unflatten(self.tree, [Tensor(self.trace, v, r.dtype, r.axes, weak=r.weak) for r, v in made_of])


def _derived(trace: Trace, op: str, make: Callable[[], list[ir.Value]]) -> list[ir.Value]:
    """What is computed of derivatives: on structures of the program, which were checked. PassError for an operation
    without a derivative."""
    try:
        ops, made = program.recorded(trace.block, make)
    except PassFailure as failure:
        raise PassError(f"{op}: {str(failure).removeprefix('ragged-differentiate: ')}") from None
    for one in ops:
        known(one)
    return made


def _check_float(text: str, x: Tensor) -> None:
    if kind(x.dtype) != "f":
        raise ArgumentError(f"{text}, got {x.described}")


def _like(op: str, x: Tensor, given: Tensor) -> ir.Value:
    """The value of a tangent or cotangent. ArgumentError for one of another dtype, layout or shape; lengths are asked
    of calls."""
    fits = given.weak == x.weak or not x.axes
    if _levels(given) != _levels(x) or (given.dtype != x.dtype and not given.weak) or not fits:
        raise ArgumentError(f"{op}: expected a derivative of {x.described}, got {given.described}")
    dim = 0
    for own, other in zip(x.axes, given.axes, strict=True):
        if isinstance(own, NestedAxis) and isinstance(other, NestedAxis):
            x.trace.conform(own, other)
        elif isinstance(own, PlainAxis) and isinstance(other, PlainAxis):
            equal_extents((x, dim), (given, dim), dim)
        dim += len(own.letters)
    if x.weak:
        return given.scalar
    return tensor.from_elements(x.value.type, [given.scalar]) if given.weak else fitted(given.value, x.value)


def _levels(x: Tensor) -> Layout:
    """The layout without a difference between windows and what has no gaps."""
    return shape_of(x.axes).contiguous().layout


def _numbers(op: str, argnums: Numbers, count: int) -> list[int]:
    given = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in given:
        if not -count <= number < count:
            raise ArgumentError(f"{op}: expected argument numbers below {count}, got {number}")
    return [number % count for number in given]


def _checked(op: str, function: Function) -> Function:
    if not callable(function):
        raise ArgumentError(f"{op}: expected a function, got {type(function).__name__}")
    return function


def _static(function: Function) -> Sequence[str]:
    return sorted(function.static) if isinstance(function, JitFunction) else ()


def value_and_grad(function: Function, argnums: Numbers = 0) -> JitFunction:
    """A function with the value of another one, whose result is one number of floats, and its gradient.

    The gradient is by the positional arguments with the numbers `argnums`, as they are nested: for an int that of one
    argument, for several a tuple. It has the structure of the argument. What is made is a jit function, which may be
    called in others, and differentiated again.

    ArgumentError for arguments that are no floats and for results that are no number; PassError, with its name, for an
    operation that has no derivative."""
    return _value_and_grad("value_and_grad", function, argnums, lambda value, gradient: (value, gradient))


def grad(function: Function, argnums: Numbers = 0) -> JitFunction:
    """A function that computes the gradient of another one; see `value_and_grad`.

    ```python
    rg.grad(lambda x: (x * x).sum())(x)  # 2 x, with the components of x
    ```"""
    return _value_and_grad("grad", function, argnums, lambda value, gradient: gradient)


def _value_and_grad(
    op: str, function: Function, argnums: Numbers, choose: Callable[[Nested, Nested], Nested]
) -> JitFunction:
    _checked(op, function)

    @functools.wraps(function)
    def derived(*arguments: Nested, **parameters: Nested) -> Nested:
        numbers = _numbers(op, argnums, len(arguments))
        recorded = _Recorded(op, functools.partial(function, **parameters), arguments, numbers)
        if len(recorded.results) != 1 or recorded.results[0].axes:
            got = " and ".join(r.described for r in recorded.results) or "nothing"
            raise ArgumentError(f"{op}: expected a function whose result is one number, got {got}")
        (result,) = recorded.results
        _check_float(f"{op}: expected a result of floats", result)
        one = Tensor(result.trace, number_like(result.value, 1), result.dtype, (), weak=result.weak)
        gradients = recorded.pulled([one])
        return choose(
            unflatten(recorded.tree, recorded.results), gradients[0] if isinstance(argnums, int) else tuple(gradients)
        )

    return jit(derived, static=_static(function))


def vjp(function: Function, /, *arguments: Nested) -> tuple[Nested, Callable[[Nested], tuple[Nested, ...]]]:
    """The results of a function, and a function from cotangents of these, nested like them, to a tuple with the
    gradient by every argument.

    ArgumentError for cotangents of another dtype, layout or shape than the results, and for arguments that are no
    floats; RuntimeCheckError for other lengths."""
    _checked("vjp", function)
    if any(isinstance(leaf, Tensor) for leaf in flatten(arguments)[0]):
        recorded = _Recorded("vjp", function, arguments, range(len(arguments)))
        return unflatten(recorded.tree, recorded.results), lambda given: tuple(
            recorded.pulled(_leaves(recorded, given))
        )
    value, pull = _pulling(function)
    return value(*arguments), lambda given: pull(arguments, given)


def _leaves(recorded: _Recorded, given: Nested) -> list[Tensor]:
    leaves, tree = flatten(given)
    if tree != recorded.tree:
        raise ArgumentError(f"{recorded.op}: expected cotangents nested as the results, got other containers")
    return [as_tensor(recorded.trace, leaf) for leaf in leaves]


@functools.lru_cache(_CACHED)
def _pulling(function: Function) -> tuple[JitFunction, JitFunction]:
    def pulled(arguments: tuple[Nested, ...], cotangents: Nested) -> Nested:
        return vjp(function, *arguments)[1](cotangents)

    return jit(function), jit(pulled)


def jvp(function: Function, arguments: Sequence[Nested], tangents: Sequence[Nested], /) -> tuple[Nested, Nested]:
    """The results of a function, and their tangents given those of its arguments; errors as of `vjp`."""
    _checked("jvp", function)
    if len(arguments) != len(tangents):
        raise ArgumentError(f"jvp: expected a tangent for each of {len(arguments)} arguments, got {len(tangents)}")
    if any(isinstance(leaf, Tensor) for leaf in flatten(tuple(arguments))[0]):
        return _pushed(function, arguments, tangents)
    return _pushing(function)(tuple(arguments), tuple(tangents))


def _pushed(function: Function, arguments: Sequence[Nested], tangents: Sequence[Nested]) -> tuple[Nested, Nested]:
    recorded = _Recorded("jvp", function, tuple(arguments), range(len(arguments)))
    given: list[list[Nested]] = []
    for tangent, tree in zip(tangents, recorded.trees, strict=True):
        leaves, own = flatten(tangent)
        if own != tree:
            raise ArgumentError("jvp: expected tangents nested as the arguments, got other containers")
        given.append(leaves)
    made = recorded.pushed(given)
    return unflatten(recorded.tree, recorded.results), made


@functools.lru_cache(_CACHED)
def _pushing(function: Function) -> JitFunction:
    def pushed(arguments: tuple[Nested, ...], tangents: tuple[Nested, ...]) -> tuple[Nested, Nested]:
        return _pushed(function, arguments, tangents)

    return jit(pushed)
