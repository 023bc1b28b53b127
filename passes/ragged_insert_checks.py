"""ragged-insert-checks: run-time checks of index data."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.asm.locations import name_of
from ragged_dialect.checking.structures import check_argument, check_argument_facts
from ragged_dialect.checks import CHECKED
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.functions import defined_functions
from ragged_dialect.ir.match import blocks_of, constant_int
from ragged_dialect.iteration import is_compute
from ragged_dialect.ops import OPS
from ragged_dialect.ops.attention import Attention
from ragged_dialect.ops.rules import rule_of
from ragged_dialect.passes.base import PassFailure, RaggedPass, faults_at
from ragged_dialect.passes.checking.bodies import check_body, check_score, generalized
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.types import is_ragged, shape_of
from ragged_dialect.verify import facts_of

_SCORED = frozenset(name for name, kind in OPS.items() if issubclass(kind, Attention))
"""Ops whose regions are of numbers."""


@dataclass(frozen=True)
class RaggedInsertChecks(RaggedPass):
    """Puts `ragged.assert_valid` and `ragged.assert_conform` where structures are made.

    ```mlir
    %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    ```
    becomes
    ```mlir
    %n = tensor.dim %v, %c0 : tensor<?xf32>
    ragged.assert_valid %o, %n {kind = "offsets", op = "ragged.partition", level = 1} : (tensor<?xi64>, index) -> ()
    %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #jagged>
    ```

    A check stands right before the op it guards; at the entry of the function when it needs the
    arguments only; never outside the region of the op. Ragged arguments of public functions are
    checked at the entry too, with `op = "argument 0"`. `level` is the dim of the op's result for
    ops that make a structure (partition, assemble, from_padded, empty) and for arguments, and the
    dim of the operand for all others; of a compute op, the operand whose extent is refused.
    An index such as `i + k` of a compute op is compared with the extent as a whole, by the ends of its
    loops. In the body of a linalg op a `cf.assert`, and the indices of a `tensor.extract` of a dense tensor,
    are checked in front of the op, for all of its elements at once, those in an `scf.if` or an `scf.for` of the body
    where they run; a `tensor.extract` of a ragged one is trusted there. So are those of the score of an attention, over
    all pairs of queries and keys. Extents of what is made are at least 0, the step of an `scf.for` is at least 1. What
    holds for every input gets no check. A function with the attribute `ragged.checked`, which the pass sets, is left
    alone, so that running it twice changes nothing; so is an op with it, whose operands are known to be right.

    MLIR's passes move ops without memory effects out of loops, over a check that stays. So what a
    checked op in a loop reads, or in a function that is called and may be inlined into one, goes
    through a `ragged.guard` behind its checks, until the checks are lowered.

    Options: `arguments=false` trusts ragged arguments, `dense=false` ops on dense tensors alone; with
    `names=true` a check has the name of the location of its op, where that has one, instead of the op's. Runs on
    verified IR, before any canonicalization and after `ragged-infer-layouts`: values whose layout is still to be
    inferred would get no checks, so a `ragged.annotate` is refused, as are functions with several blocks.
    """

    arguments: bool = True
    names: bool = False
    dense: bool = True

    def run(self, op: ir.Operation) -> None:
        """Insert the checks of every function of a module."""
        called = {call.attributes["callee"].value for call in walk(op) if call.name == "func.call"}
        for name, function in defined_functions(op).items():
            if CHECKED not in function.attributes:
                self._run_function(function, name in called)

    def _run_function(self, function: ir.Operation, moves: bool) -> None:
        if len(function.regions[0].blocks) > 1:
            raise PassFailure(function, f"expected a function of 1 block, got {len(function.regions[0].blocks)}")
        emit = Emitter(function)
        emit.moves = moves
        with emit.scope():
            self._check_arguments(emit, function)
            self._visit(emit, function.regions[0].blocks[0], moves)
        emit.finish()
        function.attributes[CHECKED] = ir.UnitAttr.get()

    def _check_arguments(self, emit: Emitter, function: ir.Operation) -> None:
        public = str(function.attributes.get("sym_visibility", '"public"')) == '"public"'
        arguments = list(function.regions[0].blocks[0].arguments)
        attrs: list[ir.DictAttr | None] = [None] * len(arguments)
        if "arg_attrs" in function.attributes:
            attrs = list(function.attributes["arg_attrs"])
        entry = function.regions[0].blocks[0].operations[0].operation
        for number, (argument, attr) in enumerate(zip(arguments, attrs, strict=True)):
            if not (self.arguments and public and is_ragged(argument.type)):
                continue
            emit.guard(entry, f"argument {number}")
            shape = shape_of(argument.type)
            check_argument(emit, argument, shape)
            check_argument_facts(emit, argument, shape, facts_of(attr))

    def _visit(self, emit: Emitter, block: ir.Block, moves: bool) -> None:
        """Check the ops of a block; with `moves` those that have checks might be moved over them."""
        for op in list(block.operations):
            op = op.operation
            if op.name == "ragged.annotate":
                text = "expected layouts to be inferred, got ragged.annotate (run ragged-infer-layouts first)"
                raise PassFailure(op, text)
            # The terminator of a forall holds insertions and nothing else, which no pass moves.
            inserts = op.name == "tensor.parallel_insert_slice"
            emit.guard(op.block.owner.operation if inserts else op, name_of(op.location) if self.names else op.name)
            emit.moves = moves
            if CHECKED not in op.attributes:
                rule = rule_of(op, self.dense)
                if rule is not None:
                    try:
                        with faults_at(op, rule):
                            rule(emit, op)
                    except LayoutError as error:
                        raise PassFailure(op, str(error)) from None
                if op.name == "tensor.generate" and self.dense:
                    emit.replaced.append(op)
                    op = generalized(op)
                    emit.guard(op)
                check_body(emit, op, self.dense)
                if self.dense and op.name in _SCORED:
                    check_score(emit, op)
            if moves and emit.taken and not inserts:
                _hold_back(op)
            if op.name.startswith("linalg.") or op.name in _SCORED:
                continue
            for inner in blocks_of(op):
                with emit.scope():
                    self._visit(emit, inner, moves or op.name != "scf.if")


def _hold_back(op: ir.Operation) -> None:
    """Let an op depend on the checks above it. Of an op that computes one operand is enough, one that
    nothing fuses into the op; what the others read is found with it."""
    numbers = [k for k, v in enumerate(op.operands) if _is_read(v)]
    if is_compute(op):
        ragged = [k for k in numbers if is_ragged(op.operands[k].type)] or numbers
        numbers = [next((k for k in ragged if _is_outside(op.operands[k], op)), ragged[0])]
    with ir.InsertionPoint(op), op.location:
        for number in numbers:
            op.operands[number] = builders.guard(op.operands[number])


def _is_read(value: ir.Value) -> bool:
    if isinstance(value.type, ir.RankedTensorType):
        return len(value.type.shape) > 0
    return constant_int(value) is None


def _is_outside(value: ir.Value, op: ir.Operation) -> bool:
    return isinstance(value.owner, ir.Block) or value.owner.operation.block != op.block
