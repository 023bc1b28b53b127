"""`unshare-ragged-empties`: every destination is a tensor of its own."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import defining_op, filled_with
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass


class UnshareRaggedEmpties(RaggedPass):
    """Give every use of a `tensor.empty`, or of one with an element inserted, its own, and every op that adds to a
    fill one of its own.

    ```mlir
    %e = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e)
    // becomes
    %e = tensor.empty(%n) : tensor<?xf32>
    %e2 = tensor.empty(%n) : tensor<?xf32>
    %0:2 = scf.forall … shared_outs(%a = %e, %b = %e2)
    ```

    Common subexpression elimination makes equal ones the same, and bufferization would let two outs
    of one loop share a buffer, because neither's contents are defined. Of one with an element inserted, as
    the 0 that offsets begin with, it would copy everything, which nobody has written; and of a fill it would copy
    what can be filled again.
    """

    def run(self, op: ir.Operation) -> None:
        """Copy every destination of a module with several uses."""
        for fill in find_ops(op, "linalg.fill", "linalg.generic"):
            if filled_with(fill) is not None and _is_destination(defining_op(fill.operands[1])):
                _fill_again(fill)
        inserts = [insert for insert in find_ops(op, "tensor.insert") if _is_destination(insert)]
        for made in [*reversed(inserts), *find_ops(op, "tensor.empty")]:
            _own_uses(made, _uses(made))


def _uses(made: ir.Operation) -> list[tuple[ir.Operation, int]]:
    return [(use.owner.operation, use.operand_number) for result in made.results for use in result.uses]


def _fill_again(fill: ir.Operation) -> None:
    """Give every op that adds to a fill one of its own, just before it: until then there is none."""
    uses = _uses(fill)
    outs = [use for use in uses if _is_out(*use)]
    if len(uses) == 1:
        return
    for user, number in outs:
        with ir.InsertionPoint(user if user.block == fill.block else fill):
            copy = fill.clone().operation
        user.operands[number] = copy.results[0]
    if len(outs) == len(uses):
        fill.erase()


def _is_out(user: ir.Operation, number: int) -> bool:
    return user.name.startswith("linalg.") and number >= len(user.operands) - len(user.results)


def _own_uses(made: ir.Operation, uses: list[tuple[ir.Operation, int]]) -> None:
    """Give all uses but the first a copy."""
    for user, number in uses[1:]:
        with ir.InsertionPoint(made):
            copy = made.clone().operation
        user.operands[number] = copy.results[0]


def _is_destination(op: ir.Operation | None) -> bool:
    """Whether an op makes a tensor of which at most some elements, inserted one by one, are defined."""
    while op is not None and op.name == "tensor.insert":
        op = defining_op(op.operands[1])
    return op is not None and op.name == "tensor.empty"
