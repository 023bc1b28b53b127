"""The payload of a `linalg.generic` at given index points: loads first, then computing, then stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ragged_dialect._mlir import ir, memref, vector
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import bit_width
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import is_buffer
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.vector_access import VectorAccess
from ragged_dialect.traits import int_attr

Point = list[Mixed]
"""One index per loop."""


class Payload:
    """Evaluates the payload; `skipped` ops are left out (combiners that are applied apart). With
    `vector` a point stands for several, its lanes: it and those that follow along one loop. The payload's own indices
    count from `first`, for loops that it has."""

    def __init__(
        self,
        generic: GenericOp,
        vector: VectorAccess | None = None,
        skipped: Iterable[ir.Operation] = (),
        first: Mapping[int, ir.Value] | None = None,
    ) -> None:
        self.generic = generic
        self.vector = vector
        self.skipped = set(skipped)
        self.first = first or {}

    def at(
        self, points: list[Point], stored: list[int], known: Mapping[int, list[ir.Value]] | None = None
    ) -> list[Callable[[ir.Value], ir.Value]]:
        """Run at some points, storing the outs `stored`, where others have `known` elements; for every point and
        lane, in order, a function from a value of the payload to its value there."""
        loaded = [self.loads(point, stored) for point in points]
        for out, values in (known or {}).items():
            for operands in loaded:
                operands[self.generic.n_inputs + out] = values
        found: list[Callable[[ir.Value], ir.Value]] = []
        for point, operands in zip(points, loaded, strict=True):
            found += self.values(point, operands)
        width = len(found) // len(points)
        for k, point in enumerate(points):
            self.store_all(point, found[k * width : (k + 1) * width], stored)
        return found

    def values(self, point: Point, operands: list[list[ir.Value] | None]) -> list[Callable[[ir.Value], ir.Value]]:
        """As `at` for one point, given what `load` gave for the operands; nothing is stored."""
        return [
            self._evaluate(at, [x if x is None else x[lane % len(x)] for x in operands])
            for lane, at in enumerate(self._lanes(point))
        ]

    def load(self, k: int, point: Point) -> list[ir.Value]:
        """Elements of operand k at the lanes of a point; one when the lanes share it."""
        x = self.generic.operands[k]
        if not is_buffer(x):
            return [x]
        if self.vector is None or self.vector.loop not in self.generic.loops_of(k):
            return [memref.load(x, self.generic.indices(k, point))]
        if k not in self.vector.operands:
            return [memref.load(x, self.generic.indices(k, at)) for at in self._lanes(point)]
        type_ = ir.VectorType.get([self.vector.width], x.type.element_type)
        whole = vector.load(type_, x, self.generic.indices(k, point), alignment=_alignment(type_))
        return [vector.extract(whole, [], [lane]) for lane in range(self.vector.width)]

    def store(self, out: int, point: Point, values: list[ir.Value]) -> None:
        """Store the elements of an out at the lanes of a point."""
        k = self.generic.n_inputs + out
        x = self.generic.operands[k]
        if self.vector is not None and k in self.vector.operands:
            type_ = ir.VectorType.get([self.vector.width], x.type.element_type)
            whole = vector.from_elements(type_, values)
            vector.store(whole, x, self.generic.indices(k, point), alignment=_alignment(type_))
            return
        lanes = self._lanes(point) if len(values) > 1 else [point]
        for at, value in zip(lanes, values, strict=True):
            memref.store(value, x, self.generic.indices(k, at))

    def store_all(
        self, point: Point, lanes: list[Callable[[ir.Value], ir.Value]], stored: list[int] | None = None
    ) -> None:
        """Store some outs, or all, given what `values` gave for a point."""
        for out in range(len(self.generic.outs)) if stored is None else stored:
            self.store(out, point, [value(self.generic.yielded[out]) for value in lanes])

    def _lanes(self, point: Point) -> list[Point]:
        if self.vector is None:
            return [point]
        loop = self.vector.loop
        return [[*point[:loop], build.add(point[loop], lane), *point[loop + 1 :]] for lane in range(self.vector.width)]

    def loads(self, point: Point, stored: list[int]) -> list[list[ir.Value] | None]:
        """What `load` gives for the operands that are read, of the outs for those that are stored."""
        outs = {self.generic.n_inputs + out for out in stored}
        wanted = [
            self.generic.is_read(k) and (k < self.generic.n_inputs or k in outs)
            for k in range(len(self.generic.operands))
        ]
        return [self.load(k, point) if want else None for k, want in enumerate(wanted)]

    def _evaluate(self, point: Point, values: list[ir.Value | None]) -> Callable[[ir.Value], ir.Value]:
        known: ValueMap = {a: v for a, v in zip(self.generic.block.arguments, values, strict=True) if v is not None}
        indices = [build.sub(i, self.first[loop]) if loop in self.first else i for loop, i in enumerate(point)]
        for op in self.generic.payload:
            if op not in self.skipped:
                _copy(op, known, indices)
        return lambda value: known.get(value, value)


def _alignment(type_: ir.VectorType) -> int:
    return min(DEVICE.access_bytes, type_.shape[0] * bit_width(type_.element_type) // 8)


def _copy(op: ir.Operation, known: dict[ir.Value, ir.Value], point: Point) -> None:
    """Copy an op of the payload to the insertion point, with what is in its regions."""
    if op.name == "linalg.index":
        known[op.results[0]] = build.value(point[int_attr(op, "dim")])
        return
    for index in find_ops(clone(op, known), "linalg.index"):
        with ir.InsertionPoint(index):
            index.results[0].replace_all_uses_with(build.value(point[int_attr(index, "dim")]))
