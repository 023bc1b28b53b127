"""ragged-check-conform: checks that the way values are made proves."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.checks import CHECK_KINDS, CHECKED
from ragged_dialect.ir.match import blocks_of, view_of
from ragged_dialect.ops.checks import AssertConformOp
from ragged_dialect.passes.analysis.structure.facts import Facts
from ragged_dialect.passes.analysis.structure.keys import LevelKey, structural_source
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.traits import optional_int, string_attr


@dataclass(frozen=True)
class RaggedCheckConform(RaggedPass):
    """Drops checks that always hold, or that an earlier check implies.

    ```mlir
    %x = ragged.partition %a, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    %y = ragged.partition %b, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    ragged.assert_conform %x, %y {lhs = array<i64: 0, 1>, rhs = array<i64: 0, 1>, op = "arith.addf"} : …
    %z = arith.addf %x, %y : tensor<?x?xf32, #jagged>
    ```
    becomes
    ```mlir
    %x = ragged.partition %a, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    %y = ragged.partition %b, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    %z = arith.addf %x, %y : tensor<?x?xf32, #jagged>
    ```

    Structures are followed to where they come from through every op (`structure_keys`): two
    levels conform when one vector, or one argument, made both. A check that held makes its two
    structures equal from there on. Of equal checks the first one, which dominates, stays. One with the
    attribute `ragged.checked` is known to hold; it is dropped, and what it says holds in its whole block. The
    checks left compare the values in which the structures began, so that a chain of elementwise
    ops between has no other use.

    Options: `report=true` leaves the counts on the module, `ragged.checks_dropped` and
    `ragged.checks_kept`.
    """

    anchor = "any"
    report: bool = False

    def run(self, op: ir.Operation) -> None:
        """Drop checks everywhere below `op`."""
        prover = _Prover()
        for block in blocks_of(op):
            prover.visit(block)
        for check in prover.proven:
            check.erase()
        if self.report:
            i64 = ir.IntegerType.get_signless(64)
            op.attributes["ragged.checks_dropped"] = ir.IntegerAttr.get(i64, len(prover.proven))
            op.attributes["ragged.checks_kept"] = ir.IntegerAttr.get(i64, prover.kept)


class _Prover:
    """Walks blocks in order; what a check establishes holds to the end of its block."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.proven: list[ir.Operation] = []
        self.kept = 0
        self._seen: list[set[tuple[Hashable, ...]]] = []
        self._sources: dict[ir.Value, ir.Value] = {}

    def visit(self, block: ir.Block) -> None:
        """Decide the checks of a block and of the regions inside."""
        self.facts.push()
        self._seen.append(set())
        checks = (op.operation for op in block.operations if op.operation.name in _DECIDE)
        known = dict.fromkeys(op for op in checks if CHECKED in op.attributes)
        for op in known:
            _DECIDE[op.name](self, op)
        self.proven += known
        for op in block.operations:
            op = op.operation
            if op in known:
                continue
            if op.name in _DECIDE:
                self._count(op, _DECIDE[op.name](self, op))
            elif not op.name.startswith("linalg."):
                for inner in blocks_of(op):
                    self.visit(inner)
        self._seen.pop()
        self.facts.pop()

    def _count(self, op: ir.Operation, proven: bool) -> None:
        if proven:
            self.proven.append(op)
        else:
            self.kept += 1

    def conform(self, op: ir.Operation) -> bool:
        for number, value in enumerate(op.operands):
            op.operands[number] = structural_source(value, self._sources)
        a, b = op.operands
        pairs = view_of(op, AssertConformOp).pairs
        if self.facts.conform(a, b, pairs):
            return True
        key = ("conform", *(self._dims(v, dims) for v, dims in zip((a, b), zip(*pairs, strict=True), strict=True)))
        if self._repeats(key):
            return True
        self.facts.learn_conform(a, b, pairs)
        return False

    def _dims(self, value: ir.Value, dims: tuple[int, ...]) -> tuple[Hashable, ...]:
        """What a check of these dims depends on."""
        found = (self.facts.dim(value, d) if d >= 0 else None for d in dims)
        return tuple(
            (self.facts.find(f.key), tuple(tuple(dims.index(d) for d in g if d in dims) for g in f.parents))
            if isinstance(f, LevelKey)
            else (None if f is None else self.facts.find(f))
            for f in found
        )

    def valid(self, op: ir.Operation) -> bool:
        kind, factor = CHECK_KINDS[string_attr(op, "kind")].holds, optional_int(op, "factor")
        operands = list(op.operands)
        if self.facts.holds(kind, operands, factor):
            return True
        keys = [self.facts.find(self.facts.operand(v)) for v in operands]
        if self._repeats((kind, factor, *keys)):
            return True
        if kind == "equal":
            self.facts.learn(keys[1], keys[0])
        if kind in ("offsets", "lengths"):
            self.facts.learn(keys[1], self.facts.total(kind, operands[0]))
        return False

    def _repeats(self, key: tuple[Hashable, ...]) -> bool:
        """Whether a dominating check has the key; remembers it."""
        if any(key in seen for seen in self._seen):
            return True
        self._seen[-1].add(key)
        return False


_DECIDE: dict[str, Callable[[_Prover, ir.Operation], bool]] = {
    "ragged.assert_conform": _Prover.conform,
    "ragged.assert_valid": _Prover.valid,
}
