"""Awkward, Arrow, PyTorch and DLPack, both ways: equal lists, shared memory, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.components import NESTED, STRUCTURES, array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.convert.nesting import Offsets, Regular, from_levels, to_levels
from ragged_dialect.arrays.convert.optional import optional

V = np.arange(24, dtype=np.float32)


ARRAYS: dict[str, Callable[[], rg.RaggedArray]] = {
    **{f"dr|d {lengths}": lambda lengths=lengths: array(lengths) for lengths in STRUCTURES},
    **{f"drr {lengths}": lambda lengths=lengths: nested(lengths) for lengths in NESTED},
    "drr|d|d": lambda: nested(NESTED[0], (3, 2)),
    "dr|d of 0": lambda: array((2, 0, 1), (0,)),
    "dw|d": lambda: rg.from_starts_lengths(V.reshape(12, 2), [7, 0, 3, 3], [4, 0, 3, 1]),
    "dr|dr": lambda: rg.partition(rg.from_offsets(V[:15].reshape(3, 5), [0, 1, 3]), np.array([0, 2, 5]), axis=2),
    "d|dr": lambda: rg.partition(V.reshape(3, 8), np.array([0, 2, 2, 8]), axis=1),
    "dw of one level": lambda: rg.from_starts_lengths(V, [9, 2], [3, 5]),
    "ddr": lambda: from_levels("test", V[:15], 2, [Regular(2, 2), Offsets(np.array([0, 1, 3, 3, 15]))]),
    "drrr": lambda: rg.from_lengths(V[:3], [2, 0, 1], [2, 0, 1], [1, 0, 2]),
    "a result": lambda: array((3, 0, 2)) + 1,
}  # fmt: skip


@pytest.fixture(params=ARRAYS)
def x(request: pytest.FixtureRequest) -> rg.RaggedArray:
    """Arrays of every kind of layout."""
    return ARRAYS[request.param]()


def text(x: rg.RaggedArray) -> str:
    """Lists as text, so that numbers of different types are told apart and nan is equal to itself."""
    return repr(x.tolist())


# Awkward -------------------------------------------------------------------------------------------


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
    assert all(np.shares_memory(back.offsets_of(dim), x.offsets_of(dim)) for dim in (1, 2))
    assert (str(back.layout), back.shape) == ("drr|d", (3, None, None, 3))
    windowed = rg.from_starts_lengths(V, [9, 2], [3, 5]).to_awkward()
    assert np.shares_memory(rg.from_awkward(windowed).values, V)


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
        (ak.Array([[1], None, [None]]), rg.ArgumentError, "from_awkward: expected no missing values, got 1"),
        (ak.Array([[1, None, None]]), rg.ArgumentError, "from_awkward: expected no missing values, got 2"),
        (ak.Array([[1, [2]]]), rg.ArgumentError, "from_awkward: expected lists of numbers, got union"),
        (ak.Array(np.zeros((2, 3))), rg.LayoutError, "from_awkward: expected a ragged dim, got none"),
        (ak.Array([[np.datetime64("2020-01-01")]]), rg.ArgumentError, "expected a dtype of bool, int8"),
        (ak.Array(broken), rg.RuntimeCheckError, "expected offsets[2] >= offsets[1], got 2 < 5"),
    ]
    for value, kind, message in cases:
        with pytest.raises(kind) as caught:
            rg.from_awkward(value)
        assert message in str(caught.value)
    import ml_dtypes

    with pytest.raises(rg.ArgumentError, match="to_awkward: expected a dtype that Awkward has, got bfloat16"):
        array((2, 1), dtype=ml_dtypes.bfloat16).to_awkward()


@given(st.lists(st.lists(st.lists(st.integers(-9, 9), max_size=3), max_size=3), max_size=4))
def test_lists_go_around(lists: list[list[list[int]]]) -> None:
    """Awkward and Arrow make the lists, we read them, and write them back."""
    ak = pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    for x in (
        rg.from_awkward(ak.values_astype(ak.from_iter([*lists, [[1]]]), np.int64)[:-1]),
        rg.from_arrow(pa.array(lists, pa.list_(pa.large_list(pa.int64())))),
    ):
        assert (str(x.layout), x.tolist()) == ("drr", lists)
        assert x.to_awkward().tolist() == x.to_arrow().to_pylist() == lists


# Arrow ---------------------------------------------------------------------------------------------


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
    assert all(np.shares_memory(back.offsets_of(dim), x.offsets_of(dim)) for dim in (1, 2))
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
    assert np.shares_memory(x.values, V)
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


def test_arrow_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    broken = pa.LargeListArray.from_arrays(pa.array(np.array([0, 5, 2, 3])), pa.array(V))
    cases = [
        ([[1.0]], rg.ArgumentError, "from_arrow: expected an array of Arrow, got list"),
        (pa.array([[1], None]), rg.ArgumentError, "from_arrow: expected no nulls, got 1"),
        (pa.array([[1, None, None]]), rg.ArgumentError, "from_arrow: expected no nulls, got 2"),
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


# PyTorch -------------------------------------------------------------------------------------------


def test_torch_nested_tensors_share_memory() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    parts = [torch.arange(6.0).reshape(2, 3), torch.ones(0, 3), torch.full((4, 3), 7.0)]
    nt = torch.nested.nested_tensor(parts, layout=torch.jagged)
    x = rg.from_torch_nested(nt)
    assert (str(x.layout), x.shape, x.lengths.tolist()) == ("dr|d", (3, None, 3), [2, 0, 4])
    assert x.values.data_ptr() == nt.values().data_ptr()
    assert isinstance((x * 2).values, torch.Tensor)
    back = x.to_torch_nested()
    assert back.values().data_ptr() == nt.values().data_ptr()
    assert [part.tolist() for part in back.unbind()] == x.tolist()


def test_torch_narrow_has_windows() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    base = torch.arange(24.0).reshape(2, 4, 3)
    nt = torch.nested.narrow(base, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    x = rg.from_torch_nested(nt)
    assert (str(x.layout), x.tolist()) == ("dw|d", [base[0, :2].tolist(), base[1, 1:].tolist()])
    back = x.to_torch_nested()
    assert [part.tolist() for part in back.unbind()] == x.tolist()


def test_torch_takes_numpy_results_and_bfloat16() -> None:
    """The memory of a result is read-only, which PyTorch warns of (and warnings are errors here)."""
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    result = array((3, 0, 2)) + 1
    assert [part.tolist() for part in result.to_torch_nested().unbind()] == result.tolist()
    import ml_dtypes

    x = array((3, 0, 2), dtype=ml_dtypes.bfloat16)
    there = x.to_torch_nested()
    assert there.dtype == torch.bfloat16
    assert rg.from_torch_nested(there).values.float().tolist() == x.values.astype(np.float32).tolist()
    assert array(()).to_torch_nested().size(0) == 0


def test_torch_refuses() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    with pytest.warns(UserWarning, match="prototype"):
        strided = torch.nested.nested_tensor(parts, layout=torch.strided)
    cases = [
        (parts[0], rg.ArgumentError, "from_torch_nested: expected a nested tensor, got Tensor"),
        (strided, rg.ArgumentError, "from_torch_nested: expected layout torch.jagged, got torch.strided"),
        (jagged.transpose(1, 2), rg.LayoutError, "expected the ragged dim to be dim 1, got dim 2 (transpose it)"),
        (jagged.requires_grad_(), rg.ArgumentError, "expected a tensor without gradients, got one that needs them"),
    ]
    for value, kind, message in cases:
        with pytest.raises(kind) as caught:
            rg.from_torch_nested(value)
        assert message in str(caught.value)
    with pytest.raises(
        rg.LayoutError, match='to_torch_nested: expected one ragged dim behind the batch, got layout "drr"'
    ):
        nested(NESTED[0]).to_torch_nested()


# DLPack --------------------------------------------------------------------------------------------


class Foreign:
    """An array of some library that speaks DLPack."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_dlpack_shares_memory_both_ways() -> None:
    values = np.arange(6.0)
    x = rg.from_dlpack(Foreign(values), Foreign(np.array([0, 4, 6])))
    assert x.tolist() == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0]]
    assert np.shares_memory(x.values, values)
    assert rg.from_dlpack(values, [0, 6]).tolist() == [values.tolist()]
    assert np.shares_memory(np.from_dlpack(rg.from_dlpack(values, [0, 6]).values), values)


