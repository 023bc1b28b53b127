"""`ragged-infer-layouts`: annotated layouts reach everything connected."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir import shapes
from ragged_dialect.ir.walk import erase_unused, replace
from ragged_dialect.passes.analysis.layout_flow import LayoutFlow, update_function_types
from ragged_dialect.passes.analysis.structure.classes import StructureClasses
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.sources import Source
from ragged_dialect.types import is_ragged, shape_of


@dataclass(frozen=True)
class RaggedInferLayouts(RaggedPass):
    """Gives the layout of annotated values to every value connected to them, and drops the annotations.

    ```mlir
    // before
    func.func @f(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
      %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dr">>
      %1 = math.exp %x : tensor<3x?xf32>
    // after
    func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
      %1 = math.exp %x : tensor<3x?xf32, #ragged.layout<"dr">>
    ```

    Connected are the operands and results of elementwise ops, linalg ops through their loops (an
    input that not every loop indexes stays dense unless it is broadcast), structure ops from
    operand to result, and values passed through scf, calls and returns, both ways. An annotation
    that removes a layout connects its two sides like one that adds it. `tensor.empty` becomes
    `ragged.empty`. Function signatures change with their arguments.

    Where several ops say something of a value it gets the least layout that they all agree on: a score
    per query and key is `drr`, whichever of the two is known first. What the program or an annotation
    gives stays as it is. Fails for a value with two layouts, a layout that an op on the way does not
    carry, and a static extent on a ragged dim.

    Options: `seed` shuffles the order in which ops are visited; the result does not depend on it.
    """

    seed: int | None = None

    def run(self, op: ir.Operation) -> None:
        """Replace types in place, then drop the annotations; PassFailure at both places of a conflict."""
        annotations = [found for found in walk(op) if found.name == "ragged.annotate"]
        if not annotations:
            return
        flow = LayoutFlow(op, self.seed)
        for found in annotations:
            for value in (found.operands[0], found.results[0]):
                if is_ragged(value.type):
                    flow.start(value, found)
        flow.run()
        classes = StructureClasses(op)
        for empty in [found for found in walk(op) if found.name == "tensor.empty"]:
            if is_ragged(empty.results[0].type):
                _replace_empty(empty, classes)
        update_function_types(flow.changed_functions())
        for found in annotations:
            _drop(found)
        # The empties that were replaced, and the extents that only they used.
        erase_unused(found for found in walk(op) if found.name in ("tensor.empty", "tensor.dim"))


def _drop(annotation: ir.Operation) -> None:
    with ir.InsertionPoint(annotation), annotation.location:
        replace(annotation, shapes.cast(annotation.operands[0], annotation.results[0].type))


def _replace_empty(op: ir.Operation, classes: StructureClasses) -> None:
    """`tensor.empty` of a ragged type -> `ragged.empty` with the structure of where it comes from."""
    value = op.results[0]
    origins = classes.sources(value, op)
    if origins is None:
        raise PassFailure(op, "'tensor.empty' op expected the tensor with its structure before it, got it after")
    likes = list(dict.fromkeys(origin[0] for origin in origins if origin is not None))
    sources = [None if origin is None else Source(likes.index(origin[0]), origin[1]) for origin in origins]
    dynamic = iter(op.operands)
    extents = [next(dynamic) if extent is None else None for extent in shape_of(value.type).shape]
    own = [e for e, source in zip(extents, sources, strict=True) if source is None and e is not None]
    with ir.InsertionPoint(op), op.location:
        value.replace_all_uses_with(builders.empty(likes, value.type, sources, own))
