"""`grad`, `value_and_grad`, `vjp` and `jvp`: derivatives of functions of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence

from ragged_dialect.arrays.core.arguments import bind, integer, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.tree import Node, Static, flatten, leaf_places, owner_of, unflatten
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.derivatives import Function, Nested, Recorded, check_float, floats
from ragged_dialect.arrays.tracing.guards import Versions
from ragged_dialect.arrays.tracing.jit import JitFunction, jit
from ragged_dialect.arrays.tracing.keeping import keeping, kept_leaf, replayed
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, held_now, unchanging
from ragged_dialect.arrays.tracing.tape import Tape
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import running, traced
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError
from ragged_dialect.passes.differentiate.values import number_like

Numbers = int | Sequence[int]
_CACHED = 256
"""How many functions `vjp` and `jvp` remember the programs of."""
_OBJECTS = 4
"""How many states of objects whose methods they are."""


def _numbers(op: str, argnums: Numbers, count: int) -> list[int]:
    numbers = argnums if isinstance(argnums, Sequence) else [argnums]
    given = [integer(op, "argnums", number) for number in numbers]
    for number in given:
        if not -count <= number < count:
            raise ArgumentError(f"{op}: expected argument numbers below {count}, got {number}")
    found = [number % count for number in given]
    if len(set(found)) != len(found):
        raise ArgumentError(f"{op}: expected different argument numbers, got {given}")
    return found


def _checked(op: str, function: Function) -> Function:
    if not callable(function):
        raise ArgumentError(f"{op}: expected a function, got {type(function).__name__}")
    return function


def _remembered(make: Callable[..., JitFunction]) -> Callable[..., JitFunction]:
    """What is made of functions, once; of methods of dataclasses a few, as they hold on to what the object had."""
    many, few = functools.lru_cache(_CACHED)(make), functools.lru_cache(_OBJECTS)(make)

    def found(fixed: Static, *options: bool) -> JitFunction:
        return (many if owner_of(_of(fixed)) is None else few)(fixed, *options)

    return found


def _of(fixed: Static) -> Function:
    """The function of a key; of two that are equal, but not exactly, either has its own."""
    assert callable(fixed.value)
    return fixed.value


def value_and_grad(function: Function, argnums: Numbers = 0, *, has_aux: bool = False) -> JitFunction:
    """A function with the value of another one, whose result is one number of floats, and its gradient.

    The gradient is by the positional arguments with the numbers `argnums`, as they are nested: for an int that of one
    argument, for several a tuple. It has the structure of the argument. What is made is a jit function, which may be
    called in others, and differentiated again. With `has_aux` the result is a pair of the number and of anything else,
    which is given back beside it and has no part in the gradient: `((value, other), gradient)`.

    ArgumentError for arguments that are no floats and for results that are no number; PassError, with its name, for an
    operation that has no derivative."""
    return _derived("value_and_grad", function, argnums, has_aux)


def grad(function: Function, argnums: Numbers = 0, *, has_aux: bool = False) -> JitFunction:
    """A function that computes the gradient of another one, with `has_aux` as a pair `(gradient, other)`; see
    `value_and_grad`.

    ```python
    rg.grad(lambda x: (x * x).sum())(x)  # 2 x, with the components of x
    ```"""
    return _derived("grad", function, argnums, has_aux)


def _derived(op: str, function: Function, argnums: Numbers, has_aux: bool) -> JitFunction:
    if not isinstance(has_aux, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{op}: expected a boolean for has_aux, got {type(has_aux).__name__}")
    return jit(
        _Derived(op, _checked(op, function), argnums, has_aux),
        static=sorted(function.static) if isinstance(function, JitFunction) else (),
    )


class _Derived:
    """A function with the gradient of another one, and its value for `value_and_grad`. A class, so that it pickles."""

    def __init__(self, op: str, function: Function, argnums: Numbers, has_aux: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self._made_of = op, function, argnums, has_aux

    def __reduce__(self) -> tuple[object, ...]:
        return _Derived, self._made_of

    def __call__(self, *arguments: Nested, **parameters: Nested) -> Nested:
        """The gradient, or both."""
        op, function, argnums, has_aux = self._made_of
        numbers = _numbers(op, argnums, len(arguments))
        for number in numbers:
            _, tree = flatten(arguments[number])
            if isinstance(tree, Static) and tree.value is not None:  # containers may have such parts
                got = type(tree.value).__name__
                raise ArgumentError(f"{op}: expected an array of floats for argument {number}, got {got}")
        recorded = Recorded(op, functools.partial(function, **parameters), arguments, numbers)
        results, tree = recorded.results, recorded.tree
        if has_aux:
            if not isinstance(tree, Node) or tree.kind is not tuple or len(tree.children) != 2:
                raise ArgumentError(f"{op}: expected a function with a pair of results for has_aux, got another")
            tree = tree.children[0]
        if tree is not None or results[0].axes:
            got = " and ".join(r.described for r in results[: len(leaf_places(tree))]) or "nothing"
            raise ArgumentError(f"{op}: expected a function whose result is one number, got {got}")
        result = results[0]
        check_float(f"{op}: expected a result of floats", result)
        one = Tensor(result.trace, number_like(result.value, 1), result.dtype, (), weak=result.weak)
        gradients = recorded.pulled([one, *[None] * (len(results) - 1)])
        gradient = tuple(gradients) if isinstance(argnums, Sequence) else gradients[0]
        made = unflatten(recorded.tree, results)
        if op == "value_and_grad":
            return made, gradient
        return (gradient, made[1]) if has_aux else gradient


def vjp(function: Function, /, *arguments: Nested) -> tuple[Nested, Pullback]:
    """The results of a function, and a function from cotangents of these, nested like them, to a tuple with the
    gradient by every argument.

    What the gradients need of the function's values is kept (`kept_bytes`), and so are copies of dense arrays of NumPy
    among the arguments and of those that the function holds on to: these may be overwritten before the gradients are
    asked for. The values of ragged arrays may not, nor tensors of PyTorch, whose changes are found where PyTorch
    counts them. ArgumentError for that, for cotangents of another dtype, layout or shape than the results, and for
    arguments that are no floats; RuntimeCheckError for other lengths."""
    _checked("vjp", function)
    leaves, tree = flatten(arguments)
    if traced() is not None or any(isinstance(leaf, Tensor) for leaf in leaves):
        recorded = Recorded("vjp", function, arguments, range(len(arguments)))
        return unflatten(recorded.tree, recorded.results), Pullback(lambda given: _pulled(recorded, given), 0)
    recorded = any(getattr(leaf, "requires_grad", False) for leaf in leaves)  # then PyTorch's graph keeps what it needs
    results, kept, taped = _valued(Static.of_function("vjp", function), not recorded)(*arguments)
    given = [*leaves, *held_now(taped.tape.captured)]
    own = [x if isinstance(x, RaggedArray) else unchanging(x) for x in given]
    # Results that the caller has: those of NumPy are read-only, other libraries have no such memory.
    shared = [isinstance(x, RaggedArray) and x.spec.library == "numpy" for x in kept]
    values = [x.values if isinstance(x, RaggedArray) else x for x in kept]
    size = sum(x.nbytes for x, is_shared in zip(values, shared, strict=True) if not is_shared)
    copies = [x for x, leaf in zip(own, given, strict=True) if x is not leaf]
    size += sum((x.array if isinstance(x, DenseLeaf) else x).nbytes for x in copies)
    held = [_copied(x) if isinstance(x, RaggedArray) else kept_leaf(x).fixed() for x in kept]
    own_arguments, captured = unflatten(tree, own[: len(leaves)]), own[len(leaves) :]
    versions = Versions("vjp", given)

    def pull(cotangents: Nested) -> tuple[Nested, ...]:
        versions()
        if (trace := traced()) is not None:
            trace.guard(versions)  # calls of its program ask again
        return taped.pull(own_arguments, captured, cotangents, held)

    return results, Pullback(pull, size)


def _copied(x: RaggedArray) -> RaggedArray:
    return x if x.spec.library == "numpy" else RaggedArray.trusted(Buffer(x.buffer.array.copy()), x.axes, x.spec)


class Pullback:
    """What `vjp` gives: from cotangents of results to gradients. `kept_bytes` is the size of what was kept for it of
    the function's values, beside arguments and results."""

    def __init__(self, pull: Callable[[Nested], tuple[Nested, ...]], kept_bytes: int) -> None:
        self._pull = pull
        self.kept_bytes = kept_bytes

    def __call__(self, *given: Nested, **named: Nested) -> tuple[Nested, ...]:
        """The gradient by every argument."""
        return self._pull(*bind("vjp", _COTANGENTS, given, named).args)


