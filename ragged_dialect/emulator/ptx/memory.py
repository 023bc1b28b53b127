"""Loads, stores, atomics (PTX ISA 9.7.9, 9.7.13) and control flow, barriers, warp collectives (9.7.12 to 9.7.13).

State spaces are LLVM address spaces, so that the checks know which memory an address may lie in. What
`.nc` reads is read through an invariant load. Registers, addresses and accesses have their natural
alignment: that of all bytes of the access.
"""

from __future__ import annotations

from ragged_dialect.emulator.ptx import calls
from ragged_dialect.emulator.ptx.body import Body, parts
from ragged_dialect.emulator.ptx.forms import Found
from ragged_dialect.emulator.ptx.syntax import Function
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

_SPACES = {"global": "ptr addrspace(1)", "const": "ptr addrspace(1)", "shared": "ptr addrspace(3)"}
_OPERATORS = {"exch": "xchg"}
WINDOW = 1 << 60
"""What addresses of shared memory lack to generic ones: one that is taken for the other is no address."""


def _pointer(body: Body, found: Found) -> str:
    space = next((modifier for modifier in found.modifiers if modifier in (*_SPACES, "local")), None)
    return pointer_to(body, next(operand for operand in found.operands if operand.startswith("[")), space)


def pointer_to(body: Body, operand: str, space: str | None) -> str:
    """The pointer, with its type, that `[%rd1+8]` is in a state space, or in any (None)."""
    address = body.address(operand, space)
    if space == "local":
        local = [v for v in calls.slots(body.kernel) if v.space == "local"]
        if len(local) != 1:  # so that it is known which one an address is of
            raise EmulatorError(f"expected one variable in local memory, got {len(local)}")
        (variable,) = local
        offset = body.emit(f"sub i64 {address}, %p.{variable.name}")
        return f"ptr {body.emit(f'getelementptr i8, ptr %a.{variable.name}, i64 {offset}')}"
    kind = _SPACES[space] if space else "ptr"
    if space == "shared":
        address = body.emit(f"add i64 {address}, {WINDOW}")
    return f"{kind} {body.emit(f'inttoptr i64 {address} to {kind}')}"


def _volatile(found: Found) -> str:
    return "volatile " if found.has("volatile", "relaxed", "acquire", "release") else ""


def _vector(kind: str, count: int) -> str:
    return kind if count == 1 else f"<{count} x {kind}>"


def load(body: Body, found: Found) -> None:
    """`ld`."""
    kind, count = found.type, len(parts(found.operands[0]))
    whole = _vector(kind.llvm, count)
    invariant = ", !invariant.load !0" if found.has("nc") else ""
    pointer = _pointer(body, found)
    loaded = body.emit(f"load {_volatile(found)}{whole}, {pointer}, align {kind.bits // 8 * count}{invariant}")
    each = [body.emit(f"extractelement {whole} {loaded}, i32 {k}") for k in range(count)] if count > 1 else [loaded]
    found.set(body, *each)


def store(body: Body, found: Found) -> None:
    """`st`."""
    kind, values = found.type, found.values(body)
    whole, stored = _vector(kind.llvm, len(values)), values[0]
    if len(values) > 1:
        stored = "poison"
        for position, value in enumerate(values):
            stored = body.emit(f"insertelement {whole} {stored}, {kind.llvm} {value}, i32 {position}")
    pointer = _pointer(body, found)
    body.run(f"store {_volatile(found)}{whole} {stored}, {pointer}, align {kind.bits // 8 * len(values)}")


def parameter(body: Body, found: Found) -> None:
    """`ld.param`: a parameter as a whole."""
    name = found.operands[1][1:-1].strip()
    declared = next((TYPES[p.type] for p in body.kernel.parameters if p.name == name), None)
    if declared is None:
        raise EmulatorError(f"expected a whole parameter, got {found.operands[1]}")
    if declared.bits != found.type.bits:
        raise EmulatorError(f"expected a load of {declared.bits} bits of {name}, got {found.instruction.name}")
    bits = TYPES[f"b{declared.bits}"]
    body.set(found.operands[0], bits, f"%p.{name}", True)


