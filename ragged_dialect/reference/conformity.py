"""Conformity of tensors: equal logical lengths, component by component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragged_dialect.checked_data import require
from ragged_dialect.reference.value import RaggedValue


def component_lengths(x: RaggedValue, dims: Sequence[int]) -> list[int]:
    """Lengths of the last of `dims` under all indices of the others, in the order given."""
    return _lengths_under(x, x, [(dim, dim) for dim in dims])


def require_pairs(op: str, a: RaggedValue, b: RaggedValue, pairs: Sequence[tuple[int, int]]) -> None:
    """`ragged.assert_conform`: the last pair of dims, under the others as its parents."""
    x, y = pairs[-1]
    operands: list[list[int] | int] = [component_lengths(a, [i for i, _ in pairs]), _spread_lengths(a, b, pairs)]
    if _is_extent(a, x) and _is_extent(b, y):
        operands = [a.extent(x), b.extent(y)]
    require("conform", op, x, operands)


def _spread_lengths(a: RaggedValue, b: RaggedValue, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Lengths of `b`, repeated for the indices of parents that only `a` has, and only for those of `a` where `b` is
    dense."""
    parents = [(a.shape.layout.letter(i), b.shape.layout.letter(j)) for i, j in pairs[:-1] if j >= 0]
    if all(j >= 0 for _, j in pairs) and all((i == "d") == (j == "d") for i, j in parents):
        return component_lengths(b, [j for _, j in pairs])
    return _lengths_under(a, b, pairs)


def _lengths_under(a: RaggedValue, b: RaggedValue, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Lengths of `b` in the last of some pairs of dims, under all indices that `a` has in the others."""
    *parents, (_, last) = pairs
    mine, theirs = [0] * a.shape.rank, [0] * b.shape.rank

    def walk(k: int) -> Iterator[int]:
        if k == len(parents):
            yield b.length(last, theirs)
            return
        i, j = parents[k]
        for index in range(a.length(i, mine)):
            mine[i] = index
            if j >= 0:
                theirs[j] = index
            yield from walk(k + 1)

    return list(walk(0))


def _is_extent(x: RaggedValue, dim: int) -> bool:
    return x.shape.layout.letter(dim) == "d" and not x.shape.layout.is_split_outer(dim)
