"""Sums whose error does not grow with their length: short ones in plain floats, and the sum of these in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.lowering.loops.annotations import keep_rolled

SHORT = 64
"""Numbers that may be added one after the other."""


Body = Callable[[ir.Value, list[ir.Value]], list[ir.Value]]
"""The body of a loop: its index and what it carries, to what it carries on."""


def add_to_pair(high: ir.Value, low: ir.Value, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(high, low) + x, where low is what rounding left out of high: Knuth's exact sum, then Dekker's
    normalisation, as precise as twice the digits. Infinities and nan are what plain sums give."""
    total = arith.addf(high, x)
    rounded = arith.subf(total, high)
    left = arith.addf(arith.subf(high, arith.subf(total, rounded)), arith.subf(x, rounded))
    low = arith.addf(low, left)
    # after an overflow the rest is inf - inf, and the total all there is
    low = arith.select(arith.cmpf(arith.CmpFPredicate.ORD, low, low), low, build.constant(low.type, 0.0))
    new = arith.addf(total, low)
    return new, arith.subf(low, arith.subf(new, total))


def loop_with_sums(
    low: Mixed,
    step: int,
    high: Mixed,
    inits: Sequence[ir.Value],
    sums: Sequence[int],
    body: Body,
    chunk: int = SHORT,
) -> list[ir.Value]:
    """`flow.strided` in chunks of iterations. `sums` are the numbers of what is carried that is a sum of floats: it is
    kept in pairs from one chunk to the next."""
    if not sums:
        return flow.strided(low, step, high, inits, body)
    count, size = len(inits), build.value(chunk * step)
    zeros = [build.constant(inits[k].type, 0.0) for k in sums for _ in range(2)]
    low, high = build.value(low), build.value(high)

    def part(first: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        end = arith.minsi(arith.addi(first, size), high)
        found, pairs = flow.strided(first, step, end, carried[:count], body), carried[count:]

        def kept() -> list[ir.Value]:
            added = [add_to_pair(pairs[2 * at], pairs[2 * at + 1], found[k]) for at, k in enumerate(sums)]
            new = [build.constant(x.type, -0.0) if k in sums else x for k, x in enumerate(found)]
            return [*new, *(x for pair in added for x in pair)]

        more = build.less(end, high)
        return flow.choose(more, kept, lambda: [*found, *pairs], [x.type for x in carried])

    done = flow.strided(low, chunk * step, high, [*inits, *zeros], part)
    keep_rolled(definer(done[0]))
    found, pairs = done[:count], done[count:]
    parts = [found[k] for k in sums]

    def whole() -> list[ir.Value]:
        return [add_to_pair(pairs[2 * at], pairs[2 * at + 1], x)[0] for at, x in enumerate(parts)]

    long = build.more(arith.subi(high, low), size)
    totals = flow.choose(long, whole, lambda: parts, [x.type for x in parts])
    for k, total in zip(sums, totals, strict=True):
        found[k] = total
    return found
