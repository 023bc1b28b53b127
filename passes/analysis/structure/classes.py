"""Which dims have one structure, by the ops that connect them: where `ragged.empty` may take it from."""

from __future__ import annotations

from typing import TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import blocks_of, in_block
from ragged_dialect.iteration import ELEMENTWISE_DIALECTS, LINALG_OPS, whole_value
from ragged_dialect.ops import VIEWS
from ragged_dialect.passes.analysis.loop_layouts import operand_loops
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.types import is_ragged, is_tensor, shape_of

Dim: TypeAlias = "tuple[ir.Value, int]"
"""A value and one of its dims."""


class StructureClasses:
    """Dims of the ragged values of a module, in classes of one structure."""

    def __init__(self, module: ir.Operation) -> None:
        self._parent: dict[Dim, Dim] = {}
        self._number: dict[ir.Value, int] = {}
        for op in walk(module):
            self._enter(op)
        self._members: dict[Dim, list[Dim]] = {}
        for value in self._number:
            for dim in _dims(value):
                self._members.setdefault(self._find((value, dim)), []).append((value, dim))

    def sources(self, value: ir.Value, op: ir.Operation) -> list[Dim | None] | None:
        """Per dim of a ragged value a dim of the same structure whose value is there before `op`, the
        first one in the program; None for a plain dim. Dims of one axis come from one value where one
        has them all. None where some dim has no source."""
        layout = shape_of(value.type).layout
        found: list[Dim | None] = [None] * layout.rank
        for axis in range(layout.storage_rank):
            dims = layout.dims(axis)
            if len(dims) == 1:
                continue
            choices = [[m for m in self._members[self._find((value, d))] if defined_before(m[0], op)] for d in dims]
            if not all(choices):
                return None
            whole = [x for x, _ in choices[0] if all(any(x == y for y, _ in c) for c in choices[1:])]
            for dim, choice in zip(dims, choices, strict=True):
                found[dim] = next((m for m in choice if whole and m[0] == whole[0]), choice[0])
        return found

    def _enter(self, op: ir.Operation) -> None:
        for block in blocks_of(op):
            self._add(block.arguments)
        self._add(op.results)
        if op.name in LINALG_OPS:
            self._connect_loops(op)
        elif op.name in VIEWS or (op.name.split(".")[0] in ELEMENTWISE_DIALECTS and not whole_value(op)):
            ragged = [v for v in (*op.operands, *op.results) if is_ragged(v.type)]
            for other in ragged[1:]:
                for dim in _dims(ragged[0]):
                    self._unite((ragged[0], dim), (other, dim))

    def _add(self, values: ir.BlockArgumentList | ir.OpResultList) -> None:
        for value in values:
            if is_ragged(value.type):
                self._number.setdefault(value, len(self._number))

    def _connect_loops(self, op: ir.Operation) -> None:
        loops = operand_loops(op)
        outs = len(op.operands) - len(op.results)
        first: dict[int, Dim] = {}
        for value, used in zip((*op.operands, *op.results), (*loops, *loops[outs:]), strict=True):
            if not is_tensor(value.type) or not is_ragged(value.type):
                continue
            for dim in _dims(value):
                loop = used[dim]
                if loop is not None:
                    self._unite(first.setdefault(loop, (value, dim)), (value, dim))

    def _find(self, dim: Dim) -> Dim:
        while (above := self._parent.get(dim, dim)) != dim:
            self._parent[dim] = self._parent.get(above, above)
            dim = above
        return dim

    def _unite(self, a: Dim, b: Dim) -> None:
        a, b = self._find(a), self._find(b)
        if a != b:
            self._parent[b] = a


def _dims(value: ir.Value) -> list[int]:
    """The dims of a ragged value that have a structure."""
    layout = shape_of(value.type).layout
    return [dim for dim in range(layout.rank) if not layout.is_plain(dim)]


def defined_before(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value dominates an op, by blocks that nest."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    at = in_block(op, block)
    if at is None or isinstance(owner, ir.Block):
        return at is not None
    return owner.operation != at and owner.operation.is_before_in_block(at)
