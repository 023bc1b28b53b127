"""Checks of index vectors when an array is made: the first offending component, and its values.

The texts are those of the run-time checks (`ragged_dialect.checks`).
"""

from __future__ import annotations

from ragged_dialect.arrays.core.storage import integer_limit, namespace
from ragged_dialect.checks import CHECK_KINDS, Check
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
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


def _fail(kind: str, op: str, level: int, case: str, component: int, a: int, b: int) -> RuntimeCheckError:
    at = CHECK_KINDS[kind].cases.index(case)
    return Check(kind, op, level).error(at, component, a, b)


def _first(mask: Array) -> int | None:
    """Where a vector of booleans is first true."""
    at = int(mask.argmax()) if mask.size else 0
    return at if mask.size and mask[at] else None


def check_offsets(offsets: Array, op: str, level: int, extent: int, count: int | None = None) -> None:
    """Offsets start at 0, never decrease and end at the extent; `count` components where it is known.
    RuntimeCheckError names the first component that is wrong."""
    size = offsets.shape[0]
    if size == 0:
        raise _fail("offsets", op, level, "expected at least 1 offset, got 0", -1, 0, 0)
    if count is not None and size != count + 1:
        raise _fail("offsets", op, level, "expected {a} offsets, got {b}", -1, count + 1, size)
    if int(offsets[0]) != 0:
        raise _fail("offsets", op, level, "expected offsets[0] == 0, got {a}", 0, int(offsets[0]), 0)
    at = _first(offsets[1:] < offsets[:-1])
    if at is not None:
        text = "expected offsets[{j}] >= offsets[{i}], got {a} < {b}"
        raise _fail("offsets", op, level, text, at, int(offsets[at + 1]), int(offsets[at]))
    if int(offsets[-1]) != extent:
        text = "expected offsets[{j}] == {b}, got {a}"
        raise _fail("offsets", op, level, text, size - 2, int(offsets[-1]), extent)


def total(lengths: Array) -> int:
    """The sum of lengths of at least 0, as a number of Python, which does not wrap."""
    if not lengths.size or int(lengths.max()) * lengths.size < 2**63:
        return int(lengths.sum())
    return (int((lengths >> 32).sum()) << 32) + int((lengths & 0xFFFFFFFF).sum())


def check_lengths(lengths: Array, op: str, level: int, extent: int) -> None:
    """Lengths are at least 0 and sum to the extent."""
    at = _first(lengths < 0)
    if at is not None:
        raise _fail("lengths", op, level, "expected lengths[{i}] >= 0, got {a}", at, int(lengths[at]), 0)
    found = total(lengths)
    if found != extent:
        raise _fail("lengths", op, level, "expected lengths to sum to {a}, got {b}", -1, extent, found)


def check_divides(extent: int, factor: int, op: str, level: int) -> None:
    """An extent is that of whole rows of `factor` elements."""
    if extent % factor if factor else extent:
        raise _fail("divides", op, level, "expected a multiple of {b}, got {a}", -1, extent, factor)


def check_windows(starts: Array, lengths: Array, op: str, level: int, extent: int, count: int | None = None) -> None:
    """Windows of lengths of at least 0 lie inside the extent; `count` components where it is known."""
    if count is not None and starts.shape[0] != count:
        raise _fail("windows", op, level, "expected {a} starts and lengths, got {b}", -1, count, starts.shape[0])
    if starts.shape != lengths.shape:
        text = "expected starts and lengths of one size, got {a} and {b}"
        raise _fail("windows", op, level, text, -1, starts.shape[0], lengths.shape[0])
    for vector, text in (
        (lengths, "expected lengths[{i}] >= 0, got {a}"),
        (starts, "expected starts[{i}] >= 0, got {a}"),
    ):
        at = _first(vector < 0)
        if at is not None:
            raise _fail("windows", op, level, text, at, int(vector[at]), 0)
    at = _first(starts > extent - lengths)
    if at is not None:
        text = "expected starts[{i}] + lengths[{i}] <= {b}, got {a}"
        raise _fail("windows", op, level, text, at, int(starts[at]) + int(lengths[at]), extent)
    if total(lengths) >= 2**63:
        raise _fail("windows", op, level, "expected lengths to sum to less than 2**63, got more", -1, 0, 0)
