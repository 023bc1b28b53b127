"""`RaggedArray`: values of NumPy, CuPy or PyTorch, and their nesting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import check_untiled, checked_axis, flag, ragged_dim
from ragged_dialect.arrays.core.buffer import Buffer, RecordedBuffer, TensorBuffer, buffer_of
from ragged_dialect.arrays.core.spec import DType, Spec, spec
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.core.structure import Structure, row_ids_of
from ragged_dialect.arrays.core.value import Value
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.layout import Layout, Shape
from ragged_dialect.runtime.memory import enough
from ragged_dialect.runtime.signature import Array

if TYPE_CHECKING:
    from ragged_dialect.arrays.methods import ArrayMethods
else:
    ArrayMethods = object


_LONG_COPY = 1 << 22
"""Bytes from which a copy takes milliseconds, and is worth a program for itself."""

_OFTEN = 1 << 22
"""Rows that NumPy copies of others, piece by piece, before these have a program: that took 8 ms by then (2 ns a row). A
program is loaded from the disk cache in 3 ms, or compiled in 70."""

_TIMES = 8
"""How much longer NumPy takes where there are levels below windows, as it looks for every element."""

_copied_rows: dict[object, int] = {}
"""How many NumPy has copied, by what a program is compiled for."""

_layout = cache(Layout)
"""Arrays of the same few layouts are made again and again."""


class Stored(NamedTuple):
    """What an array is made of: values, and index vectors in the order of the layout's letters, offsets or
    starts and lengths. Of windows the values may be more than there are elements, in another order."""

    values: Dense
    vectors: tuple[Dense, ...]


class RaggedArray(Value, ArrayMethods):
    """A ragged array. Its values lie in one dense array with one dim per storage axis; the nesting of
    every axis of several levels is a `Structure`. Immutable; operations give new arrays, and share
    memory where the result is a view.

    Made by `rg.ragged`, `rg.from_offsets` and others, which check the structure once.
    """

    __slots__ = ("__weakref__", "_compacted", "axes", "buffer", "first", "spec")

    buffer: Buffer
    axes: tuple[Structure | None, ...]
    spec: Spec
    first: Structure | None

    def __init__(self, *given: object, **named: object) -> None:
        raise ArgumentError("RaggedArray: expected a function that makes arrays (rg.ragged and others), got a call")

    @staticmethod
    def trusted(buffer: Buffer, axes: tuple[Structure | None, ...], made: Spec) -> RaggedArray:
        """An array of parts that are known to be valid; no check."""
        array = RaggedArray.__new__(RaggedArray)
        array.buffer = buffer
        array.axes = axes
        array.spec = made
        array.first = axes[0]
        return array

    @staticmethod
    def of(values: object, axes: Sequence[Structure | None], *, op: str, check: bool = True) -> RaggedArray:
        """An array of values and one structure per storage axis, None for plain ones.

        `values` is an array of NumPy, CuPy or PyTorch, taken without a copy when it is contiguous.
        RuntimeCheckError where a structure does not fit; ArgumentError for a dtype or device that
        does not fit, and for values of another rank."""
        if storage.library(values) == "torch":
            values = storage.in_memory(storage.in_order(values))
        taken = storage.contiguous(storage.peek(values))
        storage.check_dtype(taken.dtype)
        if taken.ndim != len(axes):
            raise ArgumentError(f"{op}: expected values of rank {len(axes)}, got rank {taken.ndim}")
        where = storage.device(taken)
        shape: list[int | None] = []
        for number, axis in enumerate(axes):
            if axis is None:
                shape.append(taken.shape[number])
                continue
            for vector in axis.vectors:
                if storage.device(vector) != where:
                    raise ArgumentError(
                        f"{op}: expected values and structure on one device, got {where} and {storage.device(vector)}"
                    )
            if check:
                axis.validate(op, taken.shape[number], len(shape))
            shape += [e if c == "t" else None for c, e in zip(axis.letters, axis.extents, strict=True)]
        layout = _layout(tuple(["d" if axis is None else axis.letters for axis in axes]))
        if layout.is_dense:
            raise LayoutError(f"{op}: expected a ragged dim, got none")
        made = spec(layout, tuple(shape), taken.dtype, where, storage.library_of(values))
        return RaggedArray.trusted(buffer_of(values, taken), tuple(axes), made)

    # Structure -------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """One letter per dim: `dr|d`."""
        return self.spec.layout

    @property
    def dtype(self) -> DType:
        """Element type, as NumPy's."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.spec.shape)

    @property
    def shape(self) -> Shape:
        """Extent of every dim, None for ragged ones."""
        found: list[int | None] = []
        for axis, extent in zip(self.axes, self.buffer.shape, strict=True):
            found += [extent] if axis is None else list(axis.extents)
        return tuple(found)

    @property
    def device(self) -> str:
        """`cpu`, or `cuda:0`."""
        return self.spec.device

    def structure(self, dim: int) -> Structure:
        """The structure of the nested axis that holds a dim. AxisError out of range, LayoutError for a plain
        dim."""
        number, _ = self.layout.locate(checked_axis("structure", dim, self.ndim, "dim"))
        found = self.axes[number]
        if found is None:
            raise LayoutError(f'expected a dim of a nested axis, got dim {dim} of layout "{self.layout}"')
        return found

    def _level(self, dim: int | None, what: str) -> tuple[Structure, int]:
        """Structure, without windows, and level of a ragged dim, by default the first one's."""
        number, level = self.layout.locate(ragged_dim(what, self, dim))
        axis = self.axes[number]
        assert axis is not None
        return axis.contiguous, level

    def _given(self, vector: Array) -> Dense:
        """A copy of an index vector that only the user has: read-only, or one of each call where its library
        has no read-only arrays."""
        library = self.spec.plain_library
        own = vector.view() if library == "numpy" else vector.copy()
        return storage.give(storage.frozen(own), library)

    # Gradients of PyTorch --------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether PyTorch records what is computed of the array."""
        return self.spec.library == storage.RECORDED

    def requires_grad_(self, requires_grad: bool = True) -> RaggedArray:
        """The array, of which PyTorch records what is computed from now on, or no longer. ArgumentError for an array
        that is not PyTorch's or not of floats, and where what is computed of others would be recorded no longer."""
        if flag("requires_grad_", "requires_grad", requires_grad) == self.requires_grad:
            return self
        if self.spec.library not in ("torch", storage.RECORDED):
            raise ArgumentError(f"requires_grad_: expected an array of PyTorch's, got one of {self.spec.library}")
        if self.dtype.kind in "biu":
            raise ArgumentError(f"requires_grad_: expected an array of floats, got {self.dtype}")
        tensor = whole(self)
        if not tensor.is_leaf:
            raise ArgumentError("requires_grad_: expected an array that was not computed, got a result (use detach)")
        tensor.requires_grad_(requires_grad)
        self._put(tensor)
        return self

    def _put(self, tensor: Dense) -> None:
        self.buffer = RecordedBuffer(tensor) if tensor.requires_grad else TensorBuffer(tensor.detach())
        self.spec = self.spec.of_library(storage.RECORDED if tensor.requires_grad else "torch")
        if self.layout.has_windows and hasattr(self, "_compacted"):
            del self._compacted

    def detach(self) -> RaggedArray:
        """The same elements, of which PyTorch records nothing."""
        if not self.requires_grad:
            return self
        return RaggedArray.trusted(self.buffer.detached(), self.axes, self.spec.of_library("torch"))

    @property
    def grad(self) -> RaggedArray | None:
        """The gradient that `backward` added to `stored.values`, with the structure of the array; None before, and for
        results."""
        tensor = whole(self) if self.requires_grad else None
        if tensor is None or not tensor.is_leaf or tensor.grad is None:
            return None
        return RaggedArray.of(tensor.grad, self.axes, op="grad", check=False)

    # Looking ---------------------------------------------------------------------------------------

    @property
    def values(self) -> Dense:
        """The dense array of the elements that `offsets` and `starts` describe, in the library that they came
        from: of windows a copy, which is made once. Shared memory, not to be written: results of NumPy are
        read-only, PyTorch and CuPy have no such memory."""
        return whole(self.compacted)

    @property
    def stored(self) -> Stored:
        """Values and index vectors as they are stored; the values are not copied."""
        vectors = [self._given(vector) for axis in self.axes if axis is not None for vector in axis.copies.vectors]
        return Stored(whole(self), tuple(vectors))

    @property
    def compacted(self) -> RaggedArray:
        """The array with windows made contiguous, made once; itself without windows."""
        if not self.layout.has_windows:
            return self
        try:
            return self._compacted
        except AttributeError:
            with enough("values"):
                self._compacted = self._copied() if _is_long_copy(self) else _compacted(self)
            return self._compacted

    def _vector(self, part: str, dim: int | None) -> Dense:
        """An index vector of a ragged dim, by default the first one's: `offsets`, `lengths`, `starts`, `row_ids`."""
        axis, level = self._level(dim, part)
        if part == "lengths":
            return self._given(axis.lengths(level))
        if part == "starts":
            return self._given(axis.copies.starts(level))
        if part == "offsets":
            return self._given(axis.copies.vectors[axis.places[level]])
        with enough(part):
            return self._given(row_ids_of(axis.vectors[axis.places[level]]))

    @property
    def total(self) -> int:
        """Elements of the first ragged dim: the sum of its lengths."""
        axis, level = self._level(None, "total")
        return axis.total(level)

    @property
    def max_length(self) -> int:
        """Longest length of the first ragged dim, 0 without components."""
        axis, level = self._level(None, "max_length")
        return axis.longest[level]

    @property
    def size(self) -> int:
        """How many elements there are, in windows those that they show. LayoutError for a layout with tiles."""
        check_untiled("size", self.layout)
        return math.prod(
            extent if axis is None else axis.count for axis, extent in zip(self.axes, self.buffer.shape, strict=True)
        )

    @property
    def nbytes(self) -> int:
        """Bytes of values and index vectors, as they are stored."""
        values = self.dtype.itemsize
        for extent in self.buffer.shape:
            values *= extent
        return values + sum(8 * v.shape[0] for axis in self.axes if axis is not None for v in axis.vectors)

    def __len__(self) -> int:
        extent = self.shape[0]
        assert extent is not None
        return extent

    def __bool__(self) -> bool:
        raise ArgumentError("expected one truth value, got a ragged array (use any() or all())")

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        raise ArgumentError(
            "expected a dense array, got a ragged one (use to_padded, values or tolist; rg.take(table, x) takes rows)"
        )


