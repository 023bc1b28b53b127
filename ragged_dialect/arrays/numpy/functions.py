"""NumPy's functions on ragged arrays: of the name of an operation, and those of the modules beside this one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType

import numpy as np

from ragged_dialect.arrays.core.arguments import bind, name_error
from ragged_dialect.arrays.core.storage import ArrayLike, Body
from ragged_dialect.arrays.numpy.ufuncs import PRODUCT, REDUCTIONS, allowed, as_numpys, is_left_out, reduce
from ragged_dialect.arrays.tracing.loading import load
from ragged_dialect.arrays.tracing.operation import OPERATIONS, Operation
from ragged_dialect.errors import ArgumentError, RaggedError
from ragged_dialect.lazy import cached_property


@cache
def _adapted() -> dict[str, Body]:
    """Those that change arguments for operations, which are known by their names."""
    from ragged_dialect.arrays.numpy import adapted, searching  # start-up time

    return _functions_of(adapted, searching)


@cache
def functions() -> dict[str, Body]:
    """Functions by NumPy's names, which are those of the modules' functions; arguments as NumPy's."""
    from ragged_dialect.arrays.numpy import composed_operations, nan_operations  # start-up time

    return {**_adapted(), **_functions_of(composed_operations, nan_operations)}


def _functions_of(*modules: ModuleType) -> dict[str, Body]:
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if callable(function) and getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
    }


_UFUNCS = {name: ufunc for ufunc, name in REDUCTIONS.items()}
_OTHER_NAMES = {"correction": "ddof", "newshape": "shape"}
"""Arguments that NumPy has two names for, or had another one for before."""
_ALIASES = {"amax": "max", "amin": "min", "concat": "concatenate", "round_": "round"}
_REDUCING = frozenset("sum prod max min var std any all argmax argmin".split())
"""Those whose array is the first argument of an operation of the name, or of a ufunc's reduction."""

_STORED = "rg.save_npz(file, x)"
_CHOSEN = "masks are indices as they are: x[mask], whose row_ids are the components"
_JOINED = "rg.concat joins along any dim, rg.stack along a new one"
_SHOWN = "repr(x), or x.tolist()"
_DISTINCT = "rg.unique(x) has the distinct elements of each component, np.unique(x.values) those of all"
_FIXED = "arrays do not change: rg.where"
_FILLED = "rg.where(np.isnan(x), -np.inf, x) has no nan, and with np.inf for the least"
INSTEAD = {
    "union1d": "rg.union of the lists of each component",
    "intersect1d": "rg.intersection of the lists of each component",
    "setdiff1d": "rg.difference of the lists of each component",
    "setxor1d": "rg.difference(rg.union(a, b), rg.intersection(a, b)) of the lists of each component",
    "histogram": "rg.bincount(np.digitize(x, bounds), len(bounds) + 1) counts in each component",
    "bincount": "rg.bincount(x, count) counts in each component, and in a vector",
    "cumulative_sum": "x.cumsum(axis)",
    "cumulative_prod": "x.cumprod(axis)",
    "nancumsum": "rg.where(np.isnan(x), 0, x).cumsum(axis)",
    "nancumprod": "rg.where(np.isnan(x), 1, x).cumprod(axis)",
    "fliplr": "x[:, ::-1]",
    "flipud": "x[::-1]",
    "tril": "rg.where(i[:, :, None] >= i[:, None, :], x, 0) with i = rg.local_index(rows)",
    "triu": "rg.where(i[:, :, None] <= i[:, None, :], x, 0) with i = rg.local_index(rows)",
    "piecewise": "np.select, or rg.where",
    "choose": "np.select, or rg.where",
    "gradient": "(x[:, 2:] - x[:, :-2]) / 2 inside of each component, np.diff between neighbours",
    "ediff1d": "np.diff(x, axis=1)",
    "fix": "np.trunc",
    "isposinf": "x == np.inf",
    "isneginf": "x == -np.inf",
    "sinc": "rg.where(x == 0, 1, np.sin(np.pi * x) / (np.pi * x))",
    "polyval": "(a * x + b) * x + c",
    "meshgrid": "x[:, :, None] and y[:, None, :] broadcast to the pairs of each component",
    "unstack": "x.unbind()",
    "unwrap": "np.diff, and the cumsum of what it becomes",
    "trapezoid": "((x[:, 1:] + x[:, :-1]) / 2 * np.diff(t, axis=1)).sum(axis=1)",
    "cov": "((x - x.mean(1, keepdims=True)) * (y - y.mean(1, keepdims=True))).sum(1) / (x.lengths - 1)",
    "corrcoef": "the mean of the product of (x - x.mean(1, keepdims=True)) / x.std(1)[:, None] and the same of y",
    "cross": "differences of products of x[..., k], put together by rg.stack(…, axis=-1)",
    "correlate": "(rg.windows(x, len(w)) * w).sum(axis=2) is that of mode 'valid'",
    "convolve": "(rg.windows(x, len(w)) * w[::-1]).sum(axis=2) is that of mode 'valid'",
    "trim_zeros": "x[mask] leaves out what the mask does not have",
    "pad": "x.to_padded() is dense, rg.concat joins along any dim",
    "outer": "x[:, :, None] * y[:, None, :] of the pairs of each component",
    "vdot": "(x * y).sum()",
    "array_equiv": "np.array_equal",
    "result_type": "of dtypes: x.dtype is one of NumPy",
    "can_cast": "of dtypes: x.dtype is one of NumPy",
    "apply_along_axis": "operations are of all components at once, rg.scan steps along each",
    "argpartition": "rg.argsort, or rg.top_k",
    "partition": "rg.sort, or rg.top_k",
    "delete": "x[mask] leaves out what the mask does not have",
    "empty_like": "rg.empty_like",
    "ravel": "x.values has all elements",
    "copy": "arrays do not change",
    **dict.fromkeys(("save", "savez", "savez_compressed", "savetxt"), _STORED),
    **dict.fromkeys(("dot", "inner", "tensordot"), PRODUCT),
    **dict.fromkeys(("nonzero", "argwhere", "flatnonzero", "extract", "compress"), _CHOSEN),
    **dict.fromkeys(("hstack", "vstack", "dstack", "column_stack", "tile", "append", "insert", "block"), _JOINED),
    **dict.fromkeys(("array2string", "array_repr", "array_str"), _SHOWN),
    **dict.fromkeys(("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"), _DISTINCT),
    **dict.fromkeys(("copyto", "putmask", "place", "put", "put_along_axis", "fill_diagonal"), _FIXED),
    **dict.fromkeys(("broadcast_to", "broadcast_arrays"), "operations broadcast by themselves"),
    **dict.fromkeys(("moveaxis", "rollaxis", "permute_dims", "matrix_transpose"), "x.transpose"),
    **dict.fromkeys(("hsplit", "vsplit", "dsplit"), "np.array_split, or rg.chunk"),
    **dict.fromkeys(("nanargmax", "nanargmin"), _FILLED),
}
"""What does the work of functions that ragged arrays do not have."""


