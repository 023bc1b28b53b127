"""One order for the ops that may stand anywhere.

Where a rewrite left a view, a cast or a constant tells which pattern ran first, and nothing else.
So they are put where their operands and users say: constants in front of their block by value,
the others right before the first op that needs them. Checks come right behind what they check, and exchanges
begin where what they send is known, in their order: between two computations, each would keep them from sharing a
loop or from going on meanwhile. Every other op keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import blocks_of, definer
from ragged_dialect.ops import MOVABLE
from ragged_dialect.passes.patterns.rewriting import walk

_WAIT = "ragged.all_to_all_wait"
_MOVABLE = frozenset({_WAIT, "tensor.cast", "tensor.dim", "arith.addi", "arith.extsi", "arith.index_cast"})
_EARLY = frozenset({"ragged.all_to_all_start", "ragged.assert_conform", "ragged.assert_valid"})
_Makers: TypeAlias = "dict[ir.Operation, ir.Operation | None]"
_COMPUTES = ("arith.", "linalg.", "math.", "tensor.")


def schedule(root: ir.Operation) -> None:
    """Order the movable ops of every block nested in `root`, but for bodies of linalg ops."""
    for block in blocks_of(root):
        ops = [op.operation for op in block.operations]
        _schedule_block(block, ops)
        for op in ops:
            if len(op.regions) and not op.name.startswith("linalg."):
                schedule(op)


def _schedule_block(block: ir.Block, ops: list[ir.Operation]) -> None:
    constants = [op for op in ops if op.name == "arith.constant"]
    loose = {op for op in ops if op.name in _MOVABLE or op.name in MOVABLE}
    if any(op.name in _EARLY for op in ops):
        _raise(ops, loose)
        ops = [op.operation for op in block.operations]
    if loose:
        for op in ops:
            if op not in loose and op.name != "arith.constant":
                _place_needed(op, loose)
    constants.sort(key=lambda op: (str(op.results[0].type), str(op.attributes["value"])), reverse=True)
    for op in constants:
        first = block.operations[0].operation
        if first != op:
            op.move_before(first)


def _raise(ops: list[ir.Operation], loose: set[ir.Operation]) -> None:
    """Move checks and starts up to what they need, over no op that has effects and none another of them. What needs
    the result of an exchange would have it waited for at once: it stays."""
    places = {op: (place, 0) for place, op in enumerate(ops)}
    made: _Makers = {}
    barrier: ir.Operation | None = None
    for op in ops:
        maker = _last_maker(op, made, places) if op in loose or op.name in _EARLY else None
        if op.name not in _EARLY:
            barrier = barrier if op in loose or op.name.startswith(_COMPUTES) else op
            if op in loose and op.name != _WAIT:
                made[op] = maker
            continue
        last = max((m for m in (maker, barrier) if m is not None), key=lambda m: places[m], default=None)
        barrier = op
        if maker is not None and maker.name == _WAIT:
            continue
        if last is None:
            op.move_before(ops[0])
            places[op] = (-1, 0)
        else:
            op.move_after(last)
            places[op] = (places[last][0], places[last][1] + 1)


def _last_maker(op: ir.Operation, made: _Makers, places: dict[ir.Operation, tuple[int, int]]) -> ir.Operation | None:
    """The last op that makes what an op needs, in its regions too, or a wait if there is one: no constant, and for a
    loose op its own, which is in `made`."""
    makers = [definer(v) for v in _read(op) if not isinstance(v.owner, ir.Block)]
    own = [made.get(maker, maker) for maker in makers if maker in places and maker.name != "arith.constant"]
    found = [maker for maker in own if maker is not None]
    return max(found, key=lambda maker: (maker.name == _WAIT, places[maker]), default=None)


def _place_needed(anchor: ir.Operation, loose: set[ir.Operation]) -> None:
    """Move the loose ops that `anchor` needs before it, each behind the ones it needs itself."""
    for needed in _needs(anchor, loose):
        stack = [(needed, _needs(needed, loose))]
        while stack:
            op, needs = stack[-1]
            below = next((n for n in needs if n in loose), None)
            if below is not None:
                stack.append((below, _needs(below, loose)))
                continue
            stack.pop()
            if op in loose:
                loose.discard(op)
                op.move_before(anchor)


def _needs(op: ir.Operation, loose: set[ir.Operation]) -> Iterator[ir.Operation]:
    """The loose ops that `op`, or an op nested in it, reads."""
    for value in _read(op):
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.operation in loose:
            yield owner.operation


def _read(op: ir.Operation) -> Iterator[ir.Value]:
    """What an op reads, and what is in it."""
    for reader in (op, *walk(op)) if len(op.regions) else (op,):
        yield from reader.operands
