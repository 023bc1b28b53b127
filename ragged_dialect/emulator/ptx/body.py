"""The body of a kernel under translation: registers, operands, blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect.emulator.ptx.syntax import Kernel, Label
from ragged_dialect.emulator.ptx.types import TYPES, Type
from ragged_dialect.errors import EmulatorError

SPECIAL = re.compile(r"%((?:tid|ntid|ctaid|nctaid)\.[xyz]|laneid|warpid|lanemask_(?:eq|lt|le|gt|ge))")
"""Registers that hold where a thread is (PTX ISA 10)."""
_ADDRESS = re.compile(r"\[([%A-Za-z_$][\w$]*)(?:\+(-?\d+))?\]")
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+)U?")
_FLOAT_BITS = re.compile(r"0([fdFD])([0-9A-Fa-f]+)")


class Placed(NamedTuple):
    """A variable: its state space, and the i64 that is its address."""

    space: str
    address: str


class Body:
    """LLVM IR of one kernel, line by line.

    A register is a slot on the stack, of its own bits: what an instruction reads it as is said by the
    instruction. A slot starts with bits that are unlikely to be right: a register read before it is
    written is undefined in PTX. `variables` are by name.
    """

    def __init__(self, kernel: Kernel, variables: dict[str, Placed]) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._variables = variables
        self._labels = {statement.name for statement in kernel.body if isinstance(statement, Label)}
        self._slots: dict[str, int] = {}
        self._count = 0

    @property
    def slots(self) -> list[str]:
        """Lines for the entry block that make the registers."""
        made = list[str]()
        for name, bits in self._slots.items():
            made.append(f"%slot.{name} = alloca i{bits}, align 8")
            pattern = int.from_bytes(b"\xa5" * 8, "little") & (1 << bits) - 1
            made.append(f"store i{bits} {pattern if bits > 1 else 1}, ptr %slot.{name}, align 8")
        return made

    def emit(self, operation: str) -> str:
        """Add an instruction; the name of its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"{name} = {operation}")
        return name

    def run(self, line: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(line)

    def label(self, hint: str) -> str:
        """A new name for a block."""
        self._count += 1
        return f"{hint}.{self._count}"

    def begin(self, label: str) -> None:
        """Start a block, to which the one before falls through."""
        self.lines += [f"br label %{label}", f"{label}:"]

    def call(self, function: str, result: str, types: Sequence[str], values: Sequence[str]) -> str:
        """Call an LLVM function; the name of its result (empty for none)."""
        self.declarations.add(f"declare {result} @{function}({', '.join(types)})")
        operands = ", ".join(f"{t} {v}" for t, v in zip(types, values, strict=True))
        text = f"call {result} @{function}({operands})"
        if result == "void":
            self.run(text)
            return ""
        return self.emit(text)

    def value(self, operand: str, kind: Type, wide: bool = False) -> str:
        """A number, or a register that may be `wide`, as a value of a type; `!%p1` is the opposite of `%p1`."""
        if operand.startswith("!") and kind.bits == 1:
            return self.emit(f"xor i1 {self.value(operand[1:], kind)}, true")
        if _FLOAT_BITS.fullmatch(operand) or _NUMBER.fullmatch(operand):
            return self._as(_literal(operand, kind), kind.bits, kind)
        name, bits = self._register(operand, kind, wide)
        return self._as(self.emit(f"load i{bits}, ptr %slot.{name}, align 8"), bits, kind)

    def carry(self) -> str:
        """The slot of the carry bit, `CC.CF`."""
        self._slots["carry.bit"] = 1  # no name of a register has a point
        return "%slot.carry.bit"

    def special(self, operand: str) -> str:
        """The i32 in a special register."""
        match = SPECIAL.fullmatch(operand)
        assert match is not None
        return self.call(f"llvm.nvvm.read.ptx.sreg.{match[1].replace('_', '.')}", "i32", [], [])

    def variable(self, name: str, space: str | None = None) -> str:
        """The i64 that is the address of a variable, which is to be in a state space or in any (None)."""
        found = self._variables.get(name)
        if found is None:
            raise EmulatorError(f"expected the name of a variable, got {name}")
        if space not in (None, found.space):
            raise EmulatorError(f"expected a variable in .{space}, got {name} in .{found.space}")
        return found.address

    def target(self, name: str) -> str:
        """The LLVM block of a PTX label, which is to be one of the kernel's."""
        if name not in self._labels:
            raise EmulatorError(f"expected a label of {self.kernel.name}, got {name}")
        return block(name)

    def _as(self, value: str, bits: int, kind: Type) -> str:
        """Bits as a value of a type; what is too wide is cut."""
        if bits > kind.bits:
            value = self.emit(f"trunc i{bits} {value} to i{kind.bits}")
        if not kind.float:
            return value
        return self.emit(f"bitcast i{kind.bits} {value} to {kind.llvm}")

    def set(self, operand: str, kind: Type, value: str, wide: bool = False) -> None:
        """Write a register. One wider than the type gets the sign, or zeros (PTX ISA 9.4.1)."""
        name, bits = self._register(operand, kind, wide)
        if kind.float:
            value = self.emit(f"bitcast {kind.llvm} {value} to i{kind.bits}")
        if bits > kind.bits:
            value = self.emit(f"{'sext' if kind.signed else 'zext'} i{kind.bits} {value} to i{bits}")
        self.run(f"store i{bits} {value}, ptr %slot.{name}, align 8")

    def address(self, operand: str, space: str | None) -> str:
        """The i64 that `[%rd1+8]` or `[name+8]` stands for, for an access to a state space or to any (None)."""
        match = _ADDRESS.fullmatch(operand)
        if match is None:
            raise EmulatorError(f"expected an address, got {operand}")
        if match[1] in self._variables:
            base = self.variable(match[1], space)
        else:
            base = self.value(match[1], TYPES["u64"])
        return self.emit(f"add i64 {base}, {int(match[2])}") if match[2] else base

    def _register(self, operand: str, kind: Type, wide: bool) -> tuple[str, int]:
        registers, prefix = self.kernel.registers, operand.rstrip("0123456789")
        declared = "" if operand in self.kernel.counts else registers.get(operand, "")
        if prefix != operand and int(operand[len(prefix) :]) < self.kernel.counts.get(prefix, 0):
            declared = registers[prefix]
        if not declared:
            raise EmulatorError(f"expected a register or a number, got {operand}")
        if declared not in TYPES:
            raise EmulatorError(f"expected registers of a known type, got .{declared}")
        if not _agree(TYPES[declared], kind, wide):
            raise EmulatorError(f"expected {operand} to be a register for .{kind.name}, got one of .{declared}")
        name = operand[1:] if operand[0] == "%" else f"named.{operand}"
        self._slots[name] = TYPES[declared].bits
        return name, TYPES[declared].bits


def _agree(declared: Type, kind: Type, wide: bool) -> bool:
    """Whether a register of one type can be read or written as another: as many bits, or more where it may be `wide`,
    of the same sort or of none (PTX ISA 9.4, 9.4.1)."""
    if declared.bits != kind.bits and not (wide and declared.bits > kind.bits > 1 and not declared.float):
        return False
    if declared.float and kind.float:
        return declared == kind
    return declared.untyped or (kind.untyped and declared.bits > 1) or declared.float == kind.float


def _literal(operand: str, kind: Type) -> str:
    """A number as the integer of the type's bits: floats in hexadecimal, for floats of their size or untyped bits."""
    if match := _FLOAT_BITS.fullmatch(operand):
        if (kind.name in ("f32", "f64") or kind.untyped) and kind.bits == len(match[2]) * 4:
            return str(int(match[2], 16))
    elif kind.bits == 1:
        return str(int(int(operand.rstrip("U"), 0) != 0))
    elif not kind.float:
        return str(int(operand.rstrip("U"), 0) & (1 << kind.bits) - 1)
    raise EmulatorError(f"expected a number for .{kind.name}, got {operand}")


def parts(operand: str) -> list[str]:
    """The registers of `{%r1, %r2}` or `%r1|%p1`, or the operand itself."""
    operand, separator = (operand[1:-1], ",") if operand.startswith("{") else (operand, "|")
    return [part.strip() for part in operand.split(separator)]


def block(label: str) -> str:
    """The LLVM block of a PTX label."""
    return f"L.{label.replace('$', '.')}"
