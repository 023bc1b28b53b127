"""`rg.from_row_ids` in programs, beside what it makes outside of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusals import refused

import ragged_dialect as rg

VALUES = np.arange(6.0)
IDS = np.array([0, 0, 2, 2, 2, 3])


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs(target: str) -> None:
    rows = rg.jit(lambda values, ids: rg.from_row_ids(values, ids, 5), target=target)
    rng = np.random.default_rng(0)
    for size in (0, 1, 6, 300):
        ids, values = np.sort(rng.integers(0, 5, size)), rng.random((size, 2))
        for given in (ids, ids.astype(np.int32), ids.astype(np.int8)):
            made, wanted = rows(values, given), rg.from_row_ids(values, given, 5)
            assert made.lengths.tolist() == wanted.lengths.tolist()
            np.testing.assert_array_equal(made.values, values)


def test_the_number_may_be_traced_and_values_not() -> None:
    rows = rg.jit(lambda ids, n: rg.from_row_ids(VALUES, ids, n).sum(axis=1))
    assert rows(IDS, 5).tolist() == [1.0, 0.0, 9.0, 5.0, 0.0]
    assert rows(IDS, 4).tolist() == [1.0, 0.0, 9.0, 5.0]


def test_gradient() -> None:
    made = rg.grad(lambda values: (rg.from_row_ids(values, IDS, 4).sum(axis=1) ** 2).sum())(VALUES)
    assert made.tolist() == [2.0, 2.0, 18.0, 18.0, 18.0, 10.0]


from_rows = rg.jit(lambda values, ids, n: rg.from_row_ids(values, ids, n))


def rows(ids: Any, values: Any = VALUES, n: Any = 4) -> Any:
    return from_rows(values, np.asarray(ids), n)


test_refused_in_programs = refused(
    [
        (
            lambda: rows([0, 0, 2, 1, 2, 3]),
            rg.RuntimeCheckError,
            "from_row_ids: level 0, component 2: expected lo <= hi, got 2 > 1",
        ),
        (lambda: rows([-1, 0, 2, 2, 2, 3]), rg.RangeError, "component 0: expected index in [0, 4), got -1"),
        (lambda: rows([0, 0, 2, 2, 2, 4]), rg.RangeError, "component 5: expected index in [0, 4), got 4"),
        (lambda: rows([0, 1]), rg.RuntimeCheckError, "from_row_ids: dim 0: expected extent 2, got 6"),
        (lambda: rows(IDS, n=-1), rg.RuntimeCheckError, "from_row_ids: level 0: expected at least 0, got -1"),
        (
            lambda: rg.jit(lambda values: rg.from_row_ids(values, IDS))(VALUES),
            rg.ArgumentError,
            "from_row_ids: expected nrows in traced code, got None (which is the size of the result)",
        ),
        (
            lambda: rows(IDS * 1.0),
            rg.ArgumentError,
            "from_row_ids: expected a vector of integers for row_ids, got float64",
        ),
        (
            lambda: rows([0, 1], rg.ragged([[1], [2]])),
            rg.ArgumentError,
            "from_row_ids: expected values with a dense first dim, got int64",
        ),
    ]
)
