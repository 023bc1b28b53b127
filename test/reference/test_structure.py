"""The reference interpreter's structure ops against lists written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragged_dialect.layout import Layout
from ragged_dialect.reference import RaggedValue
from ragged_dialect.reference.structure import compact, concat, merge, partition, select, slice_, split
from ragged_dialect.shape import RaggedShape


def ragged(layout: str, shape: tuple[int | None, ...], *parts: Any) -> RaggedValue:
    """A value whose elements are numbered along the storage: 0, 1, 2, …; `parts` begins with the
    storage shape."""
    storage, *rest = parts
    values = np.arange(int(np.prod(storage))).reshape(storage)
    return RaggedValue.from_parts(RaggedShape(Layout.parse(layout), shape), [values, *map(_part, rest)])


def _part(part: Any) -> Any:
    return np.array(part, np.int64) if isinstance(part, list) else part


def nested(x: Any) -> Any:
    """Elements as nested lists."""
    return RaggedValue.of(x).to_nested()


def layout(x: Any) -> str:
    """Layout of a value."""
    return str(RaggedValue.of(x).shape.layout)


def parts(x: Any) -> list[Any]:
    """The index vectors and extents of a value, without the values."""
    return [p.tolist() if isinstance(p, np.ndarray) else p for p in RaggedValue.of(x).to_parts()[1:]]


DR = ragged("dr", (None, None), (5,), [0, 3, 3, 5])
DR_D = ragged("dr|d", (None, None, 2), (5, 2), [0, 3, 3, 5])
DDR = ragged("ddr", (2, 2, None), (6,), [0, 1, 3, 3, 6])
DRR = ragged("drr", (None, None, None), (6,), [0, 2, 3], [0, 1, 3, 6])
DRRR = ragged("drrr", (None,) * 4, (4,), [0, 2, 3], [0, 1, 1, 3], [0, 2, 3, 4])
DRDR = ragged("drdr", (None, None, 2, None), (7,), [0, 1, 2], [0, 1, 3, 3, 7])
DRDR_PARTS = ragged("dr|dr", (None,) * 4, (3, 2), [0, 2, 3], [0, 0, 2])
DW = ragged("dw", (None, None), (8,), [5, 2, 8], [2, 3, 0])
DDW = ragged("ddw", (2, 2, None), (5,), [3, 0, 0, 4], [1, 2, 0, 1])
DRW = ragged("drw", (None, None, None), (5,), [0, 2, 3], [3, 0, 1], [1, 2, 2])
DWR = ragged("dwr", (None, None, None), (4,), [1, 0], [1, 2], [0, 2, 2, 4])
DRT = ragged("drt", (None, None, 2), (5,), [0, 3, 3, 5])
DDRT = ragged("ddrt", (1, 2, None, 2), (4,), [0, 3, 4])
DRRT = ragged("drrt", (None, None, None, 2), (6,), [0, 2, 3], [0, 1, 3, 6])
DT = ragged("dt", (2, 4), (6,))

TREES = [
    (DR, [[0, 1, 2], [], [3, 4]]),
    (DR_D, [[[0, 1], [2, 3], [4, 5]], [], [[6, 7], [8, 9]]]),
    (DDR, [[[0], [1, 2]], [[], [3, 4, 5]]]),
    (DRR, [[[0], [1, 2]], [[3, 4, 5]]]),
    (DRRR, [[[[0, 1]], []], [[[2], [3]]]]),
    (DRDR, [[[[0], [1, 2]]], [[[], [3, 4, 5, 6]]]]),
    (DRDR_PARTS, [[[[], [0, 1]], [[], [2, 3]]], [[[], [4, 5]]]]),
    (DW, [[5, 6], [2, 3, 4], []]),
    (DDW, [[[3], [0, 1]], [[], [4]]]),
    (DRW, [[[3], [0, 1]], [[1, 2]]]),
    (DWR, [[[]], [[0, 1], []]]),
    (DRT, [[[0, 1], [2]], [], [[3, 4]]]),
    (DDRT, [[[[0, 1], [2]], [[3]]]]),
    (DRRT, [[[[0]], [[1, 2]]], [[[3, 4], [5]]]]),
    (DT, [[0, 1, 2, 3], [4, 5]]),
]


@pytest.mark.parametrize(("value", "tree"), TREES, ids=[str(v.shape.layout) for v, _ in TREES])
def test_trees(value: RaggedValue, tree: Any) -> None:
    """Every layout as nested lists, and back to its parts."""
    assert nested(value) == tree
    again = RaggedValue.from_parts(value.shape, value.to_parts())
    assert nested(again) == tree
    assert parts(again) == parts(value)


def test_parts_keep_what_lists_lose() -> None:
    """Starts of empty windows, and inner extents below nothing."""
    assert parts(DW) == [[5, 2, 8], [2, 3, 0]]
    assert parts(DWR) == [[1, 0], [1, 2], [0, 2, 2, 4]]
    empty = ragged("ddr", (None, None, None), (0,), [0], 0, 5)
    assert nested(empty) == []
    assert parts(empty) == [[0], 0, 5]


PARTITIONS = [
    ("plain", np.arange(5), [0, 3, 3, 5], 0, False, "dr", [[0, 1, 2], [], [3, 4]]),
    ("plain lengths", np.arange(5), [3, 0, 2], 0, True, "dr", [[0, 1, 2], [], [3, 4]]),
    ("no components", np.arange(0), [0], 0, False, "dr", []),
    ("list of lists", DR, [0, 1, 3], 0, False, "drr", [[[0, 1, 2]], [[], [3, 4]]]),
    ("above windows", DW, [0, 2, 3], 0, False, "drw", [[[5, 6], [2, 3, 4]], [[]]]),
    ("above tiles", DRT, [0, 2, 3], 0, False, "drrt", [[[[0, 1], [2]], []], [[[3, 4]]]]),
    ("rows of ragged", DR, [[0, 1, 3], [0, 0, 0], [0, 2, 2]], 1, False, "ddr", [[[0], [1, 2]], [[], []], [[3, 4], []]]),
    ("row lengths", DR, [[1, 2], [0, 0], [2, 0]], 1, True, "ddr", [[[0], [1, 2]], [[], []], [[3, 4], []]]),
    (
        "rows of windows",
        DW,
        [[0, 1, 2], [0, 3, 3], [0, 0, 0]],
        1,
        False,
        "ddw",
        [[[5], [6]], [[2, 3, 4], []], [[], []]],
    ),
    ("rows of a batch", DDR, [[0, 0, 2], [0, 1, 2]], 1, False, "ddrr", [[[], [[0], [1, 2]]], [[[]], [[3, 4, 5]]]]),
    (
        "rows of plain",
        np.arange(6).reshape(2, 3),
        [[0, 1, 3], [0, 3, 3]],
        1,
        False,
        "ddr",
        [[[0], [1, 2]], [[3, 4, 5], []]],
    ),
    ("middle level", DRR, [[0, 1, 2], [0, 0, 1]], 1, False, "ddrr", [[[[0]], [[1, 2]]], [[], [[3, 4, 5]]]]),
    (
        "stored below windows",
        DWR,
        [[0, 1, 2], [0, 0, 0], [0, 2, 2]],
        2,
        False,
        "dwdr",
        [[[[], []]], [[[0], [1]], [[], []]]],
    ),
]


@pytest.mark.parametrize("case", PARTITIONS, ids=[c[0] for c in PARTITIONS])
def test_partition(case: Any) -> None:
    """Regrouping by offsets and lengths of rank 1 and 2."""
    _, x, vector, dim, lengths, expected, tree = case
    result = partition(x, np.array(vector, np.int64), dim, lengths)
    assert layout(result) == expected
    assert nested(result) == tree


def test_partition_of_windows_keeps_starts() -> None:
    """Parts of a window start inside it, also when empty."""
    result = partition(DW, np.array([[0, 1, 2], [0, 3, 3], [0, 0, 0]]), 1, False)
    assert parts(result) == [[5, 6, 2, 5, 8, 8], [1, 1, 3, 0, 0, 0]]


MERGES = [
    ("batch", DDR, 0, "dr", [[0], [1, 2], [], [3, 4, 5]]),
    ("plain", np.arange(6).reshape(2, 3), 0, "d", [0, 1, 2, 3, 4, 5]),
    ("components", DR, 0, "d", [0, 1, 2, 3, 4]),
    ("components of lists", DRR, 0, "dr", [[0], [1, 2], [3, 4, 5]]),
    ("components above a batch", DRDR, 0, "ddr", [[[0], [1, 2]], [[], [3, 4, 5, 6]]]),
    ("rows", DDR, 1, "dr", [[0, 1, 2], [3, 4, 5]]),
    ("rows of lists", DRDR, 2, "drr", [[[0, 1, 2]], [[3, 4, 5, 6]]]),
    ("levels", DRR, 1, "dr", [[0, 1, 2], [3, 4, 5]]),
    ("middle levels", DRRR, 1, "drr", [[[0, 1]], [[2], [3]]]),
    ("last levels", DRRR, 2, "drr", [[[0, 1], []], [[2, 3]]]),
    ("window levels", DWR, 1, "dw", [[], [0, 1]]),
    ("scale", DRDR, 1, "drr", [[[0], [1, 2]], [[], [3, 4, 5, 6]]]),
    ("features", DR_D, 1, "dr", [[0, 1, 2, 3, 4, 5], [], [6, 7, 8, 9]]),
    ("features of windows", ragged("dw|d", (None, None, 2), (3, 2), [1, 0], [2, 1]), 1, "dw", [[2, 3, 4, 5], [0, 1]]),
    ("untile", DRT, 1, "dr", [[0, 1, 2], [], [3, 4]]),
    ("untile plain", DT, 0, "d", [0, 1, 2, 3, 4, 5]),
    ("tiles", ragged("drtt", (None, None, 2, 2), (7,), [0, 5, 7]), 2, "drt", [[[0, 1, 2, 3], [4]], [[5, 6]]]),
    ("tile parts", DRT, 0, "dr", [[0, 1], [2], [3, 4]]),
    ("tile parts of a batch", DDRT, 1, "drr", [[[0, 1], [2], [3]]]),
    ("tile parts of lists", DRRT, 1, "drr", [[[0], [1, 2]], [[3, 4], [5]]]),
    ("tile parts of rows", ragged("d|dt", (2, 2, 4), (2, 5)), 0, "dr", [[0, 1, 2, 3], [4], [5, 6, 7, 8], [9]]),
    (
        "tile parts of tiles",
        ragged("drtt", (None, None, 2, 2), (7,), [0, 5, 7]),
        0,
        "drt",
        [[[0, 1], [2, 3]], [[4]], [[5, 6]]],
    ),
    ("tile parts below windows", split(DWR, 2, 1), 1, "dwr", [[], [[0], [1]]]),
]


@pytest.mark.parametrize("case", MERGES, ids=[c[0] for c in MERGES])
def test_merge(case: Any) -> None:
    """Every rule of the merge table."""
    _, x, dim, expected, tree = case
    result = merge(x, dim)
    assert layout(result) == expected
    assert nested(result) == tree


def test_merge_of_window_levels_counts_stored_elements() -> None:
    """Windows over components become windows over their elements."""
    assert parts(merge(DWR, 1)) == [[2, 0], [0, 2]]


SPLITS = [
    ("ragged", DR, 1, 2, "drt", [[[0, 1], [2]], [], [[3, 4]]]),
    ("window", DW, 1, 2, "dwt", [[[5, 6]], [[2, 3], [4]], []]),
    ("plain", np.arange(6), 0, 4, "dt", [[0, 1, 2, 3], [4, 5]]),
    ("divides", np.arange(6), 0, 3, "dt", [[0, 1, 2], [3, 4, 5]]),
    ("batch", DDR, 0, 2, "dddr", [[[[0], [1, 2]], [[], [3, 4, 5]]]]),
    ("inner batch", DDR, 1, 1, "dddr", [[[[0]], [[1, 2]]], [[[]], [[3, 4, 5]]]]),
    ("outer of a split", DRT, 1, 2, "drtt", [[[[0, 1], [2]]], [], [[[3, 4]]]]),
    ("tile", ragged("drt", (None, None, 4), (7,), [0, 5, 7]), 2, 2, "drtt", [[[[0, 1], [2, 3]], [[4]]], [[[5, 6]]]]),
    ("last of lists", DRR, 2, 2, "drrt", [[[[0]], [[1, 2]]], [[[3, 4], [5]]]]),
]


@pytest.mark.parametrize("case", SPLITS, ids=[c[0] for c in SPLITS])
def test_split(case: Any) -> None:
    """Chunks, the last one shorter."""
    _, x, dim, factor, expected, tree = case
    result = split(x, dim, factor)
    assert layout(result) == expected
    assert nested(result) == tree


SELECTS = [
    ("component", DR, 0, 2, "d", [3, 4]),
    ("empty component", DR, 0, 1, "d", []),
    ("component of windows", DW, 0, 0, "d", [5, 6]),
    ("list of a list of lists", DRR, 0, 1, "dr", [[3, 4, 5]]),
    ("list of windows", DRW, 0, 0, "dw", [[3], [0, 1]]),
    ("window of lists", DWR, 0, 1, "dr", [[0, 1], []]),
    ("leading batch", DDR, 0, 1, "dr", [[], [3, 4, 5]]),
    ("inner batch", DDR, 1, 1, "dw", [[1, 2], [3, 4, 5]]),
    ("batch of windows", DDW, 1, 0, "dw", [[3], []]),
    ("batch below lists", DRDR, 2, 0, "drw", [[[0]], [[]]]),
    ("level above another", DRR, 1, 0, "dw", [[0], [3, 4, 5]]),
    ("window above lists", DWR, 1, 0, "dw", [[], [0, 1]]),
    (
        "level above two",
        ragged("drrr", (None,) * 4, (4,), [0, 1, 2], [0, 1, 3], [0, 2, 3, 4]),
        1,
        0,
        "dwr",
        [[[0, 1]], [[2], [3]]],
    ),
    ("rows", ragged("dr", (None, None), (5,), [0, 3, 5]), 1, 1, "d", [1, 4]),
    ("rows of windows", ragged("dw", (None, None), (8,), [5, 2], [2, 3]), 1, 0, "d", [5, 2]),
    ("rows of lists", DRR, 2, 0, "dr", [[0, 1], [3]]),
    ("rows of a batch", ragged("ddr", (2, 2, None), (6,), [0, 1, 3, 4, 6]), 2, 0, "d|d", [[0, 1], [3, 4]]),
    (
        "rows below a batch",
        ragged("drdr", (None, None, 2, None), (6,), [0, 1, 2], [0, 1, 3, 5, 6]),
        3,
        0,
        "dr|d",
        [[[0, 1]], [[3, 5]]],
    ),
    ("rows below windows", ragged("dwr", (None,) * 3, (4,), [1, 0], [1, 2], [0, 2, 4]), 2, 1, "dw", [[3], [1, 3]]),
    ("plain", DR_D, 2, 1, "dr", [[1, 3, 5], [], [7, 9]]),
]


@pytest.mark.parametrize("case", SELECTS, ids=[c[0] for c in SELECTS])
def test_select(case: Any) -> None:
    """One element of every group, the levels below rebased or windows."""
    _, x, dim, index, expected, tree = case
    result = select(x, index, dim)
    assert layout(result) == expected
    assert nested(result) == tree


def test_select_rebases_storage() -> None:
    """The component of a list of lists has its own offsets and its own rows of the storage."""
    result = RaggedValue.of(select(DRR, 1, 0))
    assert parts(result) == [[0, 3]]
    assert result.values.tolist() == [3, 4, 5]


SLICES = [
    ("batch", DR, 0, 1, 3, "dr", [[], [3, 4]]),
    ("batch of lists", DRR, 0, 1, 2, "dr" + "r", [[[3, 4, 5]]]),
    ("batch of windows", DW, 0, 0, 2, "dw", [[5, 6], [2, 3, 4]]),
    ("batch of tiles", DRT, 0, 2, 3, "drt", [[[3, 4]]]),
    ("nothing", DR, 0, 1, 1, "dr", []),
    ("inner batch", DDR, 1, 1, 2, "ddw", [[[1, 2]], [[3, 4, 5]]]),
    ("ragged", ragged("dr", (None, None), (5,), [0, 3, 5]), 1, 1, 2, "dw", [[1], [4]]),
    ("per component", DR, 1, [1, 0, 0], [3, 0, 1], "dw", [[1, 2], [], [3]]),
    ("window", DW, 1, [1, 1, 0], [2, 3, 0], "dw", [[6], [3, 4], []]),
    ("lists", DRR, 1, [1, 0], [2, 1], "dwr", [[[1, 2]], [[3, 4, 5]]]),
    ("last of lists", DRR, 2, 0, 1, "drw", [[[0], [1]], [[3]]]),
    ("plain", DR_D, 2, 1, 2, "dr|d", [[[1], [3], [5]], [], [[7], [9]]]),
]


@pytest.mark.parametrize("case", SLICES, ids=[c[0] for c in SLICES])
def test_slice(case: Any) -> None:
    """A range of every group; slices of ragged levels are windows."""
    _, x, dim, lo, hi, expected, tree = case
    result = slice_(x, np.array(lo), np.array(hi), dim)
    assert layout(result) == expected
    assert nested(result) == tree


def test_slice_is_a_view() -> None:
    """The storage stays, starts move; a sub-batch of lists is rebased."""
    windows = RaggedValue.of(slice_(DR, np.array([1, 0, 0]), np.array([3, 0, 1]), 1))
    assert parts(windows) == [[1, 3, 3], [2, 0, 1]]
    assert windows.values.tolist() == [0, 1, 2, 3, 4]
    assert parts(slice_(DRR, 1, 2, 0)) == [[0, 1], [0, 3]]


CONCATS = [
    ("batch", [DR, DR], 0, "dr", [[0, 1, 2], [], [3, 4], [0, 1, 2], [], [3, 4]]),
    ("per component", [DR, DR], 1, "dr", [[0, 1, 2, 0, 1, 2], [], [3, 4, 3, 4]]),
    ("windows", [DW, DW], 1, "dr", [[5, 6, 5, 6], [2, 3, 4, 2, 3, 4], []]),
    (
        "features",
        [DR_D, DR_D],
        2,
        "dr|d",
        [[[0, 1, 0, 1], [2, 3, 2, 3], [4, 5, 4, 5]], [], [[6, 7, 6, 7], [8, 9, 8, 9]]],
    ),
    ("lists", [DRR, DRR], 1, "drr", [[[0], [1, 2], [0], [1, 2]], [[3, 4, 5], [3, 4, 5]]]),
    ("inner batch", [DDR, DDR], 1, "ddr", [[[0], [1, 2], [0], [1, 2]], [[], [3, 4, 5], [], [3, 4, 5]]]),
    (
        "second axis",
        [DRDR_PARTS, DRDR_PARTS],
        3,
        "dr|dr",
        [[[[], [0, 1, 0, 1]], [[], [2, 3, 2, 3]]], [[[], [4, 5, 4, 5]]]],
    ),
]


@pytest.mark.parametrize("case", CONCATS, ids=[c[0] for c in CONCATS])
def test_concat(case: Any) -> None:
    """Lists concatenated at a depth; the values are copied in order."""
    _, xs, dim, expected, tree = case
    result = concat(*xs, dim=dim)
    assert layout(result) == expected
    assert nested(result) == tree


@pytest.mark.parametrize("value", [DW, DDW, DRW, DWR], ids=lambda v: str(v.shape.layout))
def test_compact(value: RaggedValue) -> None:
    """The same elements, stored in logical order and nothing else."""
    result = RaggedValue.of(compact(value))
    assert layout(result) == str(value.shape.layout).replace("w", "r")
    assert nested(result) == nested(value)
    flat = nested(result)
    while any(isinstance(x, list) for x in flat):
        flat = [y for x in flat for y in (x if isinstance(x, list) else [x])]
    assert result.values.tolist() == flat
