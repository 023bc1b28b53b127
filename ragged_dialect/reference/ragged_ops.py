"""The ops of the dialect: operands and attributes to the functions that do the work."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.checked_data import require
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.match import view_of
from ragged_dialect.ops.attention import Attention
from ragged_dialect.ops.checks import AssertConformOp
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.ops.steps import StepsOp
from ragged_dialect.reference import attention, exchange, making, structure
from ragged_dialect.reference.conformity import require_pairs
from ragged_dialect.reference.program import Env, Operand, Program, Run, Values, effect, handler, pure, result_dtype
from ragged_dialect.reference.steps import steps
from ragged_dialect.reference.value import Datum, RaggedValue
from ragged_dialect.traits import has_unit, int_attr, optional_int, string_attr
from ragged_dialect.types import is_tensor, shape_of


def _vector(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


_OF_ONE: dict[str, Callable[[Operand], Datum]] = {
    "values": lambda x: x.values,
    "assume": lambda x: x,
    "guard": lambda x: x,
    "all_to_all_start": lambda x: np.int64(0),  # waits have one order on all ranks too
}
_BY_LEVEL: dict[str, Callable[[RaggedValue, int], Datum]] = {
    "offsets": lambda x, level: _vector(making.offsets(x, level)),
    "starts": lambda x, level: _vector(making.starts(x, level)),
    "row_ids": lambda x, level: _vector(making.row_ids(x, level)),
    "total": lambda x, level: np.int64(sum(making.lengths(x, level))),
    "max_length": lambda x, level: np.int64(max(making.lengths(x, level), default=0)),
}


def _lengths(x: RaggedValue, level: int, stored: bool = False) -> Datum:
    return _vector((making.stored_lengths if stored else making.lengths)(x, level))


_MEANINGS: dict[str, Callable[..., Datum]] = {
    **structure.MEANINGS,
    **making.MEANINGS,
    **_OF_ONE,
    **_BY_LEVEL,
    "lengths": _lengths,
    "all_to_all": exchange.all_to_all,
    "all_to_all_wait": exchange.all_to_all,
}
"""What ops do with their operands, and with those of their attributes that they name."""


@handler(*(f"ragged.{name}" for name in _MEANINGS))
def _function(program: Program, op: ir.Operation) -> Run:
    function = _MEANINGS[op.name.removeprefix("ragged.")]
    named = [name for name in inspect.signature(function).parameters if name in op.attributes]
    attributes = {name: getattr(op.attributes[name], "value", True) for name in named}  # a unit has no value
    return lambda env, operands: [function(*operands, **attributes)]


@handler("ragged.assemble")
def _assemble(program: Program, op: ir.Operation) -> Run:
    shape = shape_of(op.results[0].type)
    return lambda env, parts: [RaggedValue.from_parts(shape, parts)]


@handler("ragged.print")
def _print(program: Program, op: ir.Operation) -> Run:
    label = f"{string_attr(op, 'label')}: " if "label" in op.attributes else ""
    return effect(lambda operands: print(label, making.nested_text(operands[0]), sep=""))


@handler("ragged.empty")
def _empty(program: Program, op: ir.Operation) -> Run:
    sources = view_of(op, EmptyOp).sources()
    result, dtype = shape_of(op.results[0].type), result_dtype(op)
    count = sum(is_tensor(v.type) for v in op.operands)

    def run(*operands: Operand) -> Datum:
        likes = [RaggedValue.of(x) for x in operands[:count]]
        given = iter(int(n) for n in operands[count:])
        own = [
            next(given) if extent is None else extent
            for source, extent in zip(sources, result.shape, strict=True)
            if source is None
        ]
        return making.empty(likes, sources, own, result, dtype)

    return pure(run)


@handler("ragged.from_padded")
def _from_padded(program: Program, op: ir.Operation) -> Run:
    shape = shape_of(op.results[0].type)
    return lambda env, operands: [making.from_padded(operands[0], operands[1:], shape)]


@handler("ragged.annotate")
def _annotate(program: Program, op: ir.Operation) -> Run:
    before, after = op.operands[0].type, op.results[0].type
    if shape_of(before).layout != shape_of(after).layout:
        raise RaggedError(f"expected an annotate of one layout (run ragged-infer-layouts), got {before} to {after}")
    return pure(lambda x: x)


@handler("ragged.assert_valid")
def _assert_valid(program: Program, op: ir.Operation) -> Run:
    kind, where, level = string_attr(op, "kind"), string_attr(op, "op"), int_attr(op, "level")
    factor = optional_int(op, "factor")
    return effect(lambda operands: require(kind, where, level, operands, factor or 0))


@handler("cf.assert")
def _assert(program: Program, op: ir.Operation) -> Run:
    where = f"cf.assert: {string_attr(op, 'msg')}"
    return effect(lambda operands: require("holds", where, 0, operands))


@handler("ragged.assert_conform")
def _assert_conform(program: Program, op: ir.Operation) -> Run:
    pairs = view_of(op, AssertConformOp).pairs
    where = string_attr(op, "op")
    return effect(lambda operands: require_pairs(where, *map(RaggedValue.of, operands), pairs=pairs))


_ATTENTION = {
    "ragged.attention": attention.attention,
    "ragged.attention_jvp": attention.attention_jvp,
    "ragged.attention_vjp_q": attention.attention_vjp_q,
    "ragged.attention_vjp_kv": attention.attention_vjp_kv,
}


@handler(*_ATTENTION)
def _attention(program: Program, op: ir.Operation) -> Run:
    known = view_of(op, Attention)
    function, scale, visible, cap = _ATTENTION[op.name], known.scale.value, known.visible, known.cap
    places = [list(op.operands).index(x) for x in (known.q, known.k, known.v)]
    block = None if known.scored is None else program.decode_block(known.scored)

    def run(env: Env, operands: Values) -> Values:
        q, k, v = (operands[place] for place in places)
        score = None if block is None else partial(program.run, block, env)
        return list(function(attention.Scores(q, k, v, scale, visible, cap, score), *operands[3:]))

    return run


@handler("ragged.steps")
def _steps(program: Program, op: ir.Operation) -> Run:
    known = view_of(op, StepsOp)
    count, reverse, block = len(known.elements), has_unit(op, "reverse"), program.decode_block(known.block)

    def run(env: Env, operands: Values) -> Values:
        return steps(operands[:count], operands[count:], lambda rows: program.run(block, env, list(rows)), reverse)

    return run