_COTANGENTS = inspect.Signature([inspect.Parameter("cotangents", inspect.Parameter.POSITIONAL_OR_KEYWORD)])


def _pulled(recorded: Recorded, given: Nested, kept: Sequence[Nested] = ()) -> tuple[Nested, ...]:
    recorded.trace.check_running()
    leaves, tree = flatten(given)
    if tree != recorded.tree:
        raise ArgumentError(f"{recorded.op}: expected cotangents nested as the results, got other containers")
    cotangents, values = ([as_tensor(recorded.trace, x) for x in found] for found in (leaves, kept))
    return tuple(recorded.pulled(cotangents, values))


@_remembered
def _valued(fixed: Static, keeps: bool) -> JitFunction:
    """A function with what its gradients need: what is kept, and what computes them."""
    function = _of(fixed)

    def value(*arguments: Nested) -> tuple[Nested, list[Tensor], Static]:
        trace = running("vjp")
        leaves, tree = flatten(arguments)
        leaves = [contiguous(as_tensor(trace, x)) for x in leaves]
        given, numbers = unflatten(tree, leaves), range(len(arguments))
        made = keeping("vjp", function, given, numbers, floats if keeps else lambda results: [])
        kept = [made.results[x] if isinstance(x, int) else x for x in made.kept]
        return unflatten(made.tape.tree, made.results), kept, Static(_Pulling(made.tape), id(made.tape))

    return jit(functools.update_wrapper(value, function))


