"""Attention on buffers, as a call in a forall over components: what bufferization makes of it, and kernels are made of.

It is a call, with what the op says as attributes, because bufferization would have to know an op of our own by an
interface that ops defined in Python cannot have. Nobody calls the function: the schedule `contract` makes a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.match import definer, made_by, terminator
from ragged_dialect.ir.memory import buffer_of, room, tensor_of
from ragged_dialect.ir.walk import captures, free_symbol
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.external_calls import call_external, module_of
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.ops.attention import Attention, AttentionVjpKvOp, Keys

NAME = "ragged_attention"
"""What the names of the functions start with."""

_SCORE_NAME = f"{NAME}_score"

_OF, _SEGMENTS, _RESULTS = "ragged.of", "ragged.segments", "ragged.results"
_SCALE, _KEYS, _SOFTCAP = "ragged.scale", "ragged.keys", "ragged.softcap"
_SCORE = "ragged.score"
_INDICES = 5


@dataclass(frozen=True)
class AttentionCall:
    """A call: of rows `low` to `high` of `own` and `written`, and of `length` rows of `others` from `firsts` on, which
    those meet. Buffers are [rows, heads, head dim], but [rows, heads] where they have a number for each query.

    | | own | others | saved | written |
    |---|---|---|---|---|
    | `ragged.attention` | q | k, v | | o, lse |
    | `ragged.attention_vjp_q` | q, upstream | k, v | lse, delta | dq |
    | `ragged.attention_vjp_kv` | k, v | q, upstream | lse, delta | dk, dv |

    A score of its own is a function too, of score, component, head, query and key and of what the call has besides.
    """

    op: ir.Operation

    @staticmethod
    def of(op: ir.Operation) -> AttentionCall | None:
        """The call that an op is."""
        is_one = op.name == "func.call" and op.attributes["callee"].value.startswith(NAME)
        return AttentionCall(op) if is_one and _SCALE in op.attributes else None

    @property
    def function(self) -> ir.Operation:
        """What is called, which this call alone does."""
        found = ir.SymbolTable(module_of(self.op))[self.op.attributes["callee"].value]
        return found.operation

    @property
    def by_keys(self) -> bool:
        """Whether the own rows are keys."""
        return self.op.attributes[_OF].value == AttentionVjpKvOp.OPERATION_NAME

    @property
    def results(self) -> tuple[int, ...]:
        """Which results of the op are written."""
        return tuple(self.op.attributes[_RESULTS])

    def _segment(self, number: int) -> list[ir.Value]:
        sizes = list(self.op.attributes[_SEGMENTS])
        first = sum(sizes[:number])
        return list(self.op.operands)[first : first + sizes[number]]

    @property
    def own(self) -> list[ir.Value]:
        """What has the rows that the results have."""
        return self._segment(0)

    @property
    def others(self) -> list[ir.Value]:
        """The two that these meet."""
        return self._segment(1)

    @property
    def saved(self) -> list[ir.Value]:
        """What is known of queries: nothing, or that cotangents are wanted."""
        return self._segment(2)

    @property
    def written(self) -> list[ir.Value]:
        """The results."""
        return self._segment(3)

    @property
    def captured(self) -> list[ir.Value]:
        """What the score reads."""
        return self._segment(4)

    @property
    def scored(self) -> ir.Operation | None:
        """The function that makes scores of products, which this call alone has, None where these are the scores."""
        if _SCORE not in self.op.attributes:
            return None
        return ir.SymbolTable(module_of(self.op))[self.op.attributes[_SCORE].value].operation

    @property
    def low(self) -> ir.Value:
        """The first own row of the component."""
        return self.op.operands[-5]

    @property
    def high(self) -> ir.Value:
        """The one after its last one."""
        return self.op.operands[-4]

    @property
    def length(self) -> ir.Value:
        """How many others it has."""
        return self.op.operands[-3]

    @property
    def firsts(self) -> tuple[ir.Value, ir.Value]:
        """Its first row of each of the others."""
        return self.op.operands[-2], self.op.operands[-1]

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return self.op.attributes[_SCALE].value

    @property
    def keys(self) -> Keys:
        """The others that own rows see."""
        return Keys.parse(self.op.attributes[_KEYS].value)

    @property
    def softcap(self) -> float | None:
        """What scores stay below."""
        return self.op.attributes[_SOFTCAP].value if _SOFTCAP in self.op.attributes else None


@dataclass(frozen=True)
class Operands:
    """What a call reads: see `AttentionCall`."""

    own: Sequence[Parts]
    others: Sequence[Parts]
    saved: Sequence[Parts] = ()


Room = tuple[Sequence[Mixed], ir.Type]
"""Extents and elements of a result."""


def lower_to_call(ctx: Lowering, op: Attention, operands: Operands, rooms: Mapping[int, Room]) -> list[ir.Value]:
    """The results of these numbers, as dense tensors, of a call for each component."""
    own, others, saved = operands.own, operands.others, operands.saved
    name = op.operation.name
    ctx.close()
    written = [room(*sizes) for sizes in rooms.values()]
    known = {x: buffer_of(x) if isinstance(x.type, ir.RankedTensorType) else x for x in _read(op)}
    segments = [[buffer_of(x.values) for x in read] for read in (own, others, saved)] + [written, list(known.values())]
    with inside_forall(own[0].extent(0), stays=True) as (_, component), ctx.scope():
        low, count = own[0].component(1, component)
        (first, length), (second, _) = (x.component(1, component) for x in others)
        numbers: list[Mixed] = [low, build.add(low, count), length, first, second]
        module = module_of(op.operation)
        buffers = [x for segment in segments for x in segment]
        call = call_external(module, free_symbol(module, NAME), [*buffers, *map(build.value, numbers)])
        call.attributes[_OF] = ir.StringAttr.get(name)
        call.attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([len(x) for x in segments])
        call.attributes[_RESULTS] = ir.DenseI32ArrayAttr.get(list(rooms))
        call.attributes[_SCALE] = op.scale
        visible = op.visible.of_keys if name == AttentionVjpKvOp.OPERATION_NAME else op.visible
        call.attributes[_KEYS] = ir.StringAttr.get(str(visible))
        if op.cap is not None:
            call.attributes[_SOFTCAP] = ir.FloatAttr.get(ir.F64Type.get(), op.cap)
        if op.scored is not None:
            call.attributes[_SCORE] = ir.FlatSymbolRefAttr.get(_score_function(module, op.scored, known))
    return [tensor_of(buffer) for buffer in written]


def is_score(function: ir.Operation) -> bool:
    """Whether a function makes scores: kernels are made of it where it is called for, and it is no program itself."""
    return function.attributes["sym_name"].value.startswith(_SCORE_NAME)


def _read(op: Attention) -> list[ir.Value]:
    """What the score of an op reads, constants left out."""
    return [x for x in op.captured if made_by(x, "arith.constant") is None]


def _score_function(module: ir.Operation, block: ir.Block, read: Mapping[ir.Value, ir.Value]) -> str:
    """The name of a function that does what a score does, of its arguments and of buffers."""
    name = free_symbol(module, _SCORE_NAME)
    kinds = [x.type for x in (*block.arguments, *read.values())]
    last = terminator(block)
    type_ = ir.FunctionType.get(kinds, [x.type for x in last.operands])
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(type_),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    body = function.regions[0].blocks.append(*kinds)
    own, others = list(body.arguments)[: len(block.arguments)], list(body.arguments)[len(block.arguments) :]
    known: ValueMap = dict(zip(read, others, strict=True))
    with ir.InsertionPoint(body):
        for x in captures(block.operations, block.arguments):
            if x not in known:
                clone(definer(x), known)
        ir.Operation.create("func.return", operands=inlined(block, own, known, _of_buffers))
    return name


def _of_buffers(op: ir.Operation, known: ValueMap) -> None:
    """A copy of an op, of a buffer where it is of a tensor."""
    if op.name not in _OF_BUFFERS:
        clone(op, known)
        return
    operands = [known.get(x, x) for x in op.operands]
    known[op.results[0]] = ir.Operation.create(_OF_BUFFERS[op.name], [op.results[0].type], operands).result


_OF_BUFFERS = {"tensor.extract": "memref.load", "tensor.dim": "memref.dim"}
