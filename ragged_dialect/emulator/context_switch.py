"""The switch between two stacks, for the processors the emulator runs on.

A `naked` function of inline assembly: it saves the registers that a callee must preserve, exchanges
the stack pointers and restores. A new stack holds a frame of zeros but for the return address.
"""

from __future__ import annotations

import platform
from typing import NamedTuple

from ragged_dialect.errors import EmulatorError


class Switch(NamedTuple):
    """Assembly of the switch; the frame it pops from a stack, in words, and where in the frame the
    return address is."""

    assembly: str
    frame_words: int
    return_word: int


def _aarch64() -> Switch:
    pairs = [("x19", "x20"), ("x21", "x22"), ("x23", "x24"), ("x25", "x26"), ("x27", "x28"), ("x29", "x30")]
    pairs += [("d8", "d9"), ("d10", "d11"), ("d12", "d13"), ("d14", "d15")]
    size = 16 * len(pairs)
    save = [f"stp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(pairs)]
    restore = [f"ldp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(pairs)]
    exchange = ["mov x9, sp", "str x9, [x0]", "mov sp, x1"]
    lines = [f"sub sp, sp, #{size}", *save, *exchange, *restore, f"add sp, sp, #{size}", "ret"]
    return Switch("\n".join(lines), size // 8, 11)


def _x86_64() -> Switch:
    registers = ["rbp", "rbx", "r12", "r13", "r14", "r15"]
    save = [f"pushq %{name}" for name in registers]
    restore = [f"popq %{name}" for name in reversed(registers)]
    lines = [*save, "movq %rsp, (%rdi)", "movq %rsi, %rsp", *restore, "retq"]
    return Switch("\n".join(lines), len(registers) + 1, len(registers))


_SWITCHES = {"x86_64": _x86_64, "aarch64": _aarch64, "arm64": _aarch64}


def host_switch() -> Switch:
    """The switch for this machine; EmulatorError where there is none."""
    machine = platform.machine()
    if machine not in _SWITCHES:
        raise EmulatorError(f"expected one of the processors {', '.join(sorted(_SWITCHES))}, got {machine}")
    return _SWITCHES[machine]()


def switch_ir(switch: Switch) -> str:
    """LLVM IR of `switch_stack(saved, stack)`."""
    escaped = switch.assembly.replace("\n", "\\0A")
    return (
        "define internal void @switch_stack(i64 %saved, i64 %stack) naked noinline {\n"
        f'  call void asm sideeffect "{escaped}", "~{{memory}}"()\n'
        "  unreachable\n}\n"
    )
