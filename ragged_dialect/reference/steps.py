"""Steps along components, one component and one row at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ragged_dialect.reference.making import offsets
from ragged_dialect.reference.value import Datum, RaggedValue


def steps(
    elements: Sequence[Datum],
    states: Sequence[Datum],
    step: Callable[[Sequence[Datum]], Sequence[Datum]],
    reverse: bool,
) -> list[Datum]:
    """`ragged.steps`: the states before each step, what `step` gives besides, and the states in the end."""
    whole = [RaggedValue.of(x).compact() for x in elements]
    ends = [np.array(x) for x in states]
    none = [*(x.values[:0] for x in whole), *(x[:0] for x in ends)]
    total = len(whole[0].values)
    shapes = [np.asarray(x) for x in (*none[len(whole) :], *step(none)[len(ends) :])]
    found = [np.empty((total, *x.shape[1:]), x.dtype) for x in shapes]
    for component, (first, last) in enumerate(pairwise(offsets(whole[0], 1))):
        for row in reversed(range(first, last)) if reverse else range(first, last):
            before = [x[component : component + 1].copy() for x in ends]
            made = step([*(x.values[row : row + 1] for x in whole), *before])
            for out, x in zip(found, (*before, *made[len(ends) :]), strict=True):
                out[row] = np.asarray(x)[0]
            for end, x in zip(ends, made, strict=False):
                end[component] = np.asarray(x)[0]
    axis = whole[0].axes[0]
    return [*(RaggedValue.make(x, [axis, *RaggedValue.of(x).axes[1:]]) for x in found), *ends]
