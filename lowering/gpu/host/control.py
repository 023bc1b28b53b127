"""Control flow of the host program: scf ops and calls as Python statements."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.errors import CompileError
from ragged_dialect.lowering.gpu.host.writer import Emitter, Finish, HostWriter

_PRINT = "ragged_print_"
_EXCHANGE, _REQUIRE = "ragged_exchange", "ragged_require"


def _block(op: ir.Operation, region: int) -> ir.Block:
    return op.regions[region].blocks[0]


def _assign_to(targets: list[str]) -> Finish:
    """A terminator that gives its operands to variables."""

    def finish(w: HostWriter, terminator: ir.Operation) -> None:
        w.assign_all(targets, w.names(terminator.operands))

    return finish


def _if(w: HostWriter, op: ir.Operation) -> None:
    condition = w.name(op.operands[0])
    results = [w.define(result) for result in op.results]
    w.line(f"if {condition}:")
    with w.nested():
        w.block(_block(op, 0), _assign_to(results))
    if len(op.regions[1].blocks) == 1 and (results or len(list(_block(op, 1).operations)) > 1):
        w.line("else:")
        with w.nested():
            w.block(_block(op, 1), _assign_to(results))


def _carry(w: HostWriter, op: ir.Operation, inputs: list[ir.Value]) -> list[str]:
    """Variables of a loop: they start as the inputs, and are the results after it."""
    variables = [w.define(result) for result in op.results]
    w.assign_all(variables, w.names(inputs))
    return variables


def _for(w: HostWriter, op: ir.Operation) -> None:
    if "unsignedCmp" in op.attributes:
        raise CompileError("expected loops over signed ranges in the host program, got an unsigned 'scf.for'")
    low, high, step, *inputs = op.operands
    variables = _carry(w, op, inputs)
    body = _block(op, 0)
    index, *arguments = body.arguments
    for argument, variable in zip(arguments, variables, strict=True):
        w.alias(argument, variable)
    w.line(f"for {w.define(index)} in range({', '.join(w.names([low, high, step]))}):")
    with w.nested():
        w.block(body, _assign_to(variables))


def _while(w: HostWriter, op: ir.Operation) -> None:
    """The results are what the condition passes on, so they are assigned before it is tested."""
    before, after = _block(op, 0), _block(op, 1)
    carried = [w.define(argument) for argument in before.arguments]
    w.assign_all(carried, w.names(op.operands))
    results = [w.define(result) for result in op.results]
    for argument, name in zip(after.arguments, results, strict=True):
        w.alias(argument, name)

    def test(w: HostWriter, terminator: ir.Operation) -> None:
        condition, *passed = terminator.operands
        w.assign_all(results, w.names(passed))
        w.line(f"if not {w.name(condition)}:")
        with w.nested():
            w.line("break")

    w.line("while True:")
    with w.nested():
        w.block(before, test)
        w.block(after, _assign_to(carried))


def _call(w: HostWriter, op: ir.Operation) -> None:
    callee = op.attributes["callee"].value
    arguments = ", ".join(w.names(op.operands))
    if callee.startswith(_PRINT):
        printer = w.bind(f"rt.printer[{callee.removeprefix(_PRINT)!r}]", "print")
        w.line(f"{printer}({arguments})")
        return
    if callee == _EXCHANGE:  # buffers, of which the program has the addresses, and numbers
        w.reads_back["ragged.all_to_all"] = None
        w.assign(op.results[0], f"{w.runtime('exchange')}({arguments})")
        return
    if callee == _REQUIRE:  # what an exchange raises needs no code
        return
    if callee not in w.functions:
        raise CompileError(f"expected functions with bodies in the host program, got a call of '{callee}'")
    call = f"{w.functions[callee]}({arguments})"
    results = [w.define(result) for result in op.results]
    w.line(f"{', '.join(results)}{',' * (len(results) == 1)} = {call}" if results else call)


EMITTERS: dict[str, Emitter] = {"scf.if": _if, "scf.for": _for, "scf.while": _while, "func.call": _call}
