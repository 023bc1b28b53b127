"""NumPy's functions, and its ufuncs with their methods, on ragged arrays and tracers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ragged_dialect.arrays.arguments import bind
from ragged_dialect.arrays.numpy_functions import FUNCTIONS
from ragged_dialect.arrays.operators import OPERATIONS, Operators
from ragged_dialect.arrays.storage import dtype_of, take
from ragged_dialect.errors import ArgumentError

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all",
}  # fmt: skip
"""Names of what ufuncs reduce to."""

_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "add": lambda dtype: 0, "multiply": lambda dtype: 1, "logical_or": lambda dtype: False,
    "logical_and": lambda dtype: True, "maximum": lambda dtype: _extreme(dtype, -1),
    "minimum": lambda dtype: _extreme(dtype, 1),
}  # fmt: skip
_ALIASES = {"amax": "max", "amin": "min", "concat": "concatenate"}
_UFUNCS = {name: ufunc for ufunc, name in REDUCTIONS.items()}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc, or a method of it. ArgumentError for methods and options that immutable arrays of rows of several
    lengths cannot have."""
    name = ufunc.__name__
    if method in _INSTEAD:
        instead = _INSTEAD[method]
        raise ArgumentError(f"np.{name}.{method}: expected call, reduce or accumulate, got {method} ({instead})")
    if name not in OPERATIONS:
        raise ArgumentError(f"np.{name}: expected a ufunc that ragged arrays have, got another")
    given = {key: value for key, value in options.items() if key == "axis" or not _is_left_out(value)}
    return _METHODS[method](name, *inputs, **_allowed(f"np.{name}", given, _OPTIONS[method]))


def _is_left_out(value: Any) -> bool:
    return value is None or type(value).__name__ == "_NoValueType"


_INSTEAD = {
    "at": "arrays are immutable: compute with rg.where",
    "outer": "insert dims with x[..., None], and broadcast",
    "reduceat": "make components with rg.from_offsets, and reduce them",
}
_OPTIONS = {
    "__call__": ("dtype", "where"),
    "reduce": ("axis", "dtype", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype"),
}


def _allowed(name: str, options: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    if "out" in options:
        raise ArgumentError(f"{name}: expected no out, got one (ragged arrays are immutable: use the result)")
    for key in options:
        if key not in known:
            raise ArgumentError(f"{name}: expected no option {key} on ragged arrays, got one")
    return dict(options)


def _call(name: str, *inputs: Any, dtype: Any = None, where: Any = True) -> Any:
    """A ufunc of elements, which are converted before it, as NumPy's; 0 where a mask does not hold."""
    found = OPERATIONS[name](*(inputs if dtype is None else _converted(name, inputs, dtype_of(dtype))))
    results = found if isinstance(found, tuple) else (found,)
    if where is not True:
        results = tuple(OPERATIONS["where"](_mask(name, where), r, 0).astype(r.dtype) for r in results)
    return results if isinstance(found, tuple) else results[0]


def _converted(name: str, inputs: Sequence[Any], dtype: Any) -> list[Any]:
    """Operands in the dtypes of the loop whose results are of a dtype; numbers give way."""
    ufunc = getattr(np, name)
    given: list[Any] = [x if isinstance(x, (*_NUMBERS, Operators)) else take(x) for x in inputs]
    types = [type(x) if isinstance(x, _NUMBERS) else x.dtype for x in given]
    try:
        signature = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
        found = ufunc.resolve_dtypes((*types, *[None] * ufunc.nout), signature=signature)
    except TypeError as error:
        raise ArgumentError(
            f"np.{name}: expected operands that NumPy computes in {dtype}, got others: {error}"
        ) from None
    astype = OPERATIONS["astype"]
    return [x if isinstance(x, _NUMBERS) else astype(x, dtype=d) for x, d in zip(given, found, strict=False)]


_NUMBERS = (bool, int, float)


def reduce(
    name: str,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """A ufunc's reduction, of the elements where a mask holds."""
    if name not in REDUCTIONS:
        known = ", ".join(REDUCTIONS)
        raise ArgumentError(f"np.{name}.reduce: expected one of {known}, got {name}")
    x = x if dtype is None else x.astype(dtype)
    if where is not True:
        x = OPERATIONS["where"](_mask(name, where), x, _NEUTRAL[name](x.dtype))
    made = OPERATIONS[REDUCTIONS[name]](x, axis=axis, keepdims=keepdims)
    made = made if initial is None else OPERATIONS[name](made, initial)
    return made if dtype is None else OPERATIONS["astype"](made, dtype=dtype_of(dtype))


def _accumulate(name: str, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    made = OPERATIONS["accumulate"](x if dtype is None else x.astype(dtype), ufunc=name, axis=axis)
    return made if dtype is None else made.astype(dtype)


_METHODS: dict[str, Callable[..., Any]] = {"__call__": _call, "reduce": reduce, "accumulate": _accumulate}


def _mask(name: str, where: Any) -> Any:
    made = np.asarray(where) if isinstance(where, (bool, list)) else where
    if np.dtype(getattr(made, "dtype", object)) != np.bool_:
        raise ArgumentError(f"np.{name}: expected a mask of booleans for where, got {getattr(made, 'dtype', made)}")
    return made


def _extreme(dtype: Any, sign: int) -> Any:
    if dtype.kind == "b":
        return sign > 0
    return (np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min) if dtype.kind == "i" else sign * np.inf


def apply_function(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """NumPy's function of the name of an operation. ArgumentError for others, and for arguments that the operation
    does not have."""
    own, name = f"np.{function.__name__}", _ALIASES.get(function.__name__, function.__name__)
    if name not in FUNCTIONS and name not in _REDUCING:
        raise ArgumentError(f"{own}: expected a function that ragged arrays have, got another")
    args, given = _by_name(function, args, kwargs)
    if name in FUNCTIONS:
        run = FUNCTIONS[name]
    else:
        run = OPERATIONS[name] if name not in _UFUNCS else partial(reduce, _UFUNCS[name], axis=None)
        args, given = (given.pop("a"),), given
    signature = inspect.signature(run)
    bind(own, signature, args, _allowed(own, given, tuple(signature.parameters)))
    return run(*args, **given)


def _by_name(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of NumPy's function by their names, less those that are left out or are what NumPy takes anyway;
    by position where there may be any number."""
    parameters = _signature(function).parameters
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    given = {**({} if several else dict(zip(parameters, args, strict=False))), **kwargs}
    return args if several else (), {
        name: value
        for name, value in given.items()
        if not _is_left_out(value) and not (name in parameters and value is parameters[name].default)
    }


@cache
def _signature(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # some versions of NumPy do not know those of functions in C
        return inspect.signature(FUNCTIONS[function.__name__])


_REDUCING = frozenset("sum prod max min mean var std any all argmax argmin cumsum cumprod".split())
