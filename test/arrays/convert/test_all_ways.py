"""What all conversions have in common, and DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.components import array
from support.conversions import V

import ragged_dialect as rg
from ragged_dialect.arrays.convert.nesting import to_levels
from ragged_dialect.arrays.convert.optional import optional


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
    text = "from_dlpack: values: expected an array that DLPack can pass on, got Foreign"
    with pytest.raises(rg.ArgumentError, match=text):
        rg.from_dlpack(Foreign(np.zeros(1, "M8[s]")), [0, 1])
    text = "from_dlpack: offsets 0: expected memory of a CPU or CUDA, got DLPack device 10"
    with pytest.raises(rg.ArgumentError, match=text):
        rg.from_dlpack(V, Foreign(V, (10, 0)))


def test_tiles_have_no_lists() -> None:
    tiled = rg.split(array((3, 0, 5)), axis=1, factor=2)
    with pytest.raises(rg.LayoutError, match='to_test: expected a layout without tiles, got "drt'):
        to_levels(tiled, "to_test")


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
