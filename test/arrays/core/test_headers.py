"""The dtype, the shape and the strides of an array of NumPy can be set in place, of a read-only one too: no program and
no look-up goes by what they become."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.core.structure import Structure

pytestmark = pytest.mark.filterwarnings("ignore:Setting:DeprecationWarning")

CHANGES: dict[str, Callable[[Any], None]] = {
    "dtype": lambda a: setattr(a, "dtype", np.int8),
    "shape": lambda a: setattr(a, "shape", (1, *a.shape)),
    "strides": lambda a: setattr(a, "strides", (0,) * a.ndim),
}


def frozen_offsets() -> Any:
    """Offsets in memory of bytes, which arrays share."""
    return np.frombuffer(np.array([0, 3, 3, 10], np.int64).tobytes(), np.int64)


WAYS: dict[str, tuple[Callable[..., rg.RaggedArray], Callable[[], tuple[Any, ...]]]] = {
    "from_lengths": (lambda v: rg.from_lengths(v, [3, 0, 7]), lambda: (np.arange(10.0),)),
    "from_offsets": (lambda v, o: rg.from_offsets(v, o), lambda: (np.arange(10.0), frozen_offsets())),
    "of": (
        lambda v, o: rg.RaggedArray.of(v, [Structure.of_offsets(o)], op="test"),
        lambda: (np.arange(10.0), frozen_offsets()),
    ),
    "partition": (lambda v, o: rg.partition(v, o), lambda: (np.arange(10.0), frozen_offsets())),
}


def looks(x: rg.RaggedArray) -> list[Any]:
    """What one sees of an array."""
    found = [x.tolist(), x.sum(1).tolist(), (x * 2).tolist(), x[::-1].tolist(), pickle.loads(pickle.dumps(x)).tolist()]
    return [*found, x.values.tolist(), x.offsets.tolist(), x.starts.tolist(), x.lengths.tolist(), x.row_ids.tolist()]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", WAYS)
def test_of_what_came_in(way: str, change: str) -> None:
    make, given = WAYS[way]
    arrays = given()
    x, expected = make(*arrays), looks(make(*given()))
    for array in arrays:
        CHANGES[change](array)
    assert looks(x) == expected


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("windows", [False, True])
def test_of_what_was_given(windows: bool, change: str) -> None:
    x = rg.from_lengths(np.arange(10.0), [3, 0, 7])
    x = x[:, 1:] if windows else x
    expected = looks(x)
    for _ in range(2):
        stored = x.stored
        for array in (x.values, x.offsets, x.starts, x.lengths, x.row_ids, stored.values, *stored.vectors):
            CHANGES[change](array)
    assert looks(x) == expected


@pytest.mark.parametrize("change", CHANGES)
def test_of_what_a_function_holds(change: str) -> None:
    x, w, ids = rg.from_lengths(np.arange(8.0).reshape(4, 2), [1, 3]), np.array([10.0, 20.0]), np.array([1, 0])
    function = rg.jit(lambda x: (x + w)[ids])
    expected = function(x).tolist()
    for array in (w, ids):
        CHANGES[change](array)
    assert function(x).tolist() == expected


@pytest.mark.parametrize("change", CHANGES)
def test_of_results(change: str) -> None:
    x = rg.from_lengths(np.arange(10.0), [3, 0, 7])
    y = x * 2
    expected = looks(y)
    for array in (y.values, y.stored.values):
        CHANGES[change](array)
    assert looks(y) == expected


@pytest.mark.parametrize("change", ["unsqueeze_(0)", "t_()", "resize_(2)", "set_()", "data"])
def test_of_tensors(change: str) -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    values, offsets = torch.arange(10.0).reshape(10, 1), torch.tensor([0, 3, 3, 10])
    x = rg.from_offsets(values, offsets)
    expected = [x.tolist(), x.values.tolist(), x.sum(1).tolist(), (x * 2).tolist()]
    if change == "data":
        values.data = torch.zeros(1)
    else:
        name, _, argument = change.rstrip(")").partition("(")
        getattr(values, name)(*map(int, argument))
    assert [x.tolist(), x.values.tolist(), x.sum(1).tolist(), (x * 2).tolist()] == expected
