"""PyTorch's functions of jagged tensors: those of fvdb's list, which see every row of the data by itself.

Others would mix tensors (a softmax, a sum or a sort along dim 0) or change how many rows there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragged_dialect.arrays.core import storage
from ragged_dialect.compat.fvdb.making import check_conform
from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_list

if TYPE_CHECKING:
    from ragged_dialect.compat.fvdb.elementwise import Elementwise

ELEMENTWISE = frozenset(
    "abs neg relu sigmoid tanh silu gelu exp expm1 log log1p sqrt rsqrt ceil floor round trunc nan_to_num clamp "
    "add sub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin eq ne lt le gt ge "
    "where lerp".split()
)
"""Functions of elements, by their names in torch."""

REDUCTIONS = dict.fromkeys("sum mean prod amax amin argmax argmin all any var std".split(), 1) | {"norm": 2}
"""Functions of dims, and where among their arguments these are."""

_IN_PLACE = {"abs_": "abs", "relu_": "relu"}


def applied(
    cls: type[Elementwise], function: Callable[..., object], args: Sequence[object], named: Mapping[str, object]
) -> tuple[Elementwise, Elementwise | None, Any]:
    """A function on the data: the tensor that has the structure of the result, the one that takes it where there is
    one, and the data. ArgumentError for a function that is not on the list or sees several rows; RuntimeCheckError
    where structures differ."""
    given = getattr(function, "__name__", repr(function))
    name = _IN_PLACE.get(given, given)
    if name not in REDUCTIONS and name not in ELEMENTWISE:
        raise ArgumentError(f"torch.{given}: expected a function of single rows, got another (use jdata)")
    owners = [a for a in (*args, *named.values()) if isinstance(a, cls)]
    if not owners:
        raise ArgumentError("expected a jagged tensor among the arguments, got none")
    if name in REDUCTIONS:
        _check_dims(name, args, named, len(owners[0].rshape))
    else:
        _check_rows(name, [*args, *named.values()], cls, len(owners[0].rshape))
    for other in owners[1:]:
        check_conform(owners[0].array, other.array)
    options = dict(named)
    out = options.pop("out", None)
    if out is not None and not isinstance(out, cls):
        raise ArgumentError(f"torch.{name}: expected a jagged tensor for out, got {type(out).__name__}")
    target = owners[0] if name != given or options.get("inplace") else out

    def data(value: object) -> Any:
        if not isinstance(value, cls):
            return value
        values = value.array.values
        if value is not target:
            return values
        return values.clone() if hasattr(values, "clone") else values.copy()  # others may share the data

    found = function(*map(data, args), **{name: data(value) for name, value in options.items()})
    return owners[0], target, found


def _check_rows(name: str, operands: Sequence[object], cls: type[Elementwise], rank: int) -> None:
    """Operands broadcast from the last dim: one of another rank would have its elements, or what is in front of
    them, along the rows."""
    for operand in operands:
        jagged = isinstance(operand, cls)
        if not jagged and storage.library(operand) is None:
            continue
        found = len(operand.rshape if jagged else storage.peek(operand).shape)
        if found > rank or (jagged and found != rank):
            wanted = f"rank {rank}" if jagged else f"rank {rank} at most"
            raise ArgumentError(f"torch.{name}: expected operands of {wanted}, got rank {found}")


def _check_dims(name: str, args: Sequence[object], named: Mapping[str, object], rank: int) -> None:
    place = REDUCTIONS[name]
    dims = args[place] if len(args) > place else named.get("dim", named.get("axis"))
    dims = dims if is_list(dims) else (dims,)
    for dim in dims or (None,):
        if isinstance(dim, bool) or not isinstance(dim, int) or not -rank < dim < rank or dim == 0:
            raise ArgumentError(
                f"torch.{name}: expected dims of elements, 1 to {rank - 1}, got {dim} (use jsum, jmax, jmin)"
            )
