"""`Tensor`: what traced code computes with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragged_dialect import builders
from ragged_dialect.arrays.axes import Axis, NestedAxis, PlainAxis
from ragged_dialect.arrays.operators import Operators
from ragged_dialect.arrays.spec import DType
from ragged_dialect.errors import ArgumentError
from ragged_dialect.layout import Layout, Shape
from ragged_dialect.lowering import emit

if TYPE_CHECKING:
    from ragged_dialect.arrays.trace import Trace


class Tensor(Operators):
    """A value of the program that is being traced: an MLIR value with its dtype and axes. `weak` marks
    a number whose dtype gives way; `constant` is its value where the trace knows it."""

    def __init__(
        self,
        trace: Trace,
        value: Any,
        dtype: DType,
        axes: tuple[Axis, ...],
        *,
        weak: bool = False,
        leaf: int | None = None,
        constant: Any = None,
        storage: Any = None,
    ) -> None:
        self.trace = trace
        self.value = value
        self.dtype = dtype
        self.axes = axes
        self.weak = weak
        self.leaf = leaf
        self.constant = constant
        self._storage = storage

    @property
    def layout(self) -> Layout:
        """One letter per dim."""
        return Layout(tuple(axis.letters for axis in self.axes))

    @property
    def ndim(self) -> int:
        """Number of logical dims."""
        return sum(len(axis.letters) for axis in self.axes)

    @property
    def is_dense(self) -> bool:
        """Whether every axis is plain."""
        return all(isinstance(axis, PlainAxis) for axis in self.axes)

    @property
    def shape(self) -> Shape:
        """Extents per dim, None where they are known to calls only."""
        found: list[int | None] = []
        for axis in self.axes:
            found += [axis.extent] if isinstance(axis, PlainAxis) else [None] * len(axis.letters)
        return tuple(found)

    @property
    def storage(self) -> Any:
        """The dense MLIR tensor that holds the values."""
        if self._storage is None:
            self._storage = self.value if self.is_dense else builders.values(self.value)
        return self._storage

    def place(self, dim: int) -> tuple[int, int]:
        """Axis of a dim, and its level there."""
        return self.layout.locate(dim)

    def extent(self, dim: int) -> Any:
        """Extent of a dense dim: an int, or an MLIR value of type index."""
        from ragged_dialect._mlir import tensor

        number, level = self.place(dim)
        axis = self.axes[number]
        if isinstance(axis, PlainAxis):
            return axis.extent if axis.extent is not None else emit.dim(self.storage, number)
        found = axis.extents[level]
        return found if found is not None else tensor.dim(self.value, emit.value(dim))

    def storage_sizes(self) -> list[Any]:
        """Extents of the storage axes."""
        return [emit.dim(self.storage, number) for number in range(len(self.axes))]

    def nested(self, dim: int) -> NestedAxis | None:
        """The nested axis of a dim, None for a plain one."""
        axis = self.axes[self.place(dim)[0]]
        return axis if isinstance(axis, NestedAxis) else None

    def __repr__(self) -> str:
        return f"Tensor({self.value.type})"

    def __bool__(self) -> bool:
        raise ArgumentError(
            "expected a condition that is known when the function is traced, got a traced value (use rg.where)"
        )
