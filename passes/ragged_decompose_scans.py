"""`ragged-decompose-scans`: scans in passes over all elements, each of which combines what is twice as far apart."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checks import CHECKED
from ragged_dialect.generic import along, generic, loop_index, without
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.kinds import combine, neutral
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.iteration import share_mapping
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.making import ScanOp
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.traits import has_unit
from ragged_dialect.types import shape_of


class RaggedDecomposeScans(RaggedPass):
    """Replace `ragged.scan` by passes over all elements, as many as the logarithm of the longest component (Hillis and
    Steele, Data Parallel Algorithms, 1986).

    ```mlir
    %y = ragged.scan %x {dim = 1, kind = "sum"} : (!jagged) -> !jagged
    // becomes
    %y = scf.for %k = %c0 to %passes step %c1 iter_args(%z = %x) -> (!jagged) {
      %next = linalg.generic ins(%z) outs(%e) { … select(%i >= 1 << %k, %z[%i - (1 << %k)] + %a, %a) … }
      scf.yield %next
    }
    ```

    One more moves all by one where scans are `exclusive`. All elements of a pass are independent of each other, as
    threads of a GPU want; a CPU goes over a component once.
    """

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        for found in find_ops(op, ScanOp.OPERATION_NAME):
            with ir.InsertionPoint(found), found.location:
                replace(found, decomposed(found))


def decomposed(op: ir.Operation) -> ir.Value:
    """What a scan computes, of other ops at the insertion point."""
    scan = view_of(op, ScanOp)
    dim, kind = scan.dim.value, scan.kind.value
    x = shapes.cast(without_gaps(scan.x), scan.res.type)
    end = _end(x, dim) if has_unit(op, "reverse") else None

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        distance = arith.shli(build.value(1), number)
        made = _pass(state[0], empty_like(x), dim, distance, kind, end)
        share_mapping(op, made)
        return [made.result]

    made = flow.for_loop(_passes_over(x, dim), [x], step)[0]
    if not has_unit(op, "exclusive"):
        return made
    moved = _pass(made, empty_like(x), dim, build.value(1), kind, end, neutral(kind, x.type.element_type))
    share_mapping(op, moved)
    return moved.result


def _passes_over(x: ir.Value, dim: int) -> ir.Value:
    """How many passes reach over the longest component of a dim."""
    longest = builders.max_length(x, dim) if shape_of(x.type).layout.letter(dim) in RAGGED else shapes.dim(x, dim)
    zeros = ir.Operation.create("math.ctlz", results=[build.i64()], operands=[build.to_i64(build.value(longest))])
    return build.to_index(arith.subi(build.constant(build.i64(), 64), zeros.result))


def _end(x: ir.Value, dim: int) -> ir.Value:
    """How many elements a dim has: an index, or of a level whose components differ a tensor over the dims that are
    left."""
    layout = shape_of(x.type).layout
    if layout.letter(dim) == "d" and not layout.is_split_outer(dim):
        return build.value(shapes.dim(x, dim))
    rank, i64 = len(x.type.shape), build.i64()
    out = shapes.fill(build.constant(i64, 0), empty_without(x, frozenset({dim}), i64))
    maps = [ir.AffineMap.get_identity(rank), without(rank, dim)]
    return generic([x], [out], maps, along(rank, dim), lambda e: [arith.addi(e[1], build.constant(i64, 1))]).result


def _pass(
    x: ir.Value,
    out: ir.Value,
    dim: int,
    distance: ir.Value,
    kind: str,
    end: ir.Value | None,
    first: ir.Value | None = None,
) -> ir.Operation:
    """Every element with the one `distance` before it, or behind it where there is an end; that one with what the
    `first` ones have, if there is such a value."""
    rank = len(x.type.shape)
    whole = ir.AffineMap.get_identity(rank)
    ends = [end] if end is not None and isinstance(end.type, ir.RankedTensorType) else []

    def body(given: list[ir.Value]) -> list[ir.Value]:
        indices = [loop_index(k) for k in range(rank)]
        if end is None:
            there = build.at_least(indices[dim], distance)
            other = arith.subi(indices[dim], distance)
        else:
            other = arith.addi(indices[dim], distance)
            there = build.less(other, build.to_index(given[1]) if ends else end)
        indices[dim] = arith.select(there, other, indices[dim])
        own = given[0] if first is None else first
        return [arith.select(there, combine(kind, tensor.extract(x, indices), own), own)]

    maps = [whole, *(without(rank, dim) for _ in ends), whole]
    made = generic([x, *ends], [out], maps, ["parallel"] * rank, body)
    made.attributes[CHECKED] = ir.UnitAttr.get()  # the loop carries values of one structure, which no pass sees
    return made
