"""Loops over index vectors in tiles, of which blocks do one each: how many there are and what is in one.

One block is all that a short vector needs: more launches would cost more than they save. The number of tiles is 0
where a vector is short, so that one program serves all lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow, memory
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import constant_int, defining_op, enclosing
from ragged_dialect.ir.walk import is_outside, outermost
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.gpu.kernel.status import status_of
from ragged_dialect.lowering.gpu.passes.host_code import host_functions
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.passes.base import PassFailure

LONG = 2 * DEVICE.launch_bytes // 8
"""Entries of 8 bytes that one block does in the time that two more launches take."""

TILE = DEVICE.thread_items * DEVICE.threads
"""Iterations of a block where there are many: one step of a running sum."""

_SAFE = frozenset(
    f"arith.{name}" for name in "constant addi subi muli minsi maxsi index_cast cmpi andi ori xori select".split()
)
"""Ops that the host may do though something around them keeps the device from it: no quotients."""


class SplitLongLoops:
    """A pass over loops in foralls of one iteration, less its name: those of more iterations than `long` have tiles, of
    `tile` iterations."""

    long: int
    tile: int

    def run(self, op: ir.Operation) -> None:
        """Split the loops of every function of a module. PassFailure when there are no such tiles."""
        if self.long < 0 or self.tile < 1:
            raise PassFailure(
                op, f"expected long of at least 0 and a tile of at least 1, got {self.long} and {self.tile}"
            )
        for function in host_functions(op):
            status = status_of(op, function)
            for forall in lone_foralls(function):
                self.split(forall, status)

    def split(self, forall: ir.Operation, status: ir.Value | None) -> None:
        """Split the loops of a forall; `status` is the function's record of checks."""
        raise NotImplementedError


@dataclass(frozen=True)
class VectorTiles:
    """The tiles of a loop: its bounds and how many tiles there are, on the host, and iterations of a tile."""

    low: Mixed
    high: Mixed
    count: ir.Value
    tile: int

    @staticmethod
    def of(
        loop: ir.Operation, forall: ir.Operation, limits: SplitLongLoops, conditions: Sequence[ir.Value] = ()
    ) -> VectorTiles | None:
        """The tiles of a loop in a forall of one iteration, made before that. None where the host does not know
        the bounds, and where it knows that they are close. There are none where `conditions` do not hold, or the
        host knows that an `scf.if` around the loop leaves it out."""
        bounds = list(loop.operands[:2])
        if not all(is_known(x, forall) for x in bounds):
            return None
        with ir.InsertionPoint(forall), loop.location:
            low, high = (on_host(x, forall) for x in bounds)
            size = build.sub(high, low)
            if isinstance(size, int) and size <= limits.long:
                return None
            long = build.more(size, limits.long)
            for condition in [*conditions, *_conditions(loop, forall)]:
                long = arith.andi(long, condition)
            count = arith.select(long, build.value(build.ceildiv(size, limits.tile)), build.value(0))
        return VectorTiles(low, high, count, limits.tile)

    def room(self, more: int = 0) -> ir.Value:
        """A vector of an i64 per tile, and some more."""
        return memory.room([build.add(self.count, more)], build.i64())

    def choose(self, tiled: Callable[[], ir.Value], whole: Callable[[], ir.Value], type_: ir.Type) -> ir.Value:
        """One value where the loop is done in tiles, another elsewhere."""
        used = build.more(self.count, 0)
        return flow.choose(used, lambda: [tiled()], lambda: [whole()], [type_])[0]

    def step(self) -> ir.Value:
        """Iterations of a tile; all of them where there are no tiles."""
        return self.choose(
            lambda: build.value(self.tile), lambda: build.value(build.sub(self.high, self.low)), build.index_type()
        )

    def bounds(self, number: ir.Value, step: Mixed | None = None) -> tuple[ir.Value, ir.Value]:
        """Where a tile starts and ends; `step` is given where there may be none."""
        step = self.tile if step is None else step
        first = build.add(self.low, build.mul(number, step))
        return build.value(first), build.value(build.minimum(build.add(first, step), self.high))


def is_known(x: ir.Value, forall: ir.Operation) -> bool:
    """Whether the host can compute a value that a forall uses."""
    if is_outside(x, forall):
        return True
    op = defining_op(x)
    return op is not None and op.name in _SAFE and all(is_known(y, forall) for y in op.operands)


def is_number(x: ir.Value) -> bool:
    """Whether an index is a constant, of 0 or more."""
    number = constant_int(x)
    return number is not None and number >= 0


def on_host(x: ir.Value, forall: ir.Operation) -> Mixed:
    """The value, computed before the forall."""
    op, number = defining_op(x), constant_int(x)
    if isinstance(x.type, ir.IndexType) and number is not None:
        return number
    if op is None or is_outside(x, forall):
        return x
    operands = {y: on_host(y, forall) for y in op.operands}
    return clone(op, {y: build.value(found) for y, found in operands.items()}).results[0]


def _conditions(loop: ir.Operation, forall: ir.Operation) -> list[ir.Value]:
    """What is known at launch of the conditions for a loop to run."""
    found: list[ir.Value] = []
    inner, outer = loop, enclosing(loop)
    while outer != forall:
        if outer.name == "scf.if" and is_known(outer.operands[0], forall):
            condition = build.value(on_host(outer.operands[0], forall))
            runs = inner.block == outer.regions[0].blocks[0]
            found.append(condition if runs else arith.xori(condition, build.constant(condition.type, -1)))
        inner, outer = outer, enclosing(outer)
    return found


def lone_foralls(function: ir.Operation) -> list[ir.Operation]:
    """The foralls of one iteration whose body a block runs."""
    foralls = outermost(function, "scf.forall")
    return [forall for forall in foralls if counts_of(forall) == [1] and not Mapping.of(forall).is_serial]
