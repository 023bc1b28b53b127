"""What users pass beside arrays, checked where it comes in. Arrays come in by `storage.take`.

An operation's annotations say what its parameters are: they are checked when a program is made for them, so
that calls that find their program pay nothing.
"""

from __future__ import annotations

import inspect
import operator
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import NoneType, UnionType
from typing import Any, SupportsIndex, cast, get_args

from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.core.value import Value
from ragged_dialect.errors import ArgumentError, AxisError, LayoutError, RaggedError, RuntimeCheckError
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.narrowing import is_boolean, is_scalar, is_tuple


def integer(op: str, name: str, value: SupportsIndex) -> int:
    """A Python integer of what is one. ArgumentError for what is none, as a boolean, and for one of more than 64
    bits."""
    try:
        if is_boolean(value):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{op}: expected an integer for {name}, got {got(value)}") from None
    check_word(op, found, name)
    return found


def got(option: object) -> str:
    """What was given in place of Python's numbers or text, for an error."""
    several = is_tuple(option)
    if any(isinstance(one, Value) and one.is_traced for one in (option if several else (option,))):
        return "a traced value (name the parameter in static of rg.jit)"
    return reprlib.repr(option) if several else type(option).__name__


def name_error(op: str, error: RaggedError) -> None:
    """Have an error that names no operation name this one."""
    if len(error.args) == 1 and str(error).startswith("expected "):
        error.args = (f"{op}: {error}",)


def check_word(op: str, number: object, name: str | None = None) -> None:
    """RuntimeCheckError for an integer that 64 bits do not hold: of a parameter, or without `name` of an array."""
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        hint = " (use a float)" if name is None else ""
        raise RuntimeCheckError(f"{op}: expected {name or 'a number'} in [-2**63, 2**63), got {_shown(number)}{hint}")


def _shown(number: int) -> str:
    return str(number) if abs(number) < 2**128 else f"one of {number.bit_length()} bits"


def flag(op: str, name: str, value: object) -> bool:
    """A boolean of Python's or NumPy's, or 0 or 1, which NumPy takes for one. ArgumentError for anything else."""
    if not (is_boolean(value) or (isinstance(value, int) and value in (0, 1))):
        raise ArgumentError(f"{op}: expected a boolean for {name}, got {got(value)}")
    return bool(value)


def checked_axis(op: str, axis: SupportsIndex, rank: int, name: str = "axis") -> int:
    """A dim, counted from the end when negative. AxisError out of range, ArgumentError for no integer."""
    at = integer(op, name, axis)
    if not -rank <= at < rank:
        raise AxisError(f"{op}: expected {name} in [{-rank}, {rank}), got {at}")
    return at % rank


def axis_of_vector(op: str, axis: SupportsIndex | None, rank: int) -> int:
    """The same for an axis that is left out of vectors. ArgumentError where others leave it out."""
    if axis is None and rank != 1:
        raise ArgumentError(f"{op}: expected an axis, got none (that of x.values goes over all elements)")
    return checked_axis(op, 0 if axis is None else axis, rank)


def ragged_dim(op: str, x: Value, dim: SupportsIndex | None) -> int:
    """A ragged dim, counted from the end when negative, by default the first one. AxisError out of range, LayoutError
    for a dense one, and where there is no other."""
    if dim is None:
        if not x.ragged_dims:
            raise LayoutError(f'{op}: expected an array with a ragged dim, got layout "{x.layout}"')
        return x.ragged_dims[0]
    at = checked_axis(op, dim, x.layout.rank, "dim")
    if x.layout.letter(at) not in RAGGED:
        raise LayoutError(f'{op}: expected a ragged dim, got dim {at} of layout "{x.layout}"')
    return at


def listed(op: str, what: str, value: object) -> Sequence[Any]:
    """A list or tuple. ArgumentError for another object."""
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"{op}: expected a list of {what}, got {type(value).__name__}")
    return cast("Sequence[Any]", value)


def check_ragged(op: str, x: object) -> None:
    """ArgumentError for what is no ragged array, nor a traced value."""
    if not isinstance(x, Value):
        raise ArgumentError(f"{op}: expected a ragged array, got {type(x).__name__}")


