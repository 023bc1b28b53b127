"""What each `llvm.nvvm.*` intrinsic does here, as LLVM IR: special registers are loads from the state of the machine
and the record of the thread; approximate instructions are exact."""

from __future__ import annotations

import re

from ragged_dialect.emulator.definitions import Addresses, Definition, Maker, Signature, running_thread
from ragged_dialect.emulator.state import State, Thread
from ragged_dialect.emulator.waiting import COLLECTIVES

_SUFFIXES = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}
_LLVM_NAMES = {
    "ex2": "exp2",
    "lg2": "log2",
    "sin": "sin",
    "cos": "cos",
    "sqrt": "sqrt",
    "fabs": "fabs",
    "fma": "fma",
    "fmin": "minnum",
    "fmax": "maxnum",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
}
_OPERATORS = {"add": "fadd", "mul": "fmul", "div": "fdiv"}


def _arithmetic(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition | None:
    name, type_ = match[1], signature.result
    if type_ not in _SUFFIXES or set(signature.types) != {type_}:
        return None
    operands = ", ".join(f"{type_} %a{i}" for i in range(len(signature.types)))
    if name in _OPERATORS:
        return Definition((f"%r = {_OPERATORS[name]} {type_} %a0, %a1",), "%r")
    if name == "rcp":
        return Definition((f"%r = fdiv {type_} 1.0, %a0",), "%r")
    if name == "tanh":
        return _tanh(type_)
    if name == "rsqrt":
        root, declaration = _llvm_call("sqrt", type_, f"{type_} %a0", 1, "%s")
        return Definition((root, f"%r = fdiv {type_} 1.0, %s"), "%r", (declaration,))
    if name == "saturate":
        # A NaN becomes 0: both comparisons are ordered.
        low = [f"%p = fcmp ogt {type_} %a0, 0.0", f"%d = select i1 %p, {type_} %a0, {type_} 0.0"]
        high = [f"%q = fcmp olt {type_} %d, 1.0", f"%r = select i1 %q, {type_} %d, {type_} 1.0"]
        return Definition((*low, *high), "%r")
    llvm_name = _LLVM_NAMES[name]
    if ".nan" in match[0]:
        llvm_name = {"minnum": "minimum", "maxnum": "maximum"}[llvm_name]
    call, declaration = _llvm_call(llvm_name, type_, operands, len(signature.types), "%r")
    return Definition((call,), "%r", (declaration,))


def _tanh(type_: str) -> Definition | None:
    if type_ != "float":
        return None
    return Definition(("%r = call float @tanhf(float %a0)",), "%r", ("declare float @tanhf(float)",))


def _llvm_call(name: str, type_: str, operands: str, count: int, result: str) -> tuple[str, str]:
    function = f"@llvm.{name}.{_SUFFIXES[type_]}"
    declaration = f"declare {type_} {function}({', '.join([type_] * count)})"
    return f"{result} = call {type_} {function}({operands})", declaration


_NAMES = "|".join((*_LLVM_NAMES, *_OPERATORS, "rcp", "tanh", "rsqrt", "saturate"))
ARITHMETIC: tuple[tuple[str, Maker], ...] = (
    (rf"({_NAMES})(?:\.(?:approx|rn|ftz|full|nan))*(?:\.(?:f|d|f16|bf16|f32|f64))?", _arithmetic),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""


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


REGISTERS: tuple[tuple[str, Maker], ...] = (
    (r"read\.ptx\.sreg\.(ntid|ctaid|nctaid)\.([xyz])", _dimension),
    (r"read\.ptx\.sreg\.tid\.([xyz])", _thread_number),
    (r"read\.ptx\.sreg\.(lane|warp)id", _lane_number),
    (r"read\.ptx\.sreg\.lanemask\.(eq|lt|le|gt|ge)", _lane_mask),
    (r"read\.ptx\.sreg\.warpsize", lambda match, signature, machine: Definition((), "32")),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""


def _copy(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    """The last operand, if there are three, says how many bytes there are; the rest is 0."""
    lines = ["%to = ptrtoint ptr addrspace(3) %a0 to i64", "%from = ptrtoint ptr addrspace(1) %a1 to i64"]
    given = match[1]
    if len(signature.types) > 2:
        lines.append("%given = zext i32 %a2 to i64")
        given = "%given"
    return _called(machine.start_copy, machine, lines, "i64 %to", "i64 %from", f"i64 {match[1]}", f"i64 {given}")


def _end_group(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _called(machine.end_group, machine, [])


def _wait_group(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _called(machine.wait_copies, machine, ["%pending = zext i32 %a0 to i64"], "i64 %pending")


def _wait_all(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    """As the PTX ISA says: the end of a group, and a wait for all."""
    return _called(machine.wait_copies, machine, list(_end_group(match, signature, machine).lines), "i64 0")


def _called(function: int, machine: Addresses, lines: list[str], *operands: str) -> Definition:
    arguments = ", ".join((f"i64 {machine.state}", *operands))
    return Definition((*lines, f"call void inttoptr (i64 {function} to ptr)({arguments}) nounwind"), "")


COPIES: tuple[tuple[str, Maker], ...] = (
    (r"cp\.async\.c[ag]\.shared\.global\.(4|8|16)(?:\.s)?", _copy),
    (r"cp\.async\.commit\.group", _end_group),
    (r"cp\.async\.wait\.group", _wait_group),
    (r"cp\.async\.wait\.all", _wait_all),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""


# Memory is sequential here.
_FENCES = r"membar\.(?:cta|gl|sys)|fence\.(?:sc|acq_rel)\.\w+"


def define(signature: Signature, machine: Addresses) -> Definition | None:
    """The definition of an intrinsic; None where the emulator has none."""
    if re.fullmatch(_FENCES, signature.name):
        return Definition((), "")
    for pattern, make in (*REGISTERS, *COLLECTIVES, *COPIES, *ARITHMETIC):
        match = re.fullmatch(pattern, signature.name)
        if match:
            return make(match, signature, machine)
    return None


def is_collective(name: str) -> bool:
    """Whether threads wait for each other at an intrinsic."""
    return any(re.fullmatch(pattern, name) for pattern, _ in COLLECTIVES)
