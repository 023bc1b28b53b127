"""The status record: what a failed run-time check leaves, on every target, and the error that it means.

A record is five i64. The number is first and 0 where no check failed, so that asking for a failure reads one
word. The lowering counts in STATUS_ENTRIES, memory is that of `new_status`, and C has the names of `Status`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ragged_dialect.checks import Check
from ragged_dialect.narrowing import is_array


class Status(NamedTuple):
    """The number of the first check that failed, from 1, which of its cases that is, the component, -1 for none,
    and the two values that the text names."""

    number: int
    case: int
    component: int
    a: int
    b: int


STATUS_ENTRIES = len(Status._fields)


def new_status() -> np.ndarray:
    """Memory of a record that tells of no failure."""
    return np.zeros(STATUS_ENTRIES, np.int64)


def is_status(value: object) -> bool:
    """Whether an argument of a kernel has the form of a record."""
    return is_array(value) and value.dtype == np.int64 and value.shape == (STATUS_ENTRIES,)


def raise_failed(checks: Sequence[Check], record: Sequence[int]) -> None:
    """RuntimeCheckError where the record of a program with these checks tells of a failure."""
    status = Status(*record)
    if status.number:
        raise checks[status.number - 1].error(status.case, status.component, status.a, status.b)
