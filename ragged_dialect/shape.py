"""Logical shapes: a layout together with its extents, and what each structure op makes of them.

`RaggedShape` is the type of a ragged tensor without its element type. Every structure op of the
dialect is a method here that returns the result's shape or raises `LayoutError` with the text
that the op's verifier reports. Plain Python, no MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED, Extent, Layout, Shape, product
from ragged_dialect.merging import merge_rule


class Part(NamedTuple):
    """One component of the 1:N form: `kind` is values, offsets, starts, lengths or extent."""

    kind: str
    dim: int


@dataclass(frozen=True)
class RaggedShape:
    """A layout and one extent per logical dim, `None` where it is not static."""

    layout: Layout
    shape: Shape

    def __post_init__(self) -> None:
        layout, shape = self.layout, self.shape
        if layout.rank != len(shape):
            raise LayoutError(
                f'expected {len(shape)} letters in layout "{layout}" for a tensor of rank {len(shape)}, '
                f"got {layout.rank}"
            )
        for dim, (letter, extent) in enumerate(zip(layout.letters, shape, strict=True)):
            if extent is not None and extent >= 2**63:
                raise LayoutError(f"expected an extent below 2**63 on dim {dim}, got {extent}")
            if letter in RAGGED and extent is not None:
                raise LayoutError(f'expected extent ? on ragged dim {dim} of layout "{layout}", got {extent}')
            if letter == "t" and extent is None:
                raise LayoutError(f'expected a static extent on tile dim {dim} of layout "{layout}", got ?')
            if letter == "t" and extent is not None and extent < 1:
                raise LayoutError(
                    f'expected an extent of at least 1 on tile dim {dim} of layout "{layout}", got {extent}'
                )

    def __str__(self) -> str:
        dims = "x".join("?" if e is None else str(e) for e in self.shape)
        return dims if self.layout.is_dense else f'{dims}, "{self.layout}"'

    @property
    def rank(self) -> int:
        """Number of logical dims."""
        return self.layout.rank

    def storage_shape(self) -> Shape:
        """Extents of the dense tensor that holds the values."""
        return tuple(
            self.shape[self.layout.dims(axis)[0]] if letters == "d" else None
            for axis, letters in enumerate(self.layout.axes)
        )

    def has_extent_part(self, dim: int) -> bool:
        """Whether a dim's extent travels as an `index` of the 1:N form: a dynamic dense level of
        an axis of several levels whose extent no vector's size gives."""
        _, at, letters = self.layout.level(dim)
        if letters == "d" or letters[at] != "d" or self.shape[dim] is not None:
            return False
        lead = len(letters) - len(letters.lstrip("d"))
        return not (lead == 1 and at == 0 and letters[1] in RAGGED)

    def parts(self) -> list[Part]:
        """The 1:N form: values, index vectors in letter order, extents."""
        vectors = [Part(kind, dim) for kind, dim in self.layout.vectors()]
        extents = [Part("extent", dim) for dim in range(self.rank) if self.has_extent_part(dim)]
        return [Part("values", 0), *vectors, *extents]

    def factor(self, dim: int) -> int:
        """Elements that one step of `dim` covers: the product of the tiles below it, 1 for a level
        that is not part of a split."""
        dims = self.layout.tiles_of(dim)
        if dim < dims.start - 1:
            return 1
        result = product(tuple(self.shape[t] for t in dims if t > dim))
        assert result is not None
        return result

    def lead(self, dim: int) -> Extent:
        """Number of outer index tuples of a level, where only dense levels precede it."""
        return product(tuple(self.shape[d] for d in self.layout.above(dim)))

    # Structure ops -----------------------------------------------------------------------------

    @lru_cache(maxsize=4096)
    def partition(self, dim: int, rank: int, count: Extent, rows: Extent = None) -> RaggedShape:
        """Partition `dim` by a vector of `rank` 1 or 2 into `count` components (per row of `rows`)."""
        axis, at, letters = self.layout.level(dim)
        self._refuse_split(dim)
        if rank == 1:
            return self._partition_flat(dim, count)
        if rank != 2:
            raise LayoutError(f"expected offsets of rank 1 or 2, got rank {rank}")
        if self.layout.is_plain(dim):
            return self._partition_plain_rows(dim, count, rows)
        if at == 0:
            raise LayoutError(f"expected offsets of rank 1 for dense dim {dim}, got rank 2")
        self.refuse_window_above(dim, "offsets")
        _check_rows(self.lead(dim), rows)
        inner = "r" if letters[at] == "d" else letters[at]
        new = self.layout.replace_axis(axis, f"{letters[:at]}d{inner}{letters[at + 1 :]}")
        return RaggedShape(new, (*self.shape[:dim], count, None, *self.shape[dim + 1 :]))

    def refuse_window_above(self, dim: int, what: str) -> None:
        """Data per component has no place below a window: components are stored there that no
        index reaches, and one may be reached twice."""
        axis, at = self.layout.locate(dim)
        if "w" in self.layout.axes[axis][:at]:
            raise LayoutError(
                f'expected {what} per component without a window above dim {dim}, got layout "{self.layout}" '
                "(use ragged.compact)"
            )

    def _partition_flat(self, dim: int, count: Extent) -> RaggedShape:
        axis, at, letters = self.layout.level(dim)
        if at > 0:
            what = "ragged" if letters[at] in RAGGED else "batch"
            raise LayoutError(f"expected offsets of rank 2 for {what} dim {dim}, got rank 1")
        new = self.layout.replace_axis(axis, f"dr{letters[1:]}")
        return RaggedShape(new, (*self.shape[:dim], count, None, *self.shape[dim + 1 :]))

    def _partition_plain_rows(self, dim: int, count: Extent, rows: Extent) -> RaggedShape:
        if dim == 0 or not self.layout.is_plain(dim - 1):
            raise LayoutError(f"expected offsets of rank 1 for dense dim {dim}, got rank 2")
        _check_rows(self.shape[dim - 1], rows)
        axis, _ = self.layout.locate(dim)
        axes = [*self.layout.axes[: axis - 1], "ddr", *self.layout.axes[axis + 1 :]]
        return RaggedShape(Layout.of_axes(axes), (*self.shape[:dim], count, None, *self.shape[dim + 1 :]))

    @lru_cache(maxsize=4096)
    def merge(self, dim: int) -> RaggedShape:
        """Merge `dim` with `dim + 1`."""
        return merge_rule(self, dim).result(self, dim)

    @lru_cache(maxsize=4096)
    def split(self, dim: int, factor: int) -> RaggedShape:
        """Split `dim` by a factor."""
        if factor < 1:
            raise LayoutError(f"expected a factor of at least 1, got {factor}")
        axis, at, letters = self.layout.level(dim)
        outer = self._split_outer_extent(dim, factor)
        below = letters[at + 1 :]
        if self.layout.is_batch(dim):
            spelling = f"{letters[:at]}dd{below}"
        elif letters[at] == "t":
            extent = self.shape[dim]
            if extent is not None and extent % factor:
                raise LayoutError(f"expected a factor that divides tile extent {extent}, got {factor}")
            spelling = letters + "t"
        elif below.strip("t"):
            raise LayoutError(
                f'expected a level without ragged levels below it, got dim {dim} of layout "{self.layout}" '
                "(partition it instead)"
            )
        else:
            spelling = letters + "t"
        return RaggedShape(
            self.layout.replace_axis(axis, spelling), (*self.shape[:dim], outer, factor, *self.shape[dim + 1 :])
        )

    def _split_outer_extent(self, dim: int, factor: int) -> Extent:
        extent = self.shape[dim]
        if self.layout.is_batch(dim) and extent is not None and extent % factor:
            raise LayoutError(f"expected a factor that divides batch extent {extent}, got {factor} (use partition)")
        return None if extent is None else -(-extent // factor)

    @lru_cache(maxsize=4096)
    def select(self, dim: int) -> RaggedShape:
        """Select one index of `dim`: the result has one dim less."""
        axis, at, letters = self.layout.level(dim)
        self._refuse_tiles(dim)
        shape = (*self.shape[:dim], *self.shape[dim + 1 :])
        if letters == "d":
            return RaggedShape(self.layout.replace_axis(axis), shape)
        below = letters[at + 1 :]
        if at == 0:
            spelling = "d" + below[1:]
        elif below:
            spelling = letters[:at] + _windowed(below)
        else:
            spelling = letters[:at]
        return RaggedShape(self.layout.replace_axis(axis, spelling), shape)

    @lru_cache(maxsize=4096)
    def slice(self, dim: int, extent: Extent = None) -> RaggedShape:
        """A range of `dim`; `extent` is its size when dense and known."""
        axis, at, letters = self.layout.level(dim)
        self._refuse_split(dim)
        shape = (*self.shape[:dim], None if letters[at] in RAGGED else extent, *self.shape[dim + 1 :])
        if at == 0:
            return RaggedShape(self.layout, shape)
        spelling = letters[:at] + (
            f"w{letters[at + 1 :]}" if letters[at] in RAGGED else f"d{_windowed(letters[at + 1 :])}"
        )
        return RaggedShape(self.layout.replace_axis(axis, spelling), shape)

    def compact(self) -> RaggedShape:
        """Windows become contiguous levels."""
        if not self.layout.has_windows:
            raise LayoutError(f'expected a layout with a window, got "{self.layout}"')
        return self.contiguous()

    def contiguous(self) -> RaggedShape:
        """The same levels with every window made contiguous."""
        return RaggedShape(Layout(tuple(axis.replace("w", "r") for axis in self.layout.axes)), self.shape)

    def padded(self) -> RaggedShape:
        """The shape without its layout: every ragged dim is a dense one."""
        return RaggedShape(Layout.dense(self.rank), self.shape)

    def stored(self) -> RaggedShape:
        """The shape of the values."""
        return RaggedShape(Layout.dense(self.layout.storage_rank), self.storage_shape())

    def reduce_across(self, dim: int) -> RaggedShape:
        """The axis of the innermost ragged level `dim` becomes one dense dim."""
        axis, at, letters = self.layout.level(dim)
        if letters[at] not in RAGGED or at != len(letters) - 1:
            raise LayoutError(
                f'expected an innermost ragged dim without tiles, got dim {dim} of layout "{self.layout}"'
            )
        first = self.layout.dims(axis)[0]
        return RaggedShape(self.layout.replace_axis(axis, "d"), (*self.shape[:first], None, *self.shape[dim + 1 :]))

    def concat(self, others: Sequence[RaggedShape], dim: int) -> RaggedShape:
        """Concatenation of tensors that agree but for the extent of `dim`."""
        self.layout.locate(dim)
        shapes = [self.contiguous(), *(other.contiguous() for other in others)]
        first = shapes[0]
        for shape, given in zip(shapes, [self, *others], strict=True):
            if given.layout.has_tiles:
                raise LayoutError(f'expected operands without tiles, got layout "{given.layout}" (merge it first)')
            if shape.layout != first.layout:
                raise LayoutError(f'expected operands of layout "{first.layout}", got "{given.layout}"')
        extents = [_join([s.shape[k] for s in shapes], k) for k in range(self.rank) if k != dim]
        total: Extent = 0
        for shape in shapes:
            extent = shape.shape[dim]
            total = None if extent is None or total is None else total + extent
        return RaggedShape(first.layout, (*extents[:dim], total, *extents[dim:]))

    def _refuse_split(self, dim: int) -> None:
        if self.layout.letter(dim) == "t" or self.layout.is_split_outer(dim):
            raise LayoutError(
                f'expected dim {dim} of layout "{self.layout}" without tiles, got a split dim (merge it first)'
            )

    def _refuse_tiles(self, dim: int) -> None:
        axis, _ = self.layout.locate(dim)
        if "t" in self.layout.axes[axis]:
            raise LayoutError(
                f'expected dim {dim} of layout "{self.layout}" in an axis without tiles, got a tiled axis '
                "(merge it first)"
            )

    def reduce(self, dims: frozenset[int]) -> RaggedShape:
        """Drop reduced levels; raises when a level survives whose parent does not."""
        axes: list[str] = []
        for axis, letters in enumerate(self.layout.axes):
            kept = [d not in dims for d in self.layout.dims(axis)]
            axes.append(self._reduce_axis(axis, letters, kept))
        shape = tuple(e for d, e in enumerate(self.shape) if d not in dims)
        return RaggedShape(Layout.of_axes(axes), shape)

    def _reduce_axis(self, axis: int, letters: str, kept: list[bool]) -> str:
        first = self.layout.dims(axis)[0]
        out = ""
        for at, (letter, keep) in enumerate(zip(letters, kept, strict=True)):
            gone = [k for k in range(at) if not kept[k]]
            if not keep:
                continue
            if gone and letter != "t":
                inner = any(c in RAGGED for c in letters[gone[0] : at])
                refused = [k for k in range(at, len(letters)) if kept[k] and (letters[k] in RAGGED or inner)]
                if refused:
                    raise LayoutError(
                        f'expected every level of axis "{letters}" below dim {first + gone[0]} to be reduced too, '
                        f"got dim {first + refused[0]} kept (use ragged.reduce_across)"
                    )
            if gone and set(out) - {"d"}:
                raise LayoutError(
                    f'expected every tile of axis "{letters}" below dim {first + gone[0]} to be reduced too, '
                    f"got dim {first + at} kept"
                )
            out += "d" if letter == "t" and gone else letter
        return out


def _windowed(below: str) -> str:
    """Levels below a chosen index: the first ragged one is a window now."""
    for at, letter in enumerate(below):
        if letter in RAGGED:
            return f"{below[:at]}w{below[at + 1 :]}"
    return below


def _check_rows(components: Extent, rows: Extent) -> None:
    if components is not None and rows is not None and components != rows:
        raise LayoutError(f"expected {components} rows of offsets, got {rows}")


def _join(extents: list[Extent], dim: int) -> Extent:
    known = {e for e in extents if e is not None}
    if len(known) > 1:
        raise LayoutError(f"expected equal extents on dim {dim}, got {' and '.join(map(str, sorted(known)))}")
    return known.pop() if known else None