def check_untiled(op: str, layout: Layout) -> None:
    """LayoutError for tiles, whose holes are no elements."""
    if layout.has_tiles:
        raise LayoutError(f'{op}: expected a layout without tiles, got "{layout}" (merge it first)')


def signature_of(body: Callable[..., object]) -> inspect.Signature:
    """The parameters of a function, with annotations that `check_call` understands."""
    return inspect.signature(body, eval_str=True)


def bind(
    op: str, signature: inspect.Signature, given: Sequence[object], parameters: Mapping[str, object]
) -> inspect.BoundArguments:
    """Arguments by the parameters of a function. ArgumentError for those that it does not have."""
    try:
        return signature.bind(*given, **parameters)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise ArgumentError(f"{op}: expected arguments ({names}), got others: {error}") from None


def check_call(
    op: str, signature: inspect.Signature, given: Sequence[object], parameters: Mapping[str, object]
) -> None:
    """ArgumentError unless a function takes such arguments: as many, under these names, of what it is annotated
    with. Arrays are only asked for where there is None: what else is no array is found when it is taken."""
    bound = bind(op, signature, given, parameters)
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for item in value if several else (value,):
            if not _is_a(item, parameter.annotation):
                for number in item if is_tuple(item) else (item,):
                    check_word(op, number, None if several or _ARRAY[0] in _named(parameter.annotation) else name)
                place = "" if several else f" for {name}"
                operand = _NO_OPERAND.get(op, _NO_EXTENT) if several and item is None else None
                hint = f" ({operand})" if operand else ""
                text = f"expected {_named(parameter.annotation)}{place}, got {got(item)}{hint}"
                raise ArgumentError(f"{op}: {text}")


_NO_EXTENT = "in x.shape the extent of a ragged dim is None: x.lengths has its lengths"
_NO_OPERAND: dict[str, str] = dict.fromkeys(("equal", "not_equal"), "ask with `is`")
"""What to do instead where an operand is None."""


def plain(value: object) -> object:
    """A parameter with Python's numbers in place of NumPy's, and of what is an index."""
    if is_tuple(value):
        return tuple(plain(item) for item in value)
    if is_scalar(value):
        return value.item()
    try:
        return value if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:  # no index; some tensors are one
        return value


def _is_a(value: object, kind: Any) -> bool:
    if isinstance(kind, UnionType):
        return any(_is_a(value, one) for one in get_args(kind))
    return KINDS.get(kind, _ARRAY)[1](value)


def _named(kind: Any) -> str:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    *names, last = [KINDS.get(one, _ARRAY)[0] for one in kinds]
    return f"{', '.join(names)} or {last}" if names else last


def _works(function: Callable[[Any], object]) -> Callable[[object], bool]:
    """Whether a function takes a value."""

    def works(value: object) -> bool:
        try:
            function(value)
        except (TypeError, ValueError, OverflowError):
            return False
        return True

    return works


def _word(value: SupportsIndex) -> None:
    hash(value)  # an array of rank 0 is an index and has no hash
    check_word("", operator.index(value))


_is_integer = _works(_word)
_is_float = _works(float)
_ARRAY: tuple[str, Callable[[Any], bool]] = ("an array or a number", lambda value: value is not None)
KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    Any: ("what can be hashed", _works(hash)),
    NoneType: ("None", lambda value: value is None),
    bool: ("a boolean", is_boolean),
    int: ("an integer", _is_integer),
    float: ("a number", lambda value: isinstance(value, Real) and _is_float(value)),
    str: ("text", lambda value: isinstance(value, str)),
    Static: ("what is a part of keys", lambda value: isinstance(value, Static)),
    tuple[Any, ...]: ("a tuple of what can be hashed", lambda value: is_tuple(value) and _works(hash)(value)),
    tuple[int, int]: (
        "a tuple of two integers",
        lambda value: is_tuple(value) and len(value) == 2 and all(map(_is_integer, value)),
    ),
    tuple[int, ...]: ("a tuple of integers", lambda value: is_tuple(value) and all(map(_is_integer, value))),
}
"""What annotations ask for, in words and as a question; other classes are those of arrays."""
