"""Functions on tracers as programs: traced and compiled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import NUMBERS
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Tree, flatten
from ragged_dialect.arrays.tracing.calls import cpu_code, cpu_run, device_run
from ragged_dialect.arrays.tracing.function import Compiled
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaves, leaf_spec, of_extents, simple_leaf
from ragged_dialect.arrays.tracing.plan import Result, StoredOperation
from ragged_dialect.arrays.tracing.program import Program
from ragged_dialect.arrays.tracing.results import Returned, plan_result
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, tracing
from ragged_dialect.errors import ArgumentError, RaggedError, TraceError

Traceable: TypeAlias = Callable[[list[Tensor]], object]
"""What is traced: tracers in, arrays, tracers and containers of them out."""


@dataclass(frozen=True)
class Traced:
    """A function that has been traced: its trace, how its results come out, and their tree."""

    trace: Trace
    plans: list[Result]
    tree: Tree
    device: str
    columns: tuple[int, ...] = ()


@contextmanager
def trace_function(name: str, leaves: Leaves, body: Traceable, columns: bool = False) -> Generator[Traced]:
    """Trace a function of tracers; the bindings' context is entered as long as the trace is used. With `columns` it is
    traced again where dense arguments have columns as their first dim, for their extents: loops over rows of a static
    number of columns take up to half of the time."""
    with _traced(name, leaves, body) as traced:
        dense = [k for k, leaf in enumerate(leaves) if isinstance(leaf, DenseLeaf)]
        found = tuple([k for k in dense if k in traced.trace.columns]) if columns else ()
        if not found:
            yield traced
            return
    with _traced(name, of_extents(leaves, found), body) as traced:
        yield replace(traced, columns=found)


@contextmanager
def _traced(name: str, leaves: Leaves, body: Traceable) -> Generator[Traced]:
    where, library = _place(name, leaves)
    with tracing(name, leaves, where) as trace:
        with trace.building(), ir.Location.name(name):
            results, tree = flatten(_called(name, body, trace.tensors))
            returned = Returned()
            tensors = [as_tensor(trace, r) for r in results]
            plans = [plan_result(t, returned, where, library) for t in tensors]
            trace.finish(returned.values)
        yield Traced(trace, plans, tree, where)


def _called(name: str, body: Traceable, tensors: list[Tensor]) -> object:
    try:
        return body(tensors)
    except RecursionError:  # every call of a jit function in traced code is a part of the trace
        raise TraceError(f"{name}: expected calls that come to an end, got a recursion without one") from None
    except TypeError as error:
        hint = next((hint for what, hint in _NO_NUMBERS.items() if what in str(error)), None)
        if isinstance(error, RaggedError) or hint is None or not any(x.ragged_dims for x in tensors):
            raise
        raise TraceError(f"{name}: expected numbers of Python, got others: {error} ({hint})") from error


_NO_NUMBERS = {
    "'None": "in x.shape the extent of a ragged dim is None: x.lengths has its lengths",
    "'Tensor": "what only calls know is no number of Python: np.zeros_like(x.lengths) is for each component",
}
"""What Python's and NumPy's functions find that take numbers, and what to do instead."""


def build(name: str, leaves: Leaves, body: Traceable, target: str | None = None, columns: bool = False) -> Compiled:
    """Trace a function of tracers and compile it, for leaves that require no gradient: the program, and the tree of its
    results. `columns` as of `trace_function`."""
    with trace_function(name, leaves, body, columns) as traced:
        chosen = ("cpu" if traced.device == "cpu" else "gpu") if target is None else target
        plan, module = traced.trace.plan(traced.plans), traced.trace.module
        run = cpu_run(plan, cpu_code(module)) if chosen == "cpu" else device_run(plan, module, chosen)
        return Program(plan, run, chosen, traced.columns), traced.tree


def for_cpu(traced: Traced) -> StoredOperation:
    """What was traced as code for the CPU."""
    return StoredOperation(traced.trace.plan(traced.plans), traced.tree, cpu_code(traced.trace.module))


def _place(name: str, leaves: Leaves) -> tuple[str, str]:
    """The device of the arguments, and the library of the results: the first that is not NumPy."""
    specs = [leaf_spec(leaf) for leaf in leaves]
    devices = sorted({s.device for s in specs if not s.weak})
    if len(devices) > 1:
        raise ArgumentError(f"{name}: expected arrays on one device, got {' and '.join(devices)}")
    library = next((s.library for s in specs if not s.weak and s.library != "numpy"), "numpy")
    return (devices[0] if devices else "cpu"), library


def as_tensor(trace: Trace, value: ArrayLike) -> Tensor:
    """A tracer of a tracer, an array or a number that traced code uses."""
    if isinstance(value, Tensor):
        value.trace.check_running()
        return value
    if isinstance(value, RaggedArray):
        return trace.capture(value)
    if type(value) in NUMBERS:
        return trace.constant(value, NUMBERS[type(value)].dtype)
    simple_leaf(trace.op, value)
    return trace.capture_dense(value)
