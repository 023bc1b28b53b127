"""Programs of static columns: where a dense argument's first dim, which is no part of a key, becomes columns."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import unflatten
from ragged_dialect.arrays.tracing.function import Compiled
from ragged_dialect.arrays.tracing.leaves import Leaves, of_extents
from ragged_dialect.locks import lock

_EXTENTS = 4
"""For how many extents there are programs: what has more than a function's weights have is a batch, which takes one for
all."""


class Columns:
    """Programs by the first extents of some dense arguments, such as the weights `w` of `x @ w.T`. The one result of a
    call is what the function returns. `make` compiles for leaves; which arguments have columns is told by the first
    program, `made`, whatever the function does when it is traced again."""

    def __init__(self, make: Callable[[Leaves], Compiled], leaves: Leaves, made: Compiled) -> None:
        self._make = make
        self._columns: tuple[int, ...] = made[0].columns
        self._programs: dict[tuple[int, ...] | None, Compiled] = {self._extents(leaves): made}
        self._making = lock()

    def __call__(self, leaves: Leaves) -> list[ArrayLike]:
        """The results of a call."""
        extents = self._extents(leaves)
        program, tree = self._programs.get(extents) or self._compiled(extents, leaves)
        results = program(leaves)
        return [results[0] if tree is None else unflatten(tree, results)]

    def _extents(self, leaves: Leaves) -> tuple[int, ...]:
        return tuple([leaves[k].shape[0] for k in self._columns])

    def _compiled(self, extents: tuple[int, ...], leaves: Leaves) -> Compiled:
        """The program for extents, or for all; one at a time, since they are counted."""
        with self._making:
            key = extents if len(self._programs) < _EXTENTS or extents in self._programs else None
            if key not in self._programs:
                self._programs[key] = self._make(leaves if key is None else of_extents(leaves, self._columns))
            return self._programs[key]
