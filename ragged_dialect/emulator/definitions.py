"""How intrinsics are described: what kernels declare, and what is put in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ragged_dialect.emulator.state import State


class Addresses(NamedTuple):
    """Where the machine is: its state, and the functions that kernels call."""

    state: int
    suspend: int
    check: int
    check_local: int
    check_divisor: int
    start_copy: int
    end_group: int
    wait_copies: int

    @classmethod
    def called(cls) -> tuple[str, ...]:
        """The names of the functions."""
        return cls._fields[1:]


class Signature(NamedTuple):
    """An intrinsic by its name after `llvm.nvvm.`, with LLVM types."""

    name: str
    result: str
    types: tuple[str, ...]


class Definition(NamedTuple):
    """How an intrinsic is defined: lines of a function body, the value it returns (empty: none), and
    functions that must be declared. `%site` is the number of the call."""

    lines: tuple[str, ...]
    value: str
    declarations: tuple[str, ...] = ()


Maker = Callable[[re.Match[str], Signature, Addresses], Definition | None]
"""Makes the definition of an intrinsic from the match of its name; None where it has none."""


def running_thread(machine: Addresses) -> list[str]:
    """Lines that put the record of the running thread into %thread."""
    pointer = f"inttoptr (i64 {machine.state + State.offset('current')} to ptr)"
    return [f"%thread = load ptr, ptr {pointer}"]
