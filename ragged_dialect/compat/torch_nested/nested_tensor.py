"""`NestedTensor`: a ragged array with the methods of torch's nested tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.compat.torch_nested.dims import axis_of, dim_of, moved, slot
from ragged_dialect.compat.torch_nested.elementwise import Elementwise
from ragged_dialect.errors import ArgumentError, LayoutError

jagged = "jagged"
"""The layout of all nested tensors here, as `torch.jagged`."""


class NestedTensor(Elementwise):
    """A batch of tensors whose extents differ along one dim; methods are those of `torch.Tensor`.

    `array` is the ragged array [B, ragged, dense ...] (within a compiled function its tracer), `ragged_dim`
    the dim at which the ragged one is shown: a transpose moves nothing."""

    __slots__ = ()

    is_nested = True
    layout = jagged
    # Gradients -------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether PyTorch records what is computed of the tensor; within a compiled function it does not."""
        return isinstance(self.array, rg.RaggedArray) and self.array.requires_grad

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        """The tensor, of which PyTorch records what is computed from now on, or no longer. ArgumentError for integers,
        for results, and for what is not PyTorch's."""
        self.array.requires_grad_(requires_grad)
        return self

    def detach(self) -> NestedTensor:
        """The same elements, of which PyTorch records nothing."""
        return NestedTensor(self.array.detach(), self.ragged_dim)

    @property
    def grad(self) -> NestedTensor | None:
        """The gradient that `backward` added; None before, and for results."""
        found = self.array.grad
        return None if found is None else NestedTensor(found, self.ragged_dim)

    def backward(self, gradient: NestedTensor) -> None:
        """Add the gradients of what the tensor was computed of, given its own. ArgumentError where nothing is
        recorded, and for what is no nested tensor; RuntimeCheckError for a gradient of another structure."""
        if not self.requires_grad:
            raise ArgumentError("backward: expected a tensor that requires a gradient, got one that does not")
        if not isinstance(gradient, NestedTensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"backward: expected a nested tensor, got {type(gradient).__name__}")
        conforming = gradient.array + np.zeros_like(self.array.detach())
        self.array.stored.values.backward(conforming.stored.values)

    # Looking ---------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Extent of every dim, None for the ragged one."""
        extents = self.array.shape
        return tuple(extents[self._axis("shape", dim)] for dim in range(self.ndim))

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the extent of one dim."""
        return self.shape if dim is None else self.shape[dim_of("size", dim, self.ndim)]

    def dim(self) -> int:
        """Number of dims, one more than the components have."""
        return self.ndim

    def numel(self) -> int:
        """Number of elements of all components."""
        found = self.array.total
        for extent in self.array.shape[2:]:
            found *= extent or 0
        return found

    @property
    def dtype(self) -> Any:
        """Element type: torch's for torch tensors, else NumPy's."""
        return self.values().dtype if self._is_of_torch else self.array.dtype

    @property
    def device(self) -> Any:
        """A torch.device for torch tensors, else `cpu` or `cuda:0`."""
        return self.values().device if self._is_of_torch else self.array.device

    @property
    def _is_of_torch(self) -> bool:
        return isinstance(self.array, rg.RaggedArray) and self.array.spec.plain_library == "torch"

    def values(self) -> Dense:
        """The packed components, which share memory with the tensor; of one with holes all of its storage."""
        return moved(self.array.stored.values, 0, self.ragged_dim - 1)

    def offsets(self) -> Dense:
        """B + 1 offsets of the components in `values`. With holes: where each starts, and where the last
        one ends."""
        if not self.array.layout.has_windows:
            return self.array.offsets
        structure = self.array.structure(1)
        starts = structure.starts(1)
        made = storage.namespace(starts).zeros(starts.shape[0] + 1, "int64")
        made[:-1] = starts
        made[-1:] = (starts + structure.lengths(1))[-1:].sum()
        return storage.give(made, self.array.spec.plain_library)

    def lengths(self) -> Dense:
        """Lengths of the components of a tensor with holes; None for another, whose offsets say it."""
        return self.array.lengths if self.array.layout.has_windows else None

    def unbind(self, dim: int = 0) -> tuple[Dense, ...]:
        """The components: views. LayoutError for another dim than the batch."""
        if dim_of("unbind", dim, self.ndim) != 0:
            raise LayoutError(f"unbind: expected dim 0, got {dim}")
        return tuple(moved(part, 0, self.ragged_dim - 1) for part in self.array.unbind())

    def tolist(self) -> list[Any]:
        """Nested lists of Python numbers."""
        return [part.tolist() for part in self.unbind()]

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Dense]:
        return iter(self.unbind())

    def __getitem__(self, index: Any) -> Any:
        """A component, or a slice of the batch. IndexError out of range."""
        if isinstance(index, slice):
            return NestedTensor(self.array[index], self.ragged_dim)
        if not isinstance(index, int):
            raise ArgumentError(f"index: expected a number or a slice, got {type(index).__name__}")
        return self.unbind()[dim_of("index", index, len(self))]

    def __repr__(self) -> str:
        first, *rest = repr(self.array).splitlines()
        return "\n".join([f"NestedTensor({first}, ragged_dim={self.ragged_dim})", *rest])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise ArgumentError("expected a dense array, got a nested tensor (use to_padded_tensor, values or unbind)")

    # Shapes ----------------------------------------------------------------------------------------

    def is_contiguous(self) -> bool:
        """Whether the components lie one after the other, in the order of the dims."""
        return self.ragged_dim == 1 and not self.array.layout.has_windows

    def contiguous(self) -> NestedTensor:
        """The tensor without holes: a copy of what is in them; itself without."""
        return NestedTensor(rg.compact(self.array), self.ragged_dim) if self.array.layout.has_windows else self

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Dense:
        """A dense array with `padding` behind the components, whose ragged dim has the longest length, or that
        of `output_size`.

        RuntimeCheckError where that is too short, ArgumentError where its other extents differ."""
        limit = None if output_size is None else self._padded_extent(tuple(output_size))
        return moved(rg.to_padded(self.array, padding, limit), 1, self.ragged_dim)

    def _padded_extent(self, size: tuple[int, ...]) -> int:
        wanted = self.shape
        if len(size) != self.ndim or any(e is not None and e != s for e, s in zip(wanted, size, strict=True)):
            shown = ", ".join("*" if extent is None else str(extent) for extent in wanted)
            raise ArgumentError(f"to_padded_tensor: expected output_size ({shown}), got {size}")
        return size[self.ragged_dim]

    def transpose(self, dim0: int, dim1: int) -> NestedTensor:
        """Two dims exchanged. The ragged one moves without a copy. LayoutError for the batch."""
        order = [self._axis("transpose", dim) for dim in range(self.ndim)]
        a, b = (dim_of("transpose", dim, self.ndim) for dim in (dim0, dim1))
        if 0 in (a, b) and a != b:
            raise LayoutError(f"transpose: expected dims behind the batch, got {dim0} and {dim1}")
        order[a], order[b] = order[b], order[a]
        dense = [axis for axis in order if axis > 1]
        array = self.array if dense == sorted(dense) else rg.transpose(self.array, axes=(0, 1, *dense))
        return NestedTensor(array, order.index(1))

    def unsqueeze(self, dim: int) -> NestedTensor:
        """A dim of extent 1 before `dim` of the result; a view. LayoutError in front of the batch."""
        axis, ragged_dim = slot("unsqueeze", dim, self.ndim + 1, self.ragged_dim)
        return NestedTensor(rg.unsqueeze(self.array, axis=axis), ragged_dim)

    def unflatten(self, dim: int, sizes: Sequence[int]) -> NestedTensor:
        """A dense dim as several, of which one may be -1; a view. LayoutError for another dim, and sizes that
        do not fit."""
        found = dim_of("unflatten", dim, self.ndim)
        made = rg.reshape(self.array, dims=(axis_of(found, self.ragged_dim),), shape=tuple(sizes))
        return NestedTensor(made, self.ragged_dim + (len(sizes) - 1) * (found < self.ragged_dim))

    def flatten(self, start_dim: int, end_dim: int = -1) -> NestedTensor:
        """Adjacent dense dims as one; a view. LayoutError where the batch or the ragged dim is among them."""
        first, last = (dim_of("flatten", dim, self.ndim) for dim in (start_dim, end_dim))
        axes = tuple(self._axis("flatten", dim) for dim in range(first, last + 1))
        made = rg.reshape(self.array, dims=axes, shape=(-1,))
        return NestedTensor(made, self.ragged_dim - (last - first) * (first < self.ragged_dim))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
        """At most `chunks` parts along the batch or a dense dim; along the ragged dim that many, each with its part
        of every component, which may be empty."""
        parts = rg.chunk(self.array, chunks, axis=self._axis("chunk", dim))
        return tuple(NestedTensor(part, self.ragged_dim) for part in parts)

    def _axis(self, op: str, dim: int) -> int:
        return axis_of(dim_of(op, dim, self.ndim), self.ragged_dim)
