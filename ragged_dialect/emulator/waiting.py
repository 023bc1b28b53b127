"""Collectives: operands go into the record of the thread, which then waits for the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragged_dialect.emulator import state as codes
from ragged_dialect.emulator.definitions import Addresses, Definition, Maker, Signature, running_thread
from ragged_dialect.emulator.ir_text import split_list
from ragged_dialect.emulator.state import Thread

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
_RESULTS = ("result", "flag", "third", "fourth")
_FRAGMENTS = ("a0", "a1", "a2", "a3", "b0", "b1", "c0", "c1", "c2", "c3")
_BARRIERS = {"popc": codes.BARRIER_COUNT, "and": codes.BARRIER_AND, "or": codes.BARRIER_OR}


def _collective(
    signature: Signature, machine: Addresses, kind: int, fields: Sequence[str], constants: dict[str, int] | None = None
) -> Definition:
    """Store operand i in field i, an empty name leaves it out; suspend; load what the result needs."""
    lines = running_thread(machine)
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
    if type_.startswith("ptr"):
        return [f"{name} = ptrtoint {type_} {value} to i64"]
    if type_ in ("float", "<2 x half>"):
        return [f"{name}.bits = bitcast {type_} {value} to i32", f"{name} = zext i32 {name}.bits to i64"]
    return [f"{name} = zext {type_} {value} to i64"]


def _narrow(type_: str, value: str, name: str) -> list[str]:
    if type_ == "float":
        return [f"{name}.bits = trunc i64 {value} to i32", f"{name} = bitcast i32 {name}.bits to float"]
    return [f"{name} = trunc i64 {value} to {type_}"]


def _with_result(lines: Sequence[str], result: str) -> Definition:
    """Load results by the type of the intrinsic: none, one word, a word and a flag, or four words."""
    if result == "void":
        return Definition(tuple(lines), "")
    parts = split_list(result[1:-1]) if result.startswith("{") else [result]
    loads = list[str]()
    for field, type_ in zip(_RESULTS, parts, strict=False):
        loads.append(f"%{field}.from = getelementptr i8, ptr %thread, i64 {Thread.offset(field)}")
        loads.append(f"%{field}.word = load i64, ptr %{field}.from")
        loads += _narrow(type_, f"%{field}.word", f"%{field}.value")
    if len(parts) == 1:
        return Definition((*lines, *loads), "%result.value")
    whole = "poison"
    for position, (field, type_) in enumerate(zip(_RESULTS, parts, strict=False)):
        loads.append(f"%whole.{position} = insertvalue {result} {whole}, {type_} %{field}.value, {position}")
        whole = f"%whole.{position}"
    return Definition((*lines, *loads), whole)


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


def _multiplication(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    kind = codes.MULTIPLY_BFLOAT if match[1] == "bf16" else codes.MULTIPLY_HALF
    return _collective(signature, machine, kind, _FRAGMENTS, {"mask": 0xFFFF_FFFF})


def _matrices(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    kind = codes.MATRICES_TRANSPOSED if match[1] else codes.MATRICES
    return _collective(signature, machine, kind, ("a",), {"mask": 0xFFFF_FFFF})


COLLECTIVES: tuple[tuple[str, Maker], ...] = (
    (r"shfl\.sync\.(idx|up|down|bfly)\.(?:i32|f32)p?", _shuffle),
    (r"vote\.(all|any|uni|ballot)\.sync", _vote),
    (r"match\.(any)\.sync\.i(?:32|64)", _match),
    (r"match\.(all)\.sync\.i(?:32|64)p", _match),
    (r"redux\.sync\.(add|and|or|xor|umin|umax|min|max)", _reduction),
    (r"mma\.m16n8k16\.row\.col\.(bf16|f32\.f32)", _multiplication),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x4\.(trans\.)?b16\.p3", _matrices),
    (r"bar\.warp\.sync", _sync_warp),
    (r"activemask", _active_mask),
    (r"barrier0|barrier\.cta\.sync(?:\.aligned)?\.all", _barrier),
    (r"(?:barrier0|barrier\.cta\.red)\.(popc|and|or)(?:(?:\.aligned)?\.all)?", _barrier_reduction),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""
