"""What the dialect checks, operations on arrays check: in programs of operations and of jit, on every target that
runs here. And what calls are known to fulfil is no check of a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.loops import compute
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.ir import shapes

BIG = 2**62
DENSE = np.arange(60, dtype=np.float32).reshape(2, 10, 3)
RAGGED = rg.from_lengths(np.arange(40, dtype=np.float32).reshape(20, 2), [10, 10])
WINDOWS = rg.from_starts_lengths(np.arange(20.0), [4, 0], [10, 10])

ROWS: list[tuple[list[list[int]], str]] = [
    ([[0, 5, 10]], "expected 2 rows of offsets, got 1"),
    ([[0, 5, 10]] * 3, "expected 2 rows of offsets, got 3"),
    ([], "expected 2 rows of offsets, got 0"),
    ([[0, 5, 10], [0, 5, 9]], ", component 1: expected the row of offsets to end at 10, got 9"),
    ([[0, 12, 10], [0, 5, 10]], ", component 0: expected the row of offsets not to decrease, got 10 < 12"),
    ([[0, 5, 10], [0, BIG, 10]], f", component 1: expected the row of offsets not to decrease, got 10 < {BIG}"),
    ([[0, 5, 10], [1, 5, 10]], ", component 1: expected the row of offsets to start at 0, got 1"),
]
LENGTHS: list[tuple[list[list[int]], str]] = [
    ([[2] * 5], "expected 2 rows of lengths, got 1"),
    ([[2] * 5] * 3, "expected 2 rows of lengths, got 3"),
    ([], "expected 2 rows of lengths, got 0"),
    ([[2] * 5, [2, 2, 2, 2, 1]], ", component 1: expected the row of lengths to sum to 10, got 9"),
    ([[2] * 5, [12, 0, 0, 0, -2]], ", component 1: expected the row of lengths to be >= 0, got -2"),
    ([[BIG] * 4 + [10], [2] * 5], f", component 0: expected the row of lengths to sum to 10, got {2**63 - 1}"),
]
PLACES = {"dense": DENSE, "ragged": RAGGED, "windows": WINDOWS}


def partition(x: Any, rows: Any, *, axis: int, lengths: bool) -> Any:
    """What is traced."""
    return rg.partition(x, rows, axis=axis, lengths=lengths)


@functools.cache
def runner(target: str) -> Callable[..., Any]:
    """`partition` by an operation, or by jit on a target."""
    return partition if target == "eager" else rg.jit(partition, static=("axis", "lengths"), target=target)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", ["eager", "cpu", "emulator"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("lengths", [False, True])
def test_rows_that_do_not_fit(target: str, place: str, lengths: bool) -> None:
    """Too few rows would be read beyond their end, of too many some would be dropped."""
    for rows, text in LENGTHS if lengths else ROWS:
        given = np.array(rows, np.int64).reshape(len(rows), 5 if lengths else 3)
        with pytest.raises(rg.RuntimeCheckError) as caught:
            runner(target)(PLACES[place], given, axis=1, lengths=lengths)
        where = "partition: level 2"
        assert str(caught.value) == where + (text if text.startswith(",") else f": {text}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["eager", "cpu"])
@pytest.mark.parametrize(("axis", "extent", "count"), [(1, 2, 2), (2, None, 4)])
def test_rows_within_a_batch(target: str, axis: int, extent: int | None, count: int) -> None:
    """Of a batch dim below another one, and of the ragged dim below both."""
    batch = rg.partition(DENSE, np.array([[0, 3, 10], [0, 5, 10]]), axis=1)
    for rows in (count - 1, count + 1):
        given = np.array([[0, 1, extent or 1]] * rows)
        text = f"partition: level {axis + 1}: expected {count} rows of offsets, got {rows}"
        with pytest.raises(rg.RuntimeCheckError, match=text):
            runner(target)(batch, given, axis=axis, lengths=False)


def test_one_length_for_every_window() -> None:
    made = rg.partition(WINDOWS, np.array([[10], [10]]), axis=1, lengths=True)
    assert [c.tolist() for c in made[:, 0].unbind()] == [c.tolist() for c in WINDOWS.unbind()]
    with pytest.raises(rg.RuntimeCheckError, match="expected 2 rows of lengths, got 1"):
        rg.partition(WINDOWS, np.array([[10]]), axis=1, lengths=True)


def test_no_offsets() -> None:
    with pytest.raises(rg.LayoutError, match="expected at least 1 offset, got 0"):
        rg.partition(DENSE, np.zeros((2, 0), np.int64), axis=1)


def test_a_padded_size_beyond_64_bits() -> None:
    x = nested(((1, 2), (3,)))
    with pytest.raises(rg.RuntimeCheckError, match=r"to_padded: level 1: expected a size below 2\*\*63"):
        rg.to_padded(x, 0.0, (2**40, 2**40))


X, Y, W = array((3, 0, 5)), array((3, 0, 5), seed=1), np.ones(4, np.float32)
N, UPPER = nested(((3, 0), (2,))), rg.from_lengths(np.arange(3.0), [2, 1])
FREE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "two structures": (lambda x, y: x + y, (X, Y)),
    "features": (lambda x, w: x * w, (X, W)),
    "a batch": (lambda x, b: x / b, (X, np.ones((3, 1, 1), np.float32))),
    "padded": (lambda x, p: x + p, (X, np.ones((3, 9, 4), np.float32))),
    "leading levels": (lambda x, y: x + y[:, :, None], (N, UPPER)),
    "joined below leading levels": (lambda x, y: rg.concat([x, y], axis=2), (N, nested(((1, 1), (1,))))),
    "softmax": (lambda x: rg.softmax(x, axis=1), (X,)),
    "across components": (lambda x: x.sum(0), (X,)),
    "outer levels": (lambda x: x.sum(1), (N,)),
    "running sums": (lambda x: x.cumsum(1), (X,)),
    "windows": (lambda x: rg.softmax(x[:, 1:] + 1, axis=1), (X,)),
    "a mask": (lambda x: x[x[:, :, 0] > 0], (X,)),
    "joined": (lambda x, y: rg.concat([x, y], axis=1), (X, Y)),
    "padding": (lambda x: rg.from_padded(rg.to_padded(x), pad_value=0), (X,)),
    "products": (lambda x, y: rg.einsum("bid,bjd->bij", x, y), (X, Y)),
    "merged": (lambda x: x.merge(0), (X,)),
    "kept dims": (lambda x: x - x.mean(1, keepdims=True), (X,)),
    "lengths": (lambda x: x.sum(1) / x.lengths[:, None], (X,)),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", FREE)
def test_what_is_known_is_not_checked(name: str) -> None:
    function, arguments = FREE[name]
    assert "ragged.assert" not in rg.jit(function).lower(*arguments).stages["ragged"]


def test_what_depends_on_data_is_checked() -> None:
    lowered = rg.jit(lambda x, o: rg.partition(x, o).sum(1)).lower(np.ones((9, 2)), np.array([0, 9]))
    assert lowered.stages["ragged"].count("ragged.assert") == 1
    assert 'op = "partition"' in lowered.source


def test_loops_that_the_dialect_does_not_have() -> None:
    """What no operation refuses by itself is an error of the package all the same, and names what was traced."""

    def rows(x: Any) -> Any:
        out = (shapes.empty([4], element_type(x.dtype)), x.dtype, [PlainAxis(4)], [1])
        return compute(x.trace, [(x, (0, 1, 2))], [out], 3, frozenset({0, 2}), lambda found: found[:1])[0]

    text = "rows: expected loop 0, a parent of ragged loop 1, in the result, got it reduced"
    with pytest.raises(rg.LayoutError, match=text):
        rg.jit(rows)(X)


def test_leading_levels_of_one_array_conform_with_it() -> None:
    """What was computed along an axis keeps its leading levels, and meets it again."""
    x = rg.partition(rg.from_lengths(np.ones((6, 2), np.float32), [1, 2, 1, 2]), np.array([0, 2, 4]), axis=0)
    f = rg.jit(lambda x: x - x.sum(2)[:, :, None] + x.max(2)[:, :, None])
    np.testing.assert_array_equal(f(x).values, (x - x.sum(2)[:, :, None] + x.max(2)[:, :, None]).values)


@pytest.mark.parametrize("target", ["emulator", "ptx-emulator"])
def test_what_is_computed_before_a_check_has_its_own_extent(target: str) -> None:
    """Not the one that the reader behind the check has it for: an emulator sees what is read beyond the end."""

    def f(x: Any, row: Any) -> Any:
        longest = abs(x.max(axis=0, keepdims=True))
        return longest, rg.gather(x, rg.local_index(x) // 2), longest - row

    x = rg.from_lengths(np.arange(6, dtype=np.float32), [2, 4])
    with pytest.raises(rg.RuntimeCheckError, match=r"^subtract: dim 1: expected extent 4, got 7$"):
        rg.jit(f, target=target)(x, np.ones((1, 7), np.float32))


def test_ptx_raises_what_fails_at_once() -> None:
    x = rg.from_lengths(np.arange(6, dtype=np.float32), [2, 4])
    function = rg.jit(lambda x, ids: rg.take(x.values, ids), target="ptx-emulator")
    with pytest.raises(rg.RangeError, match="expected index in"):
        function(x, np.array([0, 9]))
