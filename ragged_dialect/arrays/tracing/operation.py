"""Operations: functions on tracers by name, each callable on arrays too."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import bind, check_call, plain, signature_of
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import NUMBERS
from ragged_dialect.arrays.core.storage import ArrayLike, Body
from ragged_dialect.arrays.tracing.function import (
    Call,
    Compiled,
    Function,
    as_tensor,
    build,
    build_stored,
    requires_gradient,
)
from ragged_dialect.arrays.tracing.leaves import Leaf, beside_ragged, leaf_spec, simple_leaf
from ragged_dialect.arrays.tracing.plan import stored_key
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, traced
from ragged_dialect.errors import RaggedError
from ragged_dialect.lazy import cached_property


class Operation(Function):
    """A function on tracers, callable on arrays too. Positional arguments of the body are arrays, numbers or
    None; its keyword arguments, the parameters, are hashable and belong to the key. Callers may give both
    either way, as to a method. The arguments of an `elementwise` one broadcast."""

    def __init__(self, name: str, body: Body, elementwise: bool = False) -> None:
        functools.update_wrapper(self, body, updated=())
        self.name = name
        self._body = body
        self._elementwise = elementwise
        self.__signature__, self._arrays = _public(inspect.signature(body))
        super().__init__(len(self._arrays) or sys.maxsize, NUMBERS, named=True)

    def __reduce__(self) -> tuple[object, ...]:
        return _known, (self.name,)

    def _call(self, call: Call) -> ArrayLike:
        """Traced code, where arrays that it holds on to may change between calls, too; the other way to give arguments,
        or a program to compile."""
        arguments, parameters, key, leaves = call
        tracer = next((a for a in arguments if type(a) is Tensor), None)
        if (trace := traced() if tracer is None else tracer.trace) is not None:
            return self.inline(trace, arguments, parameters)
        bound, rest = self.bound(arguments, parameters)
        if len(bound) == len(arguments) and list(rest) == list(parameters):
            check_call(self.name, self._signature, bound, rest)
            self._compiled(key, lambda: self._build(leaves, parameters))
        return self(*bound, **rest)

    def bound(
        self, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]
    ) -> tuple[tuple[ArrayLike, ...], dict[str, ArrayLike]]:
        """Arguments and parameters as the body takes them. ArgumentError for those that it does not have."""
        bound = bind(self.name, self.__signature__, arguments, parameters)
        if not self._arrays:
            return bound.args, bound.kwargs
        given = bound.arguments
        count = max(at for at, name in enumerate(self._arrays, 1) if name in given)
        rest = {name: value for name, value in given.items() if name not in self._arrays}
        return tuple(given.get(name) for name in self._arrays[:count]), rest

    @cached_property
    def _signature(self) -> inspect.Signature:
        return signature_of(self._body)

    def _leaf(self, argument: ArrayLike, arguments: Sequence[ArrayLike]) -> Leaf:
        if any(type(a) is Tensor for a in arguments):
            return None
        made = simple_leaf(self.name, argument, arguments)
        if self._elementwise and len(made.spec.shape) > 1:
            return beside_ragged(made, [a.spec for a in arguments if type(a) is RaggedArray])
        return made

    def _build(self, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]) -> Compiled:
        present = [a is not None for a in arguments]
        specs, given = [None if a is None else leaf_spec(a) for a in arguments], [a for a in arguments if a is not None]
        is_recorded = requires_gradient(given)

        def body(tensors: list[Tensor]) -> Any:
            given = iter(tensors)
            for tensor in tensors:
                tensor.trace.inside_operation = True
            return self._made([next(given) if there else None for there in present], parameters)

        parameters = {name: plain(value) for name, value in parameters.items()}
        if is_recorded:
            from ragged_dialect.arrays.tracing.autograd import recorded  # start-up time

            return recorded(self.name, given, body)
        parts = stored_key(specs, parameters)
        if parts is None:
            return build(self.name, given, body)
        return build_stored(self.name, [self._body.__module__, *parts], given, body)

    def inline(self, trace: Trace, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]) -> ArrayLike:
        """The operation as a part of the function that is being traced."""
        trace.check_running()
        arguments, parameters = self.bound(arguments, parameters)
        if not trace.inside_operation:
            check_call(self.name, self._signature, arguments, parameters)
            parameters = {name: plain(value) for name, value in parameters.items()}
        if trace.inside_operation:  # errors name the operation that the user called
            return self._body(*_traced(trace, arguments), **parameters)
        with trace.changed(op=self.name, inside_operation=True), ir.Location.name(self.name):
            return self._made(_traced(trace, arguments), parameters)

    def _made(self, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]) -> ArrayLike:
        """What the body makes. Errors of what it is made of, which know no operation, name this one."""
        try:
            return self._body(*arguments, **parameters)
        except RaggedError as error:
            if len(error.args) == 1 and str(error).partition(": ")[0] not in OPERATIONS:
                error.args = (f"{self.name}: {error}",)
            raise


def _traced(trace: Trace, arguments: Sequence[ArrayLike]) -> list[ArrayLike]:
    return [None if a is None else as_tensor(trace, a) for a in arguments]


class _Direct(Operation):
    """An operation with results that need no program: those of `direct`, which gives None for the other arguments."""

    def __init__(self, name: str, body: Body, elementwise: bool, direct: Body) -> None:
        super().__init__(name, body, elementwise)
        self._direct, self._given = direct, len(inspect.signature(direct).parameters)

    def __call__(self, *arguments: ArrayLike, **parameters: ArrayLike) -> ArrayLike:
        """The results, by a program or without."""
        made = self._direct(*arguments) if len(arguments) == self._given and not parameters else None
        return super().__call__(*arguments, **parameters) if made is None else made


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


def _known(name: str) -> Operation:
    """An operation by its name, where a process may not have loaded it yet."""
    importlib.import_module("ragged_dialect.arrays")
    return OPERATIONS[name]


OPERATIONS: dict[str, Operation] = {}
"""Operations by name."""


def operation(
    name: str, *, elementwise: bool = False, direct: Body | None = None
) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function on tracers an operation on arrays, under a name that NumPy's protocols find it by."""

    def make(body: Body) -> Operation:
        made = Operation(name, body, elementwise) if direct is None else _Direct(name, body, elementwise, direct)
        OPERATIONS[name] = made
        return made

    return make


def compilations() -> int:
    """How many programs eager operations have compiled."""
    return sum(op.compilations for op in OPERATIONS.values())
