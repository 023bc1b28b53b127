"""Reading PTX text: kernels, their parameters, variables and statements (PTX ISA, chapters 4 and 5).

Reads the subset that compilers print: one directive, label or instruction per statement. What it does
not know is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.targets import PTX_VERSIONS


class Parameter(NamedTuple):
    """A parameter of a kernel: its PTX type (`u64`), whether it is a pointer, and what that is aligned to."""

    name: str
    type: str
    pointer: bool
    alignment: int


class Variable(NamedTuple):
    """A variable in memory: state space, bytes, alignment, and the bytes it starts with (None: none given)."""

    name: str
    space: str
    size: int
    alignment: int
    initial: bytes | None


class Instruction(NamedTuple):
    """An instruction: its guard (`%p1`, `!%p1` or empty), its opcode with modifiers, its operands."""

    line: int
    guard: str
    name: str
    operands: tuple[str, ...]

    @property
    def opcode(self) -> str:
        """`ld` of `ld.global.v2.b32`."""
        return self.name.split(".", 1)[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """`global`, `v2` and `b32` of `ld.global.v2.b32`."""
        return tuple(self.name.split(".")[1:])


class Label(NamedTuple):
    """A place to branch to."""

    name: str


@dataclass
class Kernel:
    """A kernel: parameters, registers (`%r` of `%r<9>`, or a name, to its type), variables, statements in
    order, and the threads per block that it allows (0: any number)."""

    name: str
    parameters: list[Parameter]
    max_threads: int = 0
    registers: dict[str, str] = field(default_factory=dict[str, str])
    variables: list[Variable] = field(default_factory=list[Variable])
    body: list[Instruction | Label] = field(default_factory=list["Instruction | Label"])


@dataclass
class Function(Kernel):
    """A function that kernels call: `inputs` in place of parameters, and a result or none, as bytes."""

    inputs: list[Variable] = field(default_factory=list[Variable])
    result: Variable | None = None


@dataclass
class Module:
    """What a PTX file holds. `.target sm_90` is 90, `.version 8.7` is 87."""

    target: int
    version: int
    variables: list[Variable]
    kernels: list[Kernel]
    functions: dict[str, Function]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_HEADER = re.compile(r"\s*(\.version\s+[\d.]+|\.target\s+[^\n]+|\.address_size\s+\d+)\s*\n")
_ENTRY = re.compile(r"(?:\.visible\s+)?\.entry\s+([\w$]+)\s*\((.*?)\)(.*)", re.S)
_PARAMETER = re.compile(r"\.param\s+\.(\w+)(\s+\.ptr(?:\s+\.\w+)??(?:\s+\.align\s+(\d+))?)?\s+([\w$]+)", re.S)
_BITS = re.compile(r"\.param\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\]")
_VARIABLE = re.compile(
    r"(?:\.visible\s+|\.weak\s+)?\.(shared|global|const|local|param)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)"
    r"(?:\[(\d*)\])?\s*(?:=\s*(.*))?",
    re.S,
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%?[\w$]+(?:<\d+>)?(?:\s*,\s*%?[\w$]+(?:<\d+>)?)*)")
_FUNCTION = re.compile(r"(?:\.\w+\s+)?\.func\s+(?:\(([^()]*)\)\s*)?([\w$]+)\s*(?:\(([^()]*)\))?[^()]*", re.S)
_LABEL = re.compile(r"([\w$]+):")
_BLANK = re.compile(r"\s*")
_HEAD = re.compile(r"(?:\.visible\s+)?\.entry\b")
_FUNCTION_HEAD = re.compile(r"(?:\.(?:visible|weak|extern)\s+)?\.func\b[^;{]*")
_INSTRUCTION = re.compile(r"(?:@(!?%\w+)\s+)?([a-z][\w.:]*)\s*(.*)", re.S)


def parse(text: str) -> Module:
    """The module of a PTX text. EmulatorError for what the executor does not know."""
    plain = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    header = {match[1].split()[0]: match[1].split()[1] for match in _HEADER.finditer(plain)}
    if ".target" not in header or header.get(".address_size") != "64":
        raise EmulatorError("expected PTX with .target and .address_size 64, got neither or another")
    plain = _HEADER.sub(lambda match: "\n" * match[0].count("\n"), plain)
    module = Module(*_machine(header[".target"].rstrip(","), header.get(".version", "none")), [], [], {})
    _Reader(plain, module).read()
    return module


def _machine(target: str, version: str) -> tuple[int, int]:
    """The numbers of `.target` and `.version`, where they fit (PTX ISA 11.1.1, 11.1.2)."""
    least = PTX_VERSIONS.get(target)
    if least is None:
        raise EmulatorError(f"expected a .target among {', '.join(PTX_VERSIONS)}, got {target}")
    number = int(version.replace(".", "")) if re.fullmatch(r"\d\.\d", version) else 0
    if number < least:
        raise EmulatorError(f"expected .version {least // 10}.{least % 10} or newer for {target}, got {version}")
    return int(target[3:].rstrip("a")), number


class _Reader:
    def __init__(self, text: str, module: Module) -> None:
        self._text = text
        self._module = module
        self._kernel: Kernel | None = None
        self._at: int = 0
        self._depth = 0
        self._renamed: list[dict[str, str]] = []  # by scope in the kernel: registers that an earlier one has named, too
        self._line: int = 1
        self._counted: int = 0
        self._defined: set[tuple[str, ...]] = set()

    def _define(self, what: str, name: str, *where: str) -> None:
        """EmulatorError where a name is taken."""
        if (what, name, *where) in self._defined:
            raise EmulatorError(f"line {self._line_here()}: expected {what} of different names, got {name} twice")
        self._defined.add((what, name, *where))

    def read(self) -> None:
        """Read the text to its end."""
        while self._skip() < len(self._text):
            if self._kernel is not None and self._text[self._at] in "{}":
                self._scope(self._kernel, self._text[self._at])
            elif self._kernel is not None and (label := _LABEL.match(self._text, self._at)):
                self._define("labels", label[1], self._kernel.name)
                self._kernel.body.append(Label(label[1]))
                self._at = label.end()
            elif self._kernel is None and (head := _HEAD.match(self._text, self._at)):
                self._kernel = self._entry(self._take("{", head[0]))
            elif self._kernel is None and (head := _FUNCTION_HEAD.match(self._text, self._at)):
                self._at = head.end()
                if self._text[self._at : self._at + 1] == "{":
                    self._at += 1
                    self._kernel = self._function(head[0].strip())
                else:
                    self._take(";", head[0])  # a declaration
            else:
                line = self._line_here()
                self._inside(self._take(";", "a statement"), line)
        if self._kernel is not None:
            raise EmulatorError(f"expected }} at the end of {self._kernel.name}, got the end of the text")

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _scope(self, kernel: Kernel, bracket: str) -> None:
        """Scopes inside a kernel only name registers."""
        self._at += 1
        if bracket == "{":
            self._renamed.append({})
        elif self._renamed:
            self._renamed.pop()
        self._depth += 1 if bracket == "{" else -1
        if self._depth < 0:
            if isinstance(kernel, Function):
                self._module.functions[kernel.name] = kernel
            else:
                self._module.kernels.append(kernel)
            self._kernel, self._depth = None, 0

    def _skip(self) -> int:
        """Go to what is no blank."""
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _take(self, end: str, what: str) -> str:
        """The text up to a character, which is passed."""
        at = self._text.find(end, self._at)
        if at < 0:
            raise EmulatorError(f"expected {end} after {what.strip()}, got the end of the text")
        found, self._at = self._text[self._at : at], at + 1
        return found.strip()

    def _inside(self, text: str, line: int) -> None:
        kernel = self._kernel
        for names in self._renamed:
            for name, other in names.items():
                text = re.sub(rf"\b{re.escape(name)}\b", other, text)
        if kernel is not None and text.startswith(".param"):
            self._given(kernel, _bytes(text))
        elif variable := _VARIABLE.fullmatch(text):
            self._define("variables", variable[4], *([kernel.name] if kernel else []))
            (kernel or self._module).variables.append(_variable(variable))
        elif kernel is None:
            raise self._unknown(text)
        elif registers := _REGISTERS.fullmatch(text):
            for given in registers[2].split(","):
                first = name = given.strip().split("<")[0]
                while self._renamed and kernel.registers.get(name, registers[1]) != registers[1]:
                    name = self._renamed[-1][first] = f"{name}_"
                kernel.registers[name] = registers[1]
        elif not text.startswith(".") and (found := _INSTRUCTION.fullmatch(text)):
            kernel.body.append(Instruction(line, found[1] or "", found[2], _operands(found[3])))
        elif text and not text.startswith(".pragma"):
            raise self._unknown(text)

    def _entry(self, text: str) -> Kernel:
        match = _ENTRY.fullmatch(text)
        if match is None or self._kernel is not None:
            raise self._unknown(text)
        self._define("kernels", match[1])
        parameters = [_parameter(part) for part in match[2].split(",") if part.strip()]
        for parameter in parameters:
            self._define("parameters", parameter.name, match[1])
        limit = re.search(r"\.(?:maxntid|reqntid)\s+([\d, ]+)", match[3])
        threads = 1
        for part in limit[1].split(",") if limit else ():
            threads *= int(part)
        return Kernel(match[1], parameters, threads if limit else 0)

    def _function(self, text: str) -> Function:
        match = _FUNCTION.fullmatch(text)
        if match is None:
            raise self._unknown(text)
        self._define("functions", match[2])
        inputs = [_bytes(part) for part in (match[3] or "").split(",") if part.strip()]
        result = _bytes(match[1]) if match[1] and match[1].strip() else None
        variables = [*inputs, *([result] if result is not None else [])]
        return Function(match[2], [], variables=variables, inputs=inputs, result=result)

    def _given(self, kernel: Kernel, variable: Variable) -> None:
        """What a call is given or gives, by a name that other calls have too."""
        for number, other in enumerate(kernel.variables):
            if other.name == variable.name:
                size, alignment = max(other.size, variable.size), max(other.alignment, variable.alignment)
                kernel.variables[number] = other._replace(size=size, alignment=alignment)
                return
        kernel.variables.append(variable)

    def _unknown(self, text: str) -> EmulatorError:
        return EmulatorError(f"expected PTX that the executor knows, got {' '.join(text.split())[:120]}")


def _parameter(text: str) -> Parameter:
    if (bits := _BITS.fullmatch(text.strip())) and bits[3] in ("1", "2", "4", "8"):
        return Parameter(bits[2], f"b{8 * int(bits[3])}", False, int(bits[1]))
    match = _PARAMETER.fullmatch(text.strip())
    if match is None:
        raise EmulatorError(f"expected a scalar parameter, got {text.strip()}")
    return Parameter(match[4], match[1], match[2] is not None, int(match[3] or 1))


def _bytes(text: str) -> Variable:
    """A `.param` of a function or of a call, as memory."""
    match = _VARIABLE.fullmatch(text.strip())
    if match is None or match[1] != "param":
        raise EmulatorError(f"expected a .param of a known type and size, got {' '.join(text.split())}")
    return _variable(match)


def _variable(match: re.Match[str]) -> Variable:
    space, alignment, kind, name, count, initial = match.groups()
    if kind not in TYPES or count == "" or (initial is not None and TYPES[kind].float):
        raise EmulatorError(f"expected a variable of a known type and size, got {match[0]}")
    element = TYPES[kind].bits // 8
    data = None
    if initial is not None:
        numbers = [int(part, 0) for part in initial.strip(" {}\n").split(",")]
        data = b"".join((number % (1 << 8 * element)).to_bytes(element, "little") for number in numbers)
        data = data.ljust(element * int(count or 1), b"\0")
    return Variable(name, space, element * int(count or 1), int(alignment or element), data)


def _operands(text: str) -> tuple[str, ...]:
    """Operands at top-level commas: `{%r1, %r2}` and `[%rd1+8]` are one each."""
    parts, depth, start = list[str](), 0, 0
    for position, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return tuple([*parts, last] if last else parts)
