"""Functions on arrays: `operation` and `jit`. Both trace, compile once per key, and call."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.arguments import bind, check_call, signature_of
from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.leaves import DenseLeaf, beside_ragged, dense_leaf, is_dense, leaf_spec
from ragged_dialect.arrays.operators import OPERATIONS
from ragged_dialect.arrays.program import Program
from ragged_dialect.arrays.results import Result, Returned, plan_result
from ragged_dialect.arrays.spec import BOOL, FLOAT, INT, Spec
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.trace import Trace, tracing
from ragged_dialect.arrays.tree import Tree, flatten, unflatten
from ragged_dialect.errors import ArgumentError
from ragged_dialect.locks import once

_NUMBERS: dict[type, Spec] = {bool: BOOL, int: INT, float: FLOAT}


@dataclass(frozen=True)
class Traced:
    """A function that has been traced: its trace, how its results come out, and their tree."""

    trace: Trace
    plans: list[Result]
    tree: Tree
    device: str


@contextmanager
def trace_function(name: str, leaves: Sequence[Any], body: Callable[[list[Tensor]], Any]) -> Generator[Traced]:
    """Trace a function of tracers; the bindings' context is entered as long as the trace is used."""
    where, library = _place(name, leaves)
    with tracing(name, leaves, where) as trace:
        with trace.building(), ir.Location.name(name):
            results, tree = flatten(body(trace.tensors))
            returned = Returned()
            tensors = [as_tensor(trace, r) for r in results]
            plans = [plan_result(trace, t, returned, where, library) for t in tensors]
            trace.finish(returned.values)
        yield Traced(trace, plans, tree, where)


def build(
    name: str, leaves: Sequence[Any], body: Callable[[list[Tensor]], Any], target: str | None = None
) -> tuple[Program, Tree]:
    """Trace a function of tracers and compile it: the program, and the tree of its results."""
    with trace_function(name, leaves, body) as traced:
        chosen = target or ("cpu" if traced.device == "cpu" else "gpu")
        return Program(traced.trace, traced.plans, chosen), traced.tree


def _place(name: str, leaves: Sequence[Any]) -> tuple[str, str]:
    """The device of the arguments, and the library of the results: the first that is not NumPy."""
    specs = [leaf_spec(leaf) for leaf in leaves]
    devices = sorted({s.device for s in specs if not s.weak})
    if len(devices) > 1:
        raise ArgumentError(f"{name}: expected arrays on one device, got {' and '.join(devices)}")
    library = next((s.library for s in specs if not s.weak and s.library != "numpy"), "numpy")
    return (devices[0] if devices else "cpu"), library


def as_tensor(trace: Trace, value: Any) -> Tensor:
    """A tracer of a tracer, an array or a number that traced code uses."""
    if isinstance(value, Tensor):
        value.trace.check_running()
        return value
    if isinstance(value, RaggedArray):
        return trace.capture(value)
    if type(value) in _NUMBERS:
        return trace.constant(value, _NUMBERS[type(value)].dtype)
    simple_leaf(trace.op, value)
    return trace.capture_dense(value)


