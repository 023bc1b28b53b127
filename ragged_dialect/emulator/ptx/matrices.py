"""Matrix instructions of a warp (PTX ISA 9.7.14.5) and asynchronous copies to shared memory (9.7.9.25.3)."""

from __future__ import annotations

from ragged_dialect.emulator.ptx.body import Body
from ragged_dialect.emulator.ptx.forms import Found
from ragged_dialect.emulator.ptx.memory import pointer_to
from ragged_dialect.emulator.ptx.types import TYPES

_SHARED, _GLOBAL = "ptr addrspace(3)", "ptr addrspace(1)"


def _set(body: Body, found: Found, whole: str, values: str) -> None:
    """Write the four registers of a result."""
    found.set(body, *(body.emit(f"extractvalue {whole} {values}, {k}") for k in range(4)))


def multiply(body: Body, found: Found) -> None:
    """`mma`."""
    values, kind, name = found.values(body), "i32", "bf16"
    if found.has("f16"):
        values[:6] = [body.emit(f"bitcast i32 {value} to <2 x half>") for value in values[:6]]
        kind, name = "<2 x half>", "f32.f32"
    whole = "{ float, float, float, float }"
    types = [kind] * 6 + ["float"] * 4
    _set(body, found, whole, body.call(f"llvm.nvvm.mma.m16n8k16.row.col.{name}", whole, types, values))


def load_matrices(body: Body, found: Found) -> None:
    """`ldmatrix`."""
    trans = "trans." if found.has("trans") else ""
    pointer = pointer_to(body, found.operands[1], "shared").removeprefix(f"{_SHARED} ")
    name, whole = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.{trans}b16.p3", "{ i32, i32, i32, i32 }"
    _set(body, found, whole, body.call(name, whole, [_SHARED], [pointer]))


def copy(body: Body, found: Found) -> None:
    """`cp.async`, maybe of fewer bytes than it writes."""
    target = pointer_to(body, found.operands[0], "shared").removeprefix(f"{_SHARED} ")
    source = pointer_to(body, found.operands[1], "global").removeprefix(f"{_GLOBAL} ")
    given = [body.value(operand, TYPES["u32"]) for operand in found.operands[3:]]
    name = f"llvm.nvvm.cp.async.{found.modifiers[1]}.shared.global.{found.operands[2]}{'.s' if given else ''}"
    body.call(name, "void", [_SHARED, _GLOBAL, *["i32"] * len(given)], [target, source, *given])


def end_group(body: Body, found: Found) -> None:
    """`cp.async.commit_group`."""
    body.call("llvm.nvvm.cp.async.commit.group", "void", [], [])


def wait_group(body: Body, found: Found) -> None:
    """`cp.async.wait_group`."""
    body.call("llvm.nvvm.cp.async.wait.group", "void", ["i32"], [found.operands[0]])


def wait_all(body: Body, found: Found) -> None:
    """`cp.async.wait_all`."""
    body.call("llvm.nvvm.cp.async.wait.all", "void", [], [])
