"""What each `llvm.nvvm.*` intrinsic does here, as LLVM IR.

Collectives write their operands into the record of the running thread and suspend it; special
registers are loads; approximate instructions are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragged_dialect.emulator import state as codes
from ragged_dialect.emulator.ir_text import split_list
from ragged_dialect.emulator.state import State, Thread


class Addresses(NamedTuple):
    """Where the machine is: its state, and the functions that kernels call."""

    state: int
    suspend: int
    check: int
    check_local: int
    check_divisor: int


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


_DIMENSIONS = {"ntid": "block_size_", "ctaid": "block_", "nctaid": "grid_"}
_LANE_MASKS = {
    "eq": "shl i32 1, %lane",
    "lt": "sub i32 %bit, 1",
    "le": "sub i32 %two, 1",
    "gt": "sub i32 0, %two",
    "ge": "sub i32 0, %bit",
}
_SHUFFLES = {
    "idx": codes.SHUFFLE_INDEX,
    "up": codes.SHUFFLE_UP,
    "down": codes.SHUFFLE_DOWN,
    "bfly": codes.SHUFFLE_XOR,
}
_VOTES = {
    "all": codes.VOTE_ALL,
    "any": codes.VOTE_ANY,
    "uni": codes.VOTE_UNIFORM,
    "ballot": codes.VOTE_BALLOT,
}
_REDUCTIONS = {
    "add": codes.REDUCE_ADD,
    "and": codes.REDUCE_AND,
    "or": codes.REDUCE_OR,
    "xor": codes.REDUCE_XOR,
    "umin": codes.REDUCE_UMIN,
    "umax": codes.REDUCE_UMAX,
    "min": codes.REDUCE_MIN,
    "max": codes.REDUCE_MAX,
}
_BARRIERS = {"popc": codes.BARRIER_COUNT, "and": codes.BARRIER_AND, "or": codes.BARRIER_OR}


def define(signature: Signature, machine: Addresses) -> Definition | None:
    """The definition of an intrinsic; None where the emulator has none."""
    for pattern, make in (*_LOCAL, *_COLLECTIVE):
        match = re.fullmatch(pattern, signature.name)
        if match:
            return make(match, signature, machine)
    return None


def is_collective(name: str) -> bool:
    """Whether threads wait for each other at an intrinsic."""
    return any(re.fullmatch(pattern, name) for pattern, _ in _COLLECTIVE)


def _field(machine: Addresses, name: str, field: str) -> list[str]:
    pointer = f"inttoptr (i64 {machine.state + State.offset(field)} to ptr)"
    return [f"%{name}.word = load i64, ptr {pointer}", f"%{name} = trunc i64 %{name}.word to i32"]


def _thread(machine: Addresses) -> list[str]:
    pointer = f"inttoptr (i64 {machine.state + State.offset('current')} to ptr)"
    return [f"%thread = load ptr, ptr {pointer}"]


def _thread_field(name: str, field: str) -> list[str]:
    return [
        f"%{name}.at = getelementptr i8, ptr %thread, i64 {Thread.offset(field)}",
        f"%{name}.word = load i64, ptr %{name}.at",
        f"%{name} = trunc i64 %{name}.word to i32",
    ]


def _lane(machine: Addresses) -> list[str]:
    return [*_thread(machine), *_thread_field("index", "index"), "%lane = and i32 %index, 31"]


def _dimension(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition(tuple(_field(machine, "r", _DIMENSIONS[match[1]] + match[2])), "%r")


def _thread_number(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition((*_thread(machine), *_thread_field("r", match[1])), "%r")


def _lane_number(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition((*_lane(machine), "%warp = lshr i32 %index, 5"), f"%{match[1]}")


def _lane_mask(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    bits = ["%bit = shl i32 1, %lane", "%two = shl i32 %bit, 1"]
    return Definition((*_lane(machine), *bits, f"%r = {_LANE_MASKS[match[1]]}"), "%r")


def _constant(value: str) -> Callable[[re.Match[str], Signature, Addresses], Definition]:
    return lambda match, signature, machine: Definition((), value)


def _collective(
    signature: Signature, machine: Addresses, kind: int, fields: Sequence[str], constants: dict[str, int] | None = None
) -> Definition:
    """Store operand i in field i, an empty name leaves it out; suspend; load what the result needs."""
    lines = _thread(machine)
    for position, (field, type_) in enumerate(zip(fields, signature.types, strict=True)):
        if field:
            lines += _widen(type_, f"%a{position}", f"%w{position}")
            lines += _store_field(field, f"%w{position}")
    for field, value in (constants or {}).items():
        lines += _store_field(field, str(value))
    lines.append(
        f"call void inttoptr (i64 {machine.suspend} to ptr)(i64 {machine.state}, i64 {kind}, i64 %site) nounwind"
    )
    return _with_result(lines, signature.result)


def _store_field(field: str, value: str) -> list[str]:
    pointer = f"%{field}.at"
    return [
        f"{pointer} = getelementptr i8, ptr %thread, i64 {Thread.offset(field)}",
        f"store i64 {value}, ptr {pointer}",
    ]


def _widen(type_: str, value: str, name: str) -> list[str]:
    if type_ == "i64":
        return [f"{name} = add i64 {value}, 0"]
    if type_ == "float":
        return [f"{name}.bits = bitcast float {value} to i32", f"{name} = zext i32 {name}.bits to i64"]
    return [f"{name} = zext {type_} {value} to i64"]


def _narrow(type_: str, value: str, name: str) -> list[str]:
    if type_ == "float":
        return [f"{name}.bits = trunc i64 {value} to i32", f"{name} = bitcast i32 {name}.bits to float"]
    return [f"{name} = trunc i64 {value} to {type_}"]


def _with_result(lines: Sequence[str], result: str) -> Definition:
    """Load results by the type of the intrinsic: none, one word, or a word and a flag."""
    if result == "void":
        return Definition(tuple(lines), "")
    parts = split_list(result[1:-1]) if result.startswith("{") else [result]
    loads = list[str]()
    for field, type_ in zip(("result", "flag"), parts, strict=False):
        loads.append(f"%{field}.from = getelementptr i8, ptr %thread, i64 {Thread.offset(field)}")
        loads.append(f"%{field}.word = load i64, ptr %{field}.from")
        loads += _narrow(type_, f"%{field}.word", f"%{field}.value")
    if len(parts) == 1:
        return Definition((*lines, *loads), "%result.value")
    loads.append(f"%first = insertvalue {result} poison, {parts[0]} %result.value, 0")
    loads.append(f"%both = insertvalue {result} %first, {parts[1]} %flag.value, 1")
    return Definition((*lines, *loads), "%both")


def _shuffle(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, _SHUFFLES[match[1]], ("mask", "a", "b", "c"))


def _vote(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, _VOTES[match[1]], ("mask", "a"))


def _match(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    kind = codes.MATCH_ANY if match[1] == "any" else codes.MATCH_ALL
    return _collective(signature, machine, kind, ("mask", "a"))


def _reduction(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, _REDUCTIONS[match[1]], ("a", "mask"))


def _sync_warp(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, codes.SYNC_WARP, ("mask",))


def _active_mask(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, codes.ACTIVE_MASK, (), {"mask": 0xFFFF_FFFF})


def _barrier(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, codes.BARRIER, ("",) * len(signature.types))


def _barrier_reduction(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    """The predicate is the last operand, an i1 or an i32 that is not 0."""
    type_ = signature.types[-1]
    last = f"%a{len(signature.types) - 1}"
    made = _collective(signature, machine, _BARRIERS[match[1]], (*[""] * (len(signature.types) - 1), "a"))
    test = [f"%holds = icmp ne {type_} {last}, 0", "%predicate = zext i1 %holds to i64"]
    lines = [line.replace(f"store i64 %w{len(signature.types) - 1},", "store i64 %predicate,") for line in made.lines]
    return Definition((*test, *lines), made.value)


def _nothing(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return Definition((), "")


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


_Maker = Callable[[re.Match[str], Signature, Addresses], Definition | None]
_ARITHMETIC = "|".join((*_LLVM_NAMES, *_OPERATORS, "rcp", "tanh", "rsqrt", "saturate"))
_LOCAL: tuple[tuple[str, _Maker], ...] = (
    (r"read\.ptx\.sreg\.(ntid|ctaid|nctaid)\.([xyz])", _dimension),
    (r"read\.ptx\.sreg\.tid\.([xyz])", _thread_number),
    (r"read\.ptx\.sreg\.(lane|warp)id", _lane_number),
    (r"read\.ptx\.sreg\.lanemask\.(eq|lt|le|gt|ge)", _lane_mask),
    (r"read\.ptx\.sreg\.warpsize", _constant("32")),
    (r"membar\.(?:cta|gl|sys)|fence\.(?:sc|acq_rel)\.\w+", _nothing),
    (rf"({_ARITHMETIC})(?:\.(?:approx|rn|ftz|full|nan))*(?:\.(?:f|d|f16|bf16|f32|f64))?", _arithmetic),
)
_COLLECTIVE: tuple[tuple[str, _Maker], ...] = (
    (r"shfl\.sync\.(idx|up|down|bfly)\.(?:i32|f32)p?", _shuffle),
    (r"vote\.(all|any|uni|ballot)\.sync", _vote),
    (r"match\.(any)\.sync\.i(?:32|64)", _match),
    (r"match\.(all)\.sync\.i(?:32|64)p", _match),
    (r"redux\.sync\.(add|and|or|xor|umin|umax|min|max)", _reduction),
    (r"bar\.warp\.sync", _sync_warp),
    (r"activemask", _active_mask),
    (r"barrier0|barrier\.cta\.sync(?:\.aligned)?\.all", _barrier),
    (r"(?:barrier0|barrier\.cta\.red)\.(popc|and|or)(?:(?:\.aligned)?\.all)?", _barrier_reduction),
)
