"""`Tensor`: what traced code computes with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike, DTypeLike
from ragged_dialect.arrays.core.value import Value
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.errors import ArgumentError, TraceAttributeError, TraceError
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED, Layout, Shape
from ragged_dialect.types import dense_type

if TYPE_CHECKING:
    from ragged_dialect.arrays.tracing.trace import Trace


class Tensor(Value):
    """A value of the program that is being traced: an MLIR value with its dtype and axes. `weak` marks
    a number whose dtype gives way: `constant` is its value where the trace knows it, `leaf` the argument, or
    `computed` its place among the numbers that are computed of these. `turned`
    computes the same of all pairs with their two ragged dims, 1 and 2, in the other order."""

    is_traced = True

    def __init__(
        self,
        trace: Trace,
        value: ir.Value,
        dtype: DType,
        axes: tuple[Axis, ...],
        *,
        weak: bool = False,
        leaf: int | None = None,
        constant: bool | int | float | None = None,
        computed: int | None = None,
        storage: ir.Value | None = None,
        turned: Callable[[], Tensor] | None = None,
    ) -> None:
        self.trace = trace
        self._value = value
        self.dtype = dtype
        self.axes = axes
        self.weak = weak
        self.leaf = leaf
        self.constant = constant
        self.computed = computed
        self._storage = storage
        self.turned = turned

    @property
    def value(self) -> ir.Value:
        """The MLIR value. TraceError outside of the function that it is in."""
        self.trace.check_running()
        return self._value

    @property
    def layout(self) -> Layout:
        """One letter per dim."""
        return Layout(tuple(axis.letters for axis in self.axes))

    @property
    def ndim(self) -> int:
        """Number of logical dims."""
        return sum(len(axis.letters) for axis in self.axes)

    @property
    def described(self) -> str:
        """Rank, dtype and layout for errors."""
        return f"{self.dtype.name} of rank {self.ndim}" + ("" if self.is_dense else f' and layout "{self.layout}"')

    @property
    def is_dense(self) -> bool:
        """Whether every axis is plain."""
        return all(isinstance(axis, PlainAxis) for axis in self.axes)

    @property
    def shape(self) -> tuple[int | Tensor | None, ...]:
        """Extents per dim: numbers that are traced where only calls know them, None of ragged dims."""
        known, letters = self.static_shape, self.layout.letters
        return tuple(
            self._extent(dim) if extent is None and letter not in RAGGED else extent
            for dim, (extent, letter) in enumerate(zip(known, letters, strict=True))
        )

    def _extent(self, dim: int) -> Tensor:
        """An extent that only calls know, as a number."""
        number, level = self.place(dim)
        axis = self.axes[number]
        known = self.trace.extents.get((id(axis), level))
        if known is None:
            origin = batch_axis(axis, level).origin
            with _behind(self.value):  # others may ask, outside of a body
                value = build.to_i64(self.extent(dim))
            made = self.trace.counted(value, origin)
            known = self.trace.extents[id(axis), level] = (axis, made)
        return known[1]

    @property
    def static_shape(self) -> Shape:
        """Extents per dim, None where they are known to calls only."""
        found: list[int | None] = []
        for axis in self.axes:
            found += [axis.extent] if isinstance(axis, PlainAxis) else [None] * len(axis.letters)
        return tuple(found)

    @property
    def scalar(self) -> ir.Value:
        """The MLIR scalar of a number or of a tensor of rank 0. ArgumentError for another tensor."""
        if self.axes:
            raise ArgumentError(f"{self.trace.op}: expected a number, got {self.described}")
        return self.value if self.weak else tensor.extract(self.value, [])

    @property
    def storage(self) -> ir.Value:
        """The dense MLIR tensor that holds the values; of a number one of rank 0."""
        self.trace.check_running()
        if self.weak:
            return tensor.from_elements(dense_type((), self.value.type), [self.value])
        if self._storage is None:
            with _behind(self.value):  # the one who asks may be in a body, others are not
                self._storage = self.value if self.is_dense else builders.values(self.value)
        return self._storage

    @property
    def strong(self) -> Tensor:
        """A number as an array of rank 0, whose dtype gives way to none; another tensor as it is."""
        return Tensor(self.trace, self.storage, self.dtype, ()) if self.weak else self

    def place(self, dim: int) -> tuple[int, int]:
        """Axis of a dim, and its level there."""
        return self.layout.locate(dim)

    def extent(self, dim: int) -> Mixed:
        """Extent of a dense dim: an int, or an MLIR value of type index."""
        number, level = self.place(dim)
        axis = self.axes[number]
        if isinstance(axis, PlainAxis):
            return axis.extent if axis.extent is not None else shapes.dim(self.value, dim)
        found = axis.extents[level]
        return found if found is not None else tensor.dim(self.value, build.value(dim))

    def storage_sizes(self) -> list[Mixed]:
        """Extents of the storage axes: of plain ones without asking for the elements, so that what makes these may be
        fused."""
        return [
            self.extent(self.layout.dims(number)[0])
            if isinstance(axis, PlainAxis)
            else shapes.dim(self.storage, number)
            for number, axis in enumerate(self.axes)
        ]

    def nested(self, dim: int) -> NestedAxis | None:
        """The nested axis of a dim, None for a plain one."""
        axis = self.axes[self.place(dim)[0]]
        return axis if isinstance(axis, NestedAxis) else None

    def nested_axis(self, number: int = 0) -> NestedAxis:
        """An axis that is nested, by its number."""
        axis = self.axes[number]
        assert isinstance(axis, NestedAxis)
        return axis

    @property
    def device(self) -> str:
        """Where the arrays of the call are: `cpu`, or `cuda:0`."""
        return self.trace.device

    @property
    def T(self) -> ArrayLike:
        """The dims the other way round, of what is dense. LayoutError for a ragged dim: it follows its batch."""
        return self.transpose()

    # What only a call knows ------------------------------------------------------------------------

    def __repr__(self) -> str:
        dims = "".join("~, " if c in RAGGED else f"{e or '?'}, " for c, e in self._dims())
        return f'Tensor(({dims[:-2]}), {self.dtype.name}, "{self.layout}", of jit function {self.trace.name})'

    def _dims(self) -> Iterator[tuple[str, int | None]]:
        return zip(self.layout.letters, self.static_shape, strict=True)

    def __len__(self) -> int:
        extent = self.static_shape[0] if self.axes else None
        if extent is None:
            self.refuse("its length", "only calls know it: x.shape[0] is a number that is traced")
        return extent

    def __iter__(self) -> Iterator[Tensor]:
        """The parts along dim 0, where its extent is static. TraceError where it is not: there are operations of
        all components at once."""
        if not self.axes or self.static_shape[0] is None:
            self.refuse("an iteration", "only calls know its extent: compute with all of it, or pass parts in a list")
        return (self[at] for at in range(len(self)))

    def __contains__(self, number: object) -> bool:
        self.refuse("a membership", "use (x == number).any()")

    def __bool__(self) -> bool:
        hint = "use rg.where; rg.while_loop for loops"
        raise TraceError(f"expected a condition that is known when the function is traced, got a traced value ({hint})")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        if self.weak:
            self._number()
        instead = "use operations, rg.take(table, x) for table[x], rg.stack for an array of several, rg.partition for "
        self.refuse("NumPy's array of it", instead + "new structures, or do it outside")

    def _number(self) -> NoReturn:
        instead = "rg.take(v, i) for v[i], rg.full for an array of it, or pass it in an argument named in static"
        self.refuse("a number of Python", instead)

    __float__ = __int__ = __index__ = __complex__ = _number

    def __format__(self, format_spec: str) -> str:
        return str(self) if not format_spec else self._number()

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Tensor:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        self.refuse("a pickle", "return it, and store what the call gives")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or name not in _of_arrays():
            raise self._without(name, "traced values")
        instead = _INSTEAD.get(name, "pass it as an argument, or return the array and ask outside")
        raise TraceAttributeError(self._text(name, instead))

    def refuse(self, asked: str, instead: str) -> NoReturn:
        """TraceError for what a traced value does not have, with what to do instead."""
        raise TraceError(self._text(asked, instead))

    def _text(self, asked: str, instead: str) -> str:
        name = self.trace.name
        return f"expected operations on a traced value, got {asked} in jit function '{name}' ({instead})"


def _behind(value: ir.Value) -> ir.InsertionPoint:
    """Where a value is there at first."""
    owner = value.owner
    return ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)


_INSTEAD = {
    "grad": "rg.grad and rg.value_and_grad compute gradients",
    "requires_grad": "rg.grad and rg.value_and_grad compute gradients",
    "requires_grad_": "rg.grad and rg.value_and_grad compute gradients",
    "to": "move the arguments of the call",
    "stored": "x.values, x.lengths, x.offsets and x.row_ids are traced values",
    "structure": "x.values, x.lengths, x.offsets and x.row_ids are traced values",
    "unbind": "compute with all components at once, or pass them in a list",
}
"""What does the work of an attribute of arrays on tracers."""


@cache
def _of_arrays() -> frozenset[str]:
    """The public names of arrays."""
    return frozenset(name for name in dir(RaggedArray) if not name.startswith("_"))


TensorLevel = tuple[Tensor, int]
"""A dim of a tensor."""
