"""What happens to the sums that threads have of a product: elementwise ops on them, and stores."""

from __future__ import annotations

from functools import partial, reduce

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import in_block
from ragged_dialect.ir.walk import is_outside
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_allocation, root
from ragged_dialect.lowering.gpu.contract import splitting
from ragged_dialect.lowering.gpu.contract.match import RESULT, Contraction
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.kernel.vector_access import access_of

PAIR = 2
"""Neighbours in a row that a thread has."""


class Results:
    """The product and the ops that follow it, at a component; `placed` are their generics, and `start` is what sums
    start with, if it is no result."""

    def __init__(self, found: Contraction, placed: list[GenericOp], start: ir.Value | None) -> None:
        self._found = found
        self._start = build.constant(ir.F32Type.get(), 0.0) if start is None else start
        self._placed = placed
        self._ends = [placed[0].extent(loop) for loop in (found.roles.m, found.roles.n)]
        self._pairs = isinstance(self._ends[1], int) and self._ends[1] % PAIR == 0

    def store(self, row: Mixed, column: Mixed, sums: list[ir.Value]) -> None:
        """Do with two neighbours in a row what follows, where they are in the result. The row is."""
        if self._pairs:
            guarded([build.less(column, self._ends[1])], partial(self._put, row, column, sums))
            return
        for k, total in enumerate(sums):
            at = build.add(column, k)
            guarded([build.less(at, self._ends[1])], partial(self._put, row, at, [total]))

    def in_row(self, row: Mixed) -> ir.Value:
        """Whether the result has a row."""
        return build.less(row, self._ends[0])

    def _put(self, row: Mixed, column: Mixed, sums: list[ir.Value]) -> None:
        found, (product, *following) = self._found, self._placed
        point: Point = [0, 0, 0]
        point[found.roles.m], point[found.roles.n] = row, column
        payload = self._payload(product, found.roles.n)
        if splitting.is_split(product.operands[0].type.element_type):
            sums = self._numbers(product, point, sums)
        if found.start is None:
            earlier = payload.load(RESULT, point)
            sums = [arith.addf(total, x) for total, x in zip(sums, earlier, strict=True)]
        known = {found.product.operands[RESULT]: sums}
        if not _is_private(found):
            payload.store(0, point, sums)
        for op, generic in zip(found.following, following, strict=True):
            self._follow(op, generic, [row, column], known)

    def _numbers(self, product: GenericOp, point: Point, sums: list[ir.Value]) -> list[ir.Value]:
        """Neighbours in a row; computed again without parts of numbers where one of them is not finite, as it is
        where an infinite number was split, or where only the products of parts are too large."""
        payload, loops = Payload(product), self._found.roles
        points = [[build.add(x, k) if loop == loops.n else x for loop, x in enumerate(point)] for k in range(len(sums))]

        def turn(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            found: list[ir.Value] = []
            for point, total in zip(points, carried, strict=True):
                at = [number if loop == loops.k else x for loop, x in enumerate(point)]
                (value,) = payload.values(at, [payload.load(0, at), payload.load(1, at), [total]])
                found.append(value(product.yielded[0]))
            return found

        lost = [arith.cmpf(arith.CmpFPredicate.UNO, x, x) for x in (arith.subf(x, x) for x in sums)]
        again = partial(flow.for_loop, product.extent(loops.k), [self._start] * len(sums), turn)
        return flow.choose(reduce(arith.ori, lost), again, lambda: sums, [x.type for x in sums])

    def _follow(
        self, op: ir.Operation, generic: GenericOp, point: Point, known: dict[ir.Value, list[ir.Value]]
    ) -> None:
        """Compute and store an op's outs; `known` has what there is of each view, by its name in the forall."""
        payload = self._payload(generic, 1)
        operands = [
            (known[x] if x in known else payload.load(k, point)) if generic.is_read(k) else None
            for k, x in enumerate(op.operands)
        ]
        values = payload.values(point, operands)
        for out, x in enumerate(GenericOp(op).outs):
            known[x] = [value(generic.yielded[out]) for value in values]
            payload.store(out, point, known[x])

    def _payload(self, generic: GenericOp, columns: int) -> Payload:
        return Payload(generic, access_of(generic, columns, PAIR) if self._pairs else None)


def _is_private(found: Contraction) -> bool:
    """Whether nobody else looks at the product itself."""
    buffer = root(found.product.operands[RESULT])
    return bool(found.following) and is_allocation(buffer) and _only_in(found.forall, buffer)


def _only_in(forall: ir.Operation, buffer: ir.Value) -> bool:
    """Whether a buffer is accessed in a forall alone."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS and is_outside(op.results[0], forall):
            if not _only_in(forall, op.results[0]):
                return False
        elif op.name != "memref.dim" and in_block(op, forall.regions[0].blocks[0]) is None:
            return False
    return True
