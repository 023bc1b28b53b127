"""ragged-insert-checks: run-time checks of index data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.asm.locations import name_of
from ragged_dialect.checking.structures import check_argument, check_argument_facts
from ragged_dialect.checks import CHECKED
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import generic, indexing_maps, loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.functions import defined_functions
from ragged_dialect.ir.match import constant_int, view_of
from ragged_dialect.ir.walk import find_ops, is_outside, makers
from ragged_dialect.iteration import is_compute
from ragged_dialect.layout import Layout
from ragged_dialect.ops import OPS
from ragged_dialect.ops.attention import Attention
from ragged_dialect.ops.rules import rule_of
from ragged_dialect.passes.base import PassFailure, RaggedPass, faults_at
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.passes.rewriting import walk
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import dense_type, is_ragged, shape_of, tensor_type
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
    are checked in front of the op, for all of its elements at once; a `tensor.extract` of a ragged one is
    trusted there. So are those of the score of an attention, over all pairs of queries and keys. What holds for
    every input gets no check. A function with the attribute `ragged.checked`, which the pass sets, is left alone,
    so that running it twice changes nothing; so is an op with it, whose operands are known to be right.

    MLIR's passes move ops without memory effects out of loops, over a check that stays. So what a
    checked op in a loop reads, or in a function that is called and may be inlined into one, goes
    through a `ragged.guard` behind its checks, until the checks are lowered.

    Options: `arguments=false` trusts ragged arguments, `dense=false` ops on dense tensors alone; with
    `names=true` a check has the name of the location of its op, where that has one, instead of the op's. Runs on
    verified IR, before any canonicalization and after `ragged-infer-layouts`: values whose layout is still to be
    inferred would get no checks, so a `ragged.annotate` is refused, as are functions with several blocks.
    """

    name: ClassVar[str] = "ragged-insert-checks"
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
                check_body(emit, op, self.dense)
                if self.dense and op.name in _SCORED:
                    _check_score(emit, op)
            if moves and emit.taken and not inserts:
                _hold_back(op)
            if op.name.startswith("linalg.") or op.name in _SCORED:
                continue
            for region in op.regions:
                for inner in region.blocks:
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


def check_body(emit: Emitter, op: ir.Operation, dense: bool, before: ir.Operation | None = None) -> None:
    """Put a `cf.assert` in front of a linalg op, or `before` another one, for every one in its body, and with `dense`
    checks of the indices of every `tensor.extract` of a dense tensor."""
    if not op.name.startswith("linalg.") or not op.results or not op.regions:
        return
    for found in [inner.operation for inner in op.regions[0].blocks[0].operations]:
        with ir.InsertionPoint(before or op), found.location:
            if found.name == "cf.assert":
                (condition,) = _over_all(emit, op, found.operands[0:1], [(1, arith.extui, arith.andi)])
                holds = build.unequal(condition, 0)
                ir.Operation.create("cf.assert", operands=[holds], attributes={"msg": found.attributes["msg"]})
            elif dense and found.name == "tensor.extract" and not is_ragged(found.operands[0].type):
                _check_indices(emit, op, found)


def _check_score(emit: Emitter, op: ir.Operation) -> None:
    """Check the indices of the score of an op of attention in front of it: over all pairs of queries and keys."""
    known = view_of(op, Attention)
    block = known.scored
    if block is None or not any(inner.operation.name == "tensor.extract" for inner in block.operations):
        return
    score, ops = block.arguments[0], [o.operation for o in block.operations]
    indices = [x for found in find_ops(op, "tensor.extract") for x in list(found.operands)[1:]]
    if any(score in (x, *inner.operands) for x in indices for inner in makers([x], ops)):
        raise PassFailure(op, "expected indices that no score is made of, got one of scores")
    with ir.InsertionPoint(op), op.location:
        q, k = known.q, without_gaps(known.k)  # the pairs have its levels
        batch, _, heads, _ = shape_of(q.type).shape
        type_ = tensor_type(RaggedShape(Layout.parse("drr|d"), (batch, None, None, heads)), score.type)
        extents = [build.value(shapes.dim(q, 2))] if heads is None else []
        pairs = builders.empty([q, k], type_, [Source(0, 0), Source(0, 1), Source(1, 1), None], extents)
        maps = [ir.AffineMap.get_identity(4)] * 2

        def body(given: list[ir.Value]) -> list[ir.Value]:
            return inlined(block, [given[0], *(loop_index(loop) for loop in (0, 3, 1, 2))])[:1]

        made = generic([pairs], [pairs], maps, ["parallel"] * 4, body)
        check_body(emit, made, True, op)
    made.erase()


def _check_indices(emit: Emitter, op: ir.Operation, extract: ir.Operation) -> None:
    x, *indices = extract.operands
    if not indices or not is_outside(x, op):
        return
    # Unsigned, a negative index is the largest. Without elements there is none: 0 is in [0, 1) then.
    steps = [(0, arith.index_cast, arith.maxui)] * len(indices)
    *worst, some = _over_all(
        emit, op, [*indices, indices[0]], [*steps, (0, lambda type_, _: build.constant(type_, 1), arith.ori)]
    )
    some = build.unequal(some, 0)
    emit.named(extract.name)
    for dim, index in enumerate(worst):
        bound = arith.select(some, emit.index(emit.extent(x, dim)), emit.index(1))
        emit.valid("index", dim, arith.index_cast(ir.IndexType.get(), index), bound)


Step = tuple[int, Callable[[ir.Type, ir.Value], ir.Value], Callable[[ir.Value, ir.Value], ir.Value]]
"""What to start from, what makes an i64 (of a type and a value), what combines two."""


def _over_all(emit: Emitter, op: ir.Operation, values: Sequence[ir.Value], steps: Sequence[Step]) -> list[ir.Value]:
    """Values of the body combined over all elements, each by a step of its own, as i64."""
    maps, body = indexing_maps(op), op.regions[0].blocks[0]
    i64 = ir.IntegerType.get_signless(64)
    starts = [tensor.from_elements(dense_type((), i64), [arith.constant(i64, step[0])]) for step in steps]

    def payload(elements: list[ir.Value]) -> list[ir.Value]:
        known: ValueMap = dict(zip(body.arguments, elements, strict=False))
        for inner in makers(values, [o.operation for o in body.operations]):
            clone(inner, known)
        return [
            combine(sofar, convert(i64, known.get(value, value)))
            for value, sofar, (_, convert, combine) in zip(values, elements[-len(steps) :], steps, strict=True)
        ]

    # The outs are read too, or at least give extents: they may be all that has some loop.
    rank = maps[0].n_dims
    scalar = ir.AffineMap.get(rank, 0, [])
    operands = [emit.behind(x) if isinstance(x.type, ir.RankedTensorType) else x for x in op.operands]
    made = generic(operands, starts, [*maps, *[scalar] * len(steps)], ["reduction"] * rank, payload)
    return [tensor.extract(result, []) for result in made.results]
