"""`convert-inner-linalg-to-loops`: loops in the bodies of others, which a thread runs for an element."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir, memref
from ragged_dialect.ir import flow
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import ancestors
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import is_buffer
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.passes.base import RaggedPass


class ConvertInnerLinalgToLoops(RaggedPass):
    """Turn a `linalg.generic` on buffers in the body of another one into loops of scalars.

    ```mlir
    linalg.generic … { ^bb0(%a: f32): linalg.generic … outs(%t : memref<4xf32>) { ^bb0(%o: f32): linalg.yield %a } … }
    // becomes
    linalg.generic … { ^bb0(%a: f32): scf.for %k = %c0 to %c4 step %c1 { memref.store %a, %t[%k] } … }
    ```

    It fills, or copies, what an element has for itself. The loops around are spread over threads; these are not.
    Preconditions: bufferized, named ops are generic ones.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the inner ops of a module, the innermost first."""
        for inner in reversed(find_ops(op, "linalg.generic")):
            if any(outer.name == "linalg.generic" for outer in ancestors(inner)):
                with ir.InsertionPoint(inner), inner.location:
                    _loops(GenericOp(inner), [])
                inner.erase()


def _loops(nest: GenericOp, point: Sequence[ir.Value]) -> None:
    if len(point) < nest.rank:
        flow.for_loop(nest.extent(len(point)), [], lambda i, _: _loops(nest, [*point, i]))
        return
    known: ValueMap = {}
    for k, (x, argument) in enumerate(zip(nest.operands, nest.block.arguments, strict=True)):
        known[argument] = memref.load(x, nest.indices(k, point)) if is_buffer(x) else x
    for inner in nest.payload:
        if inner.name == "linalg.index":
            known[inner.results[0]] = point[inner.attributes["dim"].value]
        else:
            clone(inner, known)
    for k, (out, made) in enumerate(zip(nest.outs, nest.yielded, strict=True), nest.n_inputs):
        memref.store(known.get(made, made), out, nest.indices(k, point))
