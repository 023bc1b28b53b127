"""Awkward, both ways: equal lists, shared memory, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from support.components import NESTED, array, nested
from support.conversions import ARRAYS, V, text

import ragged_dialect as rg


@pytest.fixture(params=ARRAYS)
def x(request: pytest.FixtureRequest) -> rg.RaggedArray:
    """Arrays of every kind of layout."""
    return ARRAYS[request.param]()


def test_awkward_has_the_same_lists(x: rg.RaggedArray) -> None:
    pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    there = x.to_awkward()
    assert repr(there.tolist()) == text(x)
    assert there.layout.form.type is not None
    assert text(rg.from_awkward(there)) == text(x)


def test_awkward_shares_memory() -> None:
    pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    x = nested(NESTED[0], (3,))
    there = x.to_awkward()
    back = rg.from_awkward(there)
    assert np.shares_memory(back.values, x.values)
    assert (str(back.layout), back.shape) == ("drr|d", (3, None, None, 3))
    ak = pytest.importorskip("awkward")
    content = ak.contents.ListArray(ak.index.Index64([9, 2]), ak.index.Index64([12, 7]), ak.to_layout(V))
    windowed = rg.from_awkward(ak.Array(content))
    assert np.shares_memory(windowed.stored.values, V)
    assert ak.to_layout(windowed.to_awkward()).content.data.tolist() == windowed.values.tolist()


def test_awkward_keeps_a_result_alive() -> None:
    pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    there = (array((300, 0, 200), (16,)) * 0 + 7).to_awkward()
    assert there[2].to_numpy().tolist() == [[7.0] * 16] * 200


def test_awkward_layouts_that_need_a_look() -> None:
    ak = pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    lists = ak.Array([[[1, 2], [3]], [], [[4]], [[], [5, 6]]])
    cases = {
        "sliced": lists[1:],
        "gathered": lists[[3, 0, 1, 3]],
        "masked": lists[np.array([True, False, True, True])],
        "inner gathered": lists[:, ::-1],
        "option without missing values": ak.drop_none(ak.mask(lists, ak.num(lists) >= 0), axis=0),
        "indexed": ak.Array(ak.contents.IndexedArray(ak.index.Index64([2, 0]), lists.layout)),
        "option": ak.Array(ak.contents.IndexedOptionArray(ak.index.Index64([2, 0]), lists.layout)),
    }
    for name, given_array in cases.items():
        assert rg.from_awkward(given_array).tolist() == given_array.tolist(), name
    assert str(rg.from_awkward(ak.Array([[1], [2, 3]])[[1, 0]]).layout) == "dw"
    assert rg.from_awkward(lists[[3, 0]]).layout.letters.startswith("dr")


def test_awkward_index_widths_and_dtypes() -> None:
    ak = pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    for made in (ak.index.Index32, ak.index.IndexU32):
        content = ak.contents.ListOffsetArray(made(np.array([2, 4, 7], made._expected_dtype)), ak.to_layout(V))
        assert rg.from_awkward(ak.Array(content)).tolist() == [[2.0, 3.0], [4.0, 5.0, 6.0]]
    for dtype in ("bool", "i1", "i8", "f2", "f8"):
        there = rg.from_awkward(array((2, 1), dtype=dtype).to_awkward())
        assert there.dtype == np.dtype(dtype)
    empty = rg.from_awkward(ak.Array([[], []]))
    assert (empty.tolist(), empty.dtype) == ([[], []], np.float64)


def test_awkward_refuses() -> None:
    ak = pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    broken = ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 5, 2, 3])), ak.to_layout(V))
    cases = [
        ([[1.0]], rg.ArgumentError, "from_awkward: expected an awkward.Array, got list"),
        (ak.Array([{"a": [1]}]), rg.ArgumentError, "from_awkward: expected lists of numbers, got {a: var * int64}"),
        (ak.Array([["a", "b"]]), rg.ArgumentError, "from_awkward: expected lists of numbers, got string"),
        (
            ak.Array([[1], None, [None]]),
            rg.ArgumentError,
            "from_awkward: expected no missing values, got 1 (use ak.drop_none or ak.fill_none)",
        ),
        (ak.Array([[1, None, None]]), rg.ArgumentError, "from_awkward: expected no missing values, got 2"),
        (ak.Array([[1, [2]]]), rg.ArgumentError, "from_awkward: expected lists of numbers, got union"),
        (ak.Array(np.zeros((2, 3))), rg.LayoutError, "from_awkward: expected a ragged dim, got none"),
        (ak.Array([[np.datetime64("2020-01-01")]]), rg.ArgumentError, '(convert to int64, with astype("int64"))'),
        (ak.Array(broken), rg.RuntimeCheckError, "expected offsets[2] >= offsets[1], got 2 < 5"),
    ]
    for value, kind, message in cases:
        with pytest.raises(kind) as caught:
            rg.from_awkward(value)
        assert message in str(caught.value)
    import ml_dtypes

    with pytest.raises(rg.ArgumentError, match="to_awkward: expected a dtype that Awkward has, got bfloat16"):
        array((2, 1), dtype=ml_dtypes.bfloat16).to_awkward()
