"""The run-time checks on plain data: the first failure of every kind of check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragged_dialect.checks import CHECK_KINDS, Check


class Failure(NamedTuple):
    """A failed case of a check: its number, the component (-1 for none), the two values."""

    case: int
    component: int
    a: int
    b: int


def require(kind: str, op: str, level: int, operands: Sequence[npt.ArrayLike], factor: int = 0) -> None:
    """Run a check on its operands; RuntimeCheckError with the text of the first failure."""
    raise_first(Check(kind, op, level), failures(kind, operands, factor))


def raise_first(check: Check, found: Iterator[Failure]) -> None:
    """Raise the first failure, if any: by case, then by component."""
    failure = min(found, key=lambda f: f.case, default=None)
    if failure is not None:
        raise check.error(*failure)


def failures(kind: str, operands: Sequence[npt.ArrayLike], factor: int = 0) -> Iterator[Failure]:
    """The failures of a check, components in order within a case."""
    data = [np.asarray(x).tolist() for x in operands]
    yield from _KINDS[kind](*data, *([factor] if CHECK_KINDS[kind].needs_factor else []))


def _offsets(offsets: list[int], extent: int, count: int | None = None) -> Iterator[Failure]:
    if not offsets:
        yield Failure(0, -1, 0, 0)
        return
    if count is not None and len(offsets) != count + 1:
        yield Failure(1, -1, count + 1, len(offsets))
    yield from _ordered(offsets, extent)


def _ordered(offsets: list[int], extent: int) -> Iterator[Failure]:
    """From 0 to an extent, without decreasing."""
    if offsets[0] != 0:
        yield Failure(2, 0, offsets[0], 0)
    for i, (a, b) in enumerate(pairwise(offsets)):
        if b < a:
            yield Failure(3, i, b, a)
    if offsets[-1] != extent:
        yield Failure(4, len(offsets) - 2, offsets[-1], extent)


def _per_row(rows: list[list[int]], lengths: list[int] | int, count: int | None) -> tuple[int, list[int]]:
    """How many rows there have to be, and the length each of them covers."""
    if isinstance(lengths, list):
        return len(lengths), lengths
    return (len(rows) if count is None else count), [lengths] * len(rows)


def _rows(rows: list[list[int]], lengths: list[int] | int, count: int | None = None) -> Iterator[Failure]:
    if rows and not rows[0]:
        yield Failure(0, -1, 0, 0)
        return
    wanted, covered = _per_row(rows, lengths, count)
    if len(rows) != wanted:
        yield Failure(1, -1, wanted, len(rows))
    for i, (row, length) in enumerate(zip(rows, covered, strict=False)):
        yield from (found._replace(component=i) for found in _ordered(row, length))


def _lengths(lengths: list[int], extent: int, count: int | None = None) -> Iterator[Failure]:
    if count is not None and len(lengths) != count:
        yield Failure(0, -1, count, len(lengths))
    yield from _summing(lengths, extent)


def _summing(lengths: list[int], extent: int) -> Iterator[Failure]:
    """Of at least 0, with the sum that is asked for."""
    for i, n in enumerate(lengths):
        if n < 0:
            yield Failure(1, i, n, 0)
    if sum(lengths) != extent:
        yield Failure(2, -1, extent, sum(lengths))


def _row_lengths(rows: list[list[int]], lengths: list[int] | int, count: int | None = None) -> Iterator[Failure]:
    wanted, covered = _per_row(rows, lengths, count)
    if len(rows) != wanted:
        yield Failure(0, -1, wanted, len(rows))
    for i, (row, length) in enumerate(zip(rows, covered, strict=False)):
        yield from (found._replace(component=i) for found in _summing(row, length))


def _windows(starts: list[int], lengths: list[int], extent: int, count: int | None = None) -> Iterator[Failure]:
    if len(starts) != len(lengths):
        yield Failure(0, -1, len(starts), len(lengths))
        return
    if count is not None and len(starts) != count:
        yield Failure(1, -1, count, len(starts))
    for i, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        if length < 0:
            yield Failure(2, i, length, 0)
        if start < 0:
            yield Failure(3, i, start, 0)
        if start + length > extent:
            yield Failure(4, i, start + length, extent)
    if sum(lengths) >= 2**63:
        yield Failure(5, -1, 0, 0)


def _each(*operands: list[int] | int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Components of operands of which some are scalars; component -1 when all are."""
    if not any(isinstance(x, list) for x in operands):
        yield -1, tuple(x for x in operands if isinstance(x, int))
        return
    size = min(len(x) for x in operands if isinstance(x, list))
    for i in range(size):
        yield i, tuple(x[i] if isinstance(x, list) else x for x in operands)


def _holds(condition: bool) -> Iterator[Failure]:
    if not condition:
        yield Failure(0, -1, 0, 0)


def _compared(fails: Callable[[int, int], bool]) -> Callable[[list[int] | int, list[int] | int], Iterator[Failure]]:
    """A check of each number with another one."""

    def check(numbers: list[int] | int, others: list[int] | int) -> Iterator[Failure]:
        yield from (Failure(0, i, a, b) for i, (a, b) in _each(numbers, others) if fails(a, b))

    return check


_index = _compared(lambda index, bound: not 0 <= index < bound)


def _position(index: list[int] | int, bound: list[int] | int) -> Iterator[Failure]:
    for found in _index(index, bound):
        yield found._replace(a=found.a - found.b) if found.a < 0 else found


def _range(lo: list[int] | int, hi: list[int] | int, bound: list[int] | int) -> Iterator[Failure]:
    if isinstance(bound, list):
        for given in (lo, hi):
            if isinstance(given, list) and len(given) != len(bound):
                yield Failure(0, -1, len(bound), len(given))
    for i, (low, high, limit) in _each(lo, hi, bound):
        if low < 0:
            yield Failure(1, i, low, 0)
        if low > high:
            yield Failure(2, i, low, high)
        if high > limit:
            yield Failure(3, i, high, limit)


def _fits(*factors: int) -> Iterator[Failure]:
    done = 1
    for factor in factors:
        if done * factor >= 2**63:
            yield Failure(0, -1, done, factor)
        done *= factor


def _conform(a: list[int] | int, b: list[int] | int) -> Iterator[Failure]:
    """Two lists of lengths, component by component, or two extents."""
    if isinstance(a, int) or isinstance(b, int):
        yield from _equal(a, b)
        return
    yield from _equal(len(a), len(b))
    yield from (found._replace(case=1) for found in _equal(a, b))


_equal = _compared(lambda a, b: a != b)


_KINDS: dict[str, Callable[..., Iterator[Failure]]] = {
    "offsets": _offsets,
    "rows": _rows,
    "lengths": _lengths,
    "row_lengths": _row_lengths,
    "windows": _windows,
    "index": _index,
    "position": _position,
    "range": _range,
    "equal": _equal,
    "covers": _compared(lambda extent, length: extent < length),
    "conform": _conform,
    "fits": _fits,
    "divides": _compared(lambda n, factor: n % factor != 0),
    "at_least": _compared(lambda n, factor: n < factor),
    "at_most": _compared(lambda n, factor: n > factor),
    "holds": _holds,
}
