"""The notation in which `instructions.py` says what PTX has: that of the PTX ISA manual, with alternatives.

`cvt.rn|rz{.ftz}.f16.f32|f64 d:to, a` is `cvt`, one of `.rn` and `.rz`, maybe `.ftz`, `.f16`, one of two types, and two
operands. Operands:

    d, a, b, …   a register, or where it is read a number; `d_` may be `_`; `d{|q}` may be a pair
    [a]          an address
    {a}          as many registers as `.v4` says, or as fit into the instruction's type
    sreg, avar   a special register; a variable
    label, 0     a label; this number

and behind a colon their type, where it is not the instruction's last one: `to` is the type before that, `wide` has
twice its bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from ragged_dialect.emulator.ptx.body import SPECIAL, Body, parts
from ragged_dialect.emulator.ptx.syntax import Instruction, Module
from ragged_dialect.emulator.ptx.types import TYPES, Type
from ragged_dialect.errors import EmulatorError

_SOURCE, _NAME = r"!?%\w+|-?\d\w*", r"[A-Za-z_$][\w$]*"
_SHAPES = {"d": r"%\w+", "d_": r"%\w+|_", "sreg": SPECIAL.pattern, "avar": _NAME, "label": _NAME, "0": "0"}
_MODIFIER = re.compile(r"\{\.([^}]+)\}|\.([^.{]+)")
_OPERAND = re.compile(r"([\[{])?(\w+?)(?:\{(\|)\w\})?[\]}]?(?::(\w+))?")
_WIDE = ("ld", "st", "cvt")
"""Whose registers may be wider than their types (PTX ISA 9.4.1)."""


class Operand(NamedTuple):
    """An operand of a form: its bracket or nothing, its name, whether it may be a pair, its type."""

    bracket: str
    name: str
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

    def values(self, body: Body, first: int = 1) -> list[str]:
        """The values of its operands from one on, those of a list one after the other."""
        return [
            body.value(part, self.kind(position), self.opcode in _WIDE)
            for position in range(first, len(self.operands))
            for part in parts(self.operands[position])
        ]

    def address(self, body: Body) -> str:
        """The i64 that its `[a]` stands for."""
        return body.address(next(o for o in self.operands if o.startswith("[")))

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
    parsed = tuple(Operand(m[1] or "", m[2], bool(m[3]), m[4] or "") for m in matches if m)
    assert len(parsed) == len(matches), notation
    return Form(notation, section, rule, target, version, tuple(axes), pattern, parsed)


class Forms:
    """What there is for a module, by its `.target` and `.version`."""

    def __init__(self, forms: dict[str, list[Form]], module: Module) -> None:
        self._forms = forms
        self._module = module
        self._named: dict[str, list[Form]] = {}

    def find(self, instruction: Instruction) -> Found:
        """The form of an instruction. EmulatorError where PTX has none, or none that the executor knows, or that needs
        another `.target` or `.version`."""
        name = instruction.name
        if name not in self._named:
            self._named[name] = [f for f in self._forms.get(instruction.opcode, ()) if f.pattern.fullmatch(name)]
        got = f"got {name} {', '.join(instruction.operands)}".rstrip()
        if not (named := self._named[name]):
            raise EmulatorError(f"expected a PTX instruction that the executor knows, {got}")
        fitting = [f for f in named if _fits(Found(instruction, f))]
        if not fitting:
            raise EmulatorError(f"expected {' or '.join(dict.fromkeys(f.notation for f in named))}, {got}")
        best = min(fitting, key=lambda f: (f.target, f.version))
        if best.target > self._module.target:
            raise EmulatorError(f"expected .target sm_{best.target} or newer for {name}, got sm_{self._module.target}")
        if best.version > self._module.version:
            least, given = (f"{v // 10}.{v % 10}" for v in (best.version, self._module.version))
            raise EmulatorError(f"expected .version {least} or newer for {name}, got {given}")
        return Found(instruction, best)


def by_opcode(forms: list[Form]) -> dict[str, list[Form]]:
    """Forms by each of their opcodes."""
    made: dict[str, list[Form]] = {}
    for found in forms:
        for opcode in found.axes[0]:
            made.setdefault(opcode, []).append(found)
    return made


def _fits(found: Found) -> bool:
    """Whether operands are as many as the form's, each of its shape."""
    wanted = found.form.operands
    return len(wanted) == len(found.operands) and all(
        re.fullmatch(_shape(found, position), operand) for position, operand in enumerate(found.operands)
    )


def _shape(found: Found, position: int) -> str:
    operand = found.form.operands[position]
    plain = _SHAPES.get(operand.name, _SOURCE)
    if operand.bracket == "[":
        return r"\[.*\]"
    if operand.bracket == "{":
        return r"\{\s*" + r"\s*,\s*".join([f"(?:{plain}|_)"] * _elements(found, position)) + r"\s*\}"
    return rf"(?:{plain})" + (r"(?:\s*\|\s*(?:%\w+|_))?" if operand.pair else "")


def _elements(found: Found, position: int) -> int:
    counts = [int(m[1:]) for m in found.modifiers if re.fullmatch(r"v\d", m)]
    return counts[0] if counts else found.type.bits // found.kind(position).bits
