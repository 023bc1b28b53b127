"""`ragged.all_to_all` on the group that is entered. Ranks as threads interpret a program of all ranks at once."""

from __future__ import annotations

import numpy as np

from ragged_dialect.ranks.group import current
from ragged_dialect.reference.axis import flatten, prefix_sums
from ragged_dialect.reference.value import Array, Datum, RaggedValue


def all_to_all(x: RaggedValue | Array, *turn: Datum) -> Datum:
    """Component by component: its lengths level by level, then its elements."""
    group, x = current(), RaggedValue.of(x)
    axis, *_ = x.axes
    blocks, deep = axis.expand(), len(axis.letters) - 1
    vectors: list[list[int]] = []
    for level, letter in enumerate(axis.letters[1:], 1):
        if letter == "r":
            own = [[len(part) for part in flatten(block, level - 1)] for block in blocks]
            lengths, _ = group.rows(np.array(flatten(own, 2), np.int64), [len(part) for part in own])
            vectors.append(prefix_sums(lengths.tolist()))
    places = [flatten(block, deep) if deep else [block] for block in blocks]
    values, _ = group.rows(x.values[flatten(places, 2)], [len(part) for part in places])
    if x.shape.layout.is_dense:
        return values
    extents = iter(x.extent(part.dim) for part in x.shape.parts() if part.kind == "extent")
    given = iter(vectors)
    parts: list[Array] = [values]
    for part in x.shape.parts()[1:]:
        parts.append(np.array(next(extents if part.kind == "extent" else given), np.int64))
    return RaggedValue.from_parts(x.shape, parts)
