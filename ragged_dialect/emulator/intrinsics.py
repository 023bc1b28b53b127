"""What each `llvm.nvvm.*` intrinsic does here, as LLVM IR."""

from __future__ import annotations

import re

from ragged_dialect.emulator.arithmetic import ARITHMETIC
from ragged_dialect.emulator.definitions import Addresses, Definition, Signature
from ragged_dialect.emulator.registers import REGISTERS
from ragged_dialect.emulator.waiting import COLLECTIVES

# Memory is sequential here.
_FENCES = r"membar\.(?:cta|gl|sys)|fence\.(?:sc|acq_rel)\.\w+"


def define(signature: Signature, machine: Addresses) -> Definition | None:
    """The definition of an intrinsic; None where the emulator has none."""
    if re.fullmatch(_FENCES, signature.name):
        return Definition((), "")
    for pattern, make in (*REGISTERS, *COLLECTIVES, *ARITHMETIC):
        match = re.fullmatch(pattern, signature.name)
        if match:
            return make(match, signature, machine)
    return None


def is_collective(name: str) -> bool:
    """Whether threads wait for each other at an intrinsic."""
    return any(re.fullmatch(pattern, name) for pattern, _ in COLLECTIVES)
