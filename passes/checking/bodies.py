"""Checks of what the bodies of linalg ops do, in front of them: for all elements at once."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir
from ragged_dialect.checking.dense import RULES, check_least, largest_index, least_of
from ragged_dialect.checks import CHECKED
from ragged_dialect.generic import elementwise, generated, loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.match import constant_int, view_of
from ragged_dialect.ir.walk import find_ops, is_outside, makers, ops_in
from ragged_dialect.layout import Layout
from ragged_dialect.ops.attention import SCORE_OPS, Attention
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.passes.checking.rehearsal import Question, Rehearsal, Step
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import is_ragged, shape_of, tensor_type

_TENSOR = {"tensor.extract": 0, "tensor.insert": 1}
"""Which operand of an op that may be in a body is the tensor that the indices behind it are in."""


def check_body(emit: Emitter, op: ir.Operation, dense: bool, before: ir.Operation | None = None) -> None:
    """Put a `cf.assert` in front of a linalg op, or `before` another one, for every one in its body, and with `dense`
    checks of the indices of every `tensor.extract` and `tensor.insert` of a dense tensor, of extents and of steps of
    loops. In a branch, or in a loop, of the body they hold where it runs."""
    if not op.name.startswith("linalg.") or not op.results or not op.regions:
        return
    with ir.InsertionPoint(before or op), op.location:
        inner = [x for x in ops_in(op)[1:] if CHECKED not in x.attributes]
        questions = [one for x in inner if (one := _question(emit, op, x, dense)) is not None]
        if not questions:
            return
        answers = Rehearsal(op, questions).answers(emit)
        for question, found in zip(questions, answers, strict=True):
            with question.op.location:
                _check(emit, question, found)


def check_score(emit: Emitter, op: ir.Operation) -> None:
    """Check the indices of the score of an op of attention in front of it: over all pairs of queries and keys."""
    known = view_of(op, Attention)
    block = known.scored
    if block is None or not any(inner.operation.name in SCORE_OPS for inner in block.operations):
        return
    score, ops = block.arguments[0], [o.operation for o in block.operations]
    indices = [x for found in find_ops(op, *SCORE_OPS) for x in list(found.operands)[1:]]
    if any(score in (x, *inner.operands) for x in indices for inner in makers([x], ops)):
        raise PassFailure(op, "expected indices that no score is made of, got one of scores")
    with ir.InsertionPoint(op), op.location:
        q, k = known.q, without_gaps(known.k)  # the pairs have its levels
        batch, _, heads, _ = shape_of(q.type).shape
        type_ = tensor_type(RaggedShape(Layout.parse("drr|d"), (batch, None, None, heads)), score.type)
        extents = [build.value(shapes.dim(q, 2))] if heads is None else []
        pairs = builders.empty([q, k], type_, [Source(0, 0), Source(0, 1), Source(1, 1), None], extents)

        def body(given: list[ir.Value]) -> list[ir.Value]:
            return inlined(block, [given[0], *(loop_index(loop) for loop in (0, 3, 1, 2))])[:1]

        made = elementwise([pairs], [pairs], body)
        check_body(emit, made, True, op)
    made.erase()


_MOST = 2**63 - 1
_ASSERT: Step = (1, arith.extui, arith.andi)
_LEAST: Step = (_MOST, lambda type_, given: arith.index_cast(type_, build.to_index(given)), arith.minsi)
_HIGHEST: Step = (0, _LEAST[1], arith.maxsi)
_LARGEST: Step = (0, arith.index_cast, arith.maxui)
"""Unsigned, a negative index is the largest."""
_SOME: Step = (0, lambda type_, _: build.constant(type_, 1), arith.ori)


def _question(emit: Emitter, op: ir.Operation, found: ir.Operation, dense: bool) -> Question | None:
    """What an op in a body is asked, None for nothing."""
    if found.name == "cf.assert":
        return Question(found, (found.operands[0],), (_ASSERT,))
    if not dense or found.name not in RULES or any(is_ragged(v.type) for v in found.operands):
        return None
    if found.name == "scf.for":
        _, high, step = list(found.operands)[:3]
        if (by := constant_int(step)) is not None and by > 0:
            return None
        return Question(found, (step, step, high), (_LEAST, _HIGHEST, _HIGHEST), least=tuple(least_of(found)))
    if RULES[found.name] == check_least:
        given = ((one, constant_int(one[1])) for one in least_of(found))
        least = tuple(one for one, known in given if known is None or known < one[2])
        return Question(found, tuple(x for _, x, _ in least), (_LEAST,) * len(least), least=least) if least else None
    places = _places(emit, op, found)
    if not places:
        return None
    indices = tuple(x for x, _ in places)
    return Question(found, (*indices, indices[0]), (*[_LARGEST] * len(indices), _SOME), places)


def _check(emit: Emitter, question: Question, found: list[ir.Value]) -> None:
    op = question.op
    if op.name == "cf.assert":
        holds = build.unequal(found[0], 0)
        ir.Operation.create("cf.assert", operands=[holds], attributes={"msg": op.attributes["msg"]})
        return
    emit.named(op.name)
    if question.least:  # as `check_least`
        for (dim, _, least), smallest in zip(question.least, found, strict=False):
            emit.valid("at_least", dim, build.to_index(smallest), factor=least)
        if op.name == "scf.for":
            largest, end = map(build.to_index, found[1:])
            emit.valid("range", 0, 0, largest, emit.minus(largest_index(op.operands[2].type), end))
        return
    *worst, some = found  # without elements there is no index: 0 is in [0, 1) then
    some = build.unequal(some, 0)
    for dim, (index, (_, extent)) in enumerate(zip(worst, question.places, strict=True)):
        bound = arith.select(some, emit.index(extent), emit.index(1))
        emit.valid("index", dim, arith.index_cast(ir.IndexType.get(), index), bound)


def generalized(op: ir.Operation) -> ir.Operation:
    """The loop that a `tensor.generate` is, whose body may be checked as others; nothing reads that any more."""
    made = op.results[0].type
    with ir.InsertionPoint.after(op), op.location:
        into = shapes.empty(build.joined(made.shape, op.operands), made.element_type)
        loop = generated(into, lambda indices: inlined(op.regions[0].blocks[0], indices)[0])
    op.results[0].replace_all_uses_with(loop.result)
    return loop.operation


def _places(emit: Emitter, op: ir.Operation, access: ir.Operation) -> tuple[tuple[ir.Value, Mixed], ...]:
    """The indices of an op in the body of another one, each with what it is below."""
    if access.name == "tensor.cast":
        source, made = access.operands[0].type, access.results[0].type
        if not (source.has_rank and made.has_rank) or any(
            a == DYNAMIC != b for a, b in zip(source.shape, made.shape, strict=True)
        ):
            text = "expected in a body no 'tensor.cast' to extents that only calls know"
            raise PassFailure(access, f"{text}, got one of {source} to {made}")
        return ()
    if access.name == "tensor.dim":
        x, dim = access.operands
        rank, place = len(x.type.shape), constant_int(dim)
        return ((dim, rank),) if place is None or not 0 <= place < rank else ()
    if access.name not in _TENSOR:
        text = f"expected in a body no op on tensors but {' and '.join(_TENSOR)}"
        raise PassFailure(access, f"{text}, got '{access.name}'")
    x, *indices = list(access.operands)[_TENSOR[access.name] :]
    known = is_outside(x, op)
    if not known and None in shape_of(x.type).shape:
        text = "expected in a body places in tensors of static extents, or of what is there before"
        raise PassFailure(access, f"{text}, got '{access.name}' of {x.type}")
    extents = [emit.extent(x, dim) for dim in range(len(indices))] if known else list(x.type.shape)
    return tuple(zip(indices, extents, strict=True))
