"""A traced function with its derivatives: what `grad` and the others, and PyTorch's gradients, are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.tree import Tree, flatten, leaf_places, unflatten
from ragged_dialect.arrays.tracing.agreement import equal_beside
from ragged_dialect.arrays.tracing.axes import shape_of
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.elements import convert, kind
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, known, running
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, PassError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.match import definer
from ragged_dialect.layout import Layout
from ragged_dialect.passes.base import FaultAt, PassFailure
from ragged_dialect.passes.differentiate import program
from ragged_dialect.passes.differentiate.keeping import Place, use_kept, worth_keeping
from ragged_dialect.passes.differentiate.values import empty_like
from ragged_dialect.passes.differentiate.views import fitted, storage_of
from ragged_dialect.types import shape_of as value_shape

Nested: TypeAlias = Any
"""Tuples, lists and dicts, in one another, of arrays, numbers or tracers."""
Function = Callable[..., Nested]


@dataclass(frozen=True)
class _Leaf:
    """An array to differentiate by, and the value of the program that stands for all of its elements."""

    tensor: Tensor
    root: ir.Value

    def like(self, value: ir.Value) -> Tensor:
        """A value of all of such elements as a tracer."""
        x = self.tensor
        if x.weak:
            return Tensor(x.trace, value, x.dtype, (), weak=True)
        return x.trace.assembled(value, x.axes, x.dtype)


class Recorded:
    """A function that was traced on some arguments, with the ops that it made."""

    def __init__(self, op: str, function: Function, arguments: Sequence[Nested], numbers: Sequence[int]) -> None:
        self.op = op
        self.trace = running(op)
        given = [flatten(arguments[k]) for k in numbers]
        self.trees: list[Tree] = [tree for _, tree in given]
        self.leaves = [
            [self._leaf(x, f"{k}{place}") for x, place in zip(leaves, leaf_places(tree), strict=True)]
            for (leaves, tree), k in zip(given, numbers, strict=True)
        ]

        def run() -> Nested:
            changed = list(arguments)
            for k, leaves, tree in zip(numbers, self.leaves, self.trees, strict=True):
                changed[k] = unflatten(tree, [leaf.like(leaf.root) for leaf in leaves])
            return function(*changed)

        with self.trace.changed(has_derivatives=True):
            self.ops, results = program.recorded(self.trace.block, run)
        found, self.tree = flatten(results)
        self.results = [as_tensor(self.trace, r) for r in found]

    def _leaf(self, value: Nested, place: str) -> _Leaf:
        x = contiguous(as_tensor(self.trace, value))
        check_float(f"{self.op}: expected an array of floats for argument {place}", x)
        if x.weak:
            return _Leaf(x, arith.mulf(x.value, build.constant(x.value.type, 1)))
        return _Leaf(x, ir.Operation.create("tensor.cast", results=[x.storage.type], operands=[x.storage]).result)

    @property
    def _roots(self) -> list[ir.Value]:
        return [leaf.root for leaves in self.leaves for leaf in leaves]

    def kept(self) -> list[list[Place]]:
        """What of `ops` is worth keeping for gradients, given cotangents of the results, and where each is. PassError
        for an operation without a derivative."""
        values = [r.value for r in self.results]

        def made() -> list[ir.Value]:
            unknown = [build.stand_in(value.type) for value in values]
            return program.vjp(self.ops, self._roots, values, unknown, self.trace.block)

        return worth_keeping(self.ops, values, _derived(self.trace, self.op, made))

    def pulled(self, cotangents: Sequence[Tensor | None], kept: Sequence[Tensor] = ()) -> list[Nested]:
        """The gradient of every argument that was asked for, as its tree; results whose cotangent is None have no part
        in it. `kept` has the elements of what `keeping` found worth it."""
        found = zip(self.results, cotangents, strict=True)
        pairs = [(r, c) for r, c in found if kind(r.dtype) == "f" and c is not None]
        values = [r.value for r, _ in pairs]
        given = [_like(self.op, r, c) for r, c in pairs]
        trace = self.trace

        def made() -> list[ir.Value]:
            return program.vjp(self.ops, self._roots, values, given, trace.block)

        gradients = _derived(trace, self.op, made)
        if kept:
            gradients = self._with(kept, gradients)
        found = iter(gradients)
        return [
            unflatten(tree, [leaf.like(next(found)) for leaf in leaves])
            for leaves, tree in zip(self.leaves, self.trees, strict=True)
        ]

    def _with(self, kept: Sequence[Tensor], gradients: list[ir.Value]) -> list[ir.Value]:
        """The gradients where values of the function are kept: for the structures that it makes now, which are those
        that it made then, unless somebody has changed what it is computed of."""
        results = [r.value for r in self.results if kind(r.dtype) == "f"]
        for places, x in zip(worth_keeping(self.ops, results, gradients), kept, strict=True):
            for value in [place.of(self.ops) for place in places]:
                whole, made = use_kept(value, x.storage)
                for op in made:
                    known(op)
                with ir.InsertionPoint.after(definer(value)):  # before anything reads what is kept
                    for axis, size in enumerate(_storage_sizes(value)):
                        sizes = [build.value(shapes.dim(x.storage, axis)), build.value(size)]
                        builders.assert_valid(sizes, "equal", self.op, axis)
                gradients = [whole if gradient == value else gradient for gradient in gradients]
        return gradients

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


def _storage_sizes(x: ir.Value) -> list[build.Mixed]:
    """The extents of the storage that a value has, of what says how it is nested: its elements need not be computed."""
    shape = value_shape(x.type)
    sizes: list[build.Mixed] = []
    for axis, letters in enumerate(shape.layout.axes):
        last = shape.layout.dims(axis)[-1]
        if letters == "d":
            sizes.append(shapes.dim(x, last))
        elif letters.endswith("r"):
            sizes.append(vectors.last(builders.offsets(x, last)))
        else:
            sizes.append(shapes.dim(storage_of(empty_like(x)), axis))
    return sizes


def _derived(trace: Trace, op: str, make: Callable[[], list[ir.Value]]) -> list[ir.Value]:
    """What is computed of derivatives: on structures of the program, which were checked. PassError for an operation
    without a derivative."""
    try:
        ops, made = program.recorded(trace.block, make)
    except PassFailure as failure:
        raise PassError(f"{op}: {str(failure).removeprefix('ragged-differentiate: ')}") from None
    except FaultAt as fault:
        raise fault.error from None
    for one in ops:
        known(one)
    return made


def floats(results: Sequence[Tensor]) -> list[int]:
    """The numbers of results that have cotangents."""
    return [k for k, r in enumerate(results) if kind(r.dtype) == "f"]


def check_float(text: str, x: Tensor) -> None:
    """ArgumentError, with a text, for what is no array of floats."""
    if kind(x.dtype) != "f":
        raise ArgumentError(f"{text}, got {x.described}")


def _like(op: str, x: Tensor, given: Tensor) -> ir.Value:
    """The value of a tangent or cotangent. ArgumentError for one of another dtype, layout or shape; lengths are asked
    of calls."""
    fits = given.weak == x.weak or not x.axes
    if _levels(given) != _levels(x) or (given.dtype != x.dtype and not given.weak) or not fits:
        raise ArgumentError(f"{op}: expected a derivative of {x.described}, got {given.described}")
    equal_beside(x, given)
    if x.weak or given.weak:
        number = convert(given.scalar, given.dtype, x.dtype)
        return number if x.weak else tensor.from_elements(x.value.type, [number])
    return fitted(given.value, x.value)


def _levels(x: Tensor) -> Layout:
    """The layout without a difference between windows and what has no gaps."""
    return shape_of(x.axes).contiguous().layout
