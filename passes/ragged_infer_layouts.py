"""`ragged-infer-layouts`: annotated layouts reach everything connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.layout_flow import LayoutFlow, update_function_types
from ragged_dialect.passes.loop_layouts import Origin
from ragged_dialect.passes.rewriting import cast, walk
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

    Fails for a value with two layouts, a layout that an op on the way does not carry, and a static
    extent on a ragged dim. No options.
    """

    name: ClassVar[str] = "ragged-infer-layouts"

    def run(self, op: Any) -> None:
        """Replace types in place, then drop the annotations; PassFailure at both places of a conflict."""
        annotations = [found for found in walk(op) if found.name == "ragged.annotate"]
        if not annotations:
            return
        flow = LayoutFlow(op)
        for found in annotations:
            for value in (found.operands[0], found.results[0]):
                if is_ragged(value.type):
                    flow.start(value, found)
        flow.run()
        for value, origins in list(flow.origins.items()):
            if not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tensor.empty":
                _replace_empty(value, origins)
        update_function_types(flow.changed_functions())
        for found in annotations:
            _drop(found)
        _erase_dead(op)


def _erase_dead(root: Any) -> None:
    """Erase the empties that were replaced, and the extents that only they used."""
    for op in reversed(list(walk(root))):
        if op.name in ("tensor.empty", "tensor.dim") and not any(True for _ in op.results[0].uses):
            op.erase()


def _drop(annotation: Any) -> None:
    x, result = annotation.operands[0], annotation.results[0]
    with ir.InsertionPoint(annotation), annotation.location:
        result.replace_all_uses_with(cast(x, result.type))
    annotation.erase()


def _replace_empty(value: Any, origins: tuple[Origin, ...]) -> None:
    """`tensor.empty` of a ragged type -> `ragged.empty` with the structure of where it comes from."""
    op = value.owner.operation
    likes: list[Any] = []
    sources: list[Source | None] = []
    for origin in origins:
        if origin is None:
            sources.append(None)
            continue
        like, dim = origin
        if not _defined_before(like, op):
            raise PassFailure(op, "'tensor.empty' op expected the tensor with its structure before it, got it after")
        if like not in likes:
            likes.append(like)
        sources.append(Source(likes.index(like), dim))
    dynamic = iter(op.operands)
    extents = [next(dynamic) if extent is None else None for extent in shape_of(value.type).shape]
    own = [e for e, source in zip(extents, sources, strict=True) if source is None and e is not None]
    with ir.InsertionPoint(op), op.location:
        value.replace_all_uses_with(builders.empty(likes, value.type, sources, own))


def _defined_before(value: Any, op: Any) -> bool:
    """Whether a value dominates an op, by blocks that nest."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while op.block != block:
        op = op.parent.operation
        if op.name in ("func.func", "builtin.module"):
            return False
    return isinstance(owner, ir.Block) or (owner.operation != op and owner.operation.is_before_in_block(op))


