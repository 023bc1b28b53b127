"""What a traced function keeps for its gradients, where these are programs of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Tree, flatten, unflatten
from ragged_dialect.arrays.tracing.derivatives import Function, Nested, Recorded
from ragged_dialect.arrays.tracing.function import as_tensor
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, dense_leaf
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, running, tracing
from ragged_dialect.arrays.tracing.wrap import of_value
from ragged_dialect.narrowing import is_scalar
from ragged_dialect.passes.differentiate import program
from ragged_dialect.passes.differentiate.keeping import Place
from ragged_dialect.passes.differentiate.views import storage_of
from ragged_dialect.runtime.signature import numpy_dtype


class Keeping(NamedTuple):
    """A function that was traced: its results and their tree, the numbers of those that have cotangents; and what its
    gradients need not compute again, elements without their structure, or the number of a result."""

    results: list[Tensor]
    tree: Tree
    wanted: list[int]
    kept: list[Tensor | int]


def keeping(
    op: str,
    function: Function,
    arguments: Sequence[Nested],
    numbers: Sequence[int],
    chosen: Callable[[list[Tensor]], list[int]],
) -> Keeping:
    """Trace a function on the arguments of the running trace, whose gradients by some of them, of cotangents of results
    that are `chosen`, are computed in other calls. What these need is found in a trace of its own. PassError for an
    operation without a derivative."""
    trace = running(op)
    ops, nested = program.recorded(trace.block, lambda: function(*arguments))
    found, tree = flatten(nested)
    results = [as_tensor(trace, r) for r in found]
    wanted = chosen(results)
    given, nesting = flatten(tuple(arguments))
    if len(given) != len(trace.tensors) or any(map(operator.is_not, given, trace.tensors)):
        return Keeping(results, tree, wanted, [])
    with tracing(trace.name, trace.leaves[: len(given)], trace.device) as inner:
        with inner.building(), ir.Location.name(op):
            again = Recorded(op, function, unflatten(nesting, inner.tensors), numbers)
            places = again.kept([again.results[k] for k in wanted])
            before = len(again.ops) - len(ops)  # those that make its arguments
            same = [one.name for one in again.ops[before:]] == [one.name for one in ops]
            values = [Place(op - before, result).of(ops) for op, result in places] if same else []
    of_results = {results[k].value: k for k in reversed(wanted)}
    return Keeping(results, tree, wanted, [of_results.get(value, _storage(trace, value)) for value in values])


def _storage(trace: Trace, value: ir.Value) -> Tensor:
    storage = storage_of(value)
    dtype = numpy_dtype(str(storage.type.element_type))
    assert dtype is not None
    return of_value(trace, storage, dtype)


def kept_leaf(x: ArrayLike) -> DenseLeaf:
    """What was kept as an argument, whose extents are no part of the program."""
    return dense_leaf(np.asarray(x) if is_scalar(x) else x, frozenset(range(x.ndim)))
