"""Kernels made ready for the host: collectives numbered, accesses checked, nothing that could trap.

Works on canonical text, one line at a time. A memory instruction or a call that is not understood is
an error: nothing goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragged_dialect.emulator.accesses import (
    Access,
    Instruction,
    accesses,
    copy_accesses,
    instruction,
    intrinsic_accesses,
)
from ragged_dialect.emulator.definitions import Addresses
from ragged_dialect.emulator.intrinsics import is_collective
from ragged_dialect.emulator.ir_text import leading_type, split_list
from ragged_dialect.emulator.moves import moved
from ragged_dialect.emulator.origins import ARGUMENT, GLOBAL, LOCAL, Origin, Origins, operands_of_call
from ragged_dialect.emulator.state import ATOMIC, ATOMIC_LOAD, GLOBAL_RANGES, LOAD, MOVED, SHARED_RANGES, STORE
from ragged_dialect.errors import EmulatorError

MAX_GRANULE = 8
PREFIX = "emu."

_PLAIN = frozenset(
    "ret br switch unreachable fneg add fadd sub fsub mul fmul fdiv frem shl lshr ashr and or xor extractelement"
    " insertelement shufflevector extractvalue insertvalue getelementptr trunc zext sext fptrunc fpext fptoui fptosi"
    " uitofp sitofp ptrtoint inttoptr bitcast addrspacecast icmp fcmp phi select freeze alloca fence".split()
)
_MEMORY = frozenset(("load", "store", "atomicrmw", "cmpxchg"))
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_SPACES = {"ptr addrspace(1)": GLOBAL_RANGES, "ptr addrspace(3)": SHARED_RANGES}
_HINTS = re.compile(r"llvm\.(assume|lifetime\.\w+|dbg\.\w+|experimental\.noalias\.scope\.decl|prefetch)\b")
_COPIES = re.compile(r"llvm\.(memcpy|memmove|memset)\.")
_BEFORE_TYPE = re.compile(
    r"^(?:(?:range\(.*?\)|noundef|nonnull|zeroext|signext|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )+"
)
_METADATA = re.compile(r", ![\w.]+ !\d+")
# Room on the stack for the value of every instruction.
_SPILLED_BYTES = 64
# Like a store to memory that nothing else sees: loads and stores around a check may still be combined.
_CHECK_ATTRIBUTES = "nounwind memory(inaccessiblemem: readwrite)"


@dataclass
class Footprint:
    """What a function does to its buffers: those it stores to, the bytes that its accesses are
    multiples of, and what it needs of the stack. None stands for an unknown buffer."""

    written: set[Origin | None] = field(default_factory=set[Origin | None])
    granules: dict[Origin | None, int] = field(default_factory=dict[Origin | None, int])
    callees: set[str] = field(default_factory=set[str])
    globals: set[str] = field(default_factory=set[str])
    stack: int = 0

    def add(self, access: Access, origin: Origin | None) -> None:
        """Count an access."""
        if access.kind in (STORE, ATOMIC):
            self.written.add(origin)
        size = access.size if isinstance(access.size, int) else 1
        granule = min(size & -size or 1, access.alignment, MAX_GRANULE)
        self.granules[origin] = min(granule, self.granules.get(origin, MAX_GRANULE))


@dataclass(frozen=True)
class Globals:
    """Global variables of a module: addresses and range numbers of the shared ones, sizes of the rest."""

    shared: Mapping[str, int]
    ranges: Mapping[str, int]
    sizes: Mapping[str, int]


class Instrumenter:
    """Rewrites function bodies; `sites` names the collectives by number."""

    def __init__(self, machine: Addresses, module_globals: Globals, defined: frozenset[str], check: bool) -> None:
        self._machine = machine
        self._globals = module_globals
        self._defined = defined
        self._check = check
        self.sites: list[str] = [""]
        self._calls: dict[str, int] = {}

    def body(self, name: str, lines: list[str], parameters: Mapping[str, int]) -> tuple[list[str], Footprint]:
        """The new lines of a function, and its footprint. `parameters` are the numbers of the
        pointers that a kernel gets; empty for other functions."""
        rewriter = _Body(self, name, lines, parameters)
        return rewriter.lines, rewriter.footprint

    def call_site(self, function: str, callee: str) -> int:
        """The number of a new call."""
        self._calls[function] = self._calls.get(function, 0) + 1
        self.sites.append(f"{callee} (collective {self._calls[function]} of @{function})")
        return len(self.sites) - 1

    @property
    def parts(self) -> tuple[Addresses, Globals, frozenset[str], bool]:
        """What all functions have in common."""
        return self._machine, self._globals, self._defined, self._check


class _Body:
    def __init__(self, owner: Instrumenter, name: str, lines: list[str], parameters: Mapping[str, int]) -> None:
        self._owner = owner
        self._machine, self._globals, self._defined, self._check = owner.parts
        self._name = name
        self._origins = Origins(lines, parameters)
        self._count = 0
        self._compared = _compared_pointers(lines)
        self._moved = moved(lines)
        self.footprint = Footprint(stack=sum(self._origins.local_sizes.values()) + _SPILLED_BYTES * len(lines))
        self.lines: list[str] = []
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        found = instruction(line)
        rewritten = line
        if found is None or found.opcode in _PLAIN:
            pass
        elif found.opcode in _MEMORY:
            rewritten = self._memory(line, found)
        elif found.opcode in _DIVISIONS:
            rewritten = self._division(found)
        elif found.opcode == "call":
            rewritten = self._call(line, found)
        elif not _inside_switch(line):
            raise EmulatorError(f"expected an instruction that the emulator knows, got {line.strip()}")
        self.footprint.globals.update(re.findall(r"@([\w.$-]+)", rewritten))
        self.lines.append(self._addresses(rewritten))

    def _addresses(self, line: str) -> str:
        """The line with shared variables as constant addresses: LLVM must not know their sizes, or it
        would use that accesses beyond the end have no meaning."""

        def address(match: re.Match[str]) -> str:
            found = self._globals.shared.get(match[1])
            return match[0] if found is None else f"inttoptr (i64 {found} to ptr addrspace(3))"

        return re.sub(r"@([\w.$-]+)", address, line)

    def _fresh(self) -> str:
        self._count += 1
        return f"%{PREFIX}{self._count}"

    def _memory(self, line: str, found: Instruction) -> str:
        atomic = found.opcode in ("atomicrmw", "cmpxchg") or found.rest.startswith("atomic")
        for access in accesses(found):
            # What a compare-and-swap loop starts from may be out of date.
            retried = access.kind == LOAD and access.pointer in self._compared
            kind = ATOMIC_LOAD if retried else access.kind | (MOVED if found.result in self._moved else 0)
            self._access(access._replace(kind=kind))
        plain = _METADATA.sub("", line)
        return plain if atomic else re.sub(r", align \d+$", ", align 1", plain)

    def _access(self, access: Access) -> None:
        origin = self._origins.of(access.pointer)
        self.footprint.add(access, origin)
        if not self._check:
            return
        pointer = self._fresh()
        source = f"{access.pointer_type} {access.pointer}"
        self.lines.append(self._addresses(f"  {pointer} = ptrtoint {source} to i64"))
        what = access.kind | (access.alignment - 1) << 8
        arguments = f"i64 {self._machine.state}, i64 {pointer}, i64 {access.size}, i64 {what}"
        if origin is not None and origin.kind == GLOBAL and origin.key in self._globals.sizes:
            self._check_local(arguments, f"ptr @{origin.key}", self._globals.sizes[origin.key])
        elif origin is not None and origin.kind == LOCAL:
            self._check_local(arguments, f"ptr {origin.key}", self._origins.local_sizes[origin.key])
        else:
            self._emit_check(self._machine.check, f"{arguments}, i64 {self._range(access, origin)}")

    def _range(self, access: Access, origin: Origin | None) -> int:
        """The number of the range of a buffer: shared ones come first, then the arguments."""
        if origin is None:
            return _SPACES.get(access.pointer_type, 0)
        if origin.kind == ARGUMENT:
            return len(self._globals.ranges) + 1 + int(origin.key)
        return self._globals.ranges[origin.key]

    def _check_local(self, arguments: str, pointer: str, size: int) -> None:
        base = self._fresh()
        self.lines.append(f"  {base} = ptrtoint {pointer} to i64")
        self._emit_check(self._machine.check_local, f"{arguments}, i64 {base}, i64 {size}")

    def _emit_check(self, function: int, arguments: str) -> None:
        self.lines.append(f"  call void inttoptr (i64 {function} to ptr)({arguments}) {_CHECK_ATTRIBUTES}")

    def _division(self, found: Instruction) -> str:
        """A division whose divisor is never 0, nor -1 for signed ones, where the host could trap."""
        flags = "exact " if found.rest.startswith("exact ") else ""
        dividend, divisor = split_list(found.rest[len(flags) :])
        kind = leading_type(dividend)
        zero, safe = self._fresh(), self._fresh()
        one = _splat(kind, 1)
        mask = re.sub(r"i\d+", "i1", kind)
        self.lines.append(f"  {zero} = icmp eq {kind} {divisor}, {_zero(kind)}")
        self.lines.append(f"  {safe} = select {mask} {zero}, {kind} {one}, {kind} {divisor}")
        if self._check and kind[0] != "<":
            word = self._fresh()
            self.lines.append(f"  {word} = zext i1 {zero} to i64")
            self._emit_check(self._machine.check_divisor, f"i64 {self._machine.state}, i64 {word}")
        if found.opcode in ("sdiv", "srem"):
            return self._signed_division(found, dividend, safe, kind)
        return f"  {found.result} = {found.opcode} {dividend}, {safe}"

    def _signed_division(self, found: Instruction, dividend: str, divisor: str, kind: str) -> str:
        """Dividing by -1 is negation, its remainder 0: what the device computes for the least integer."""
        minus, safe, quotient, negated = (self._fresh() for _ in range(4))
        mask = re.sub(r"i\d+", "i1", kind)
        value = dividend[len(kind) + 1 :]
        zero = _zero(kind)
        self.lines += [
            f"  {minus} = icmp eq {kind} {divisor}, {_splat(kind, -1)}",
            f"  {safe} = select {mask} {minus}, {kind} {_splat(kind, 1)}, {kind} {divisor}",
            f"  {quotient} = {found.opcode} {kind} {value}, {safe}",
            f"  {negated} = sub {kind} {zero}, {value}",
        ]
        special = negated if found.opcode == "sdiv" else zero
        return f"  {found.result} = select {mask} {minus}, {kind} {special}, {kind} {quotient}"

    def _call(self, line: str, found: Instruction) -> str:
        match = re.search(r"@([\w.$-]+)\(", found.rest)
        if re.search(r"\basm\b", found.rest):
            raise EmulatorError(f"expected a kernel without inline assembly, got {line.strip()}")
        if match is None or "%" in found.rest[: match.start()]:
            raise EmulatorError(f"expected a call of a function by name, got {line.strip()}")
        callee = match[1]
        operands = operands_of_call(found.rest)
        if callee.startswith("llvm.nvvm."):
            return self._intrinsic(found, callee.removeprefix("llvm.nvvm."), operands)
        if _HINTS.match(callee):
            return f"  ; {callee}"
        if _COPIES.match(callee):
            for access in copy_accesses(callee, operands):
                self._access(access)
            return re.sub(r"\balign \d+ ", "", line)
        self._known(callee, operands)
        return line

    def _intrinsic(self, found: Instruction, name: str, operands: Sequence[str]) -> str:
        site = self._owner.call_site(self._name, name) if is_collective(name) else 0
        for access in intrinsic_accesses(name, operands):
            if isinstance(access.size, str):
                size = self._fresh()
                self.lines.append(f"  {size} = zext i32 {access.size} to i64")
                access = access._replace(size=size)
            self._access(access)
        result = _BEFORE_TYPE.sub("", found.rest)
        result = leading_type(result[: result.index("@")].strip())
        head = f"{found.result} = " if found.result else ""
        return f"  {head}call {result} @{PREFIX}{name}({', '.join((f'i64 {site}', *operands))})"

    def _known(self, callee: str, operands: Sequence[str]) -> None:
        if callee in self._defined:
            self.footprint.callees.add(callee)
        elif callee.startswith("llvm.") and any(operand.startswith("ptr") for operand in operands):
            raise EmulatorError(f"expected an intrinsic that the emulator knows, got @{callee}")
        elif not callee.startswith(("llvm.", "__nv_")):
            raise EmulatorError(f"expected a call of a function of the module, got @{callee}")


def _compared_pointers(lines: Sequence[str]) -> set[str]:
    """The pointers of the compare-and-swap instructions."""
    found = [made for line in lines if (made := instruction(line)) and made.opcode == "cmpxchg"]
    return {accesses(made)[0].pointer for made in found}


def _inside_switch(line: str) -> bool:
    return re.fullmatch(r"\s+(i\d+ -?\d+, label \S+|\].*)", line) is not None


def _zero(kind: str) -> str:
    return "zeroinitializer" if kind[0] == "<" else "0"


def _splat(kind: str, number: int) -> str:
    match = re.match(r"<(\d+) x (i\d+)>", kind)
    return f"<{', '.join([f'{match[2]} {number}'] * int(match[1]))}>" if match else str(number)
