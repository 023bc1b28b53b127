"""What a function loads only to store it elsewhere: a copy, which may move bytes that nobody has written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragged_dialect.emulator.accesses import Instruction, instruction
from ragged_dialect.emulator.ir_text import split_list

_REPACKS = frozenset("bitcast extractelement insertelement extractvalue insertvalue shufflevector freeze".split())
"""Instructions that leave all bits as they are."""


def moved(lines: Sequence[str]) -> set[str]:
    """The values of loads of a function that are stored, perhaps as parts of vectors, and nothing else."""
    uses: dict[str, list[Instruction]] = {}
    loads: list[str] = []
    for line in lines:
        found = instruction(line)
        if found is None:  # of a switch, say
            found = Instruction("", "other", line)
        if found.opcode == "load":
            loads.append(found.result)
        for name in set(re.findall(r"%[\w.$-]+", found.rest)):
            uses.setdefault(name, []).append(found)

    def is_stored(name: str, through: frozenset[str] = frozenset()) -> bool:
        return name in through or all(_stores(use, name) or repacked(use, name, through) for use in uses.get(name, ()))

    def repacked(use: Instruction, name: str, through: frozenset[str]) -> bool:
        return use.opcode in _REPACKS and is_stored(use.result, through | {name})

    return {name for name in loads if uses.get(name) and is_stored(name)}


def _stores(use: Instruction, name: str) -> bool:
    if use.opcode != "store":
        return False
    value, *others = split_list(use.rest)
    return value.split(" ")[-1] == name and not any(name in re.findall(r"%[\w.$-]+", other) for other in others)
