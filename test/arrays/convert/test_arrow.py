"""Arrow, both ways: equal lists, shared memory, and what is refused."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, array, nested
from support.conversions import ARRAYS, V, text

import ragged_dialect as rg


@pytest.fixture(params=ARRAYS)
def x(request: pytest.FixtureRequest) -> rg.RaggedArray:
    """Arrays of every kind of layout."""
    return ARRAYS[request.param]()


@pytest.mark.parametrize("large", [True, False])
def test_arrow_has_the_same_lists(x: rg.RaggedArray, large: bool) -> None:
    pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    there = x.to_arrow(large=large)
    there.validate(full=True)
    assert repr(there.to_pylist()) == text(x)
    assert text(rg.from_arrow(there)) == text(x)


def test_arrow_shares_memory() -> None:
    pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    x = nested(NESTED[0], (3,))
    back = rg.from_arrow(x.to_arrow())
    assert np.shares_memory(back.values, x.values)
    assert np.shares_memory(rg.from_arrow(x.to_arrow(large=False)).values, x.values)


def test_arrow_types() -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    lists = [[1.0, 2.0], [], [3.0]]
    for kind in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view):
        made = pa.array(lists, kind(pa.float32()))
        x = rg.from_arrow(made)
        assert (x.tolist(), x.dtype, str(x.layout)) == (lists, np.float32, "dr"), kind
        assert rg.from_arrow(made[1:]).tolist() == lists[1:]
        assert rg.from_arrow(made.take(pa.array([2, 0, 2]))).tolist() == [[3.0], [1.0, 2.0], [3.0]]
    assert str(array((2, 1), (3,)).to_arrow().type) == "large_list<item: fixed_size_list<item: float>[3]>"
    fixed = pa.array([[[1], []], [[2], [3]], [[], [4]]], pa.list_(pa.list_(pa.int16()), 2))
    x = rg.from_arrow(fixed[1:])
    assert (str(x.layout), x.shape, x.tolist()) == ("ddr", (2, 2, None), [[[2], [3]], [[], [4]]])
    assert rg.from_arrow(pa.array([[True, False], [True]])).tolist() == [[True, False], [True]]
    assert rg.from_arrow(pa.array([[], []])).tolist() == [[], []]


@pytest.mark.parametrize("dtype", ["bool", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_arrow_dtypes(dtype: str) -> None:
    pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    x = array((3, 0, 2), dtype=dtype)
    back = rg.from_arrow(x.to_arrow())
    assert (back.dtype, text(back)) == (x.dtype, text(x))


def test_arrow_views_out_of_order() -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    views = pa.ListViewArray.from_arrays([4, 0, 9], [2, 3, 0], pa.array(V))
    x = rg.from_arrow(views)
    assert (str(x.layout), x.tolist()) == ("dw", [[4.0, 5.0], [0.0, 1.0, 2.0], []])
    assert np.shares_memory(x.stored.values, V)
    assert x.to_arrow().flatten().to_pylist() == x.values.tolist() == [4.0, 5.0, 0.0, 1.0, 2.0]
    outer = pa.ListViewArray.from_arrays([1, 0], [2, 1], pa.array([[1, 2], [3], [4, 5]]))
    y = rg.from_arrow(outer)
    assert (str(y.layout), y.tolist()) == ("drr", [[[3], [4, 5]], [[1, 2]]])


def test_arrow_chunks_and_the_c_interface() -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    chunks = pa.chunked_array([[[1.0]], [[], [2.0, 3.0]]])
    assert rg.from_arrow(chunks).tolist() == [[1.0], [], [2.0, 3.0]]
    assert rg.from_arrow(pa.table({"a": chunks})["a"]).tolist() == [[1.0], [], [2.0, 3.0]]
    one = pa.array([[1.0], [2.0]])

    class Exporter:
        def __init__(self, name: str, made: Any) -> None:
            setattr(type(self), name, lambda _, schema=None: getattr(made, name)(schema))

    assert rg.from_arrow(type("A", (Exporter,), {})("__arrow_c_array__", one)).tolist() == [[1.0], [2.0]]
    assert rg.from_arrow(type("B", (Exporter,), {})("__arrow_c_stream__", chunks)).tolist() == chunks.to_pylist()


def test_arrow_after_what_errors_advise() -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    import pyarrow.compute as pc  # pyright: ignore[reportMissingImports]  # optional package

    lists, numbers = pa.array([[1], None, [2]]), pa.array([[1, None], [], [2]])
    assert rg.from_arrow(pc.drop_null(lists)).tolist() == [[1], [2]]
    assert rg.from_arrow(pc.fill_null(lists, [])).tolist() == [[1], [], [2]]
    filled = type(numbers).from_arrays(numbers.offsets, pc.fill_null(numbers.values, 0))
    assert rg.from_arrow(filled).tolist() == [[1, 0], [], [2]]
    times, days = pa.array([[datetime(1970, 1, 1, 0, 0, 1)]]), pa.array([[date(1970, 1, 3)]])
    assert rg.from_arrow(times.cast(pa.list_(pa.int64()))).tolist() == [[1000000]]
    assert rg.from_arrow(days.cast(pa.list_(pa.int32()))).tolist() == [[2]]


def test_arrow_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    broken = pa.LargeListArray.from_arrays(pa.array(np.array([0, 5, 2, 3])), pa.array(V))
    cases = [
        ([[1.0]], rg.ArgumentError, "from_arrow: expected an array of Arrow, got list"),
        (
            pa.array([[1], None]),
            rg.ArgumentError,
            "from_arrow: expected no nulls, got 1 (use pyarrow.compute.drop_null, or fill_null(x, []))",
        ),
        (
            pa.array([[1, None, None]]),
            rg.ArgumentError,
            "from_arrow: expected no nulls, got 2 (use "
            "type(x).from_arrays(x.offsets, pyarrow.compute.fill_null(x.values, 0)))",
        ),
        (
            pa.array([[datetime(2020, 1, 1)]]),
            rg.ArgumentError,
            "from_arrow: expected lists of numbers, got timestamp[us] "
            "(cast to lists of pyarrow.int64(), or int32() of 32 bits)",
        ),
        (pa.array([["a"]]), rg.ArgumentError, "from_arrow: expected lists of numbers, got string"),
        (pa.array([{"a": [1]}]), rg.ArgumentError, "from_arrow: expected lists of numbers, got struct<a: list<item"),
        (pa.table({"a": [[1]]}), rg.ArgumentError, "from_arrow: expected lists of numbers, got struct<a: list<item"),
        (pa.array([1.0]), rg.LayoutError, "from_arrow: expected a ragged dim, got none"),
        (pa.array([[1]], pa.list_(pa.uint8())), rg.ArgumentError, "expected a dtype of bool, int8"),
        (broken, rg.RuntimeCheckError, "expected offsets[2] >= offsets[1], got 2 < 5"),
    ]
    for value, kind, message in cases:
        with pytest.raises(kind) as caught:
            rg.from_arrow(value)
        assert message in str(caught.value)
    import ml_dtypes

    with pytest.raises(rg.ArgumentError, match="to_arrow: expected a dtype that Arrow has, got bfloat16"):
        array((2, 1), dtype=ml_dtypes.bfloat16).to_arrow()
    big = rg.assume_valid(np.zeros(3, np.int8), [0, 2**31])
    with pytest.raises(
        rg.ArgumentError, match="to_arrow: expected offsets below 2\\*\\*31 without large, got 2147483648"
    ):
        big.to_arrow(large=False)