def test_dlpack_refuses() -> None:
    with pytest.raises(rg.ArgumentError, match="from_dlpack: values: expected an array that exports DLPack, got list"):
        rg.from_dlpack([1.0], [0, 1])
    text = "from_dlpack: offsets 0: expected memory of a CPU or CUDA, got DLPack device 10"
    with pytest.raises(rg.ArgumentError, match=text):
        rg.from_dlpack(V, Foreign(V, (10, 0)))


def test_tiles_have_no_lists() -> None:
    tiled = rg.split(array((3, 0, 5)), axis=1, factor=2)
    with pytest.raises(rg.LayoutError, match='to_test: expected a layout without tiles, got "drt'):
        to_levels(tiled, "to_test")


# Packages ------------------------------------------------------------------------------------------


def test_a_missing_package_is_named() -> None:
    with pytest.raises(rg.MissingPackageError) as caught:
        optional("no_such_package", "from_nowhere", "nowhere-package")
    assert str(caught.value) == (
        "from_nowhere: expected the package nowhere-package, got none (pip install nowhere-package)"
    )
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize(
    ("convert", "package"),
    [
        (lambda: array((1, 2)).to_awkward(), "awkward"),
        (lambda: array((1, 2)).to_arrow(), "pyarrow"),
        (lambda: array((1, 2)).to_torch_nested(), "torch"),
        (lambda: rg.from_awkward(None), "awkward"),
        (lambda: rg.from_arrow(None), "pyarrow"),
        (lambda: rg.from_torch_nested(None), "torch"),
    ],
)
def test_conversions_ask_for_their_package(
    convert: Callable[[], Any], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(rg.MissingPackageError, match=f"expected the package {package}, got none"):
        convert()
