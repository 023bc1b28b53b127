"""Conformity of tensors: equal logical lengths, component by component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragged_dialect.checks import Check
from ragged_dialect.reference.validity import conform, raise_first, require
from ragged_dialect.reference.value import RaggedValue


def component_lengths(x: RaggedValue, dims: Sequence[int]) -> list[int]:
    """Lengths of the last of `dims` under all indices of the others, in the order given."""
    *parents, last = dims
    index = [0] * x.shape.rank

    def walk(k: int) -> Iterator[int]:
        if k == len(parents):
            yield x.length(last, index)
            return
        for i in range(x.length(parents[k], index)):
            index[parents[k]] = i
            yield from walk(k + 1)

    return list(walk(0))


def require_pairs(op: str, a: RaggedValue, b: RaggedValue, pairs: Sequence[tuple[int, int]]) -> None:
    """`ragged.assert_conform`: the last pair of dims, under the others as its parents."""
    first = component_lengths(a, [i for i, _ in pairs])
    second = component_lengths(b, [j for _, j in pairs])
    raise_first(Check("conform", op, pairs[-1][0]), conform(first, second))


def require_conform(op: str, a: RaggedValue, b: RaggedValue) -> None:
    """Two tensors of one layout agree in every dim."""
    for dim, letter in enumerate(a.shape.layout.letters):
        if letter == "d":
            require("equal", op, dim, [b.extent(dim), a.extent(dim)])
        else:
            axis, place = a.locate(dim)
            first = a.shape.layout.dims(axis)[0]
            require_pairs(op, a, b, [(d, d) for d in (*range(first, first + place), dim)])
