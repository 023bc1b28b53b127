"""`expand-ragged-scans`: scans as one pass over each component."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import along, generic, without
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.fast_math import give_flags
from ragged_dialect.ir.kinds import NEUTRAL, combine, combiner, neutral, neutral_constant
from ragged_dialect.ir.match import made_by, view_of
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.iteration import BACKWARDS
from ragged_dialect.lowering.scf.standing import standing_for
from ragged_dialect.lowering.search import owner
from ragged_dialect.ops.making import RecurrenceOp, ScanOp
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.traits import has_unit
from ragged_dialect.types import shape_of


@dataclass(frozen=True)
class ExpandRaggedScans(RaggedPass):
    """Replace `ragged.scan` by a `linalg.generic` that stores what it has so far, so that `ragged-fuse` finds loops.

    ```mlir
    %y = ragged.scan %x {dim = 1, kind = "sum"} : (!jagged) -> !jagged
    // becomes
    %last, %y = linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%x) outs(%zeros, %e) {
      %sum = arith.addf %so_far, %in
      linalg.yield %sum, %sum
    } -> (tensor<?xf32>, !jagged)
    ```

    So is `ragged.recurrence`, which stores what it has before an element, on every target. Of scans with `reverse` the
    loop is marked `ragged.backwards`. A CPU goes over a component once; for a GPU every
    `tile` rows of a component are a component of their own, that starts from the sum of those before it:

    ```mlir
    %t = ragged.partition (ragged.values %x), %starts_of_tiles {dim = 0}
    %sums = linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%t) outs(%zeros) { … } -> tensor<?xf32>
    %starts = … as above, of %sums by component, storing what was so far before an element is added
    %last, %y = … as above, of %t, outs(%starts, %e)
    ```

    Scans of other than the last ragged dim, and beside other nested axes, are left then, to `ragged-decompose-scans`.
    """

    anchor = "any"
    tile: int = 0

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        if self.tile < 0:
            raise PassFailure(op, f"expected a tile of at least 0 rows, got {self.tile}")
        expand_scans(op, self.tile)


def expand_scans(module: ir.Operation, tile: int = 0) -> None:
    """Replace every recurrence, and every scan, or where there are tiles every one that can have them."""
    for op in find_ops(module, RecurrenceOp.OPERATION_NAME):
        with standing_for(op):
            op.results[0].replace_all_uses_with(_recurred(op))
        op.erase()
    for op in find_ops(module, ScanOp.OPERATION_NAME):
        if tile and not _has_tiles(op):
            continue
        with standing_for(op):
            op.results[0].replace_all_uses_with(_in_tiles(op, tile) if tile else _expanded(op))
        op.erase()


def _source(scan: ScanOp) -> ir.Value:
    return shapes.cast(without_gaps(scan.x), scan.res.type)


def _recurred(op: ir.Operation) -> ir.Value:
    """What a recurrence computes, as a reduction that stores what it has before each element, at the insertion
    point."""
    known = view_of(op, RecurrenceOp)
    x, factors = (shapes.cast(without_gaps(v), known.res.type) for v in (known.x, known.factors))
    rank, dim, zero = len(x.type.shape), known.dim.value, build.constant(x.type.element_type, 0.0)
    start = shapes.fill(zero, empty_without(x, frozenset({dim})))
    whole = ir.AffineMap.get_identity(rank)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        term, factor, before, _ = given
        forgets = arith.cmpf(arith.CmpFPredicate.OEQ, factor, zero)
        return [arith.select(forgets, term, arith.addf(arith.mulf(factor, before), term)), before]

    maps = [whole, whole, without(rank, dim), whole]
    made = generic([x, factors], [start, empty_like(x)], maps, along(rank, dim), body)
    if has_unit(op, "reverse"):
        made.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), dim)
    return made.results[1]


def _expanded(op: ir.Operation) -> ir.Value:
    """What a scan computes, as a reduction that stores what it has so far, or had before, at the insertion point. One
    of what is behind each element goes over the components backwards."""
    scan = view_of(op, ScanOp)
    x, dim, kind = _source(scan), scan.dim.value, scan.kind.value
    before = has_unit(op, "exclusive")
    return _walked(x, dim, kind, has_unit(op, "reverse"), _nothing(x, dim, kind, before), before, grouped=True)


def _has_tiles(op: ir.Operation) -> bool:
    """Whether a scan goes along the last of some ragged dims, of the only axis that has any."""
    scan = view_of(op, ScanOp)
    (first, *below), dim = shape_of(scan.res.type).layout.axes, scan.dim.value
    return dim == len(first) - 1 and set(first[1:]) == {"r"} and set(below) <= {"d"}


def _in_tiles(op: ir.Operation, tile: int) -> ir.Value:
    """What a scan computes of tiles of rows, which start from what those before them in their component come to."""
    scan = view_of(op, ScanOp)
    x, dim, kind = _source(scan), scan.dim.value, scan.kind.value
    levels = [builders.offsets(x, level) for level in range(1, dim + 1)]
    values = builders.values(x)
    first, starts = _tiles(levels[-1], build.value(shapes.dim(values, 0)), tile)
    tiles = builders.partition(values, starts, 0)
    sums = builders.partition(_folded(tiles, 1, kind), first, 0)
    reverse = has_unit(op, "reverse")
    exclusive = has_unit(op, "exclusive")
    before = _walked(sums, 1, kind, reverse, _nothing(sums, 1, kind, exclusive), before=True)
    made = _walked(tiles, 1, kind, reverse, builders.values(before), exclusive)
    shape = shape_of(x.type)
    return builders.assemble([builders.values(made), *levels], shape.layout, shape.shape)


def _tiles(offsets: ir.Value, rows: ir.Value, tile: int) -> tuple[ir.Value, ir.Value]:
    """Of every component its first tile, and of every tile its first row, each with one entry more. Component g begins
    with tile offsets[g] / tile + g: that needs no sums, and a component has at most one tile that is empty."""
    components = build.value(vectors.count(offsets))

    def first(g: ir.Value) -> ir.Value:
        return arith.addi(arith.divui(shapes.load(offsets, g), build.value(tile)), g)

    def start(j: ir.Value) -> ir.Value:
        g = owner(first, j, components)
        end = shapes.load(offsets, build.minimum(build.add(g, 1), components))
        return build.value(
            build.minimum(build.add(shapes.load(offsets, g), build.mul(build.sub(j, first(g)), tile)), end)
        )

    count = build.add(build.add(arith.divui(rows, build.value(tile)), components), 1)
    return vectors.generate(build.add(components, 1), first), vectors.generate(count, start)


def _nothing(x: ir.Value, dim: int, kind: str, shown: bool = False) -> ir.Value:
    """What there is of a combination along a dim before anything is combined: a sum is 0 where that is a result, else
    -0, which -0 stays with."""
    element = x.type.element_type
    number = neutral(kind, element) if shown else neutral_constant(element, NEUTRAL[combiner(kind, element)])
    return shapes.fill(number, empty_without(x, frozenset({dim})))


def _folded(x: ir.Value, dim: int, kind: str) -> ir.Value:
    """All of a dim combined."""
    rank = len(x.type.shape)
    maps = [ir.AffineMap.get_identity(rank), without(rank, dim)]
    start = _nothing(x, dim, kind)
    return generic([x], [start], maps, along(rank, dim), lambda given: [combine(kind, given[1], given[0])]).result


def _walked(
    x: ir.Value, dim: int, kind: str, reverse: bool, start: ir.Value, before: bool = False, grouped: bool = False
) -> ir.Value:
    """What there was so far at every element, that included or `before` it, from what there is at the start on. Sums
    may be `grouped` otherwise."""
    rank = len(x.type.shape)
    whole = ir.AffineMap.get_identity(rank)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        made = combine(kind, given[1], given[0])
        total = made_by(made, "arith.addf") if grouped else None
        if total is not None:
            give_flags(total, {"reassoc"})  # for products see order-ragged-loops
        return [made, given[1] if before else made]

    op = generic([x], [start, empty_like(x)], [whole, without(rank, dim), whole], along(rank, dim), body)
    if reverse:
        op.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), dim)
    return op.results[1]
