"""Reading PTX text: kernels, their parameters, variables and statements (PTX ISA, chapters 4 and 5).

Reads the subset that compilers print: one directive, label or instruction per statement. What it does
not know is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ragged_dialect.emulator.ir_text import split_list
from ragged_dialect.emulator.ptx.names import Names
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
    """A kernel: parameters, registers (`%r` of `%r<9>`, or a name, to its type, and `%r` to 9), variables, statements
    in order, and the threads per block that it allows (0: any number). Every register and variable has one name, also
    those of scopes."""

    name: str
    parameters: list[Parameter]
    max_threads: int = 0
    registers: dict[str, str] = field(default_factory=dict[str, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
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
_MOST = {"param": 1024, "local": 1 << 16}
"""Bytes of variables that are on the stacks of threads; ptxas takes more."""
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
        self._names = Names()
        self._labels = set[str]()
        self._line: int = 1
        self._counted: int = 0

    def read(self) -> None:
        """Read the text to its end. EmulatorError with the line."""
        try:
            while self._skip() < len(self._text):
                self._next()
        except EmulatorError as error:
            raise EmulatorError(f"line {self._line_here()}: {error}") from None
        if self._kernel is not None:
            raise EmulatorError(f"expected }} at the end of {self._kernel.name}, got the end of the text")

    def _next(self) -> None:
        if self._kernel is not None and self._text[self._at] in "{}":
            self._scope(self._kernel, self._text[self._at])
        elif self._kernel is not None and (label := _LABEL.match(self._text, self._at)):
            if label[1] in self._labels:
                raise EmulatorError(f"expected labels of different names, got {label[1]} twice")
            self._labels.add(label[1])
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

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _scope(self, kernel: Kernel, bracket: str) -> None:
        """Scopes inside a kernel only name registers and variables."""
        self._at += 1
        if bracket == "{":
            self._names.enter()
            return
        if self._names.leave():
            return
        if isinstance(kernel, Function):
            self._module.functions[kernel.name] = kernel
        else:
            self._module.kernels.append(kernel)
        self._kernel, self._labels = None, set[str]()

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
        if variable := _VARIABLE.fullmatch(text):
            (kernel or self._module).variables.append(self._declared(_variable(variable)))
        elif kernel is None:
            raise self._unknown(text)
        elif registers := _REGISTERS.fullmatch(text):
            for given in registers[2].split(","):
                name, _, count = given.strip().rstrip(">").partition("<")
                name = self._names.register(name, int(count or 0), kernel.registers)
                kernel.registers[name] = registers[1]
                kernel.counts |= {name: int(count)} if count else {}
        elif not text.startswith(".") and (found := _INSTRUCTION.fullmatch(text)):
            operands = self._names.resolved(found[2].split(".")[0], found[3])
            guard = self._names.resolved("", found[1] or "")
            kernel.body.append(Instruction(line, guard, found[2], _operands(operands)))
        elif text and not text.startswith(".pragma"):
            raise self._unknown(text)

    def _declared(self, variable: Variable) -> Variable:
        return variable._replace(name=self._names.variable(variable.name))

    def _entry(self, text: str) -> Kernel:
        match = _ENTRY.fullmatch(text)
        if match is None or self._kernel is not None:
            raise self._unknown(text)
        self._names.code(match[1])
        self._names.enter()
        parameters = [_parameter(part) for part in match[2].split(",") if part.strip()]
        parameters = [parameter._replace(name=self._names.variable(parameter.name)) for parameter in parameters]
        limit = re.search(r"\.(?:maxntid|reqntid)\s+([\d, ]+)", match[3])
        threads = 1
        for part in limit[1].split(",") if limit else ():
            threads *= int(part)
        return Kernel(match[1], parameters, threads if limit else 0)

    def _function(self, text: str) -> Function:
        match = _FUNCTION.fullmatch(text)
        if match is None:
            raise self._unknown(text)
        self._names.code(match[2])
        self._names.enter()
        inputs = [self._declared(_bytes(part)) for part in (match[3] or "").split(",") if part.strip()]
        result = self._declared(_bytes(match[1])) if match[1] and match[1].strip() else None
        variables = [*inputs, *([result] if result is not None else [])]
        return Function(match[2], [], variables=variables, inputs=inputs, result=result)

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
    known = kind in TYPES and kind != "pred" and count != ""
    if not known or (initial is not None and (TYPES[kind].float or space not in ("global", "const"))):
        raise EmulatorError(f"expected a variable of a known type and size, got {' '.join(match[0].split())}")
    element = TYPES[kind].bits // 8
    size, aligned = element * int(count or 1), int(alignment or element)
    most = _MOST.get(space, size)
    if not 0 < size <= most or aligned.bit_count() != 1:
        what = f"expected 1 to {most} bytes of .{space}, aligned to a power of two,"
        raise EmulatorError(f"{what} got {name} of {size} bytes, aligned to {aligned}")
    return Variable(name, space, size, aligned, None if initial is None else _initial(initial, element, size))


def _initial(text: str, element: int, size: int) -> bytes:
    """The bytes of numbers of so many each, filled up with zeros."""
    numbers = [part.strip() for part in text.strip(" {}\n").split(",")]
    if not all(re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|[1-9]\d*|0)U?", number) for number in numbers):
        raise EmulatorError(f"expected numbers to start with, got {' '.join(text.split())[:60]}")
    whole = [int(number.rstrip("U"), 0) % (1 << 8 * element) for number in numbers]
    if len(whole) * element > size:
        raise EmulatorError(f"expected at most {size // element} numbers to start with, got {len(whole)}")
    return b"".join(number.to_bytes(element, "little") for number in whole).ljust(size, b"\0")


def _operands(text: str) -> tuple[str, ...]:
    """Operands at top-level commas: `{%r1, %r2}` and `[%rd1+8]` are one each."""
    return tuple(split_list(text))
