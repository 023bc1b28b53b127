"""Checks of what the bodies of linalg ops do, in front of them: for all elements at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checking.dense import RULES, check_least, least_of
from ragged_dialect.checks import CHECKED
from ragged_dialect.generic import generic, indexing_maps, loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.match import constant_int, enclosing, view_of
from ragged_dialect.ir.walk import captures, find_ops, is_outside, makers, ops_in
from ragged_dialect.iteration import analyze
from ragged_dialect.layout import Layout
from ragged_dialect.ops.attention import Attention
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import dense_type, is_ragged, shape_of, tensor_type

_TENSOR = {"tensor.extract": 0, "tensor.insert": 1}
"""Which operand of an op that may be in a body is the tensor that the indices behind it are in."""


def check_body(emit: Emitter, op: ir.Operation, dense: bool, before: ir.Operation | None = None) -> None:
    """Put a `cf.assert` in front of a linalg op, or `before` another one, for every one in its body, and with `dense`
    checks of the indices of every `tensor.extract` and `tensor.insert` of a dense tensor, of extents and of steps of
    loops. In a branch, or in a loop, of the body they hold where it runs."""
    if not op.name.startswith("linalg.") or not op.results or not op.regions:
        return
    for found in (inner for inner in ops_in(op)[1:] if CHECKED not in inner.attributes):
        with ir.InsertionPoint(before or op), found.location:
            if found.name == "cf.assert":
                (condition,) = _over_all(emit, op, found, found.operands[0:1], [(1, arith.extui, arith.andi)])
                holds = build.unequal(condition, 0)
                ir.Operation.create("cf.assert", operands=[holds], attributes={"msg": found.attributes["msg"]})
            elif dense and found.name in RULES and not any(is_ragged(v.type) for v in found.operands):
                check = _check_least if RULES[found.name] == check_least else _check_indices
                check(emit, op, found)


def check_score(emit: Emitter, op: ir.Operation) -> None:
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


def _check_least(emit: Emitter, op: ir.Operation, found: ir.Operation) -> None:
    for dim, value, least in least_of(found):
        known = constant_int(value)
        if known is None or known < least:
            step = (_MOST, lambda type_, given: arith.index_cast(type_, build.to_index(given)), arith.minsi)
            (smallest,) = _over_all(emit, op, found, [value], [step])
            emit.named(found.name)
            emit.valid("at_least", dim, build.to_index(smallest), factor=least)


_MOST = 2**63 - 1


def generalized(op: ir.Operation) -> ir.Operation:
    """The loop that a `tensor.generate` is, whose body may be checked as others; nothing reads that any more."""
    made = op.results[0].type
    with ir.InsertionPoint.after(op), op.location:
        into = shapes.empty(build.joined(made.shape, op.operands), made.element_type)
        rank, block = len(made.shape), op.regions[0].blocks[0]
        maps = [ir.AffineMap.get_identity(rank)]
        loop = generic(
            [], [into], maps, ["parallel"] * rank, lambda _: inlined(block, list(map(loop_index, range(rank))))
        )
    op.results[0].replace_all_uses_with(loop.result)
    return loop.operation


def _check_indices(emit: Emitter, op: ir.Operation, access: ir.Operation) -> None:
    if access.name == "tensor.cast":
        return
    if access.name == "tensor.dim":
        x, dim = access.operands
        if constant_int(dim) is None:
            _check_places(emit, op, access, [dim], [len(x.type.shape)])
        return
    if access.name not in _TENSOR:
        text = f"expected in a body no op on tensors but {' and '.join(_TENSOR)}"
        raise PassFailure(access, f"{text}, got '{access.name}'")
    x, *indices = list(access.operands)[_TENSOR[access.name] :]
    known = is_outside(x, op)
    if not known and None in shape_of(x.type).shape:
        text = "expected in a body places in tensors of static extents, or of what is there before"
        raise PassFailure(access, f"{text}, got '{access.name}' of {x.type}")
    own = [emit.extent(x, dim) for dim in range(len(indices))] if known else list(x.type.shape)
    _check_places(emit, op, access, indices, own)


def _check_places(
    emit: Emitter, op: ir.Operation, access: ir.Operation, indices: Sequence[ir.Value], extents: Sequence[Mixed]
) -> None:
    """Check indices in front of an op, each of which is below an extent."""
    if not indices:
        return
    # Unsigned, a negative index is the largest. Without elements there is none: 0 is in [0, 1) then.
    steps = [(0, arith.index_cast, arith.maxui)] * len(indices)
    *worst, some = _over_all(
        emit,
        op,
        access,
        [*indices, indices[0]],
        [*steps, (0, lambda type_, _: build.constant(type_, 1), arith.ori)],
    )
    some = build.unequal(some, 0)
    emit.named(access.name)
    for dim, (index, extent) in enumerate(zip(worst, extents, strict=True)):
        bound = arith.select(some, emit.index(extent), emit.index(1))
        emit.valid("index", dim, arith.index_cast(ir.IndexType.get(), index), bound)


Step = tuple[int, Callable[[ir.Type, ir.Value], ir.Value], Callable[[ir.Value, ir.Value], ir.Value]]
"""What to start from, what makes an i64 (of a type and a value), what combines two."""


def _over_all(
    emit: Emitter, op: ir.Operation, at: ir.Operation, values: Sequence[ir.Value], steps: Sequence[Step]
) -> list[ir.Value]:
    """Values that are there `at` an op in the body, combined over all elements, each by a step of its own, as i64."""
    maps, body = indexing_maps(op), op.regions[0].blocks[0]
    around: list[ir.Operation] = []
    while (outer := enclosing(around[-1] if around else at)) != op:
        around.append(outer)
    sums = set(body.arguments[len(op.operands) - len(op.results) :])
    if not sums.isdisjoint(_read(op, around, values)) and "reduction" in analyze(op).kinds:
        raise PassFailure(at, f"expected checks of what no reduction makes, got '{at.name}' of the sum so far")
    i64 = ir.IntegerType.get_signless(64)
    starts = [tensor.from_elements(dense_type((), i64), [arith.constant(i64, step[0])]) for step in steps]

    def payload(elements: list[ir.Value]) -> list[ir.Value]:
        known: ValueMap = dict(zip(body.arguments, elements, strict=False))
        return _combined(body, around[::-1], at, known, values, steps, elements[-len(steps) :])

    # The outs are read too, or at least give extents: they may be all that has some loop.
    rank = maps[0].n_dims
    scalar = ir.AffineMap.get(rank, 0, [])
    operands = [emit.behind(x) if isinstance(x.type, ir.RankedTensorType) else x for x in op.operands]
    made = generic(operands, starts, [*maps, *[scalar] * len(steps)], ["reduction"] * rank, payload)
    return [tensor.extract(result, []) for result in made.results]


def _read(op: ir.Operation, around: Sequence[ir.Operation], values: Sequence[ir.Value]) -> list[ir.Value]:
    """What values inside an op, and conditions and bounds `around` them, are made of, from the op or from outside."""
    wanted = _wanted(around, values)
    return [*wanted, *captures(makers(wanted, ops_in(op)[1:]))]


def _wanted(around: Sequence[ir.Operation], values: Sequence[ir.Value]) -> list[ir.Value]:
    """Values, and what tells whether, and how often, the ops around them run: not what loops carry at first."""
    return [*values, *(x for outer in around for x in list(outer.operands)[:_BOUNDS])]


_BOUNDS = 3
"""Operands of an `scf.for` before what it carries; an `scf.if` has one, its condition."""


def _combined(
    block: ir.Block,
    around: Sequence[ir.Operation],
    at: ir.Operation,
    known: ValueMap,
    values: Sequence[ir.Value],
    steps: Sequence[Step],
    sofar: list[ir.Value],
) -> list[ir.Value]:
    """What a block adds to what is combined so far; the op is in it, or in the first of some ops in one another."""
    for inner in makers(_wanted(around, values), ops_in(block.owner)[1:]):
        if inner.block == block:
            clone(inner, known)
    if not around:
        i64 = ir.IntegerType.get_signless(64)
        return [
            combine(old, convert(i64, known.get(value, value)))
            for value, old, (_, convert, combine) in zip(values, sofar, steps, strict=True)
        ]
    top, *others = around
    inside = next(
        inner for region in top.regions for inner in region.blocks if (others[0] if others else at).block == inner
    )

    def taken(state: list[ir.Value]) -> list[ir.Value]:
        return _combined(inside, others, at, dict(known), values, steps, state)

    given = [known.get(x, x) for x in list(top.operands)[:_BOUNDS]]
    if top.name == "scf.if":
        branches = [lambda: taken(sofar), lambda: sofar]
        then, otherwise = branches if top.regions[0].blocks[0] == inside else branches[::-1]
        return flow.choose(given[0], then, otherwise, [x.type for x in sofar])
    carried = set(inside.arguments[1:])
    if top.name != "scf.for" or not carried.isdisjoint(_read(top, others, values)):
        text = "expected checks in scf.if and scf.for in a body, of what no loop carries"
        raise PassFailure(at, f"{text}, got '{at.name}' in '{top.name}'")

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        known[inside.arguments[0]] = number
        return taken(state)

    low, high, stride = given[:3]
    return flow.strided(low, stride, high, sofar, step)
