"""`Value`: what arrays and traced values have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragged_dialect.layout import RAGGED, Layout

if TYPE_CHECKING:
    from ragged_dialect.arrays.methods import Methods
else:
    Methods = object


class Value(Methods):
    """A value with a layout: a `RaggedArray` or a `Tensor`. `ragged_dialect.arrays.methods` puts operators and
    methods on it when all operations are there; type checkers read them off `Methods`."""

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
