"""`convert-ragged-checks-to-scf`: asserts become a status that every function returns."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import DYNAMIC, ir, scf
from ragged_dialect.ir import build, clone, flow, memory, shapes
from ragged_dialect.ir.functions import functions_of, name_of
from ragged_dialect.ir.match import blocks_of, is_number, terminator
from ragged_dialect.ir.walk import append
from ragged_dialect.lowering.checks.asserts import Statement, description, record_of, require_around, settle, statement
from ragged_dialect.lowering.validity import require_dense
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.runtime.status import STATUS_ENTRIES
from ragged_dialect.types import is_tensor

_SAFE = frozenset(
    {"tensor.dim"}
    | {f"arith.{name}" for name in ("constant", "addi", "subi", "muli", "index_cast", "extsi", "cmpi", "select")}
)
"""Ops that may run before a check holds."""

_FEW_GUARDS = 8
"""Guards in each other that bufferization may take 2 to their number of steps for: so many a value goes through that
nothing writes, as a view of an argument. It looks for what wrote it in each of those inside again, branch by branch."""


class ConvertRaggedChecksToScf(RaggedPass):
    """Lower asserts: what follows a check runs only when it holds, functions return a status.

    ```mlir
    ragged.assert_valid %offsets, %n {kind = "offsets", op = "ragged.partition", level = 1} …
    %r = … rest …
    return %r
    // becomes
    %code, %component, %a, %b = … scan of %offsets …
    %s:6 = scf.if %ok -> … { … rest …; scf.yield %status…, %r } else { … empty …, %failure… }
    return %s#0, %s#1, %s#2, %s#3, %s#4, %s#5
    ```

    The status is five i64 in front of the results: check number, case, component, two values. The
    checks' kinds, ops and levels are listed by number in the module's `ragged.checks`. Functions
    without checks that call none keep their signature. A `cf.assert` is a check as well; guards are
    dropped. Precondition: `convert-ragged-to-scf`; what is still ragged is an error.
    """

    def run(self, op: ir.Operation) -> None:
        """Lower the asserts of every function of a module."""
        settle(op)
        functions = functions_of(op)
        checked = _checked_functions(list(functions.values()))
        state = _State(checked)
        for name, function in functions.items():
            if name in checked:
                _lower_function(state, function)
        if state.checks:
            op.attributes["ragged.checks"] = ir.ArrayAttr.get(state.checks)
        require_dense(op)


class _State:
    """Names of functions that return a status; the checks so far."""

    def __init__(self, checked: set[str]) -> None:
        self.checked = checked
        self.checks: list[ir.ArrayAttr] = []

    def number(self, op: ir.Operation) -> int:
        """Number of a check, from 1."""
        self.checks.append(description(op))
        return len(self.checks)


def _checked_functions(functions: list[ir.Operation]) -> set[str]:
    checked: set[str] = set()
    while True:
        found = {name_of(f) for f in functions if _has_checks(f, checked)}
        if found == checked:
            return checked
        checked = found


def _has_checks(op: ir.Operation, checked: set[str]) -> bool:
    """Whether an op is a check, or has one inside."""
    if op.name == "ragged.assert_valid":
        return True
    if op.name == "func.call":
        return op.attributes["callee"].value in checked
    return any(_has_checks(inner.operation, checked) for block in blocks_of(op) for inner in block.operations)


def _lower_function(state: _State, function: ir.Operation) -> None:
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    status = [build.i64()] * STATUS_ENTRIES
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(list(type_.inputs), [*status, *type_.results])
    )
    if "res_attrs" in function.attributes:
        empty = [ir.DictAttr.get({})] * STATUS_ENTRIES
        function.attributes["res_attrs"] = ir.ArrayAttr.get([*empty, *function.attributes["res_attrs"]])
    for block in function.regions[0].blocks:
        with ir.InsertionPoint(block):
            zeros = _zeros(block)
        _lower_block(state, block, zeros)


def _zeros(block: ir.Block) -> list[ir.Value]:
    with ir.InsertionPoint.at_block_begin(block):
        return _good()


def _lower_block(state: _State, block: ir.Block, good: list[ir.Value]) -> None:
    """Lower the checks of a block whose terminator gets a status in front of its operands.

    What follows a check moves into its guard, whose block is the next one to look at: no recursion, as a
    function may have more checks than Python has frames."""
    held: set[Statement] = set()
    status: list[ir.Value] | None
    guards = 0
    while found := _first_check(state, block):
        if found[0].name == "ragged.assert_valid":
            *before, op = found
            status = _lower_run(state, found, held)
            for done in before:
                done.erase()
            if status is None:
                op.erase()
                continue
        else:
            op = found[0]
            require_around(op)
            with ir.InsertionPoint(op), op.location:
                status = [*_LOWERED[op.name](state, op).results[:STATUS_ENTRIES]]
        guards += 1
        block, good = _guard(block, op, status, failing=guards % _FEW_GUARDS == 0), status
    end = terminator(block)
    _end_with(end, [*good, *end.operands])


def _first_check(state: _State, block: ir.Block) -> list[ir.Operation]:
    """The first op of a block that is a check, and the checks of its run, or that has one inside."""
    operations = [op.operation for op in block.operations]
    for at, op in enumerate(operations):
        if op.name == "ragged.assert_valid":
            return _run_of_checks(operations[at:])
        if _has_checks(op, state.checked):
            return [op]
    return []


def _run_of_checks(operations: list[ir.Operation]) -> list[ir.Operation]:
    """The checks at the start, up to the first op between them that cannot run before they hold."""
    found: list[ir.Operation] = []
    for op in operations:
        if op.name == "ragged.assert_valid":
            found.append(op)
        elif op.name not in _SAFE:
            break
    return found


def _lower_run(state: _State, checks: list[ir.Operation], held: set[Statement]) -> list[ir.Value] | None:
    """The status of all checks of a run but those in `held`, which they join; None if that leaves none.
    One guard for a run: nested guards of tensors take bufferization a time that doubles with every one."""
    status = None
    for op in checks:
        if statement(op) not in held:
            status = _lower_check(state, op, status)
            held.add(statement(op))
    return status


def _lower_check(state: _State, op: ir.Operation, before: list[ir.Value] | None) -> list[ir.Value]:
    """The status of a check, evaluated only when the checks before it hold."""
    with ir.InsertionPoint(op), op.location:
        if before is None:
            return record_of(op, state.number(op))
        fine = build.equal(before[0], 0)
        kinds = [build.i64()] * STATUS_ENTRIES
        return flow.choose(fine, lambda: record_of(op, state.number(op)), lambda: before, kinds)


def _end_with(end: ir.Operation, operands: list[ir.Value]) -> None:
    """Give a terminator other operands."""
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create(end.name, operands=operands, attributes=clone.copy_attributes(end))
    end.erase()


def _with_status(op: ir.Operation, operands: list[ir.Value], regions: int) -> ir.Operation:
    """The op with status results in front, in place; returns the new op."""
    made = ir.Operation.create(
        op.name,
        results=[*[build.i64()] * STATUS_ENTRIES, *(r.type for r in op.results)],
        operands=operands,
        attributes=clone.copy_attributes(op),
        regions=regions,
    )
    for old, new in zip(op.results, list(made.results)[STATUS_ENTRIES:], strict=True):
        old.replace_all_uses_with(new)
    return made


def _lower_call(state: _State, op: ir.Operation) -> ir.Operation:
    return _with_status(op, list(op.operands), 0)


def _lower_if(state: _State, op: ir.Operation) -> ir.Operation:
    made = _with_status(op, list(op.operands), 2)
    for source, target in zip(op.regions, made.regions, strict=True):
        for block in list(source.blocks):
            block.append_to(target)
        for block in target.blocks:
            _lower_block(state, block, _zeros(block))
        if len(target.blocks) == 0:
            block = target.blocks.append()
            with ir.InsertionPoint(block):
                scf.yield_(_zeros(block))
    return made


def _lower_for(state: _State, op: ir.Operation) -> ir.Operation:
    """The status is carried: after a failure the loop does nothing."""
    low, high, step, *inits = op.operands
    made = _with_status(op, [low, high, step, *_good(), *inits], 1)
    block, status = _with_carried_status(op.regions[0], made.regions[0], 1)
    with ir.InsertionPoint(block):
        guard = _run_while_good(state, op.regions[0], status, [*block.arguments[1 + STATUS_ENTRIES :]])
        scf.yield_(list(guard.results))
    return made


def _lower_while(state: _State, op: ir.Operation) -> ir.Operation:
    """The status is carried, and is good wherever the body runs: after a failure there or in the
    condition the condition is false."""
    made = _with_status(op, [*_good(), *op.operands], 2)
    block, status = _with_carried_status(op.regions[0], made.regions[0], 0)
    condition = terminator(op.regions[0].blocks[0])
    with ir.InsertionPoint(condition), condition.location:
        scf.yield_(list(condition.operands))
    with ir.InsertionPoint(block):
        nothing = [_nothing(v.type, status[0]) for v in condition.operands]
        condition.erase()
        guard = _run_while_good(state, op.regions[0], status, nothing)
        *found, again = list(guard.results)[: STATUS_ENTRIES + 1]
        scf.condition(again, [*found, *list(guard.results)[STATUS_ENTRIES + 1 :]])
    block, _ = _with_carried_status(op.regions[1], made.regions[1], 0)
    append(block, op.regions[1].blocks[0].operations)
    _lower_block(state, block, _zeros(block))
    return made


def _good() -> list[ir.Value]:
    """The status of no failure."""
    return [build.constant(build.i64(), 0)] * STATUS_ENTRIES


def _with_carried_status(source: ir.Region, target: ir.Region, at: int) -> tuple[ir.Block, list[ir.Value]]:
    """The block of a loop with a status among its arguments, still empty, and that status. What the
    old block holds uses the new arguments."""
    old = list(source.blocks[0].arguments)
    types = [a.type for a in old]
    block = target.blocks.append(*types[:at], *[build.i64()] * STATUS_ENTRIES, *types[at:])
    new = list(block.arguments)
    status = new[at : at + STATUS_ENTRIES]
    for argument, replacement in zip(old, [*new[:at], *new[at + STATUS_ENTRIES :]], strict=True):
        argument.replace_all_uses_with(replacement)
    return block, [*status]


def _run_while_good(state: _State, source: ir.Region, status: list[ir.Value], otherwise: list[ir.Value]) -> ir.OpView:
    """The ops of a region in an scf.if that gives their status and what they yield, or the status at
    hand and `otherwise`."""
    fine = build.equal(status[0], 0)
    guard = scf.IfOp(fine, [*[build.i64()] * STATUS_ENTRIES, *(v.type for v in otherwise)], has_else=True)
    append(guard.then_block, source.blocks[0].operations)
    with ir.InsertionPoint(guard.else_block):
        scf.yield_([*status, *otherwise])
    _lower_block(state, guard.then_block, _zeros(guard.then_block))
    return guard


_LOWERED: dict[str, Callable[[_State, ir.Operation], ir.Operation]] = {
    "func.call": _lower_call,
    "scf.if": _lower_if,
    "scf.for": _lower_for,
    "scf.while": _lower_while,
}
"""What gives an op with checks in it results for their status, in front of its own."""


def _guard(block: ir.Block, op: ir.Operation, status: list[ir.Value], failing: bool) -> ir.Block:
    """Everything after `op` moves into an scf.if that runs when the status is good; `op` is erased. Returns that
    branch. It yields only what is made in it: the analysis of one-shot-bufferize takes twice the time for every
    branch that what is made before goes through (a gradient with 47 checks: 25 s, 0.03 s without). Where `failing`, the
    first branch is the one of a failure, with buffers that count as written: the analysis ends there."""
    operations = list(block.operations)
    at = next(k for k, o in enumerate(operations) if o.operation == op)
    rest = operations[at + 1 :]
    end = rest[-1].operation
    made = {result for inner in rest for result in inner.operation.results}
    given = list(dict.fromkeys(v for v in end.operands if v in made))
    with ir.InsertionPoint(op), op.location:
        condition = build.more(status[0], 0) if failing else build.equal(status[0], 0)
        guard = scf.IfOp(condition, [*[build.i64()] * STATUS_ENTRIES, *(v.type for v in given)], has_else=True)
    blocks = [guard.then_block, guard.else_block]
    good, bad = reversed(blocks) if failing else blocks
    append(good, rest[:-1])
    with ir.InsertionPoint(good), end.location:
        scf.yield_(given)
    with ir.InsertionPoint(bad), end.location:
        scf.yield_([*status, *(_nothing(v.type, status[0], written=failing) for v in given)])
    found = dict(zip(given, list(guard.results)[STATUS_ENTRIES:]))
    _end_with(end, [*list(guard.results)[:STATUS_ENTRIES], *(found.get(v, v) for v in end.operands)])
    op.erase()
    return good


def _nothing(type_: ir.Type, failure: ir.Value, written: bool = False) -> ir.Value:
    """A value that nobody reads: an empty tensor, zero, or poison for what is neither tensor nor number.

    The extents are 0 in a way that no folder sees (the number of a failed check is above 0): with a
    static shape the two branches would have buffers of different types, and results be copied."""
    if is_number(type_):
        return build.constant(type_, 0)
    if not is_tensor(type_):
        return ir.Operation.create("ub.poison", results=[type_]).result
    zero = build.minimum(build.to_index(failure), 0)
    sizes = [zero if s == DYNAMIC else s for s in type_.shape]
    if written:
        return memory.tensor_of(memory.room(sizes, type_.element_type))
    return shapes.empty(sizes, type_.element_type)
