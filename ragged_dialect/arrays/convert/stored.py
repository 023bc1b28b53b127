"""An array as named NumPy arrays, for files and pickles, and back with every number checked: what
comes from outside may be damaged, and a wrong offset would read foreign memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ragged_dialect.arrays.convert.nesting import positions
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.errors import ArgumentError, RaggedError, RuntimeCheckError
from ragged_dialect.layout import Layout
from ragged_dialect.runtime.signature import Array

FORMAT = "ragged-dialect array"
VERSION = 1


def to_parts(x: RaggedArray, op: str) -> dict[str, Array]:
    """Named arrays that say all of an array, windows made contiguous; one on a GPU is copied to the CPU.
    LayoutError for tiles."""
    check_untiled(op, x.layout)
    x = x.compacted
    values = storage.to_host(x.buffer.array)
    made = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "layout": np.array(str(x.layout)),
        "dtype": np.array(x.dtype.name),
        "extents": np.array([-1 if extent is None else extent for extent in x.shape], np.int64),
        "values": values.view(np.int16) if x.dtype.name == "bfloat16" else values,
    }
    vectors = [vector for axis in x.axes if axis is not None for vector in axis.vectors]
    return made | {f"vector{k}": storage.to_host(vector) for k, vector in enumerate(vectors)}


def from_parts(parts: Mapping[str, Array], op: str, library: str = "numpy") -> RaggedArray:
    """The array that named arrays say. RuntimeCheckError where they are not what `to_parts` makes, or
    of a version that this one does not read."""
    try:
        return _checked(_Parts(parts, op), op, library)
    except RuntimeCheckError:
        raise
    except RaggedError as error:
        raise RuntimeCheckError(f"{op}: expected a whole array, got a damaged one: {error}") from error


class _Parts:
    """Named arrays, each looked at before it is used."""

    def __init__(self, parts: Mapping[str, Array], op: str) -> None:
        self._parts = parts
        self._op = op

    def array(self, name: str, kinds: str, rank: int | None) -> Array:
        """An array with a dtype of some kinds and a rank."""
        found = self._parts.get(name)
        if not isinstance(found, np.ndarray):
            raise ArgumentError(f"expected an array '{name}', got none")
        if found.dtype.kind not in kinds or (rank is not None and found.ndim != rank):
            raise ArgumentError(f"expected another array '{name}', got one of rank {found.ndim} and {found.dtype}")
        return found

    def text(self, name: str) -> str:
        """A text, in ASCII as all of ours. NumPy takes any four bytes for a character."""
        found = self.array(name, "U", 0)
        codes = np.frombuffer(found.tobytes(), np.dtype("u4").newbyteorder(found.dtype.byteorder))
        if (codes > 127).any():
            raise ArgumentError(f"expected ASCII for '{name}', got other bytes")
        return str(found)

    def vectors(self, count: int) -> Iterator[Array]:
        """All index vectors, contiguous."""
        for k in range(count):
            found = self.array(f"vector{k}", "i", 1)
            if found.dtype != np.int64:
                raise ArgumentError(f"expected int64 for vector{k}, got {found.dtype}")
            yield np.ascontiguousarray(found)


def _checked(parts: _Parts, op: str, library: str) -> RaggedArray:
    if parts.text("format") != FORMAT:
        raise ArgumentError(f"expected the format '{FORMAT}', got another")
    version = int(parts.array("version", "i", 0))
    if version != VERSION:
        raise RuntimeCheckError(f"{op}: expected version {VERSION}, got {version} (written by another release)")
    layout = Layout.parse(parts.text("layout"))
    if layout.has_tiles:
        raise ArgumentError(f'expected a layout without tiles, got "{layout}"')
    values = _values(parts, layout.storage_rank)
    extents = [int(e) for e in parts.array("extents", "i", 1)]
    letters = layout.letters
    if len(extents) != len(letters) or any((e < 0) != (c != "d") for e, c in zip(extents, letters, strict=True)):
        raise ArgumentError(f'expected the extents of layout "{layout}", got {extents}')
    vectors = parts.vectors(sum({"r": 1, "w": 2}.get(letter, 0) for letter in letters))
    axes: list[Structure | None] = []
    for number, text in enumerate(layout.axes):
        own = [None if extents[dim] < 0 else extents[dim] for dim in layout.dims(number)]
        axes.append(_axis(text, own, vectors, values.shape[number]))
    return RaggedArray.of(storage.give(values, library), axes, op=op)


def _values(parts: _Parts, rank: int) -> Array:
    found, name = parts.array("values", "biuf", rank), parts.text("dtype")
    if name == "bfloat16" and found.dtype == np.int16:
        import ml_dtypes  # start-up time

        return np.ascontiguousarray(found).view(ml_dtypes.bfloat16)
    if found.dtype.name != name:
        raise ArgumentError(f"expected values of dtype {name}, got {found.dtype}")
    return found


def _axis(letters: str, extents: list[int | None], vectors: Iterator[Array], extent: int) -> Structure | None:
    """A storage axis; what `RaggedArray.of` does not see is checked here: extents and counts."""
    if letters == "d":
        if extents[0] != extent:
            raise ArgumentError(f"expected an extent of {extent}, got {extents[0]}")
        return None
    taken = [next(vectors) for letter in letters for _ in range({"r": 1, "w": 2}.get(letter, 0))]
    made = Structure(letters, taken, extents)
    counts = positions(made, extent)
    for level, size in enumerate(extents):
        wanted = (counts[level - 1] if level else 1) * (size or 0)
        if size is not None and wanted != counts[level] and not (level == 0 and extents[1] == 0):
            raise ArgumentError(f"expected {wanted} elements in level {level}, got {counts[level]}")
    return made