def atomic(body: Body, found: Found) -> None:
    """`atom`, `red`."""
    kind, name = found.type, found.modifiers[-2]
    unsigned = name in ("min", "max") and not kind.signed
    prefix = "u" if unsigned else "f" if kind.float else ""
    pointer = _pointer(body, found)
    (value,) = found.values(body, 1 if found.opcode == "red" else 2)
    operator = prefix + _OPERATORS.get(name, name)
    old = body.emit(f"atomicrmw {operator} {pointer}, {kind.llvm} {value} seq_cst, align {kind.bits // 8}")
    if found.opcode == "atom":
        found.set(body, old)


def swap(body: Body, found: Found) -> None:
    """`atom.cas`: the old value."""
    kind = found.type
    expected, new = found.values(body, 2)
    pointer = _pointer(body, found)
    pair = body.emit(
        f"cmpxchg {pointer}, {kind.llvm} {expected}, {kind.llvm} {new} seq_cst seq_cst, align {kind.bits // 8}"
    )
    found.set(body, body.emit(f"extractvalue {{ {kind.llvm}, i1 }} {pair}, 0"))


def nothing(body: Body, found: Found) -> None:
    """`membar`, `fence`: memory is sequential here."""


def convert_address(body: Body, found: Found) -> None:
    """`cvta`: generic addresses are those of the spaces, but for the shared one."""
    (address,) = found.values(body)
    if found.has("shared"):
        address = body.emit(f"{'sub' if found.has('to') else 'add'} i64 {address}, {WINDOW}")
    found.set(body, address)


def branch(body: Body, found: Found) -> None:
    """`bra`."""
    body.run(f"br label %{body.target(found.operands[0])}")
    body.run(f"{body.label('after')}:")


def leave(body: Body, found: Found) -> None:
    """`ret`, `exit`."""
    if found.opcode == "exit" and isinstance(body.kernel, Function):
        raise EmulatorError("expected no exit in a function, got one")
    calls.leave(body)
    body.run(f"{body.label('after')}:")


def barrier(body: Body, found: Found) -> None:
    """`bar.sync`."""
    body.call("llvm.nvvm.barrier.cta.sync.aligned.all", "void", ["i32"], ["0"])


def barrier_reduction(body: Body, found: Found) -> None:
    """`bar.red`: how many threads, whether all or any hold."""
    name = f"llvm.nvvm.barrier.cta.red.{found.modifiers[1]}.aligned.all"
    values = ["0", *found.values(body, 2)]
    found.set(body, body.call(name, found.type.llvm, ["i32", "i1"], values))


def shuffle(body: Body, found: Found) -> None:
    """`shfl.sync`."""
    a, b, clamp, mask = found.values(body)
    name = f"llvm.nvvm.shfl.sync.{found.modifiers[1]}.i32p"
    pair = body.call(name, "{ i32, i1 }", ["i32"] * 4, [mask, a, b, clamp])
    target, *flag = parts(found.operands[0])
    body.set(target, found.type, body.emit(f"extractvalue {{ i32, i1 }} {pair}, 0"))
    for name in flag:
        body.set(name, TYPES["pred"], body.emit(f"extractvalue {{ i32, i1 }} {pair}, 1"))


def vote(body: Body, found: Found) -> None:
    """`vote.sync`."""
    holds, mask = found.values(body)
    name = f"llvm.nvvm.vote.{found.modifiers[1]}.sync"
    found.set(body, body.call(name, found.type.llvm, ["i32", "i1"], [mask, holds]))


def reduction(body: Body, found: Found) -> None:
    """`redux.sync`."""
    name = found.modifiers[1]
    name = f"u{name}" if name in ("min", "max") and not found.type.signed else name
    found.set(body, body.call(f"llvm.nvvm.redux.sync.{name}", "i32", ["i32", "i32"], found.values(body)))


def warp_barrier(body: Body, found: Found) -> None:
    """`bar.warp.sync`."""
    body.call("llvm.nvvm.bar.warp.sync", "void", ["i32"], found.values(body, 0))


def active(body: Body, found: Found) -> None:
    """`activemask`."""
    found.set(body, body.call("llvm.nvvm.activemask", "i32", [], []))
