"""`split-long-folds`: loops that fold a long index vector into one index, in two steps."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import blocks_of, made_by
from ragged_dialect.ir.walk import captures, find_ops, is_outside, replace
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers.subviews import extent, root, stored_in
from ragged_dialect.lowering.gpu.passes.vector_tiles import (
    LONG,
    TILE,
    SplitLongLoops,
    VectorTiles,
    is_known,
    is_number,
    on_host,
)
from ragged_dialect.lowering.nests.folds import Fold, with_bounds
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class SplitLongFolds(SplitLongLoops, RaggedPass):
    """Fold a long index vector in two steps: tiles by many blocks, then these by one.

    ```mlir
    scf.forall (%i) in (1) { %sum = scf.for %k = %c0 to %n … {ragged.fold = {kind = "addi"}} … }
    // becomes
    scf.forall (%t) in (%tiles) { scf.for … {ragged.fold = {few, kind = "addi"}} memref.store %part, %parts[%t] }
    scf.forall (%i) in (1) { %sum = scf.if %tiled { … fold of %parts … } else { … the loop … } … }
    ```

    Checks look for the first offence so, and totals and extents come from them. The first step takes all loops of a
    forall at once, also those that run only when an earlier one has found nothing: what they find is not looked at
    then. There are no tiles where the vector turns out to have no more than `long` entries; `tile` is the number of
    entries of a tile. Precondition: `wrap-ragged-device-code`.
    """

    long: int = LONG
    tile: int = TILE

    def split(self, forall: ir.Operation, status: ir.Value | None) -> None:
        """Split the loops in a forall that are worth it."""
        tiled = _split(forall, self)
        if tiled is not None and status is not None and status in captures([forall]):
            tiled.attributes[WIDE] = ir.UnitAttr.get()


def _split(forall: ir.Operation, limits: SplitLongLoops) -> ir.Operation | None:
    """Split the loops in a forall of one iteration that are worth it: the forall over tiles, before it; None when
    there are none."""
    written = stored_in(forall)
    found = [(loop, fold, _tiles(loop, forall, limits, written)) for loop, fold in _loops(forall)]
    tiled = [(loop, fold, tiles) for loop, fold, tiles in found if tiles is not None]
    if not tiled:
        return None
    with ir.InsertionPoint(forall), forall.location:
        known = [{x: on_host(x, forall) for x in captures([loop])} for loop, *_ in tiled]
        parts = [tiles.room() for *_, tiles in tiled]
        with inside_forall(reduce(build.maximum, [tiles.count for *_, tiles in tiled])) as (made, tile):
            for (loop, fold, tiles), outside, part in zip(tiled, known, parts, strict=True):
                _part(loop, fold, tiles, outside, tile, part)
    for (loop, fold, tiles), part in zip(tiled, parts, strict=True):
        _combine(loop, fold, tiles, part)
    return made


def _loops(op: ir.Operation) -> Generator[tuple[ir.Operation, Fold]]:
    """The loops that fold one index and stand in no other loop, in their order."""
    for block in blocks_of(op):
        for inner in [o.operation for o in block.operations]:
            if inner.name == "scf.if":
                yield from _loops(inner)
            elif (fold := Fold.of(inner)) is not None and fold.kind != "scan":
                yield inner, fold


def _tiles(
    loop: ir.Operation, forall: ir.Operation, limits: SplitLongLoops, written: set[ir.Value]
) -> VectorTiles | None:
    """The tiles of a loop that may run before the forall, and where something in it keeps it from running: all that
    it needs is known at launch, and so that it reads within bounds. None of others."""
    loads = find_ops(loop, "memref.load")
    if not all(is_known(x, forall) for x in captures([loop])) or any(root(x.operands[0]) in written for x in loads):
        return None
    with ir.InsertionPoint(forall), loop.location:
        indices = [(load, dim, x) for load in loads for dim, x in enumerate(list(load.operands)[1:])]
        highest = [_highest(x, loop, forall) for _, _, x in indices]
        known = [most for most in highest if most is not None]
        if len(known) < len(highest):
            return None
        buffers = [build.value(on_host(load.operands[0], forall)) for load, _, _ in indices]
        extents = [(most, extent(x, dim)) for most, x, (_, dim, _) in zip(known, buffers, indices, strict=True)]
        bounds = [build.less(most, size) for most, size in extents]
    return VectorTiles.of(loop, forall, limits, bounds)


def _highest(x: ir.Value, loop: ir.Operation, forall: ir.Operation) -> Mixed | None:
    """The highest value of an index in a loop, on the host; None where it is none that starts from 0 and depends on
    nothing that is read."""
    if isinstance(x, ir.BlockArgument):
        owner = x.owner.owner.operation
        counts = owner.name == "scf.for" and x == x.owner.arguments[0] and not is_outside(x, loop)
        if not counts:
            return None
        low, high = owner.operands[:2]
        return build.sub(on_host(high, forall), 1) if is_number(low) and is_known(high, forall) else None
    if is_number(x):
        return on_host(x, forall)
    sum_ = made_by(x, "arith.addi")
    if sum_ is None:
        return None
    a, b = (_highest(part, loop, forall) for part in sum_.operands)
    return None if a is None or b is None else build.add(a, b)


def _part(
    loop: ir.Operation,
    fold: Fold,
    tiles: VectorTiles,
    outside: dict[ir.Value, Mixed],
    tile: ir.Value,
    parts: ir.Value,
) -> None:
    """What a tile makes of a loop, if that has so many; `outside` has the values that the loop needs."""
    with flow.when(build.below(tile, tiles.count)):
        known = {x: build.value(found) for x, found in outside.items()}
        part = with_bounds(loop, tiles.bounds(tile), fold.neutral(loop.results[0].type), known)
        flow.mark_fold(part, fold.kind, few=True)
        memref.store(build.to_i64(part.results[0]), parts, [tile])


def _combine(loop: ir.Operation, fold: Fold, tiles: VectorTiles, parts: ir.Value) -> None:
    """Fold the parts where there are some, instead of running the loop."""
    result, init = loop.results[0], loop.operands[3]

    def folded() -> ir.Value:
        def body(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            return [fold.apply(carried[0], build.to_index(memref.load(parts, [i])))]

        return flow.for_loop(tiles.count, [init], body, fold.kind, few=True)[0]

    with ir.InsertionPoint(loop), loop.location:
        made = tiles.choose(folded, lambda: loop.clone().operation.results[0], result.type)
    replace(loop, made)
