"""`keep-read-outs`: what bufferization takes for not read is."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import elementwise, indexing_maps, input_count, iterator_kinds, loop_index
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.match import is_read, made_by, terminator
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.iteration import expr_uses
from ragged_dialect.passes.base import RaggedPass


class KeepReadOuts(RaggedPass):
    """Let bodies of linalg ops read the outs that count: a buffer of an out that no body reads is made anew, and has
    nothing in it.

    ```mlir
    %r = linalg.generic {… ["reduction"]} ins(%x : …) outs(%s : tensor<f32>) { ^bb0(%a: f32, %o: f32): linalg.yield %a }
    // becomes
    … { ^bb0(%a: f32, %o: f32): … %some = arith.cmpi sge, %index, %c0 … linalg.yield %select } // %a, else %o
    ```

    Without iterations a reduction is what it started from, whether its body reads that or not. A `linalg.map` that
    reads its out becomes a `linalg.generic`: of maps bufferization takes none for read.
    Preconditions: dense tensors; right before bufferization, as canonicalization might find that the body has no need.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the ops of a module."""
        for inner in find_ops(op, "linalg.map", "linalg.generic"):
            if not inner.results:
                continue
            with ir.InsertionPoint(inner), inner.location:
                (_general if inner.name == "linalg.map" else _start)(inner)


def _general(op: ir.Operation) -> None:
    block, out = op.regions[0].blocks[0], op.operands[len(op.operands) - 1]
    if is_read(block.arguments[len(block.arguments) - 1]):
        replace(op, elementwise(list(op.operands)[:-1], [out], lambda given: inlined(block, given)).result)


def _start(op: ir.Operation) -> None:
    kinds, maps, block = iterator_kinds(op), indexing_maps(op), op.regions[0].blocks[0]
    first, end = input_count(op), terminator(block)
    for number, out in enumerate(list(op.operands)[first:]):
        argument, own = block.arguments[first + number], maps[first + number].results
        reduced = [k for k, kind in enumerate(kinds) if kind == "reduction" and not any(expr_uses(e, k) for e in own)]
        if reduced and not is_read(argument) and made_by(out, "tensor.empty") is None:
            with ir.InsertionPoint(end):
                some = build.at_least(loop_index(reduced[0]), 0)
                end.operands[number] = arith.select(some, end.operands[number], argument)
