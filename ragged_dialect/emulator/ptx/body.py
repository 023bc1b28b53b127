"""The body of a kernel under translation: registers, operands, blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ragged_dialect.emulator.ptx.syntax import Instruction, Kernel, Label
from ragged_dialect.emulator.ptx.types import TYPES, Type
from ragged_dialect.errors import EmulatorError

_REGISTER = re.compile(r"(%[a-z]+)\d+")
_SPECIAL = re.compile(r"%((?:tid|ntid|ctaid|nctaid)\.[xyz]|laneid|warpid|lanemask_(?:eq|lt|le|gt|ge))")
_ADDRESS = re.compile(r"\[([%\w$]+)(?:\+(-?\d+))?\]")
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+)U?")
_FLOAT_BITS = re.compile(r"0([fdFD])([0-9A-Fa-f]+)")


class Body:
    """LLVM IR of one kernel, line by line.

    A register is a slot on the stack, of its own bits: what an instruction reads it as is said by the
    instruction. A slot starts with bits that are unlikely to be right: a register read before it is
    written is undefined in PTX. `symbols` are the addresses of variables and parameters by name.
    """

    def __init__(self, kernel: Kernel, symbols: dict[str, str]) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._symbols = symbols
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

    def value(self, operand: str, kind: Type) -> str:
        """An operand as a value of a type."""
        if _FLOAT_BITS.fullmatch(operand):
            return self._as(_float_bits(operand), kind.bits, kind)
        if _NUMBER.fullmatch(operand):
            number = int(operand.rstrip("U"), 0) & (1 << kind.bits) - 1
            return self._as(str(number), kind.bits, kind)
        if special := _SPECIAL.fullmatch(operand):
            name = f"llvm.nvvm.read.ptx.sreg.{special[1].replace('_', '.')}"
            return self._as(self.call(name, "i32", [], []), 32, kind)
        if operand in self._symbols:
            return self._as(self._symbols[operand], 64, kind)
        name, bits = self._register(operand)
        return self._as(self.emit(f"load i{bits}, ptr %slot.{name}, align 8"), bits, kind)

    def _as(self, value: str, bits: int, kind: Type) -> str:
        """Bits as a value of a type; what is too wide is cut, as `ld`, `st` and `cvt` allow."""
        if bits < kind.bits:
            raise EmulatorError(f"{self.kernel.name}: expected an operand of {kind.bits} bits, got one of {bits}")
        if bits > kind.bits:
            value = self.emit(f"trunc i{bits} {value} to i{kind.bits}")
        if not kind.float:
            return value
        return self.emit(f"bitcast i{kind.bits} {value} to {kind.llvm}")

    def set(self, operand: str, kind: Type, value: str) -> None:
        """Write a register. One wider than the type gets the sign, or zeros (PTX ISA 9.7, operand size)."""
        name, bits = self._register(operand)
        if kind.float:
            value = self.emit(f"bitcast {kind.llvm} {value} to i{kind.bits}")
        if bits < kind.bits:
            raise EmulatorError(f"{self.kernel.name}: expected a register of {kind.bits} bits, got {operand}")
        if bits > kind.bits:
            value = self.emit(f"{'sext' if kind.signed else 'zext'} i{kind.bits} {value} to i{bits}")
        self.run(f"store i{bits} {value}, ptr %slot.{name}, align 8")

    def address(self, operand: str) -> str:
        """The i64 that `[%rd1+8]` or `[name+8]` stands for."""
        match = _ADDRESS.fullmatch(operand)
        if match is None:
            raise EmulatorError(f"{self.kernel.name}: expected an address, got {operand}")
        base = self.value(match[1], TYPES["b64"])
        return self.emit(f"add i64 {base}, {int(match[2])}") if match[2] else base

    def _register(self, operand: str) -> tuple[str, int]:
        match = _REGISTER.fullmatch(operand)
        kind = self.kernel.registers.get(match[1] if match else operand, "")
        if not kind:
            raise EmulatorError(f"{self.kernel.name}: expected a register or a number, got {operand}")
        if kind not in TYPES:
            raise EmulatorError(f"{self.kernel.name}: expected registers of a known type, got .{kind}")
        name = operand.lstrip("%")
        self._slots[name] = TYPES[kind].bits
        return name, TYPES[kind].bits


def _float_bits(operand: str) -> str:
    match = _FLOAT_BITS.fullmatch(operand)
    assert match is not None
    return str(int(match[2], 16))


def parts(operand: str) -> list[str]:
    """The registers of `{%r1, %r2}`, or the operand itself."""
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


def block(label: str) -> str:
    """The LLVM block of a PTX label."""
    return f"L.{label.replace('$', '.')}"


Rule = Callable[[Body, re.Match[str], tuple[str, ...]], None]
"""Translates an instruction, from the match of its name and its operands."""


def translate(body: Body, rules: Sequence[tuple[re.Pattern[str], Rule]]) -> None:
    """Translate every statement with the first rule whose pattern is its name."""
    known: dict[str, tuple[Rule, re.Match[str]]] = {}
    for statement in body.kernel.body:
        if isinstance(statement, Label):
            body.begin(block(statement.name))
            continue
        if statement.name not in known:
            known[statement.name] = _find(statement, rules)
        _guarded(body, statement, *known[statement.name])
    body.run("unreachable")


def _find(found: Instruction, rules: Sequence[tuple[re.Pattern[str], Rule]]) -> tuple[Rule, re.Match[str]]:
    for pattern, rule in rules:
        if match := pattern.fullmatch(found.name):
            return rule, match
    raise EmulatorError(
        f"line {found.line}: expected a PTX instruction that the executor knows, got {found.name}"
        f" {', '.join(found.operands)}"
    )


def _guarded(body: Body, found: Instruction, rule: Rule, match: re.Match[str]) -> None:
    if not found.guard:
        rule(body, match, found.operands)
        return
    holds = body.value(found.guard.lstrip("!"), TYPES["pred"])
    inside, after = body.label("guarded"), body.label("after")
    taken, skipped = (after, inside) if found.guard.startswith("!") else (inside, after)
    body.run(f"br i1 {holds}, label %{taken}, label %{skipped}")
    body.run(f"{inside}:")
    rule(body, match, found.operands)
    body.begin(after)
