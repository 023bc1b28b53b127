"""Attention on buffers, as a call in a forall over components: what bufferization makes of it, and kernels are made of.

It is a call, with what the op says as attributes, because bufferization would have to know an op of our own by an
interface that ops defined in Python cannot have. Nobody calls the function: the schedule `contract` makes a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.memory import buffer_of, room, tensor_of
from ragged_dialect.ir.walk import free_symbol
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.external_calls import call_external, module_of
from ragged_dialect.lowering.forall_bounds import forall_over
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.ops.attention import AttentionOp, Keys

NAME = "ragged_attention"
"""What the names of the functions start with."""

_SCALE, _KEYS, _SOFTCAP = "ragged.scale", "ragged.keys", "ragged.softcap"
_INDICES = 5


@dataclass(frozen=True)
class AttentionCall:
    """A call: rows `low` to `high` of `q`, `o` and `lse` (None where nobody wants it), and `length` rows of `k` and `v`
    from `first` on. Buffers are [rows, heads, head dim], `lse` is [rows, heads]."""

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
    def buffers(self) -> list[ir.Value]:
        """Queries, keys, values, results."""
        return list(self.op.operands)[:-_INDICES]

    @property
    def lse(self) -> ir.Value | None:
        """The buffer for the logs of the sums."""
        return self.buffers[4] if len(self.buffers) > 4 else None

    @property
    def low(self) -> ir.Value:
        """The first query of the component."""
        return self.op.operands[-5]

    @property
    def high(self) -> ir.Value:
        """The query after its last one."""
        return self.op.operands[-4]

    @property
    def length(self) -> ir.Value:
        """How many keys it has."""
        return self.op.operands[-3]

    @property
    def firsts(self) -> tuple[ir.Value, ir.Value]:
        """Its first key and value."""
        return self.op.operands[-2], self.op.operands[-1]

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return self.op.attributes[_SCALE].value

    @property
    def keys(self) -> Keys:
        """The keys that queries see."""
        return Keys.parse(self.op.attributes[_KEYS].value)

    @property
    def softcap(self) -> float | None:
        """What scores stay below."""
        return self.op.attributes[_SOFTCAP].value if _SOFTCAP in self.op.attributes else None


Room = tuple[Sequence[Mixed], ir.Type]
"""Extents and elements of a result."""


def lower_to_call(ctx: Lowering, op: AttentionOp, inputs: Sequence[Parts], rooms: Sequence[Room]) -> list[ir.Value]:
    """The results, as dense tensors, of a call for each component."""
    q, k, v = inputs
    ctx.close()
    read = [buffer_of(x.values) for x in inputs]
    written = [room(*sizes) for sizes in rooms]
    forall = forall_over(q.extent(0))
    block = forall.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_terminator(block), ctx.scope():
        low, count = q.component(1, block.arguments[0])
        (first_key, length), (first_value, _) = (x.component(1, block.arguments[0]) for x in (k, v))
        numbers: list[Mixed] = [low, build.add(low, count), length, first_key, first_value]
        module = module_of(op.operation)
        call = call_external(module, free_symbol(module, NAME), [*read, *written, *map(build.value, numbers)])
        call.attributes[_SCALE] = op.scale
        call.attributes[_KEYS] = ir.StringAttr.get(str(op.visible))
        if op.cap is not None:
            call.attributes[_SOFTCAP] = ir.FloatAttr.get(ir.F64Type.get(), op.cap)
    return [tensor_of(buffer) for buffer in written]
