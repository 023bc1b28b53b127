"""Which rows a tile of rows meets, and scores of those that are not to be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.contract import fragments
from ragged_dialect.lowering.gpu.contract.attention.constants import ROWS, number
from ragged_dialect.ops.attention import Keys


@dataclass(frozen=True)
class Visible:
    """What own rows see of a component's `others`; `shift` is added to the number of an own row before it is compared
    with those of others."""

    keys: Keys
    others: ir.Value
    shift: Mixed

    def seen(self, first: ir.Value, end: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first row that one of some own rows sees, and the one after the last: none where these cross."""
        low, high = build.value(0), self.others
        if self.keys.left is not None:
            low = build.maximum(build.sub(build.add(first, self.shift), self.keys.left), low)
        if self.keys.right is not None:
            high = build.minimum(build.add(build.add(end, self.shift), self.keys.right), high)
        return low, high

    def masked(
        self, own: tuple[ir.Value, int], firsts: Sequence[ir.Value], met: tuple[ir.Value, int], right: ir.Value,
        scores: list[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        """The scores of a thread, -inf where a row is not seen. Tiles of rows, `own` and `met`, are their first one and
        how many they have; the thread's are those from each of `firsts` on, by blocks, and those from `right` on. Most
        tiles are seen as a whole."""
        (row, rows), (other, step) = own, met
        last = build.add(row, rows)
        whole = build.at_most(build.add(other, step), self.seen(last, build.add(row, 1))[1])
        if self.keys.left is not None:
            whole = arith.andi(whole, build.at_least(other, self.seen(build.sub(last, 1), last)[0]))

        def masked() -> list[ir.Value]:
            found: list[ir.Value] = []
            size = len(scores) // len(firsts)
            for block, first in enumerate(firsts):
                ends = [self._ends(build.add(first, below), build.add(other, right), step) for below in ROWS]
                part = scores[block * size : (block + 1) * size]
                found += [self._visible(x, k, *ends[k // 2 % 2]) for k, x in enumerate(part)]
            return found

        return flow.choose(whole, lambda: scores, masked, [x.type for x in scores])

    def _ends(self, row: ir.Value, right: ir.Value, step: int) -> list[ir.Value]:
        """The first row that an own one sees and the one after the last, counted from `right` on, in 32 bits."""
        kind = ir.IntegerType.get_signless(32)
        near = (build.minimum(build.sub(x, right), step) for x in self.seen(row, build.add(row, 1)))
        return [arith.index_cast(kind, build.maximum(x, -1)) for x in near]

    def _visible(self, score: ir.Value, at: int, low: ir.Value, high: ir.Value) -> ir.Value:
        """A thread's score of that number, -inf where its row is not in between."""
        other = arith.constant(low.type, at // 4 * fragments.N + at % 2)
        seen = build.less(other, high)
        if self.keys.left is not None:
            seen = arith.andi(seen, build.at_least(other, low))
        return arith.select(seen, score, number(-math.inf))