class Operation:
    """A function on tracers, callable on arrays too. Positional arguments of the body are arrays, numbers or
    None; its keyword arguments, the parameters, are hashable and belong to the key. Callers may give both
    either way, as to a method. The arguments of an `elementwise` one broadcast. `direct` gives the results
    for some arguments without a program, None for others."""

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        elementwise: bool = False,
        direct: Callable[..., Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, body, updated=())
        self.name = name
        self.compilations = 0
        self._body = body
        self.__signature__, self._arrays = _public(inspect.signature(body))
        self._most = len(self._arrays) if self._arrays else sys.maxsize
        self._elementwise = elementwise
        self._direct = direct
        self._programs: dict[Any, tuple[Program, Tree]] = {}

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        """The results on arrays; within traced code the tracers of the results."""
        if len(arguments) > self._most:
            arguments, parameters = self._bound(arguments, parameters)
        if self._direct is not None and len(arguments) == self._most:
            made = self._direct(*arguments, **parameters)
            if made is not None:
                return made
        specs: list[Any] = []
        given: Any = arguments
        present = True
        for at, argument in enumerate(arguments):
            kind = type(argument)
            if kind is RaggedArray:
                specs.append(argument.spec)
            elif kind in _NUMBERS:
                specs.append(_NUMBERS[kind])
            elif argument is None:
                specs.append(None)
                present = False
            elif kind is Tensor:
                return self.inline(argument.trace, arguments, parameters)
            elif any(type(other) is Tensor for other in arguments):
                continue
            else:
                given = [*given[:at], self._leaf(argument, arguments), *given[at + 1 :]]
                specs.append(given[at].spec)
        key = (*specs, *parameters.items()) if parameters else tuple(specs)
        try:
            found = self._programs.get(key)
        except TypeError:  # one that has no hash is refused below
            found = None
        if found is None:
            return self._first(arguments, parameters, key, given)
        program, tree = found
        results = program(given if present else [g for g in given if g is not None])
        return results[0] if tree is None else unflatten(tree, results)

    def _first(self, arguments: tuple[Any, ...], parameters: dict[str, Any], key: Any, given: Sequence[Any]) -> Any:
        """A call without a program: it is compiled, or there is one for the other way to give arguments."""
        bound, rest = self._bound(arguments, parameters)
        if len(bound) == len(arguments) and list(rest) == list(parameters):
            check_call(self.name, self._signature, bound, rest)
            once((id(self), key), lambda: self._make(key, given, parameters))
        return self(*bound, **rest)

    def _bound(self, arguments: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and parameters as the body takes them. ArgumentError for those that it does not have."""
        bound = bind(self.name, self.__signature__, arguments, parameters)
        if not self._arrays:
            return bound.args, bound.kwargs
        given = bound.arguments
        count = max(at for at, name in enumerate(self._arrays, 1) if name in given)
        rest = {name: value for name, value in given.items() if name not in self._arrays}
        return tuple(given.get(name) for name in self._arrays[:count]), rest

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return signature_of(self._body)

    def _leaf(self, argument: Any, arguments: Sequence[Any]) -> Any:
        made = simple_leaf(self.name, argument)
        if self._elementwise and len(made.spec.shape) > 1:
            return beside_ragged(made, [a.spec for a in arguments if type(a) is RaggedArray])
        return made

    def _make(self, key: Any, arguments: Sequence[Any], parameters: dict[str, Any]) -> None:
        """Compile the program for a key, unless another thread has done so."""
        if key not in self._programs:
            self._programs[key] = self._build(arguments, parameters)
            self.compilations += 1

    def _build(self, arguments: Sequence[Any], parameters: dict[str, Any]) -> tuple[Program, Tree]:
        present = [a is not None for a in arguments]

        def body(tensors: list[Tensor]) -> Any:
            given = iter(tensors)
            for tensor in tensors:
                tensor.trace.inside_operation = True
            return self._body(*(next(given) if there else None for there in present), **parameters)

        return build(self.name, [a for a in arguments if a is not None], body)

    def inline(self, trace: Trace, arguments: Sequence[Any], parameters: dict[str, Any]) -> Any:
        """The operation as a part of the function that is being traced."""
        trace.check_running()
        arguments, parameters = self._bound(arguments, parameters)
        if not trace.inside_operation:
            check_call(self.name, self._signature, arguments, parameters)
        given = [None if a is None else as_tensor(trace, a) for a in arguments]
        if trace.inside_operation:  # errors name the operation that the user called
            return self._body(*given, **parameters)
        before, trace.op, trace.inside_operation = trace.op, self.name, True
        try:
            with ir.Location.name(self.name):
                return self._body(*given, **parameters)
        finally:
            trace.op, trace.inside_operation = before, False


def _public(signature: inspect.Signature) -> tuple[inspect.Signature, tuple[str, ...]]:
    """The signature of a body for callers, who may give parameters by position, and the names of the arrays; none
    where there may be any number of arrays, and parameters keep their names."""
    known = signature.parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        return signature, ()
    arrays = tuple(p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD)
    shown = [
        p.replace(kind=p.POSITIONAL_OR_KEYWORD, annotation=p.empty if p.name in arrays else p.annotation) for p in known
    ]
    return signature.replace(parameters=shown, return_annotation=signature.empty), arrays


def simple_leaf(name: str, value: Any) -> Any:
    """An argument as a leaf of programs. ArgumentError for what is no array and no number."""
    if type(value) is np.ndarray:
        return dense_leaf(value)
    if isinstance(value, (RaggedArray, DenseLeaf)) or type(value) in _NUMBERS:
        return value
    if not is_dense(value) and not isinstance(value, (list, tuple)):
        raise ArgumentError(f"{name}: expected an array or a number, got {type(value).__name__}")
    return dense_leaf(value)


def operation(
    name: str, *, elementwise: bool = False, direct: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function on tracers an operation on arrays, under a name that methods find it by."""

    def make(body: Callable[..., Any]) -> Operation:
        made = OPERATIONS[name] = Operation(name, body, elementwise, direct)
        return made

    return make


def compilations() -> int:
    """How many programs eager operations have compiled."""
    return sum(op.compilations for op in OPERATIONS.values())
