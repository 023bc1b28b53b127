"""`Value`: what arrays and traced values have in common."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, TypeGuard

from ragged_dialect.layout import RAGGED, Layout

if TYPE_CHECKING:
    from ragged_dialect.arrays.methods import Methods
    from ragged_dialect.arrays.tracing.tensor import Tensor
else:
    Methods = object


class Value(Methods):
    """A value with a layout: a `RaggedArray` or a `Tensor`. `ragged_dialect.arrays.methods` puts operators and
    methods on it; type checkers read them off `Methods`."""

    __slots__ = ()
    is_traced = False
    """Whether it stands for one that only calls of the function have."""
    __hash__: Callable[[], int] | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def layout(self) -> Layout:
        """One letter per dim: `dr|d`."""
        raise NotImplementedError

    @property
    def nlevels(self) -> int:
        """Number of ragged dims."""
        return len(self.ragged_dims)

    @property
    def ragged_dims(self) -> tuple[int, ...]:
        """The dims whose extent varies."""
        return tuple(dim for dim, letter in enumerate(self.layout.letters) if letter in RAGGED)


def is_traced(value: object) -> TypeGuard[Tensor]:
    """Whether a value is that of a function which is being traced."""
    return isinstance(value, Value) and value.is_traced


def put_on(cls: type, name: str, method: Callable[..., object]) -> None:
    """Put a method on a class."""
    method.__name__, method.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


def put_all(cls: type, methods: type) -> None:
    """Put the methods of one class on another."""
    for name, member in vars(methods).items():
        if isinstance(member, FunctionType):
            put_on(cls, name, member)
        elif isinstance(member, (property, classmethod)):
            setattr(cls, name, member)
