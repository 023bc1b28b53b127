"""Where a pointer comes from: the buffer that an access must stay in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ragged_dialect.emulator.accesses import Instruction, instruction
from ragged_dialect.emulator.ir_text import closing, leading_operand, leading_type, split_list, type_size
from ragged_dialect.errors import EmulatorError

ARGUMENT = "argument"
GLOBAL = "global"
LOCAL = "local"

_KINDS = {"1": (ARGUMENT, GLOBAL), "3": (GLOBAL,), "5": (LOCAL,)}
"""What is in a space: of global memory, shared memory, the stack of a thread."""

_WRAPS = re.compile(r"^(?:(?:nuw|nsw) )+")


class Origin(NamedTuple):
    """A buffer: an argument by its number, a global or a local variable by its name."""

    kind: str
    key: str


class Origins:
    """The origins of the pointers in one function."""

    def __init__(self, lines: list[str], parameters: Mapping[str, int]) -> None:
        found = [made for line in lines if (made := instruction(line))]
        self._definitions = {made.result: made for made in found if made.result}
        self._parameters = parameters
        self.local_sizes = {made.result: _alloca_size(made.rest) for made in found if made.opcode == "alloca"}

    def of(self, operand: str) -> Origin | None:
        """The one buffer that a pointer points into; None where that is not known."""
        found = self._trace(operand, set())
        return next(iter(found)) if len(found) == 1 else None

    def _trace(self, operand: str, seen: set[str]) -> set[Origin | None]:
        if operand in seen:
            return set()
        seen.add(operand)
        if operand in self._parameters:
            return {Origin(ARGUMENT, str(self._parameters[operand]))}
        if operand in self._definitions:
            made = self._definitions[operand]
            sources = _sources(made)
            if made.opcode == "alloca":
                return {Origin(LOCAL, operand)}
            if made.opcode == "inttoptr":
                return self._in_space(self._of_address(_typed_operand(made.rest), seen), made.rest)
            return set[Origin | None]().union(*(self._trace(source, seen) for source in sources)) if sources else {None}
        match = re.search(r"@([\w.$-]+)", operand)
        return {Origin(GLOBAL, match[1]) if match else None}

    @staticmethod
    def _in_space(found: set[Origin | None], made: str) -> set[Origin | None]:
        """Buffers of an address, where those are in the space that it is taken to be in."""
        space = re.search(r" to ptr addrspace\((\d+)\)$", made)
        kinds = _KINDS.get(space[1] if space else "", (ARGUMENT, GLOBAL, LOCAL))
        return found if found and all(one is not None and one.kind in kinds for one in found) else {None}

    def _of_address(self, operand: str, seen: set[str]) -> set[Origin | None]:
        """The buffers of the pointers whose addresses a number is the sum of, with other numbers."""
        if operand.startswith("ptrtoint "):
            return self._trace(operand, seen)
        made = self._definitions.get(operand)
        if made is None or made.opcode not in ("ptrtoint", "add"):
            return set()
        if made.opcode == "ptrtoint":
            return self._trace(_typed_operand(made.rest), seen)
        first, second = split_list(_WRAPS.sub("", made.rest))
        return self._of_address(_typed_operand(first), seen) | self._of_address(second, seen)


def _sources(found: Instruction) -> list[str]:
    """The pointers that a pointer is computed from; empty where it comes from elsewhere."""
    if found.opcode == "getelementptr":
        return [_typed_operand(split_list(found.rest)[1])]
    if found.opcode in ("addrspacecast", "bitcast", "freeze"):
        return [_typed_operand(found.rest)]
    if found.opcode == "select":
        return [_typed_operand(part) for part in split_list(found.rest)[1:3]]
    if found.opcode == "phi" and found.rest.startswith("ptr"):
        incoming = found.rest[len(leading_type(found.rest)) + 1 :]
        return [split_list(part[1:-1])[0] for part in split_list(incoming)]
    return []


def _typed_operand(text: str) -> str:
    return leading_operand(text[len(leading_type(text)) + 1 :])


def _alloca_size(rest: str) -> int:
    parts = split_list(rest)
    counts = [part for part in parts[1:] if re.fullmatch(r"i\d+ \S+", part)]
    count = counts[0].split(" ")[1] if counts else "1"
    if not count.isdigit():
        raise EmulatorError(f"expected a local array of constant size, got alloca {rest}")
    return type_size(parts[0]) * int(count)


def operands_of_call(rest: str) -> list[str]:
    """The operands of a call, from what follows the opcode."""
    opening = rest.index("(", rest.index("@"))
    return split_list(rest[opening + 1 : closing(rest, opening)])