def whole(x: RaggedArray) -> Dense:
    """The values as they are stored, in the library that they came from. PyTorch counts the changes of a tensor: all
    have one, and not one each of the same memory."""
    buffer = x.buffer
    if x.spec.library == "torch" and not isinstance(buffer, TensorBuffer):
        buffer = x.buffer = buffer.of_torch()
    return buffer.given(x.spec.library)


def _is_long_copy(x: RaggedArray) -> bool:
    """Whether a compiled copy of what is inside windows, by all threads, is worth its program."""
    axis, rest = x.first, x.axes[1:]
    if axis is None or any(rest) or x.device != "cpu" or x.requires_grad or "t" in axis.letters:
        return False
    if axis.letters.endswith("d"):  # of which programs have none
        return False
    rows = axis.shown
    if rows is None:
        return False
    row, times = x.buffer.shape[1:], 1 if axis.letters.endswith("w") else _TIMES
    kind, size = (x.layout, x.dtype, row), x.dtype.itemsize * math.prod(row) * rows * times
    _copied_rows[kind] = _copied_rows.get(kind, 0) + min(rows * times, size)
    return size >= _LONG_COPY or _copied_rows[kind] > _OFTEN


def _compacted(x: RaggedArray) -> RaggedArray:
    recorded = x.requires_grad
    values: Dense = whole(x) if recorded else x.buffer.array
    for number, axis in enumerate(x.axes):
        if axis is not None and axis.contiguous is not axis:
            at = axis.compaction()[1]
            values = (
                values.index_select(number, storage.give(at, "torch")) if recorded else values.take(at, axis=number)
            )
    axes = [None if axis is None else axis.contiguous for axis in x.axes]
    made = values if recorded else storage.give(storage.frozen(values), x.spec.library)
    return RaggedArray.of(made, axes, op="compact", check=False)
