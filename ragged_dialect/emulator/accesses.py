"""What a line of canonical LLVM IR does to memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect.emulator.ir_text import leading_operand, leading_type, split_list, type_size
from ragged_dialect.emulator.state import ATOMIC, ATOMIC_LOAD, INVARIANT_LOAD, LOAD, STORE
from ragged_dialect.errors import EmulatorError


class Access(NamedTuple):
    """An access: what it does (LOAD, STORE, …), its bytes (a number, or an i64 operand), the alignment
    it needs, and the pointer with its type."""

    kind: int
    size: int | str
    alignment: int
    pointer_type: str
    pointer: str


_INSTRUCTION = re.compile(r"\s+(?:(%\S+) = )?(?:(?:tail|notail|musttail) )?(\w+)(?: (.*))?")


class Instruction(NamedTuple):
    """A line in a function: the name it defines (or empty), its opcode, and what follows that."""

    result: str
    opcode: str
    rest: str


def instruction(line: str) -> Instruction | None:
    """The instruction on a line; None for labels, comments and the inner lines of a switch."""
    match = _INSTRUCTION.fullmatch(line.split(" ;", 1)[0])
    return Instruction(match[1] or "", match[2], match[3] or "") if match else None


def accesses(found: Instruction) -> list[Access]:
    """The accesses of a load, a store or an atomic."""
    words = found.rest
    shared = False
    while (word := words.split(" ", 1)[0]) in ("atomic", "volatile", "weak"):
        shared |= word != "weak"
        words = words.split(" ", 1)[1]
    parts = split_list(words)
    alignment = _alignment(parts)
    if found.opcode == "load":
        plain = INVARIANT_LOAD if any(part.startswith("!invariant.load ") for part in parts) else LOAD
        kind = ATOMIC_LOAD if shared else plain
        return [Access(kind, type_size(parts[0]), alignment, *_pointer(parts[1]))]
    if found.opcode == "store":
        size = type_size(leading_type(parts[0]))
        return [Access(ATOMIC if shared else STORE, size, alignment, *_pointer(parts[1]))]
    pointer = parts[0] if found.opcode == "cmpxchg" else parts[0].split(" ", 1)[1]
    return [Access(ATOMIC, type_size(leading_type(parts[1])), alignment, *_pointer(pointer))]


def copy_accesses(callee: str, operands: Sequence[str]) -> list[Access]:
    """The accesses of `llvm.memcpy`, `llvm.memmove` and `llvm.memset`."""
    size = operands[2].removeprefix("i64 ")
    if size == operands[2]:
        raise EmulatorError(f"expected a size of type i64 in a call of @{callee}, got {operands[2]}")
    made = [_copy_access(STORE, size, operands[0])]
    return made if "memset" in callee else [*made, _copy_access(LOAD, size, operands[1])]


def intrinsic_accesses(name: str, operands: Sequence[str]) -> list[Access]:
    """The accesses of `llvm.nvvm.*` intrinsics: a row of `ldmatrix.x4`, what `cp.async` copies. The size of what it
    loads is the i32 operand that it may have."""
    if name.startswith("ldmatrix."):
        return [Access(LOAD, 16, 16, *_pointer(operands[0]))]
    if copied := re.match(r"cp\.async\.c[ag]\.shared\.global\.(\d+)", name):
        size = int(copied[1])
        given = operands[2].removeprefix("i32 ") if len(operands) > 2 else size
        loaded = Access(LOAD, given, size, *_pointer(operands[1]))
        return [Access(STORE, size, size, *_pointer(operands[0])), loaded]
    return []


def _copy_access(kind: int, size: str, operand: str) -> Access:
    pointer_type = leading_type(operand)
    words = re.sub(r"\b(noalias|nonnull|noundef|readonly|writeonly)\b ?", "", operand[len(pointer_type) :]).strip()
    match = re.match(r"align (\d+) ", words)
    alignment = int(match[1]) if match else 1
    pointer = words[match.end() :] if match else words
    return Access(kind, int(size) if size.isdigit() else size, alignment, pointer_type, pointer)


def _pointer(text: str) -> tuple[str, str]:
    pointer_type = leading_type(text)
    return pointer_type, leading_operand(text[len(pointer_type) + 1 :])


def _alignment(parts: Sequence[str]) -> int:
    found = [part for part in parts if part.startswith("align ")]
    if not found:
        raise EmulatorError(f"expected an access with an alignment, got {', '.join(parts)}")
    return int(found[0].removeprefix("align "))
