"""Loops that fold a long index vector into one index, in two steps: tiles by many blocks, then these by one.

Checks look for the first offence so, and totals and extents come from them. The first step takes all loops of a
forall at once, also those that run only when an earlier one has found nothing: what they find is not looked at then.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import reduce
from typing import Any

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.buffers import defining_op, root
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.forall_bounds import forall_over
from ragged_dialect.lowering.gpu.combiner import folds, neutral_constant
from ragged_dialect.lowering.gpu.thread_loops import below
from ragged_dialect.lowering.gpu.vector_tiles import VectorTiles, is_known, is_outside, on_host, with_bounds
from ragged_dialect.lowering.nested import captures, find_ops


def split_folds(forall: Any) -> Any:
    """Split the loops in a forall of one iteration that are worth it: the forall over tiles, before it; None when
    there are none."""
    written = {root(op.operands[1]) for op in find_ops(forall, "memref.store")}
    loops = [loop for loop in _loops(forall) if _is_independent(loop, forall, written)]
    tiled = [(loop, tiles) for loop in loops if (tiles := VectorTiles.of(loop, forall)) is not None]
    if not tiled:
        return None
    with ir.InsertionPoint(forall), forall.location:
        known = [{x: on_host(x, forall) for x in captures([loop])} for loop, _ in tiled]
        parts = [tiles.room() for _, tiles in tiled]
        made = forall_over(reduce(emit.maximum, [tiles.count for _, tiles in tiled]))
    block = made.regions[0].blocks[0]
    with ir.InsertionPoint(list(block.operations)[-1]), forall.location:
        for (loop, tiles), outside, part in zip(tiled, known, parts, strict=True):
            _part(loop, tiles, outside, block.arguments[0], part)
    for (loop, tiles), part in zip(tiled, parts, strict=True):
        _combine(loop, tiles, part)
    return made


def _loops(op: Any) -> Generator[Any]:
    """The loops that fold one index and stand in no other loop, in their order."""
    for region in op.regions:
        for block in region.blocks:
            for inner in [o.operation for o in block.operations]:
                if inner.name == "scf.if":
                    yield from _loops(inner)
                elif emit.FOLD in inner.attributes and inner.attributes[emit.FOLD].value != "scan":
                    yield inner


def _is_independent(loop: Any, forall: Any, written: set[Any]) -> bool:
    """Whether a loop may run before the forall, and where another one in it keeps it from running: all it needs
    the host knows, and where it reads depends on nothing that was read."""
    loads = find_ops(loop, "memref.load")
    return (
        all(is_known(x, forall) for x in captures([loop]))
        and not any(root(load.operands[0]) in written for load in loads)
        and not any(_is_read(x, loop) for load in loads for x in list(load.operands)[1:])
    )


def _is_read(x: Any, loop: Any) -> bool:
    """Whether a value in a loop depends on what is read or carried there."""
    if is_outside(x, loop):
        return False
    op = defining_op(x)
    if op is not None:
        return not op.name.startswith("arith.") or any(_is_read(y, loop) for y in op.operands)
    owner = x.owner.owner.operation
    return owner.name != "scf.for" or x != x.owner.arguments[0] or any(_is_read(y, loop) for y in owner.operands[:2])


def _part(loop: Any, tiles: VectorTiles, outside: dict[Any, Mixed], tile: Any, parts: Any) -> None:
    """What a tile makes of a loop, if that has so many; `outside` has the values that the loop needs."""
    there = scf.IfOp(below(tile, tiles.count))
    with ir.InsertionPoint(there.then_block):
        known = {x: emit.value(found) for x, found in outside.items()}
        init = neutral_constant(loop.results[0].type, folds(loop.attributes[emit.FOLD].value)[1])
        part = with_bounds(loop, tiles.bounds(tile), init, known)
        part.attributes[emit.FEW] = ir.UnitAttr.get()
        memref.store(emit.to_i64(part.results[0]), parts, [tile])
        scf.yield_([])


def _combine(loop: Any, tiles: VectorTiles, parts: Any) -> None:
    """Fold the parts where there are some, instead of running the loop."""
    kind = loop.attributes[emit.FOLD].value
    name, _ = folds(kind)
    result, init = loop.results[0], loop.operands[3]

    def folded() -> Any:
        def body(i: Any, carried: list[Any]) -> list[Any]:
            return [getattr(arith, name)(carried[0], emit.to_index(memref.load(parts, [i])))]

        return emit.for_loop(tiles.count, [init], body, kind, few=True)[0]

    with ir.InsertionPoint(loop), loop.location:
        made = tiles.choose(folded, lambda: loop.clone().operation.results[0], result.type)
    result.replace_all_uses_with(made)
    loop.erase()
