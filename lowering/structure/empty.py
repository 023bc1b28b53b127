"""`ragged.empty` on parts: vectors from the likes, storage of the size they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ragged_dialect._mlir import ir
from ragged_dialect.generic import generated
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts, Range
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.making import own_axis, own_level
from ragged_dialect.lowering.structure.runs import fill_runs
from ragged_dialect.lowering.structure.views import positions
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims
from ragged_dialect.types import storage_type


class Empty:
    """One `ragged.empty`, whose levels come from the likes: fills in the parts axis by axis. `extents` are those of the
    dense dims that have no source and are dynamic."""

    def __init__(
        self,
        ctx: Lowering,
        likes: Sequence[Parts],
        sources: Sequence[Source | None],
        shape: RaggedShape,
        extents: Sequence[ir.Value],
    ) -> None:
        self.ctx = ctx
        self.likes = list(likes)
        self.sources = list(sources)
        self.shape = shape
        self.dense = self._dense_extents(extents)
        known = {dim: extent for dim, extent in self.dense.items() if shape.has_extent_part(dim)}
        self.made = Parts(ctx, shape, None, {}, known)

    def _dense_extents(self, extents: Sequence[ir.Value]) -> dict[int, Mixed]:
        own = iter(extents)
        dense: dict[int, Mixed] = {}
        for dim, source in enumerate(self.sources):
            static = self.shape.shape[dim]
            if source is None:
                dense[dim] = build.to_index(next(own)) if static is None else static
            elif self.shape.layout.letter(dim) == "d":
                dense[dim] = self.likes[source.like].extent(source.level) if static is None else static
        return dense

    def make(self, element: ir.Type) -> Parts:
        """The parts, with uninitialised storage of an element type."""
        layout = self.shape.layout
        sizes = [
            self.dense[layout.dims(axis)[0]] if letters == "d" else self._axis(axis)
            for axis, letters in enumerate(layout.axes)
        ]
        self.made.held = shapes.cast(shapes.empty(sizes, element), storage_type(self.shape, element))
        return self.made

    def _axis(self, axis: int) -> Mixed:
        """Set the vectors of an axis; its storage extent."""
        same = self._same_axis(axis)
        if same is not None:
            like, like_axis = same
            dropped = self._dropped_tiles(like, like_axis, axis)
            if self.shape.layout.axes[axis].rstrip("t") == "d":
                return build.ceildiv(like.storage_dim(like_axis), dropped)
            if dropped == 1:
                return self._head(like, like_axis, axis)
        return self._walk(axis)

    def _same_axis(self, axis: int) -> tuple[Parts, int] | None:
        """The like and its axis when the result's axis takes the first levels of it in order."""
        dims = list(self.shape.layout.dims(axis))
        first = self._source(dims[0])
        like = self.likes[first.like]
        like_axis, at = like.layout.locate(first.level)
        wanted = [Source(first.like, first.level + step) for step in range(len(dims))]
        same = [self.sources[dim] for dim in dims] == wanted and len(dims) <= len(like.layout.dims(like_axis))
        return (like, like_axis) if at == 0 and same else None

    def _dropped_tiles(self, like: Parts, like_axis: int, axis: int) -> int:
        """Elements of the like per element of the result: the product of the tiles it drops."""
        place = len(self.shape.layout.axes[axis].rstrip("t")) - 1
        level, dim = like.layout.dims(like_axis)[0] + place, self.shape.layout.dims(axis)[0] + place
        return like.shape.factor(level) // self.shape.factor(dim)

    def _head(self, like: Parts, like_axis: int, axis: int) -> Mixed:
        """The first levels of a like's axis, with its very vectors; windows get storage of their own."""
        first = like.layout.dims(like_axis)[0]
        base = self.shape.layout.dims(axis)[0]
        count = len(self.shape.layout.axes[axis])
        if "w" in self.shape.layout.axes[axis]:
            return own_axis(_cut(like, like_axis, count), like_axis, self.made, base - first)
        for (kind, dim), vector in like.vectors.items():
            if first <= dim < first + count:
                self.made.vectors[kind, dim - first + base] = vector
        whole = count == len(like.layout.axes[like_axis])
        return like.storage_dim(like_axis) if whole else positions(like, first + count - 1)

    def _walk(self, axis: int) -> Mixed:
        """An axis whose levels come from several likes, or whose batch dims are permuted: offsets
        from the lengths, visited in the order of the result."""
        offsets: ir.Value | None = None
        for at, dim in enumerate(self.shape.layout.dims(axis)):
            letter = self.shape.layout.letter(dim)
            if letter not in RAGGED:
                continue
            like = self._same_levels(axis, at)
            if like is not None and letter == "r":
                offsets = self.made.vectors["offsets", dim] = like.vectors["offsets", self._source(dim).level]
                continue
            offsets = own_level(self.made, dim, self._lengths(axis, at, dim))
        assert offsets is not None
        return vectors.last(offsets)

    def _source(self, dim: int) -> Source:
        source = self.sources[dim]
        assert source is not None
        return source

    def _same_levels(self, axis: int, at: int) -> Parts | None:
        """The like of which an axis takes the first levels, up to `at`, as they are: without windows or tiles."""
        dims = self.shape.layout.dims(axis)[: at + 1]
        if self.sources[dims[0]] is None:
            return None
        first = self._source(dims[0])
        like = self.likes[first.like]
        like_axis, place = like.layout.locate(first.level)
        same = [self.sources[d] for d in dims] == [Source(first.like, first.level + k) for k in range(at + 1)]
        same = same and at < len(like.layout.axes[like_axis])  # what follows is of another axis
        plain = set(like.layout.axes[like_axis][: at + 1]) <= {"d", "r"} and self.shape.factor(dims[at]) == 1
        return like if same and plain and place == 0 and like.shape.factor(first.level + at) == 1 else None

    def _above(self, axis: int, dim: int, fixed: list[Mixed]) -> tuple[Parts, Source, list[Mixed]]:
        """The like of a ragged level, its source, and the indices of the levels above it there, under
        an index tuple of the result."""
        source = self._source(dim)
        like = self.likes[source.like]
        like_axis, _ = like.layout.locate(source.level)
        mapping = parent_dims([x.shape for x in self.likes], self.sources, self.shape, dim)
        first = self.shape.layout.dims(axis)[0]
        above = [fixed[mapping[d] - first] for d in like.layout.dims(like_axis) if d < source.level]
        return like, source, above

    def _lengths(self, axis: int, levels: int, dim: int) -> ir.Value:
        """Lengths of a level in elements, one per index tuple of the levels above it."""

        def length(fixed: list[Mixed]) -> Mixed:
            like, source, above = self._above(axis, dim, fixed)
            like_axis, _ = like.layout.locate(source.level)
            elements = like.component(source.level, like.position(like_axis, above))[1]
            return build.ceildiv(elements, like.shape.factor(source.level) // self.shape.factor(dim))

        letters = self.shape.layout.axes[axis][:levels]
        ragged = [k for k, letter in enumerate(letters) if letter in RAGGED]
        if "t" not in letters and not ragged:
            sizes = [self.dense[d] for d in self.shape.layout.dims(axis)[:levels]]
            return vectors.generate(build.product(sizes), lambda i: length(_digits(i, sizes)))
        if "t" not in letters and len(ragged) == 1:
            return self._lengths_below(axis, ragged[0], levels, length)
        count = self._visit(axis, levels, [build.value(0)], lambda _, state: [build.add(state[0], 1)])[0]
        return walks.collected(count, partial(self._visit, axis, levels), length)

    def _lengths_below(self, axis: int, at: int, levels: int, length: Callable[[list[Mixed]], Mixed]) -> ir.Value:
        """`length` of the tuples of some levels, of which only the one `at` is ragged: those under every index
        tuple above that, in parallel."""
        dims = self.shape.layout.dims(axis)
        above, below = [self.dense[d] for d in dims[:at]], [self.dense[d] for d in dims[at + 1 : levels]]
        inner = build.product(below)
        offsets = self.made.windows.get(dims[at], self.made.vectors.get(("offsets", dims[at])))
        like = self._same_levels(axis, at)
        assert offsets is not None
        elements = vectors.last(offsets) if like is None else positions(like, self._source(dims[at]).level)

        def place(q: ir.Value) -> list[Range]:
            low, size = vectors.component(offsets, q)
            return [(build.mul(low, inner), build.mul(size, inner))]

        def lengths(q: ir.Value, run: ir.Value) -> ir.Value:
            def element(indices: list[ir.Value]) -> ir.Value:
                with self.ctx.scope():
                    return build.to_i64(length([*_digits(q, above), *_digits(indices[0], [0, *below])]))

            return generated(run, element).result

        into = vectors.empty(build.mul(elements, inner))
        return fill_runs(self.ctx, build.product(above), into, place, lengths)

    def _extent(self, axis: int, dim: int, fixed: list[Mixed]) -> Mixed:
        if self.shape.layout.letter(dim) == "d":
            return self.dense[dim]
        like, source, above = self._above(axis, dim, fixed)
        return like.loop_extent(source.level, above)

    def _visit(self, axis: int, levels: int, inits: Sequence[ir.Value], body: walks.Visit) -> list[ir.Value]:
        """Visit the index tuples of the first levels of the result's axis."""
        dims = self.shape.layout.dims(axis)
        return walks.visit(self.ctx, levels, lambda fixed: self._extent(axis, dims[len(fixed)], fixed), inits, body)


def _digits(number: ir.Value, sizes: Sequence[Mixed]) -> list[Mixed]:
    """`build.digits` for sizes that may be 0, where there is no place."""
    return build.digits(number, [1, *(build.maximum(size, 1) for size in sizes[1:])])


def _cut(like: Parts, axis: int, count: int) -> Parts:
    """A value with only the first levels of an axis, for its vectors."""
    if count == len(like.layout.axes[axis]):
        return like
    layout = Layout((*like.layout.axes[:axis], like.layout.axes[axis][:count]))
    shape = RaggedShape(layout, like.shape.shape[: layout.rank])
    return Parts(like.ctx, shape, like.held, like.vectors, like.extents, like.windows)
