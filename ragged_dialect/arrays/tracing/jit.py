"""`jit`: a Python function on arrays as one compiled program."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast, overload

import numpy as np

from ragged_dialect.arrays.core.arguments import bind, checked_axis
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import FLOAT, INT, Spec, spec
from ragged_dialect.arrays.core.storage import KNOWN, ArrayLike, Body
from ragged_dialect.arrays.core.tree import Static, Tree, flatten, flatten_arguments, unflatten
from ragged_dialect.arrays.tracing.building import as_tensor, build
from ragged_dialect.arrays.tracing.columns import Columns
from ragged_dialect.arrays.tracing.function import Call, Compiled, Function, requires_gradient
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaf, Leaves, dense_leaf, is_dense, leaf_spec, simple_leaf
from ragged_dialect.arrays.tracing.lowered import LoweredFunction, lower
from ragged_dialect.arrays.tracing.pickled_functions import at, is_by_name
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, traced
from ragged_dialect.errors import ArgumentError, brief
from ragged_dialect.narrowing import is_boolean, is_integer, is_list, is_mapping
from ragged_dialect.runtime.memory import MemoryUse

Dims = Mapping[str, Sequence[int]] | Sequence[int]


def _is_array(x: object) -> bool:
    return isinstance(x, RaggedArray) or is_dense(x)


def _refuse_left(x: object) -> None:
    """TraceError for a traced value that left its function."""
    if isinstance(x, Tensor):
        x.trace.check_running()


class JitFunction(Function):
    """A function that is traced once per key and then runs as one compiled program.

    The key is the layouts, dtypes and devices of the arrays, the static extents of their plain dense
    axes (of a dense array all but the first), and the static arguments, with the types of all that
    they are made of: of classes that are not known here what is equal is one key. Lengths, the number
    of components and numbers are no part of it."""

    def __init__(self, function: Body, static: Sequence[str], dynamic_dims: Dims | None, target: str | None) -> None:
        if not callable(function):
            raise ArgumentError(f"jit: expected a function, got {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._signature = _parameters(function)
        self._static = frozenset(static)
        self._dynamic = None if dynamic_dims is None else _checked_dims(dynamic_dims, self._signature)
        self._by_columns = dynamic_dims is None  # first dims of dense arguments that become columns are static
        self._target = target
        self._plain = not static and dynamic_dims is None and self._is_positional()
        super().__init__(sys.maxsize if self._plain else -1, {int: INT, float: FLOAT}, named=False)
        unknown = [name for name in static if name not in self._signature.parameters]
        if unknown:
            raise ArgumentError(f"jit: expected names of parameters for static, got '{unknown[0]}'")

    def __reduce__(self) -> tuple[object, ...]:
        """By its name where a module has it, as functions are pickled; otherwise by what it was made of."""
        module, name = self.__module__, str(getattr(self, "__qualname__", ""))  # some callables have none
        options = self._static, self._dynamic, self._target
        if is_by_name(self, module, name):
            return _named, (module, name)
        return JitFunction, (self._function, *options)

    def _is_positional(self) -> bool:
        kinds = {p.kind for p in self._signature.parameters.values()}
        return kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}

    def __get__(self, instance: object, owner: object = None) -> Callable[..., Any]:
        """As a method: the object is the first argument, a dataclass or static."""
        return self if instance is None else types.MethodType(self, instance)

    def _leaf(self, argument: ArrayLike, arguments: Sequence[ArrayLike]) -> Leaf:
        if type(argument) is np.ndarray:
            return dense_leaf(argument)
        return simple_leaf(self._name, argument) if type(argument) in KNOWN else None

    def _call(self, call: Call) -> ArrayLike:
        """A call by parameter, of containers, with static arguments, or of traced code."""
        if (trace := traced()) is not None:
            for leaf in flatten((call.arguments, call.parameters))[0]:
                _refuse_left(leaf)
            return self._inline(trace, call)
        leaves, tree = self._flatten(call.arguments, call.parameters)
        key = tree.key([leaf_spec(leaf) for leaf in leaves], self._plain)
        program, result = self._programs.get(key) or self._compiled(key, lambda: self._build(leaves, tree))
        results = program(leaves)
        return results[0] if result is None else unflatten(result, results)

    def _inline(self, trace: Trace, call: Call) -> ArrayLike:
        """The function as a part of the one that is traced: its arrays are arguments of it, numbers what they are."""
        bound = bind(self._name, self._signature, call.arguments, call.parameters)
        for name, value in bound.arguments.items():
            if name not in self._static:
                leaves, tree = flatten(value)
                bound.arguments[name] = unflatten(tree, [as_tensor(trace, x) if _is_array(x) else x for x in leaves])
        return self._function(*bound.args, **bound.kwargs)

    def _flatten(
        self, arguments: Sequence[ArrayLike], options: Mapping[str, ArrayLike]
    ) -> tuple[list[Leaf], _Arguments]:
        """Leaves, and the tree of the bound arguments: a tuple of them in the order of the parameters. Defaults are
        part of the function."""
        bound = bind(self._name, self._signature, arguments, options)
        leaves: list[Leaf] = []
        children: list[Tree] = []
        for name, value in bound.arguments.items():
            if name in self._static:
                children.append(self._fixed(name, value))
                continue
            found, child = flatten_arguments(value, f"{self._name}: argument '{name}'")
            leaves += [self._widened(name, leaf) for leaf in found]
            children.append(child)
        if isinstance(self._dynamic, tuple):
            self._check_dims(self._dynamic, leaves)
        return leaves, _Arguments(tuple(bound.arguments), tuple(children))

    def _fixed(self, name: str, value: object) -> Static:
        _refuse_left(value)
        try:
            return Static.of(value)
        except (TypeError, ValueError):
            text = f"expected what can be hashed for '{name}', which is static, got {type(value).__name__}"
            raise ArgumentError(f"{self._name}: {text}") from None

    @property
    def static(self) -> frozenset[str]:
        """The names of the parameters that are static."""
        return self._static

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", "function")

    def _widened(self, name: str, leaf: Leaf) -> Leaf:
        _refuse_left(leaf)
        made = simple_leaf(self._name, leaf, hint=" (use static, or a dataclass)")
        if self._dynamic is None:
            return made
        dims = self._dynamic.get(name, ()) if isinstance(self._dynamic, Mapping) else self._dynamic
        if not dims or not isinstance(made, (RaggedArray, DenseLeaf)):
            return made
        rank = len(made.spec.shape)
        if isinstance(self._dynamic, Mapping):
            dims = [checked_axis(f"{self._name}: dynamic_dims of '{name}'", d, rank) for d in dims]
        loose = frozenset(d % rank for d in dims if -rank <= d < rank)
        if isinstance(made, DenseLeaf):
            return dense_leaf(leaf, loose | {0})
        known = made.spec
        shape = tuple(None if d in loose and known.layout.is_plain(d) else e for d, e in enumerate(known.shape))
        wide = spec(known.layout, shape, known.dtype, known.device, known.library)
        return RaggedArray.trusted(made.buffer, made.axes, wide)

    def _check_dims(self, dims: Sequence[int], leaves: Leaves) -> None:
        """AxisError for a dim of all arguments that none has."""
        rank = max((len(leaf_spec(leaf).shape) for leaf in leaves), default=0)
        for dim in dims:
            checked_axis(f"{self._name}: dynamic_dims", dim, rank)

    def _body(self, tree: _Arguments) -> Body:
        def body(tensors: list[Tensor]) -> object:
            given = iter(tensors)
            values = {n: unflatten(c, given) for n, c in zip(tree.names, tree.children, strict=True)}
            bound = inspect.BoundArguments(self._signature, values)  # pyright: ignore[reportArgumentType]
            return self._function(*bound.args, **bound.kwargs)

        return body

    def _build(self, leaves: Leaves, tree: _Arguments) -> Compiled:
        make = build
        if requires_gradient(leaves):
            from ragged_dialect.arrays.tracing.autograd import recorded as make  # start-up time

        def compiled(given: Leaves, columns: bool) -> Compiled:
            return make(self._symbol, given, self._body(tree), self._target, columns)

        def another(given: Leaves) -> Compiled:
            made = compiled(given, columns=False)
            self.compilations += 1
            return made

        made = compiled(leaves, self._by_columns)
        return (Columns(another, leaves, made), None) if made[0].columns else made

    @property
    def _symbol(self) -> str:
        return self._name if self._name.isidentifier() else "function"

    def lower(self, *arguments: ArrayLike, **options: ArrayLike) -> LoweredFunction:
        """The program for such arguments as IR at every stage, LLVM IR and PTX; nothing runs."""
        leaves, tree = self._flatten(arguments, options)
        return lower(self._symbol, leaves, self._body(tree), self._by_columns)

    def memory(self, *arguments: ArrayLike, **options: ArrayLike) -> MemoryUse:
        """The bytes of a call on the CPU, which runs for that: `arguments`; `results` with their structures; `peak`,
        the most that the program held at one time beside its arguments, and `scratch`, what of that is not for results;
        `saved`, what is kept for gradients beside arguments and results, as by `vjp` and PyTorch's graph, None for a
        function without derivative. `vjp` copies dense arrays of NumPy besides. ArgumentError for a program of another
        target; what a call of the function raises.

        >>> rg.jit(lambda x: rg.softmax(x, 1).sum(1)).memory(x)
        MemoryUse(arguments=1032, results=16, peak=96, saved=16)"""
        from ragged_dialect.arrays.tracing.memory_use import measure  # start-up time

        leaves, tree = self._flatten(arguments, options)
        if requires_gradient(leaves):
            from ragged_dialect.arrays.tracing.autograd import without_gradients  # start-up time

            leaves = without_gradients(leaves)
        return measure(self._symbol, leaves, self._body(tree), self._target, self._by_columns)

    def clear(self) -> None:
        """Forget the programs."""
        self._programs.clear()


class _Arguments(NamedTuple):
    """The tree of the arguments of a call, by parameter."""

    names: tuple[str, ...]
    children: tuple[Tree, ...]

    def key(self, specs: Sequence[Spec], plain: bool) -> Hashable:
        """The key of a call: that of positional arguments alone, where all are arrays, numbers or None."""
        if not plain or not all(child is None or _is_none(child) for child in self.children):
            return tuple(specs), self
        given = iter(specs)
        return tuple(next(given) if child is None else None for child in self.children)


def _named(module: str, name: str) -> JitFunction:
    """A function that a module has."""
    found = at(module, name)
    if not isinstance(found, JitFunction):
        raise ArgumentError(f"jit: expected a jit function at {module}.{name}, got {type(found).__name__}")
    return found


def _is_none(child: Tree) -> bool:
    return isinstance(child, Static) and child.value is None


@overload
def jit(
    function: Body,
    /,
    *,
    static: Iterable[str] = (),
    dynamic_dims: Dims | None = None,
    target: str | None = None,
) -> JitFunction: ...
@overload
def jit(
    *, static: Iterable[str] = (), dynamic_dims: Dims | None = None, target: str | None = None
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static: Iterable[str] = (),
    dynamic_dims: Dims | None = None,
    target: str | None = None,
) -> JitFunction | Callable[[Body], JitFunction]:
    """Compile a function of arrays: `@rg.jit`, or `@rg.jit(static=("axis",))`.

    The function is called once with tracers; what it does to them becomes one program. Its arguments
    and results may be nested tuples, lists, dicts and dataclasses of arrays and numbers; text, booleans,
    None, the parameters named in `static` and fields of dataclasses with `metadata={"static": True}`
    belong to the key. As a method of a dataclass it has the object as an argument like others.
    `dynamic_dims` names plain dense dims whose extents are not to be part of the key: for all arguments,
    or by parameter. Without it the first dim of a dense argument belongs to the key only where it becomes
    columns of a product (`x @ w.T`), for up to four extents; the function is called once more then.
    `target` is `cpu`, `gpu` or `emulator`; by default where the arrays are."""
    names = _static_names(static)
    if target is not None and not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"jit: expected text or None for target, got {type(target).__name__}")

    def compiled(body: Body) -> JitFunction:
        return JitFunction(body, names, dynamic_dims, target)

    return compiled if function is None else compiled(function)


def _parameters(function: Body) -> inspect.Signature:
    """The parameters of a function; a ufunc's are its operands."""
    if isinstance(function, np.ufunc):
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(f"x{k}", kind) for k in range(function.nin)])
    try:
        return inspect.signature(function)
    except ValueError:
        name = getattr(function, "__name__", type(function).__name__)
        raise ArgumentError(f"jit: expected a function whose parameters are known, got {name} (use a lambda)") from None


def _checked_dims(dims: Any, signature: inspect.Signature) -> Dims:
    unknown = [name for name in dims if name not in signature.parameters] if is_mapping(dims) else []
    if unknown:
        raise ArgumentError(f"jit: expected names of parameters for dynamic_dims, got '{unknown[0]}'")
    given = list(dims.values()) if is_mapping(dims) else [dims]
    for own in given:
        if not is_list(own) or not all(is_integer(d) and not is_boolean(d) for d in own):
            raise ArgumentError(f"jit: expected tuples of dims for dynamic_dims, got {brief(own)}")
    return dims if is_mapping(dims) else tuple(dims)


def _static_names(static: object) -> tuple[str, ...]:
    if not isinstance(static, (tuple, list, set, frozenset)):
        raise ArgumentError(f"jit: expected a tuple of names for static, got {type(static).__name__}")
    names = tuple(cast("Iterable[Any]", static))
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"jit: expected names for static, got {type(name).__name__}")
    return names


__all__ = ["JitFunction", "jit"]
