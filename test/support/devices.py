"""Arrays that claim to be on a GPU, for what is refused before anybody reads them."""

from __future__ import annotations

from types import SimpleNamespace

import ragged_dialect as rg
from ragged_dialect.arrays.core.spec import spec


class OnGpu:
    """An index vector of two entries on the first GPU."""

    device = SimpleNamespace(id=0)
    shape = (2,)

    def copy(self) -> OnGpu:
        """Itself: nothing is in it."""
        return self


def on_a_gpu(x: rg.RaggedArray) -> rg.RaggedArray:
    """The array, as if its memory were the first GPU's."""
    known = x.spec
    moved = spec(known.layout, known.shape, known.dtype, "cuda:0", "cupy")
    return rg.RaggedArray.trusted(x.buffer, x.axes, moved)
