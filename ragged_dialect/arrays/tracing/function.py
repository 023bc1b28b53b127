"""Functions on tracers as functions on arrays: traced and compiled once per key, then called."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import NUMBERS, Spec
from ragged_dialect.arrays.core.storage import RECORDED, ArrayLike, Dense
from ragged_dialect.arrays.core.tree import Tree, exact, flatten, unflatten
from ragged_dialect.arrays.tracing.calls import cpu_code, cpu_run, device_run
from ragged_dialect.arrays.tracing.leaves import Leaf, Leaves, leaf_spec, simple_leaf
from ragged_dialect.arrays.tracing.plan import Result, StoredOperation
from ragged_dialect.arrays.tracing.program import Program
from ragged_dialect.arrays.tracing.results import Returned, plan_result
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, traced, tracing
from ragged_dialect.errors import ArgumentError, RaggedError, TraceError
from ragged_dialect.locks import once

Compiled = tuple[Any, Tree]
"""A program, and the tree of its results."""

Traceable: TypeAlias = Callable[[list[Tensor]], Any]
"""What is traced: tracers in, arrays, tracers and containers of them out."""


class Call(NamedTuple):
    """A call: its arguments as given and, where they tell them, the key of its program and its leaves."""

    arguments: tuple[ArrayLike, ...]
    parameters: dict[str, ArrayLike]
    key: Hashable = None
    leaves: Leaves = ()


class Function:
    """What `operation` and `jit` make. A call finds its program by a key: an entry per positional argument, the
    spec of an array or a number (of the types in `numbers`) or None for none, and the parameters by name, exactly, if
    it is `named`. What has more than `most` positional arguments, or others, is left to `_call`, and so is a call
    without a program. `compilations` counts programs."""

    def __init__(self, most: int, numbers: Mapping[type, Spec], named: bool) -> None:
        self._most = most
        self._numbers = numbers
        self._named = named
        self._programs: dict[Hashable, Compiled] = {}
        self.compilations = 0

    def __call__(self, *arguments: ArrayLike, **parameters: ArrayLike) -> ArrayLike:
        """The results on arrays; within traced code the tracers of the results. Errors of guards are raised before
        anything is computed."""
        if len(arguments) > self._most or (parameters and not self._named):
            return self._call(Call(arguments, parameters))
        specs: list[Hashable] = []
        leaves: Leaves = arguments
        made: list[Leaf] | None = None
        present = True
        for at, argument in enumerate(arguments):
            if type(argument) is RaggedArray:
                specs.append(argument.spec)
            elif type(argument) in self._numbers:
                specs.append(self._numbers[type(argument)])
            elif argument is None:
                specs.append(None)
                present = False
            else:
                leaf = self._leaf(argument, arguments)
                if leaf is None:
                    return self._call(Call(arguments, parameters))
                leaves = made = list(arguments) if made is None else made
                made[at] = leaf
                specs.append(leaf.spec)
        for name, value in parameters.items():
            specs += name, exact(value)
        key = tuple(specs)
        try:
            found = self._programs.get(key)
        except (TypeError, ValueError):  # a parameter that has no hash, which `_call` refuses
            found = None
        if found is None or traced() is not None:
            return self._call(Call(arguments, parameters, key, leaves))
        program, tree = found
        results = program(leaves if present else [leaf for leaf in leaves if leaf is not None])
        return results[0] if tree is None else unflatten(tree, results)

    def _leaf(self, argument: ArrayLike, arguments: Sequence[ArrayLike]) -> Leaf:
        """An argument as a leaf of programs; None where a call with it is left to `_call`."""
        raise NotImplementedError

    def _call(self, call: Call) -> ArrayLike:
        """A call of another kind, or one that has a key, and leaves, and no program yet."""
        raise NotImplementedError

    def _compiled(self, key: Hashable, build: Callable[[], Compiled]) -> Compiled:
        """The program of a key, made by one of the threads that ask for it."""

        def make() -> Compiled:
            found = self._programs.get(key)
            if found is None:
                found = self._programs[key] = build()
                self.compilations += 1
            return found

        return once((id(self), key), make)


@dataclass(frozen=True)
class Traced:
    """A function that has been traced: its trace, how its results come out, and their tree."""

    trace: Trace
    plans: list[Result]
    tree: Tree
    device: str


@contextmanager
def trace_function(name: str, leaves: Leaves, body: Traceable) -> Generator[Traced]:
    """Trace a function of tracers; the bindings' context is entered as long as the trace is used."""
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


def build(name: str, leaves: Leaves, body: Traceable, target: str | None = None) -> Compiled:
    """Trace a function of tracers and compile it, for leaves that require no gradient: the program, and the tree of its
    results."""
    with trace_function(name, leaves, body) as traced:
        chosen = ("cpu" if traced.device == "cpu" else "gpu") if target is None else target
        if chosen == "cpu":
            return _loaded(for_cpu(traced))
        plan = traced.trace.plan(traced.plans)
        return Program(plan, device_run(plan, traced.trace.module, chosen), chosen), traced.tree


def requires_gradient(leaves: Leaves) -> bool:
    """Whether PyTorch records what is computed of arguments."""
    return any(leaf_spec(leaf).library == RECORDED for leaf in leaves)


def build_stored(name: str, parts: Sequence[Dense], leaves: Leaves, body: Traceable) -> Compiled:
    """As `build` for the CPU, of what requires no gradient, or from the cache: `parts` tell all that the trace depends
    on."""
    from ragged_dialect.compiler.stored import stored  # start-up time

    def make() -> StoredOperation:
        with trace_function(name, leaves, body) as traced:
            return for_cpu(traced)

    return _loaded(stored(StoredOperation, [name, *parts], make))


def for_cpu(traced: Traced) -> StoredOperation:
    """What was traced as code for the CPU."""
    return StoredOperation(traced.trace.plan(traced.plans), traced.tree, cpu_code(traced.trace.module))


def _loaded(found: StoredOperation) -> Compiled:
    """A compiled operation in memory, ready to call."""
    return Program(found.plan, cpu_run(found.plan, found.program), "cpu"), found.tree


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
