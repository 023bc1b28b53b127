"""Special registers: loads from the state of the machine and the record of the thread."""

from __future__ import annotations

import re

from ragged_dialect.emulator.definitions import Addresses, Definition, Maker, Signature, running_thread
from ragged_dialect.emulator.state import State, Thread

_DIMENSIONS = {"ntid": "block_size_", "ctaid": "block_", "nctaid": "grid_"}
_LANE_MASKS = {
    "eq": "shl i32 1, %lane",
    "lt": "sub i32 %bit, 1",
    "le": "sub i32 %two, 1",
    "gt": "sub i32 0, %two",
    "ge": "sub i32 0, %bit",
}


def _field(machine: Addresses, name: str, field: str) -> list[str]:
    pointer = f"inttoptr (i64 {machine.state + State.offset(field)} to ptr)"
    return [f"%{name}.word = load i64, ptr {pointer}", f"%{name} = trunc i64 %{name}.word to i32"]


def _thread_field(name: str, field: str) -> list[str]:
    return [
        f"%{name}.at = getelementptr i8, ptr %thread, i64 {Thread.offset(field)}",
        f"%{name}.word = load i64, ptr %{name}.at",
        f"%{name} = trunc i64 %{name}.word to i32",
    ]


def _lane(machine: Addresses) -> list[str]:
    return [*running_thread(machine), *_thread_field("index", "index"), "%lane = and i32 %index, 31"]


def _dimension(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition(tuple(_field(machine, "r", _DIMENSIONS[match[1]] + match[2])), "%r")


def _thread_number(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition((*running_thread(machine), *_thread_field("r", match[1])), "%r")


def _lane_number(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition((*_lane(machine), "%warp = lshr i32 %index, 5"), f"%{match[1]}")


def _lane_mask(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    bits = ["%bit = shl i32 1, %lane", "%two = shl i32 %bit, 1"]
    return Definition((*_lane(machine), *bits, f"%r = {_LANE_MASKS[match[1]]}"), "%r")


def _constant(value: str) -> Maker:
    return lambda match, signature, machine: Definition((), value)


REGISTERS: tuple[tuple[str, Maker], ...] = (
    (r"read\.ptx\.sreg\.(ntid|ctaid|nctaid)\.([xyz])", _dimension),
    (r"read\.ptx\.sreg\.tid\.([xyz])", _thread_number),
    (r"read\.ptx\.sreg\.(lane|warp)id", _lane_number),
    (r"read\.ptx\.sreg\.lanemask\.(eq|lt|le|gt|ge)", _lane_mask),
    (r"read\.ptx\.sreg\.warpsize", _constant("32")),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""
