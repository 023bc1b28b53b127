"""Arrays of any layout as the elements of a list of lists, by index, and what a reduction makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ragged_dialect as rg

Index = tuple[int, ...]


def lists(x: Any) -> Any:
    """Arrays and tuples of them as lists."""
    return [lists(p) for p in x] if isinstance(x, tuple) else x.tolist()


def elements(value: Any, rank: int, index: Index = ()) -> Iterator[tuple[Index, Any]]:
    """The numbers of nested lists with their indices, in order."""
    if len(index) == rank:
        yield index, value
        return
    for at, item in enumerate(value):
        yield from elements(item, rank, (*index, at))


def by_index(x: Any) -> dict[Index, Any]:
    """The elements of a ragged or dense array."""
    return dict(elements(x.tolist(), x.ndim))


def groups(x: rg.RaggedArray, dims: set[int]) -> dict[Index, list[tuple[Index, Any]]]:
    """The elements with equal indices of all dims but `dims`, with their indices, by those."""
    found: dict[Index, list[tuple[Index, Any]]] = {}
    for index, number in elements(x.tolist(), x.ndim):
        found.setdefault(without(index, dims), []).append((index, number))
    return found


def without(index: Index, dims: set[int]) -> Index:
    """An index without some dims."""
    return tuple(at for dim, at in enumerate(index) if dim not in dims)


def assert_reduced(got: Any, x: rg.RaggedArray, dims: set[int], function: Callable[[Any], Any], empty: float) -> None:
    """`got` has `function` of the numbers of every group, and `empty` where a result has none."""
    found, expected = by_index(got), groups(x, dims)
    assert set(expected) <= set(found)
    for index, number in found.items():
        numbers = [n for _, n in expected.get(index, ())]
        wanted = function(np.array(numbers)) if numbers else empty
        np.testing.assert_allclose(float(number), float(wanted), 1e-9, 1e-9, err_msg=str(index))


def assert_mapped(got: Any, x: rg.RaggedArray, dims: set[int], function: Callable[[Any], Any]) -> None:
    """`got` has the structure of `x`, and `function` of the numbers of every group in their places."""
    found = by_index(got)
    assert list(found) == list(by_index(x))
    for group in groups(x, dims).values():
        wanted = function(np.array([n for _, n in group]))
        np.testing.assert_allclose([found[index] for index, _ in group], wanted, 1e-9, 1e-9)
