"""One group's walk over its part of the merge path: the sequence of rows and component ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.lowering.gpu.kernel.combiner import Combiner, fold_values
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.thread_loops import with_index
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode, PlacedReduction
from ragged_dialect.lowering.gpu.segmented.component_rows import Follower, RowWork, asks_index
from ragged_dialect.lowering.gpu.segmented.lanes import Lanes

State = list[ir.Value]
"""Values that a loop carries."""

Elements = dict[int, list[ir.Value]]
"""What is read at a row, by operand."""


@dataclass(frozen=True)
class Piece:
    """Rows `row` to `last_row`; components `component` to `last_component` end in it."""

    row: ir.Value
    component: ir.Value
    last_row: ir.Value
    last_component: ir.Value


class RowWalk:
    """Emits the walk of one thread. `at` is its place among the features, `storage` the number of rows
    that can be read.

    Long stretches of one component are read `batch` accesses at a time; where components end, some
    rows are read before it is looked which component each belongs to."""

    def __init__(
        self, code: ComponentCode, reduction: RowWork, lanes: Lanes, at: Point, storage: ir.Value, batch: int
    ) -> None:
        self.code = code
        self.reduction = reduction
        self.lanes = lanes
        self.at = at
        self.storage = storage
        self.batch = batch
        self.mixed = max(DEVICE.boundary_rows, 2 * lanes.rows)
        self.original = PlacedReduction.of(GenericOp(reduction.op))
        self.numbered = any(asks_index(op, reduction.loop) for op in self.original.generic.payload)
        self.read = [k for k in reduction.rows if self.original.generic.is_read(k)]

    # Accumulators -----------------------------------------------------------------------------------

    def owners(self, placed: PlacedReduction) -> list[Combiner]:
        """The combiner of every accumulator of a thread."""
        return [c for c in placed.combiners for _ in range(self.lanes.width)]

    def neutral(self) -> State:
        """Accumulators of no rows."""
        return [c.identity() for c in self.owners(self.original)]

    def combined(self, a: State, b: State) -> State:
        """Accumulators of the rows of both."""
        return [c.apply(x, y) for c, x, y in zip(self.owners(self.original), a, b, strict=True)]

    def store(self, component: ir.Value, accumulators: State, first: bool = True) -> None:
        """Store what a component's rows gave with what its outs start from, or add it to what is stored."""
        width = self.lanes.width
        with self._placed(component) as placed:
            payload = self._payload(placed)
            for out, combiner in enumerate(placed.combiners):
                init = self.reduction.inits.get(out) if first else None
                if init is None:
                    inits = payload.load(placed.generic.n_inputs + out, self.at)
                else:
                    inits = [self.code.value(init, self.code.at(component))] * width
                mine = accumulators[out * width : (out + 1) * width]
                payload.store(out, self.at, [combiner.apply(x, y) for x, y in zip(mine, inits, strict=True)])
        for follower in self.reduction.followers:
            self._follow(component, follower)

    def _follow(self, component: ir.Value, follower: Follower) -> None:
        with self.code.placed(follower.op, component) as generic:
            point: Point = [self.at[follower.loops[loop]] for loop in range(generic.rank)]
            Payload(generic, self.lanes.along(generic, follower.loops)).at([point], list(range(len(generic.outs))))

    @contextmanager
    def _placed(self, component: ir.Value) -> Generator[PlacedReduction]:
        with self.code.placed(self.reduction.op, component) as generic:
            yield PlacedReduction.of(generic)

    def _payload(self, placed: PlacedReduction, wide: bool = True, component: ir.Value | None = None) -> Payload:
        """The payload; for it to be evaluated at rows of a component, that one."""
        first = {} if component is None or not self.numbered else {self.lanes.loop: self.code.low(component)}
        return Payload(placed.generic, self.lanes.vector if wide else None, placed.skipped, first)

    # Walking ----------------------------------------------------------------------------------------

    def walk(self, piece: Piece, high: ir.Value) -> State:
        """Finish the components that end in a piece; the accumulators of the rows after the last of
        them. `high` is where the first component's rows end."""
        neutral = self.neutral()
        state = [piece.row, piece.component, high, *neutral]

        def more(state: State) -> ir.Value:
            return build.less(state[0], piece.last_row)

        _, component, _, *accumulators = flow.repeat(state, more, lambda s: self._advance(piece, s, neutral))

        def end(c: ir.Value, carried: State) -> State:
            self.store(c, carried)
            return neutral

        return flow.strided(component, 1, piece.last_component, accumulators, end)

    def _advance(self, piece: Piece, state: State, neutral: State) -> State:
        """Whole batches of one component, then some rows of whichever components."""
        row, component, high, *accumulators = state
        row, accumulators = self._stretch(row, build.minimum(high, piece.last_row), component, accumulators)
        state = [row, component, high, *accumulators]
        types = [x.type for x in state]
        left = build.less(row, piece.last_row)
        return flow.choose(left, lambda: self._rows(piece, state, neutral), lambda: state, types)

    def _stretch(
        self, row: ir.Value, stop: ir.Value, component: ir.Value, accumulators: State
    ) -> tuple[ir.Value, State]:
        """Batches of one component's rows, as many as there are before `stop`."""
        rows = self.batch * self.lanes.rows
        left = arith.subi(stop, row)
        if self.lanes.rows > 1:
            aligned = build.equal(arith.remui(row, build.value(self.lanes.rows)), 0)
            left = arith.select(aligned, left, build.value(0))
        end = arith.addi(row, arith.muli(arith.divui(left, build.value(rows)), build.value(rows)))
        with self._placed(component) as placed:
            payload, owners = self._payload(placed, component=component), self.owners(placed)

            def batch(i: ir.Value, carried: State) -> State:
                points = [self._point(build.add(i, k * self.lanes.rows)) for k in range(self.batch)]
                return fold_values(owners, self.lanes.width, payload.at(points, []), carried)

            return end, flow.strided(row, rows, end, accumulators, batch)

    def _point(self, row: ir.Value) -> Point:
        return with_index(self.at, self.lanes.loop, row)

    # Rows of different components -------------------------------------------------------------------

    def _rows(self, piece: Piece, state: State, neutral: State) -> State:
        """The next rows."""
        row, *state = state
        if self.lanes.rows == 1:
            stop = build.minimum(build.add(row, self.mixed), piece.last_row)
            last: ir.Value = arith.subi(stop, build.value(1))
            elements = self._load([row, *(build.minimum(build.add(row, k), last) for k in range(1, self.mixed))], True)
            state = self._row(row, elements[0], state, neutral)
            return [stop, *self._each(row, row, stop, elements, 1, state, neutral)]
        start: ir.Value = arith.subi(row, arith.remui(row, build.value(self.mixed)))
        whole = build.at_most(build.add(start, self.mixed), self.storage)
        types = [row.type, *(x.type for x in state)]
        return flow.choose(
            whole,
            lambda: self._aligned(piece, start, [row, *state], neutral),
            lambda: [build.add(row, 1), *self._row(row, self._load([row], False)[0], state, neutral)],
            types,
        )

    def _aligned(self, piece: Piece, start: ir.Value, state: State, neutral: State) -> State:
        """The rows up to a multiple of their number, read as wide as the rows before them allow."""
        row, *state = state
        stop = build.minimum(build.add(start, self.mixed), piece.last_row)
        wide = self._load([build.add(start, k) for k in range(0, self.mixed, self.lanes.rows)], True)
        lanes = range(self.lanes.rows)
        elements = [{k: [x[lane]] for k, x in found.items()} for found in wide for lane in lanes]
        return [stop, *self._each(start, row, stop, elements, 0, state, neutral)]

    def _each(
        self,
        start: ir.Value,
        low: ir.Value,
        stop: ir.Value,
        elements: list[Elements],
        first: int,
        state: State,
        neutral: State,
    ) -> State:
        """Rows from `start` on, of which those count that are from `low` to `stop`."""
        for k, loaded in enumerate(elements[first:], first):
            here = build.add(start, k)
            inside = build.less(here, stop)
            if self.lanes.rows > 1:
                inside = arith.andi(inside, build.at_least(here, low))
            state = flow.choose(
                inside,
                lambda here=here, loaded=loaded, state=state: self._row(here, loaded, state, neutral),
                lambda state=state: state,
                [x.type for x in state],
            )
        return state

    def _load(self, rows: list[ir.Value], wide: bool) -> list[Elements]:
        """Elements of the operands with rows, at some rows."""
        with self._placed(build.value(0)) as placed:
            payload = self._payload(placed, wide)
            return [{k: payload.load(k, self._point(row)) for k in self.read} for row in rows]

    def _row(self, row: ir.Value, loaded: Elements, state: State, neutral: State) -> State:
        """End the components before a row, then add it to its own."""

        def ended(state: State) -> ir.Value:
            return build.at_most(state[1], row)

        def end(state: State) -> State:
            component, _, *accumulators = state
            self.store(component, accumulators)
            following = arith.addi(component, build.value(1))
            return [following, self.code.high(following), *neutral]

        component, high, *accumulators = flow.repeat(state, ended, end)
        with self._placed(component) as placed:
            payload = self._payload(placed, self.lanes.rows == 1, component)
            point, generic = self._point(row), placed.generic
            operands: list[list[ir.Value] | None] = [None] * len(generic.operands)
            for k in range(generic.n_inputs):
                if generic.is_read(k):
                    operands[k] = loaded[k] if k in loaded else payload.load(k, point)
            values = payload.values(point, operands)
            return [component, high, *fold_values(self.owners(placed), self.lanes.width, values, accumulators)]
