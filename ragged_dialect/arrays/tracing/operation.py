"""Operations: functions on tracers by name, each callable on arrays too.

An operation that has only been named runs programs that the cache on disk has. Its body, and with it all that makes
programs, is loaded for the first call that has none."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragged_dialect.arrays.core.arguments import bind, check_call, plain, signature_of
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import NUMBERS
from ragged_dialect.arrays.core.storage import ArrayLike, Body
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.arrays.tracing.current import current
from ragged_dialect.arrays.tracing.function import Call, Compiled, Function, loaded, requires_gradient
from ragged_dialect.arrays.tracing.leaves import Leaf, Leaves, beside_ragged, leaf_spec, simple_leaf
from ragged_dialect.arrays.tracing.loading import load
from ragged_dialect.arrays.tracing.plan import StoredOperation, stored_key
from ragged_dialect.errors import ArgumentError, RaggedError
from ragged_dialect.lazy import cached_property
from ragged_dialect.locks import lock

if TYPE_CHECKING:
    from ragged_dialect.arrays.tracing.tensor import Tensor
    from ragged_dialect.arrays.tracing.trace import Trace


class UnknownOperation(ArgumentError):
    """A name that no operation has."""


class Operation(Function):
    """A function on tracers, callable on arrays too. Positional arguments of the body are arrays, numbers or
    None; its keyword arguments, the parameters, are hashable and belong to the key. Callers may give both
    either way, as to a method. The arguments of an `elementwise` one broadcast."""

    def __init__(self, name: str) -> None:
        super().__init__(sys.maxsize, NUMBERS, named=True)
        self.name = self.__name__ = name
        self._body: Body | None = None
        self._elementwise = False
        self._arrays: tuple[str, ...] = ()
        self._rest: tuple[str, ...] = ()
        """The parameters that callers may give after the arrays, in order."""
        self._source = ""
        """Where its body is, of which only those below know the state that the sources have; empty for them."""

    def define(self, body: Body, elementwise: bool) -> None:
        """Give it its body."""
        functools.update_wrapper(self, body, ("__module__", "__name__", "__qualname__"), ())
        self.__signature__, self._arrays = _public(inspect.signature(body))
        self._most = len(self._arrays) or sys.maxsize
        self._rest = tuple(name for name in self.__signature__.parameters if name not in self._arrays)
        self._body, self._elementwise = body, elementwise
        self._source = "" if body.__module__.startswith("ragged_dialect.arrays.") else body.__module__

    @property
    def body(self) -> Body:
        """What it does with tracers. UnknownOperation where there is none of its name."""
        return self._define() if self._body is None else self._body

    def _define(self) -> Body:
        load()
        if self._body is None:
            raise UnknownOperation(f"expected the name of an operation, got {self.name!r}")
        return self._body

    @property
    def __doc__(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.body.__doc__

    def __getattr__(self, name: str) -> Any:
        if name in ("__signature__", "__wrapped__", "__qualname__") and self._body is None:
            self._define()
            return getattr(self, name)
        raise AttributeError(f"operations have no attribute {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return named, (self.name,)

    def _call(self, call: Call) -> ArrayLike:
        """Traced code, where arrays that it holds on to may change between calls, too; the other way to give arguments,
        or a program to compile."""
        arguments, parameters, key, leaves = call
        tracer = next((a for a in arguments if is_traced(a)), None)
        if (trace := current.trace if tracer is None else tracer.trace) is not None:
            return self.inline(trace, arguments, parameters)
        if self._body is None:
            found = None if key is None else self._stored(leaves, parameters)
            if found is None:
                self._define()
            else:
                self._compiled(key, lambda: loaded(found))
            return self(*arguments, **parameters)
        by_name = dict(zip(self._rest, arguments[self._most :], strict=False))
        if 0 < len(by_name) == len(arguments) - self._most and parameters.keys().isdisjoint(by_name):
            return self(*arguments[: self._most], **by_name, **parameters)
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
        return signature_of(self.body)

    def _leaf(self, argument: ArrayLike, arguments: Sequence[ArrayLike]) -> Leaf:
        if any(is_traced(a) for a in arguments):
            return None
        try:
            made = simple_leaf(self.name, argument, arguments)
        except RaggedError:
            if self._body is None:  # nobody knows yet whether it is no parameter
                return None
            raise
        if self._elementwise and len(made.spec.shape) > 1:
            return beside_ragged(made, [a.spec for a in arguments if type(a) is RaggedArray])
        return made

    def _key(self, leaves: Leaves, parameters: Mapping[str, ArrayLike]) -> list[object] | None:
        """What the cache knows its program by: arguments as they are bound, which a program is kept for."""
        parts = stored_key([None if a is None else leaf_spec(a) for a in leaves], parameters)
        return None if parts is None else [self.name, self._source, *parts]

    def _stored(self, leaves: Leaves, parameters: Mapping[str, ArrayLike]) -> StoredOperation | None:
        """Its program in the cache."""
        from ragged_dialect.compiler.stored import kept  # start-up time

        parts = self._key(leaves, {name: plain(value) for name, value in parameters.items()})
        is_recorded = requires_gradient([a for a in leaves if a is not None])
        return None if parts is None or is_recorded else kept(StoredOperation, parts)

    def _build(self, arguments: Leaves, parameters: Mapping[str, ArrayLike]) -> Compiled:
        from ragged_dialect.arrays.tracing.building import build, for_cpu, trace_function  # start-up time

        present, given = [a is not None for a in arguments], [a for a in arguments if a is not None]

        def body(tensors: list[Tensor]) -> object:
            given = iter(tensors)
            for tensor in tensors:
                tensor.trace.inside_operation = True
            return self._made([next(given) if there else None for there in present], parameters)

        parameters = {name: plain(value) for name, value in parameters.items()}
        if requires_gradient(given):
            from ragged_dialect.arrays.tracing.autograd import recorded  # start-up time

            return recorded(self.name, given, body)
        parts = self._key(arguments, parameters)
        if parts is None:
            return build(self.name, given, body)
        from ragged_dialect.compiler.stored import stored  # start-up time

        def make() -> StoredOperation:
            with trace_function(self.name, given, body) as traced:
                return for_cpu(traced)

        return loaded(stored(StoredOperation, parts, make))

    def inline(self, trace: Trace, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]) -> ArrayLike:
        """The operation as a part of the function that is being traced."""
        from ragged_dialect._mlir import ir  # start-up time

        trace.check_running()
        arguments, parameters = self.bound(arguments, parameters)
        if not trace.inside_operation:
            check_call(self.name, self._signature, arguments, parameters)
            parameters = {name: plain(value) for name, value in parameters.items()}
        if trace.inside_operation:  # errors name the operation that the user called
            return self.body(*_traced(trace, arguments), **parameters)
        with trace.changed(op=self.name, inside_operation=True), ir.Location.name(self.name):
            return self._made(_traced(trace, arguments), parameters)

    def _made(self, arguments: Sequence[ArrayLike], parameters: Mapping[str, ArrayLike]) -> ArrayLike:
        """What the body makes. Errors of what it is made of, which know no operation, name this one."""
        try:
            return self.body(*arguments, **parameters)
        except RaggedError as error:
            if len(error.args) == 1 and str(error).partition(": ")[0] not in OPERATIONS:
                error.args = (f"{self.name}: {error}",)
            raise


def _traced(trace: Trace, arguments: Sequence[ArrayLike]) -> list[ArrayLike]:
    from ragged_dialect.arrays.tracing.building import as_tensor  # start-up time

    return [None if a is None else as_tensor(trace, a) for a in arguments]


class _Direct(Operation):
    # With results that need no program: those of a function that gives None for the other arguments.
    # A class without a docstring has None, which would be that of its operations.
    __doc__ = vars(Operation)["__doc__"]  # pyright: ignore[reportIncompatibleMethodOverride]
    direct: Body
    given: int

    def __call__(self, *arguments: ArrayLike, **parameters: ArrayLike) -> ArrayLike:
        """The results, by a program or without."""
        made = self.direct(*arguments) if len(arguments) == self.given and not parameters else None
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


class _Operations(dict[str, Operation]):
    """Operations that are defined, by name: those of this package when the first one is looked for."""

    def __missing__(self, name: str) -> Operation:
        load()
        if name not in self:
            raise KeyError(name)
        return self[name]


OPERATIONS: dict[str, Operation] = _Operations()
"""Operations by name."""

_named: dict[str, Operation] = {}
"""Those that have a name and no body yet."""

_naming = lock()


def named(name: str) -> Operation:
    """The operation of a name, which need not be loaded."""
    if (found := OPERATIONS.get(name)) is not None:
        return found
    with _naming:
        return OPERATIONS.get(name) or _named.setdefault(name, Operation(name))


def directly(name: str) -> Callable[[Body], Body]:
    """Make a function give results of an operation without a program: None for arguments that need one."""

    def make(body: Body) -> Body:
        found = named(name)  # which stays the object that others have
        found.__class__ = _Direct  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(found, _Direct)
        found.direct, found.given = body, body.__code__.co_argcount
        return body

    return make


def operation(name: str, *, elementwise: bool = False) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function on tracers an operation on arrays, under a name that NumPy's protocols find it by."""

    def make(body: Body) -> Operation:
        with _naming:
            made = OPERATIONS[name] = _named.pop(name, None) or Operation(name)
            made.define(body, elementwise)
        return made

    return make


def compilations() -> int:
    """How many programs eager operations have compiled."""
    return sum(op.compilations for op in (*OPERATIONS.values(), *_named.values()))
