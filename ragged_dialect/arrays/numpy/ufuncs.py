"""NumPy's ufuncs with their methods, on ragged arrays and tracers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike, Body, DTypeLike, converted, dtype_of, take
from ragged_dialect.arrays.core.value import Value, is_traced
from ragged_dialect.arrays.tracing.operation import UnknownOperation, named
from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_tuple

REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all",
    "logaddexp": "logsumexp", "bitwise_and": "reduce_and", "bitwise_or": "reduce_or", "bitwise_xor": "reduce_xor",
}  # fmt: skip
"""Names of what ufuncs reduce to."""


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[ArrayLike, ...], options: dict[str, ArrayLike]
) -> ArrayLike:
    """A ufunc, or a method of it. ArgumentError for methods and options that immutable arrays of rows of several
    lengths cannot have."""
    name = ufunc.__name__
    if method in _INSTEAD:
        instead = _INSTEAD[method]
        raise ArgumentError(f"np.{name}.{method}: expected call, reduce or accumulate, got {method} ({instead})")
    given = {key: value for key, value in options.items() if key == "axis" or not is_left_out(value)}
    try:
        return as_numpys(_METHODS[method](name, *inputs, **allowed(f"np.{name}", given, OPTIONS[method])))
    except UnknownOperation:
        hint = f" ({PRODUCT})" if name in _PRODUCTS else ""
        raise ArgumentError(f"np.{name}: expected a ufunc that ragged arrays have, got another{hint}") from None


def as_numpys(found: ArrayLike) -> ArrayLike:
    """What NumPy makes of Python's numbers, which is none of them: its dtype counts."""
    if is_tuple(found):
        return tuple(map(as_numpys, found))
    return found.strong if is_traced(found) else found


def is_left_out(value: object) -> bool:
    return value is None or type(value).__name__ == "_NoValueType"


PRODUCT = "x @ w, or rg.einsum"
"""What does the work of products of vectors and matrices."""

_PRODUCTS = frozenset(("matvec", "vecdot", "vecmat"))
_INSTEAD = {
    "at": "arrays are immutable: rg.segment_sum adds up by ids, rg.where replaces",
    "outer": "insert dims with x[..., None], and broadcast",
    "reduceat": "make components with rg.from_offsets, and reduce them",
}
OPTIONS = {
    "__call__": ("dtype", "where"),
    "reduce": ("axis", "dtype", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype"),
}


def allowed(name: str, options: Mapping[str, ArrayLike], known: tuple[str, ...]) -> dict[str, ArrayLike]:
    if "out" in options:
        raise ArgumentError(f"{name}: expected no out, got one (ragged arrays are immutable: use the result)")
    for key in options:
        if key not in known:
            raise ArgumentError(f"{name}: expected no option {key} on ragged arrays, got one")
    return dict(options)


def _call(name: str, *inputs: ArrayLike, dtype: DTypeLike | None = None, where: ArrayLike = True) -> ArrayLike:
    """A ufunc of elements, which are converted before it, as NumPy's; 0 where a mask does not hold."""
    found = named(name)(*(inputs if dtype is None else _converted(name, inputs, dtype_of(dtype))))
    results = found if is_tuple(found) else (found,)
    if where is not True:
        results = tuple(named("where")(mask(name, where), r, 0).astype(r.dtype) for r in results)
    return results if isinstance(found, tuple) else results[0]


def _converted(name: str, inputs: Sequence[ArrayLike], dtype: DType) -> list[ArrayLike]:
    """Operands in the dtypes of the loop whose results are of a dtype; numbers give way."""
    ufunc = getattr(np, name)
    given: list[ArrayLike] = [x if isinstance(x, (*_NUMBERS, Value)) else take(x) for x in inputs]
    types = [type(x) if isinstance(x, _NUMBERS) else x.dtype for x in given]
    try:
        signature = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
        found = ufunc.resolve_dtypes((*types, *[None] * ufunc.nout), signature=signature)
    except TypeError as error:
        raise ArgumentError(
            f"np.{name}: expected operands that NumPy computes in {dtype}, got others: {error}"
        ) from None
    astype = named("astype")
    return [x if isinstance(x, _NUMBERS) else astype(x, dtype=d) for x, d in zip(given, found, strict=False)]


_NUMBERS = (bool, int, float)


def reduce(
    name: str,
    x: ArrayLike,
    axis: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: ArrayLike = None,
    where: ArrayLike = True,
) -> ArrayLike:
    """A ufunc's reduction, of the elements where a mask holds."""
    if name not in REDUCTIONS:
        known = ", ".join(REDUCTIONS)
        raise ArgumentError(f"np.{name}.reduce: expected one of {known}, got {name}")
    wanted = None if dtype is None else dtype_of(dtype)
    if wanted is not None and isinstance(initial, _NUMBERS):
        initial = converted(f"np.{name}", take(initial), wanted).item()
    holds = None if where is True else mask(name, where)
    if wanted is holds is initial is None:
        return named(REDUCTIONS[name])(x, axis=axis, keepdims=keepdims)
    return named(f"np.{name}.reduce")(x, holds, initial, axis=axis, keepdims=keepdims, dtype=wanted and wanted.name)


_SCANS = tuple(name for name in REDUCTIONS if not name.startswith("bitwise"))


def _accumulate(name: str, x: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None) -> ArrayLike:
    if name not in _SCANS:
        raise ArgumentError(f"np.{name}.accumulate: expected one of {', '.join(_SCANS)}, got {name}")
    made = named("accumulate")(x if dtype is None else x.astype(dtype), ufunc=name, axis=axis)
    return made if dtype is None else made.astype(dtype)


_METHODS: dict[str, Body] = {"__call__": _call, "reduce": reduce, "accumulate": _accumulate}


def mask(name: str, where: ArrayLike) -> ArrayLike:
    made = take(where) if isinstance(where, (bool, list)) else where
    if str(getattr(made, "dtype", made)).removeprefix("torch.") != "bool":
        raise ArgumentError(f"np.{name}: expected a mask of booleans for where, got {getattr(made, 'dtype', made)}")
    return made
