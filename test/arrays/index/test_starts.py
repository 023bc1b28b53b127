"""Windows into values and into padded arrays, in traced code as outside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import assert_components
from support.refusals import refused

import ragged_dialect as rg

VALUES = np.arange(12.0).reshape(6, 2)
STARTS, LENGTHS = np.array([3, 0, 2]), np.array([2, 0, 4])
PADDED = np.arange(24.0).reshape(3, 4, 2)

in_values = rg.jit(rg.from_starts_lengths)
in_padded = rg.jit(rg.narrow)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_windows_into_values(target: str) -> None:
    expected = [VALUES[s : s + n] for s, n in zip(STARTS, LENGTHS, strict=True)]
    assert_components(rg.from_starts_lengths(VALUES, STARTS, LENGTHS), expected)
    made = rg.jit(lambda v, s, n: rg.from_starts_lengths(v, s, n) * 2, target=target)(VALUES, STARTS, LENGTHS)
    assert_components(made, [2 * c for c in expected])


@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize(
    ("start", "length"), [(0, np.array([1, 4, 0])), (np.array([1, 0, 3], np.int32), np.array(1)), (1, 2)]
)
def test_windows_into_padded_arrays(start: Any, length: Any, target: str) -> None:
    starts, lengths = (np.broadcast_to(x, 3) for x in (start, length))
    expected = [row[s : s + n] for row, s, n in zip(PADDED, starts, lengths, strict=True)]
    assert_components(rg.narrow(PADDED, start, length), expected)
    sums = rg.jit(lambda d, s, n: (rg.narrow(d, s, n), rg.narrow(d, s, n).sum(axis=1)), target=target)
    windows, added = sums(PADDED, start, length)
    assert_components(windows, expected)
    np.testing.assert_array_equal(added, [c.sum(axis=0) for c in expected])


def test_gradients() -> None:
    """Of overlapping windows they add up."""
    of_values = rg.grad(lambda v, n: (rg.from_starts_lengths(v, np.array([0, 1, 2]), n) * 2).sum())
    np.testing.assert_array_equal(of_values(np.arange(5.0), np.array([3, 3, 1])), [2, 4, 6, 2, 0])
    of_padded = rg.grad(lambda d: (rg.narrow(d, 0, np.array([1, 4, 0])) ** 2).sum())
    np.testing.assert_array_equal(
        of_padded(PADDED), 2 * PADDED * (np.arange(4) < np.array([[1], [4], [0]]))[:, :, None]
    )


test_refusals = refused(
    [
        (
            lambda: in_values(VALUES, STARTS, LENGTHS + 1),
            rg.RuntimeCheckError,
            "from_starts_lengths: level 1, component 2: expected starts[2] + lengths[2] <= 6, got 7",
        ),
        (
            lambda: in_values(VALUES, STARTS, LENGTHS[:2]),
            rg.RuntimeCheckError,
            "from_starts_lengths: dim 0: expected extent 2, got 3",
        ),
        (
            lambda: in_values(VALUES, STARTS * 1.0, LENGTHS),
            rg.ArgumentError,
            "from_starts_lengths: expected a vector of integers for starts, got float64 of rank 1",
        ),
        (
            lambda: in_values(rg.ragged([[1.0]]), STARTS, LENGTHS),
            rg.ArgumentError,
            "from_starts_lengths: expected values of rank 1 or more that is dense, got float64 of rank 2",
        ),
        (
            lambda: in_padded(PADDED, STARTS, 2),
            rg.RuntimeCheckError,
            "narrow: level 1, component 0: expected starts[0] + lengths[0] <= 4, got 5",
        ),
        (
            lambda: in_padded(PADDED, 0, LENGTHS[:2]),
            rg.RuntimeCheckError,
            "narrow: dim 0: expected extent 3, got 2",
        ),
        (lambda: rg.narrow(PADDED, 0, 1.5), rg.ArgumentError, "narrow: length: expected integers, got dtype float64"),
        (lambda: in_padded(PADDED, 0, 1.5), rg.ArgumentError, "narrow: expected an integer as length, got float64"),
    ]
)
