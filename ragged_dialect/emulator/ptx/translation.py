"""PTX text as LLVM IR for the emulator.

A kernel becomes a function of the same parameters. Variables in `.global` and `.const` become further parameters,
behind them: the launch gives them memory. What a kernel calls comes with it, and gets their addresses, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ragged_dialect.device_model import DEVICE
from ragged_dialect.emulator.ptx import calls
from ragged_dialect.emulator.ptx.body import Body, Placed, block
from ragged_dialect.emulator.ptx.forms import Forms
from ragged_dialect.emulator.ptx.instructions import FORMS
from ragged_dialect.emulator.ptx.memory import WINDOW
from ragged_dialect.emulator.ptx.syntax import Function, Instruction, Kernel, Label, Module, Variable
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError


class Translation(NamedTuple):
    """LLVM IR of a kernel, and the variables whose addresses it gets behind its parameters."""

    text: str
    constants: tuple[Variable, ...]


def translate_kernel(module: Module, kernel: Kernel) -> Translation:
    """Translate a kernel. EmulatorError for what the executor does not know."""
    functions = calls.called(module.functions, kernel)
    bodies = [kernel, *functions.values()]
    used = _used(module, bodies)
    shared = [v for v in used if v.space == "shared"]
    constants = tuple(v for v in used if v.space in ("global", "const"))
    _check_size(kernel, shared)
    placed = {v.name: Placed(v.space, _address(v)) for v in shared}
    placed |= {v.name: Placed(v.space, f"%p.{v.name}") for v in constants}
    names = [v.name for v in constants]
    lines: list[str] = []
    declarations: set[str] = set()
    for one in bodies:
        own = {v.name: Placed(v.space, f"%p.{v.name}") for v in calls.slots(one) if v.space == "local"}
        body = Body(one, placed | own)
        _translate(body, Forms(FORMS, module, one), functions, names)
        declarations |= body.declarations
        lines += _function(one, body, constants)
    declarations |= {calls.FILL} if any(map(calls.slots, bodies)) else set()
    globals_ = [f"@{v.name} = internal addrspace(3) global [{v.size} x i8] undef, align {v.alignment}" for v in shared]
    return Translation("\n".join([*sorted(declarations), *globals_, *lines, "!0 = !{}"]), constants)


def _address(variable: Variable) -> str:
    """The address of a shared variable in its state space."""
    return f"sub (i64 ptrtoint (ptr addrspace(3) @{variable.name} to i64), i64 {WINDOW})"


def _check_size(kernel: Kernel, shared: list[Variable]) -> None:
    """As ptxas: EmulatorError for more shared variables than a block may have (CUDA C++ Programming Guide, 16.2)."""
    size = 0
    for variable in shared:
        size = -(-size // variable.alignment) * variable.alignment + variable.size
    if size > DEVICE.shared_bytes:
        most = DEVICE.shared_bytes
        raise EmulatorError(f"{kernel.name}: expected shared variables of at most {most} bytes, got {size}")


def _translate(body: Body, forms: Forms, functions: Mapping[str, Function], passed: Sequence[str]) -> None:
    for statement in body.kernel.body:
        if isinstance(statement, Label):
            body.begin(block(statement.name))
            continue
        try:
            rule = calls.rule_of(body.kernel, functions, passed, statement) or _rule(forms, statement)
            _guarded(body, statement, rule)
        except EmulatorError as error:
            raise EmulatorError(f"line {statement.line}: {error}") from None
    calls.leave(body)  # what ends without `ret` ends all the same


def _rule(forms: Forms, statement: Instruction) -> Callable[[Body], None]:
    found = forms.find(statement)
    return lambda body: found.form.rule(body, found)


def _guarded(body: Body, statement: Instruction, rule: Callable[[Body], None]) -> None:
    if not statement.guard:
        rule(body)
        return
    inside, after = body.label("guarded"), body.label("after")
    body.run(f"br i1 {body.value(statement.guard, TYPES['pred'])}, label %{inside}, label %{after}")
    body.run(f"{inside}:")
    rule(body)
    body.begin(after)


def _used(module: Module, bodies: Sequence[Kernel]) -> list[Variable]:
    """The variables that a kernel and its functions name, in the order of declaration."""
    statements = [found for one in bodies for found in one.body if isinstance(found, Instruction)]
    names = set(re.findall(r"[\w$]+", " ".join(operand for found in statements for operand in found.operands)))
    return [v for v in (*module.variables, *(v for one in bodies for v in one.variables)) if v.name in names]


def _function(kernel: Kernel, body: Body, constants: tuple[Variable, ...]) -> list[str]:
    if isinstance(kernel, Function):
        head = calls.head(kernel, [v.name for v in constants])
        return [head, "entry:", *calls.entry(kernel), *body.slots, *body.lines, "}"]
    pointers = [(p.name, p.alignment) for p in kernel.parameters if p.pointer]
    pointers += [(v.name, v.alignment) for v in constants]
    numbers = [(p.name, TYPES[p.type]) for p in kernel.parameters if not p.pointer]
    kinds = {name: f"ptr align {alignment}" for name, alignment in pointers} | {n: k.llvm for n, k in numbers}
    order = [*(p.name for p in kernel.parameters), *(v.name for v in constants)]
    entry = [f"%p.{name} = ptrtoint ptr %q.{name} to i64" for name, _ in pointers]
    entry += [f"%p.{name} = bitcast {kind.llvm} %q.{name} to i{kind.bits}" for name, kind in numbers]
    limit = f' "nvvm.maxntid"="{kernel.max_threads}"' if kernel.max_threads else ""
    head = f"define ptx_kernel void @{kernel.name}({', '.join(f'{kinds[name]} %q.{name}' for name in order)}){limit} {{"
    return [head, "entry:", *entry, *calls.entry(kernel), *body.slots, *body.lines, "}"]
