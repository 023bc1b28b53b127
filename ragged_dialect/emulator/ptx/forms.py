"""The notation in which `instructions.py` says what PTX has: that of the PTX ISA manual, with alternatives.

`cvt.rn|rz{.ftz}.f16.f32|f64 d:to, a` is `cvt`, one of `.rn` and `.rz`, maybe `.ftz`, `.f16`, one of two types, and two
operands. Operands:

    d, a, b, …   a register, or where it is read a number, but for `r`; `d_` may be `_`; `d{|q}` may be a pair
    [a]          an address
    {a}          as many registers as `.v4` says, or as fit into the instruction's type; `{a*4}` is four
    sreg, avar   a special register; a variable
    label, n, 0  a label; a number; this number

and behind a colon their type, where it is not the instruction's last one: `to` is the type before that, `wide` has
twice its bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from ragged_dialect.emulator.ptx.body import SPECIAL, Body, parts
from ragged_dialect.emulator.ptx.syntax import Instruction, Kernel, Module
from ragged_dialect.emulator.ptx.types import TYPES, Type
from ragged_dialect.errors import EmulatorError

_SOURCE, _NAME = r"!?%\w+|-?\d\w*", r"[A-Za-z_$][\w$]*"
_REGISTERS = {"d": r"%\w+", "r": r"%\w+", "d_": r"%\w+|_"}
_SHAPES = {"sreg": SPECIAL.pattern, "avar": _NAME, "label": _NAME, "n": r"\d+"}
_MODIFIER = re.compile(r"\{\.([^}]+)\}|\.([^.{]+)")
_OPERAND = re.compile(r"([\[{])?(\w+?)(?:\*(\d))?(?:\{(\|)\w\})?[\]}]?(?::(\w+))?")
_WIDE = ("ld", "st", "cvt")
"""Whose registers may be wider than their types (PTX ISA 9.4.1)."""


class Operand(NamedTuple):
    """An operand of a form: its bracket or nothing, its name, of how many registers it is where that is said, whether
    it may be a pair, its type."""

    bracket: str
    name: str
    registers: int
    pair: bool
    type: str


class Form(NamedTuple):
    """Instructions of one syntax: the manual's section, what translates them, the least `.target` and `.version`, and
    what the notation says: opcodes and then modifiers, a pattern of their names, operands."""

    notation: str
    section: str
    rule: Rule
    target: int
    version: int
    axes: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]
    operands: tuple[Operand, ...]

    def names(self) -> list[str]:
        """Every name, of opcode and modifiers."""
        return ["".join(chosen) for chosen in product(*self.axes)]


class Found(NamedTuple):
    """An instruction and its form."""

    instruction: Instruction
    form: Form

    @property
    def opcode(self) -> str:
        """`ld` of `ld.global.v2.b32`."""
        return self.instruction.opcode

    @property
    def modifiers(self) -> tuple[str, ...]:
        """`global`, `v2` and `b32` of `ld.global.v2.b32`."""
        return self.instruction.modifiers

    @property
    def operands(self) -> tuple[str, ...]:
        """As they are written."""
        return self.instruction.operands

    @property
    def type(self) -> Type:
        """The instruction's last type."""
        return TYPES[self.modifiers[-1]]

    def has(self, *modifiers: str) -> bool:
        """Whether it has one of these modifiers."""
        return not set(modifiers).isdisjoint(self.modifiers)

    def kind(self, position: int) -> Type:
        """The type of an operand."""
        match self.form.operands[position].type:
            case "":
                return self.type
            case "to":
                return TYPES[self.modifiers[-2]]
            case "wide":
                return TYPES[f"{self.type.name[0]}{2 * self.type.bits}"]
            case name:
                return TYPES[name]

    def elements(self, position: int) -> int:
        """Of how many registers an operand is."""
        counts = [int(modifier[1]) for modifier in self.modifiers if re.fullmatch(r"v\d", modifier)]
        operand = self.form.operands[position]
        if operand.bracket != "{":
            return 1
        return operand.registers or (counts[0] if counts else self.type.bits // self.kind(position).bits)

    def values(self, body: Body, first: int = 1) -> list[str]:
        """The values of its operands from one on, those of a list one after the other."""
        return [
            body.value(part, self.kind(position), self.opcode in _WIDE)
            for position in range(first, len(self.operands))
            for part in parts(self.operands[position])
        ]

    def set(self, body: Body, *values: str) -> None:
        """Write its first operand, which may be a list, or a pair; nothing to `_`."""
        for target, value in zip(parts(self.operands[0]), values, strict=False):
            if target != "_":
                body.set(target, self.kind(0), value, self.opcode in _WIDE)


Rule = Callable[[Body, Found], None]
"""Translates an instruction."""


def forms(section: str, rule: Rule, *notations: str, target: int = 80, version: int = 70) -> list[Form]:
    """Forms from the manual's notation."""
    return [_form(section, rule, notation, target, version) for notation in notations]


def _form(section: str, rule: Rule, notation: str, target: int, version: int) -> Form:
    name, _, operands = notation.partition(" ")
    head = re.split(r"[.{]", name, maxsplit=1)[0]
    axes = [tuple(head.split("|"))]
    for optional, needed in _MODIFIER.findall(name[len(head) :]):
        chosen = tuple(f".{part}" for part in (optional or needed).split("|"))
        axes.append(("", *chosen) if optional else chosen)
    pattern = re.compile("".join(f"(?:{'|'.join(map(re.escape, axis))})" for axis in axes))
    matches = [_OPERAND.fullmatch(part) for part in operands.split(", ") if part]
    parsed = tuple(Operand(m[1] or "", m[2], int(m[3] or 0), bool(m[4]), m[5] or "") for m in matches if m)
    assert len(parsed) == len(matches), notation
    return Form(notation, section, rule, target, version, tuple(axes), pattern, parsed)


class Forms:
    """What there is for a kernel of a module, by that one's `.target` and `.version`."""

    def __init__(self, forms: dict[str, list[Form]], module: Module, kernel: Kernel) -> None:
        self._forms = forms
        self._module = module
        self._registers = "".join(f"|{re.escape(name)}" for name in kernel.registers if not name.startswith("%"))
        self._named: dict[str, list[tuple[Form, list[re.Pattern[str]]]]] = {}

    def find(self, instruction: Instruction) -> Found:
        """The form of an instruction. EmulatorError where PTX has none, or none that the executor knows, or that needs
        another `.target` or `.version`."""
        name, operands = instruction.name, instruction.operands
        if name not in self._named:
            known = self._known(instruction)
            self._named[name] = [(form, self._shapes(Found(instruction, form))) for form in known]
        for form, shapes in self._named[name]:
            if len(shapes) == len(operands) and all(s.fullmatch(o) for s, o in zip(shapes, operands, strict=True)):
                return Found(instruction, form)
        forms = dict.fromkeys(form.notation for form, _ in self._named[name])
        raise EmulatorError(f"expected {' or '.join(forms)}, got {_written(instruction)}")

    def _known(self, instruction: Instruction) -> list[Form]:
        """The forms that have an instruction's name."""
        name, module = instruction.name, self._module
        named = [form for form in self._forms.get(instruction.opcode, ()) if form.pattern.fullmatch(name)]
        if not named:
            raise EmulatorError(f"expected a PTX instruction that the executor knows, got {_written(instruction)}")
        target, version = min((form.target, form.version) for form in named)
        if target > module.target:
            raise EmulatorError(f"expected .target sm_{target} or newer for {name}, got sm_{module.target}")
        if version > module.version:
            raise EmulatorError(f"expected .version {version / 10} or newer for {name}, got {module.version / 10}")
        return [form for form in named if form.target <= module.target and form.version <= module.version]

    def _shapes(self, found: Found) -> list[re.Pattern[str]]:
        """What its operands look like."""
        return [re.compile(self._shape(found, position)) for position in range(len(found.form.operands))]

    def _shape(self, found: Found, position: int) -> str:
        operand = found.form.operands[position]
        fixed = operand.name if operand.name.isdigit() else _SHAPES.get(operand.name)
        plain = fixed or f"{_REGISTERS.get(operand.name, _SOURCE)}{self._registers}"
        if operand.bracket == "[":
            return r"\[.*\]"
        if operand.bracket == "{":
            return r"\{\s*" + r"\s*,\s*".join([f"(?:{plain}|_)"] * found.elements(position)) + r"\s*\}"
        return f"(?:{plain})" + (r"(?:\s*\|\s*(?:%\w+|_))?" if operand.pair else "")


def _written(instruction: Instruction) -> str:
    return f"{instruction.name} {', '.join(instruction.operands)}".rstrip()


def by_opcode(forms: list[Form]) -> dict[str, list[Form]]:
    """Forms by each of their opcodes."""
    made: dict[str, list[Form]] = {}
    for found in forms:
        for opcode in found.axes[0]:
            made.setdefault(opcode, []).append(found)
    return made
