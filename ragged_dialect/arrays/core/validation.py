"""Checks of index vectors when an array is made: the first offending component, and its values.

The texts are those of the run-time checks (`ragged_dialect.checks`).
"""

from __future__ import annotations

from ragged_dialect.arrays.core.storage import integer_limit, namespace, to_host
from ragged_dialect.checks import Check
from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.memory import explained
from ragged_dialect.runtime.signature import Array


def index_vector(vector: Array, name: str, reach: int | None = None) -> Array:
    """A vector of indices as contiguous int64. `reach` is the largest number it has to hold.
    ArgumentError for another rank, for numbers that are no integers and for a dtype too narrow."""
    if vector.ndim != 1:
        raise ArgumentError(f"{name}: expected rank 1, got rank {vector.ndim}")
    if vector.dtype.kind not in "iu":
        raise ArgumentError(f"{name}: expected integers, got dtype {vector.dtype}")
    limit = integer_limit(vector.dtype)
    if reach is not None and reach > limit:
        raise ArgumentError(f"{name}: expected a dtype that holds {reach}, got {vector.dtype}")
    if vector.dtype.kind == "u" and vector.dtype.itemsize == 8 and vector.size and int(vector.max()) >= 2**63:
        raise ArgumentError(f"{name}: expected entries below 2**63, got {int(vector.max())}")
    try:
        return namespace(vector).ascontiguousarray(vector, dtype="int64")
    except MemoryError as error:
        raise explained(name, error) from None


def _refuse(kind: str, op: str, level: int, *operands: Array | int | None) -> None:
    """RuntimeCheckError of the first failure, of which there is one."""
    from ragged_dialect.checked_data import require  # start-up time

    data = [x if isinstance(x, int) else to_host(x) for x in operands if x is not None]
    require(kind, op, level, data)


def _has(mask: Array) -> bool:
    """Whether one of some booleans is true."""
    return mask.size > 0 and bool(mask[int(mask.argmax())])


def check_offsets(offsets: Array, op: str, level: int, extent: int, count: int | None = None) -> None:
    """Offsets start at 0, never decrease and end at the extent; `count` components where it is known.
    RuntimeCheckError names the first component that is wrong."""
    size = offsets.shape[0]
    ends = size and count in (None, size - 1) and int(offsets[0]) == 0 and int(offsets[-1]) == extent
    if not ends or _has(offsets[1:] < offsets[:-1]):
        _refuse("offsets", op, level, offsets, extent, count)


def total(lengths: Array) -> int:
    """The sum of lengths of at least 0, as a number of Python, which does not wrap."""
    if not lengths.size or int(lengths.max()) * lengths.size < 2**63:
        return int(lengths.sum())
    return (int((lengths >> 32).sum()) << 32) + int((lengths & 0xFFFFFFFF).sum())


def check_lengths(lengths: Array, op: str, level: int, extent: int) -> None:
    """Lengths are at least 0 and sum to the extent."""
    if _has(lengths < 0) or total(lengths) != extent:
        _refuse("lengths", op, level, lengths, extent)


def check_divides(extent: int, factor: int, op: str, level: int) -> None:
    """An extent is that of whole rows of `factor` elements."""
    if extent % factor if factor else extent:
        raise Check("divides", op, level).error(0, -1, extent, factor)


def check_windows(starts: Array, lengths: Array, op: str, level: int, extent: int, count: int | None = None) -> None:
    """Windows of lengths of at least 0 lie inside the extent; `count` components where it is known."""
    same = starts.shape == lengths.shape and count in (None, starts.shape[0])
    outside = not same or _has(lengths < 0) or _has(starts < 0) or _has(starts > extent - lengths)
    if outside or total(lengths) >= 2**63:
        _refuse("windows", op, level, starts, lengths, extent, count)
