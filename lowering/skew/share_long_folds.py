"""`share-long-folds`: all threads work on what looks through a long index vector, or adds it up."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir, memref
from ragged_dialect.ir import build, flow, memory
from ragged_dialect.ir.match import constant_int, enclosing
from ragged_dialect.ir.walk import find_ops, ops_in, replace
from ragged_dialect.lowering.nests.folds import Fold, with_bounds
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.rows.groups import CHUNK
from ragged_dialect.passes.base import PassFailure, RaggedPass

_PURE = ("memref.load", "memref.dim", "memref.subview", "scf.yield", "scf.if")


@dataclass(frozen=True)
class ShareLongFolds(RaggedPass):
    """Fold an index vector in two steps: parts of `entries`, by a forall, and then what these come to.

    ```mlir
    %first = scf.for %i = %c0 to %n step %c1 iter_args(%found = %none) { … } {ragged.fold = {kind = "search"}}
    // becomes
    %parts = memref.alloc(%tiles) : memref<?xindex>
    scf.forall (%t) in (%tiles) { %part = scf.for %i = %low to %high … { … }   memref.store %part, %parts[%t] }
    %first = scf.for %t = %c0 to %tiles step %c1 iter_args(%found = %none) { … }
    ```

    Checks of indices look for the first that is out of range so, before anything else runs: while one thread does, the
    others go to sleep. Loops in loops, and those that write or have `few` iterations, stay. Precondition: bufferized.
    """

    entries: int = CHUNK

    def run(self, op: ir.Operation) -> None:
        """Rewrite the folds of every function of a module."""
        if self.entries < 1:
            raise PassFailure(op, f"expected entries of at least 1, got {self.entries}")
        for loop in find_ops(op, "scf.for"):
            fold = Fold.of(loop)
            if fold is not None and not fold.few and fold.kind != "scan" and _is_apart(loop):
                _share(loop, fold, self.entries)


def _is_apart(loop: ir.Operation) -> bool:
    """Whether a loop is in no other one, counts from 0 in steps of 1, and writes nothing."""
    around = enclosing(loop)
    while around.name == "scf.if":
        around = enclosing(around)
    counts = [constant_int(x) for x in (loop.operands[0], loop.operands[2])] == [0, 1]
    inner = [op for op in ops_in(loop) if op != loop]
    return (
        around.name == "func.func" and counts and all(op.name.startswith("arith.") or op.name in _PURE for op in inner)
    )


def _share(loop: ir.Operation, fold: Fold, entries: int) -> None:
    _, count, _, init = loop.operands
    type_ = loop.results[0].type
    with ir.InsertionPoint(loop), loop.location:
        tiles = build.ceildiv(count, entries)
        parts = memory.room([tiles], type_)
        with inside_forall(tiles) as (_, tile):
            low = build.value(build.mul(tile, entries))
            high = build.value(build.minimum(build.add(low, entries), count))
            part = with_bounds(loop, (low, high), fold.neutral(type_), {})
            del part.attributes[flow.FOLD]
            memref.store(part.results[0], parts, [tile])

        def combined(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            return [fold.apply(carried[0], memref.load(parts, [i]))]

        made = flow.for_loop(tiles, [init], combined)
    replace(loop, made[0])
