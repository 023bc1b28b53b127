"""What a traced function keeps for its gradients, where these are programs of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import flatten, unflatten
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.derivatives import Function, Nested, Recorded
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, dense_leaf
from ragged_dialect.arrays.tracing.tape import Tape
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, running, tracing
from ragged_dialect.arrays.tracing.wrap import of_value
from ragged_dialect.ir.numbering import numbered
from ragged_dialect.narrowing import is_scalar
from ragged_dialect.passes.differentiate.keeping import Place
from ragged_dialect.passes.differentiate.views import storage_of
from ragged_dialect.runtime.signature import numpy_dtype


class Keeping(NamedTuple):
    """A function that was traced: its results, the numbers of those that have cotangents; what its gradients need not
    compute again, elements without their structure, or the number of a result; and its tape, which they are made of."""

    results: list[Tensor]
    wanted: list[int]
    kept: list[Tensor | int]
    tape: Tape


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
    given, nesting = flatten(tuple(arguments))
    tape, ops, results = Tape.of(lambda: function(*arguments), given)
    wanted = chosen(results)
    with tracing(trace.name, trace.leaves, trace.device) as inner:
        with inner.building(), ir.Location.name(op):
            arguments, captured = unflatten(nesting, inner.tensors[: len(given)]), inner.tensors[len(given) :]
            again = replayed(op, tape, arguments, numbers, captured, wanted)
            places = again.kept()
            before = len(again.ops) - len(ops)  # those that make its arguments
            values = [Place(op - before, result).of(ops) for (op, result), *_ in places]
    equal = numbered(ops)
    of_results = {equal[results[k].value]: k for k in reversed(wanted)}
    kept = [of_results[equal[x]] if equal[x] in of_results else _storage(trace, x) for x in values]
    return Keeping(results, wanted, kept, tape)


def replayed(
    op: str,
    tape: Tape,
    arguments: Sequence[Nested],
    numbers: Sequence[int],
    captured: Sequence[Nested],
    chosen: Sequence[int] | None = None,
) -> Recorded:
    """A function as it was traced, with its derivatives by some of its arguments; of all its results or of some.
    Arguments, and what it captured, are those of the running trace, or arrays that become part of it."""
    trace = running(op)
    held = [as_tensor(trace, x) for x in captured]
    leaves = [*(as_tensor(trace, x) for x in flatten(tuple(arguments))[0]), *held]

    def run(*given: Nested) -> Nested:
        results = tape(leaves, [*flatten(given)[0], *held])
        return results if chosen is None else [flatten(results)[0][k] for k in chosen]

    return Recorded(op, run, arguments, numbers)


def _storage(trace: Trace, value: ir.Value) -> Tensor:
    storage = storage_of(value)
    dtype = numpy_dtype(str(storage.type.element_type))
    assert dtype is not None
    return of_value(trace, storage, dtype)


def kept_leaf(x: ArrayLike) -> DenseLeaf:
    """What was kept as an argument, whose extents are no part of the program."""
    return dense_leaf(np.asarray(x) if is_scalar(x) else x, _dims(x.ndim))


@cache
def _dims(rank: int) -> frozenset[int]:
    return frozenset(range(rank))
