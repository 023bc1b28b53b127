"""A ragged value during the lowering: dense values, index vectors, extents, and how to index them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import storage_type

if TYPE_CHECKING:
    from ragged_dialect.lowering.nests.forall import OpenForall
    from ragged_dialect.lowering.scf.context import Lowering

Range = tuple[Mixed, Mixed]


class Pending:
    """The result of a forall that is still open: `resolve` closes it and returns the tensor. `places` says which of
    the value's dims the forall's indices run over; None where it is none of them."""

    def __init__(self, forall: OpenForall, slot: int, init: ir.Value, places: tuple[int, ...] | None) -> None:
        self.forall = forall
        self.slot = slot
        self.init = init
        self.places = places

    def viewed(self, move: Callable[[int], int | None]) -> Pending:
        """The same of a view, whose dims `move` finds; None for one that is another now."""
        moved = [move(place) for place in self.places or ()]
        places = tuple(place for place in moved if place is not None)
        whole = self.places is not None and len(places) == len(moved)
        return Pending(self.forall, self.slot, self.init, places if whole else None)

    def resolve(self) -> ir.Value:
        """The whole result as a tensor of the enclosing block."""
        return self.forall.result(self.slot)


class Parts:
    """The 1:N form of one value.

    `vectors` maps (kind, dim) to `tensor<?xi64>`; `extents` maps dims of the extent parts to
    indices. `windows` holds, for window levels whose storage is contiguous and their own, the
    offsets (one more entry than starts): such a level can be indexed as if it were `r`.
    `exact` are the tile dims that are known to have no holes.
    """

    def __init__(
        self,
        ctx: Lowering,
        shape: RaggedShape,
        values: ir.Value | Pending | None,
        vectors: dict[tuple[str, int], ir.Value],
        extents: dict[int, Mixed],
        windows: dict[int, ir.Value] | None = None,
        exact: frozenset[int] = frozenset(),
    ) -> None:
        self.ctx = ctx
        self.shape = shape
        self.held = values
        self.vectors = vectors
        self.extents = extents
        self.windows = windows or {}
        self.exact = exact

    # Access ------------------------------------------------------------------------------------

    @property
    def pending(self) -> Pending | None:
        """The open forall that makes the values, if one does."""
        if isinstance(self.held, Pending) and self.held.forall is not self.ctx.forall:
            self.held = self.held.resolve()  # it was closed since
        return self.held if isinstance(self.held, Pending) else None

    @property
    def values(self) -> ir.Value:
        """The dense tensor; closes the forall that makes it."""
        if isinstance(self.held, Pending):
            self.held = self.held.resolve()
        assert self.held is not None
        return self.held

    @property
    def _shaped(self) -> ir.Value:
        """A tensor of the type of the values."""
        held = self.held.init if isinstance(self.held, Pending) else self.held
        assert held is not None
        return held

    @property
    def type(self) -> ir.RankedTensorType:
        """Type of the dense tensor."""
        return self._shaped.type

    @property
    def element(self) -> ir.Type:
        """Element type."""
        return self.type.element_type

    @property
    def layout(self) -> Layout:
        """The layout."""
        return self.shape.layout

    def flat(self) -> list[ir.Value]:
        """The values of the 1:N form, in order."""
        out: list[ir.Value] = []
        for part in self.shape.parts():
            if part.kind == "values":
                out.append(shapes.cast(self.values, storage_type(self.shape, self.element)))
            elif part.kind == "extent":
                out.append(build.value(self.extents[part.dim]))
            else:
                out.append(self.vectors[part.kind, part.dim])
        return out

    @staticmethod
    def of_flat(ctx: Lowering, shape: RaggedShape, flat: Sequence[ir.Value]) -> Parts:
        """Parts from the values of the 1:N form."""
        vectors: dict[tuple[str, int], ir.Value] = {}
        extents: dict[int, Mixed] = {}
        for part, value in zip(shape.parts()[1:], flat[1:], strict=True):
            if part.kind == "extent":
                extents[part.dim] = value
            else:
                vectors[part.kind, part.dim] = value
        return Parts(ctx, shape, flat[0], vectors, extents)

    def replace(self, values: ir.Value | Pending) -> Parts:
        """The same structure with other values."""
        return Parts(self.ctx, self.shape, values, self.vectors, self.extents, self.windows, self.exact)

    def without_holes(self, exact: frozenset[int]) -> Parts:
        """The same value, of which more is known."""
        if exact <= self.exact:
            return self
        exact |= self.exact
        return Parts(self.ctx, self.shape, self.held, self.vectors, self.extents, self.windows, exact)

    def storage_dim(self, axis: int) -> Mixed:
        """Extent of a storage axis."""
        tensor = self._shaped
        size = tensor.type.shape[axis]
        if size != DYNAMIC:
            return size
        return self.ctx.memo(("dim", tensor, axis), lambda: shapes.dim(tensor, axis))

    def storage_dims(self) -> list[Mixed]:
        """Extents of the storage."""
        return [self.storage_dim(axis) for axis in range(self.layout.storage_rank)]

    def extent(self, dim: int) -> Mixed:
        """Extent of a dense level."""
        static = self.shape.shape[dim]
        if static is not None:
            return static
        if dim in self.extents:
            return self.extents[dim]
        axis, _ = self.layout.locate(dim)
        return self.storage_dim(axis) if self.layout.is_plain(dim) else self.parents(dim + 1)

    def has_one_extent(self, dim: int) -> bool:
        """Whether a level is as long under every index of the levels above."""
        return self.layout.letter(dim) == "d" and not self.layout.is_split_outer(dim)

    def vector_size(self, vector: ir.Value) -> Mixed:
        """Number of entries of an index vector."""
        return self.ctx.memo(("dim", vector, 0), lambda: shapes.dim(vector, 0))

    def parents(self, dim: int) -> Mixed:
        """Number of parent positions of a ragged level: the components it has."""
        if self.layout.letter(dim) == "w":
            return self.vector_size(self.vectors["starts", dim])
        offsets = self.vectors["offsets", dim]
        return self.ctx.memo(("parents", offsets), lambda: build.sub(self.vector_size(offsets), 1))

    def component(self, dim: int, q: Mixed) -> Range:
        """(start, length in elements) of the component at parent position `q` of a ragged level."""
        if self.layout.letter(dim) == "r" or dim in self.windows:
            offsets = self.windows[dim] if dim in self.windows else self.vectors["offsets", dim]
            return self.ctx.memo(("component", offsets, q), lambda: vectors.component(offsets, q))
        starts, lengths = self.vectors["starts", dim], self.vectors["lengths", dim]
        start = self.ctx.memo(("load", starts, q), lambda: shapes.load(starts, q))
        return start, self.ctx.memo(("load", lengths, q), lambda: shapes.load(lengths, q))

    # Index arithmetic --------------------------------------------------------------------------

    def position(self, axis: int, fixed: Sequence[Mixed]) -> Mixed:
        """Position after the levels of an axis that `fixed` gives indices for, tiles excluded."""
        q: Mixed = 0
        dims = self.layout.dims(axis)
        for dim, index in zip(dims, fixed, strict=False):
            if self.layout.letter(dim) in RAGGED:
                q = build.add(self.component(dim, q)[0], index)
            else:
                q = build.add(build.mul(q, 0 if dim == dims[0] else self.extent(dim)), index)
        return q

    def body_levels(self, axis: int) -> int:
        """Number of levels of an axis above its tiles."""
        return len(self.layout.axes[axis].rstrip("t"))

    def _elements(self, axis: int, fixed: Sequence[Mixed]) -> tuple[Mixed, Mixed, Mixed]:
        """In a split level: (start of the component, its length in elements, elements before the
        place that `fixed` gives)."""
        dims = self.layout.dims(axis)
        outer = self.body_levels(axis) - 1
        if self.layout.letter(dims[outer]) in RAGGED:
            start, length = self.component(dims[outer], self.position(axis, fixed[:outer]))
        else:
            start, length = 0, self.storage_dim(axis)
        before: Mixed = 0
        for dim, index in list(zip(dims, fixed, strict=False))[outer:]:
            before = build.add(before, build.mul(index, self.shape.factor(dim)))
        return start, length, before

    def loop_extent(self, dim: int, fixed: Sequence[Mixed]) -> Mixed:
        """Extent of a level under the levels above it, whose indices `fixed` gives."""
        axis, at = self.layout.locate(dim)
        letter = self.layout.letter(dim)
        if letter == "t":
            size, factor = self.shape.shape[dim], self.shape.factor(dim)
            assert size is not None
            if dim in self.exact:
                return size
            _, length, before = self._elements(axis, fixed[:at])
            return build.minimum(size, build.ceildiv(build.sub(length, before), factor))
        if self.layout.is_split_outer(dim):
            _, length, _ = self._elements(axis, fixed[:at])
            return build.ceildiv(length, self.shape.factor(dim))
        if letter in RAGGED:
            return self.component(dim, self.position(axis, fixed[:at]))[1]
        return self.extent(dim)

    def axis_range(self, axis: int, fixed: Sequence[Mixed]) -> Range:
        """Contiguous (offset, size) in storage of everything under the first levels of an axis,
        whose indices `fixed` gives."""
        letters = self.layout.axes[axis]
        dims = self.layout.dims(axis)
        k = len(fixed)
        body = self.body_levels(axis)
        if k == 0:
            return 0, self.storage_dim(axis)
        if k >= body and "t" in letters:
            start, length, before = self._elements(axis, fixed)
            size: Mixed = self.shape.factor(dims[k - 1])
            if not self.exact.issuperset(dims[k:]):
                size = build.minimum(size, build.sub(length, before))
            return build.add(start, before), size
        q = self.position(axis, fixed)
        if k == body:
            return q, 1
        low, size = q, 1
        for dim in dims[k:body]:
            low, size = self._descend(dim, low, size)
        return low, size

    def run(self, dim: int, level: int, q: Mixed) -> Range:
        """Contiguous (offset, size) of the parent positions of `level` (of the storage, when it is one
        past the last level of the axis) that lie under position `q` above level `dim`."""
        low, size = q, 1
        for d in range(dim, level):
            low, size = self._descend(d, low, size)
        return low, size

    def _descend(self, dim: int, low: Mixed, size: Mixed) -> Range:
        if self.layout.letter(dim) == "d":
            extent = self.extent(dim)
            return build.mul(low, extent), build.mul(size, extent)
        if isinstance(size, int) and size == 1:
            return self.component(dim, low)
        offsets = self.windows[dim] if dim in self.windows else self.vectors["offsets", dim]
        start = self.ctx.memo(("load", offsets, low), lambda: shapes.load(offsets, low))
        stop = shapes.load(offsets, build.add(low, size))
        return start, build.sub(stop, start)