class _Pulling:
    """The gradients of a function that was traced, as a jit function."""

    def __init__(self, tape: Tape) -> None:
        def pulled(
            arguments: tuple[Nested, ...], captured: list[Nested], cotangents: Nested, kept: list[Nested]
        ) -> Nested:
            again = replayed("vjp", tape, arguments, range(len(arguments)), captured)
            return _pulled(again, cotangents, kept)

        pulled.__name__ = "vjp"
        self.tape, self.pull = tape, jit(pulled)


def jvp(function: Function, arguments: Sequence[Nested], tangents: Sequence[Nested], /) -> tuple[Nested, Nested]:
    """The results of a function, and their tangents given those of its arguments; errors as of `vjp`."""
    _checked("jvp", function)
    arguments, tangents = listed("jvp", "arguments", arguments), listed("jvp", "tangents", tangents)
    if len(arguments) != len(tangents):
        raise ArgumentError(f"jvp: expected a tangent for each of {len(arguments)} arguments, got {len(tangents)}")
    if traced() is not None or any(isinstance(leaf, Tensor) for leaf in flatten(tuple(arguments))[0]):
        return _pushed(function, arguments, tangents)
    return _pushing(Static.of_function("jvp", function))(tuple(arguments), tuple(tangents))


def _pushed(function: Function, arguments: Sequence[Nested], tangents: Sequence[Nested]) -> tuple[Nested, Nested]:
    recorded = Recorded("jvp", function, tuple(arguments), range(len(arguments)))
    given: list[list[Nested]] = []
    for tangent, tree in zip(tangents, recorded.trees, strict=True):
        leaves, own = flatten(tangent)
        if own != tree:
            raise ArgumentError("jvp: expected tangents nested as the arguments, got other containers")
        given.append(leaves)
    made = recorded.pushed(given)
    return unflatten(recorded.tree, recorded.results), made


@_remembered
def _pushing(fixed: Static) -> JitFunction:
    function = _of(fixed)

    def pushed(arguments: tuple[Nested, ...], tangents: tuple[Nested, ...]) -> tuple[Nested, Nested]:
        return _pushed(function, arguments, tangents)

    pushed.__name__ = "jvp"
    return jit(pushed)
