"""Loops of a block over parts of its operands, some of which are on their way to shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.lowering.gpu.contract import fragments
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.loops.annotations import keep_rolled


def in_stages(
    stages: int,
    count: Mixed,
    inits: Sequence[ir.Value],
    copy: Callable[[ir.Value, ir.Value], None],
    step: Callable[[ir.Value, ir.Value, list[ir.Value]], list[ir.Value]],
    unrolled: bool = True,
) -> list[ir.Value]:
    """A loop of a block over parts of its operands. As many as `stages` are in shared memory at once: one is read,
    while the others are on their way. `copy` starts to copy a part, and `step` takes one and gives what is carried on;
    both get the stage and the number of a part. Where copies go through registers, the loop is better not `unrolled`:
    barriers do not hold ptxas back from reading the parts of all turns at once."""
    ahead = stages - 1

    def start(number: Mixed, stage: ir.Value) -> None:
        guarded([build.less(number, count)], lambda: copy(stage, build.value(number)))
        fragments.end_group()  # of no copy behind the last part: groups are counted

    def turn(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        stage, last, *state = carried
        fragments.wait_for_groups(ahead - 1)
        ir.Operation.create("gpu.barrier")  # it has all copies, and the stage of the last turn was read
        start(build.add(number, ahead), last)
        after = build.add(stage, 1)
        following = arith.select(build.equal(after, stages), build.value(0), after)
        return [following, stage, *step(stage, number, state)]

    for number in range(ahead):
        start(number, build.value(number))
    found = flow.for_loop(count, [build.value(0), build.value(ahead), *inits], turn)
    if not unrolled:
        keep_rolled(definer(found[0]))
    return found[2:]