def does_work(name: str) -> str:
    """What does the work of a function of NumPy, in words: itself, or another; nothing of what NumPy does not have."""
    if not callable(getattr(np, name, None)):
        return ""
    load()
    is_here = name in functions() or name in _REDUCING or name in _ALIASES or name in OPERATIONS
    return f"np.{name} is a function" if is_here else INSTEAD.get(name, "")


def apply_function(
    function: Callable[..., object], args: tuple[ArrayLike, ...], kwargs: Mapping[str, ArrayLike]
) -> ArrayLike:
    """NumPy's function of the name of an operation. ArgumentError for others, and for arguments that the operation
    does not have."""
    ours = _ours(function)
    args, given = _by_name(ours, args, kwargs)
    first = (given.pop("a"),) if ours.folds else args
    if args or not ours.required <= given.keys() <= ours.accepted:
        bind(ours.own, ours.signature, first, allowed(ours.own, given, tuple(ours.signature.parameters)))
    run = ours.run
    if not ours.folds and isinstance(run, Operation):  # arrays are given by position, and tell the program
        first, given = run.bound(first, given)
    try:
        found = run(*first, **given)
    except RaggedError as error:
        name_error(ours.own, error)
        raise
    return found if ours.name in _PYTHONS else as_numpys(found)


_PYTHONS = frozenset({"size"})
"""Functions of NumPy that give numbers of Python."""


@dataclass(frozen=True)
class _Ours:
    """What runs for a function of NumPy, of parameters that have defaults, and names of it and of ours in errors."""

    own: str
    name: str
    run: Body
    signature: inspect.Signature
    defaults: Mapping[str, object]
    several: bool

    @cached_property
    def folds(self) -> bool:
        """Whether it is a reduction, whose array is called as in NumPy."""
        return self.name in _REDUCING

    @cached_property
    def required(self) -> frozenset[str]:
        """Parameters that ours must be given by their names."""
        return frozenset(p.name for p in self._named if p.default is p.empty)

    @cached_property
    def accepted(self) -> frozenset[str]:
        """Parameters that may be given by their names."""
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        return frozenset(p.name for p in self._named if p.kind in kinds)

    @property
    def _named(self) -> list[inspect.Parameter]:
        return list(self.signature.parameters.values())[self.folds :]


@cache
def _ours(function: Callable[..., object]) -> _Ours:
    module = function.__module__.removeprefix("numpy")
    own, name = f"np{module}.{function.__name__}", _ALIASES.get(function.__name__, function.__name__)
    if name in _UFUNCS:
        run: Body = partial(reduce, _UFUNCS[name], axis=None)
    elif name in _adapted():
        run = _adapted()[name]
    elif name in functions():
        run = functions()[name]
    elif name in _REDUCING:
        run = OPERATIONS[name]
    else:
        hint = f" ({INSTEAD[name]})" if name in INSTEAD else ""
        raise ArgumentError(f"{own}: expected a function that ragged arrays have, got another{hint}")
    parameters = _signature(function).parameters
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    defaults = {name: p.default for name, p in parameters.items()}  # what has to be given has none that it may be
    return _Ours(own, name, run, inspect.signature(run), defaults, several)


def _by_name(
    ours: _Ours, args: tuple[ArrayLike, ...], kwargs: Mapping[str, ArrayLike]
) -> tuple[tuple[ArrayLike, ...], dict[str, ArrayLike]]:
    """The arguments of NumPy's function by their names, less those that are left out or are what NumPy takes anyway;
    by position where there may be any number."""
    given = {**({} if ours.several else dict(zip(ours.defaults, args, strict=False))), **kwargs}
    given = {name: value for name, value in given.items() if not _is_default(ours.defaults.get(name), value)}
    for name, own in _OTHER_NAMES.items():
        if name in given and own in ours.accepted:
            if own in given:
                raise ArgumentError(f"{ours.own}: expected {own} or {name}, got both")
            given[own] = given.pop(name)
    return args if ours.several else (), given


def _is_default(default: object, value: object) -> bool:
    """Whether a value says nothing: as the axis of `np.sort`, which is another one by default, None does."""
    return value is default or (is_left_out(value) and is_left_out(default))


@cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # some versions of NumPy do not know those of functions in C
        own = inspect.signature(functions()[function.__name__])
        out = inspect.Parameter(
            "out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None
        )  # as np.concatenate has it
        return own.replace(parameters=[*own.parameters.values(), out])
