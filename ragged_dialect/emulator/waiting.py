"""Collectives: operands go into the record of the thread, which then waits for the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
_MATCHES = {"any": codes.MATCH_ANY, "all": codes.MATCH_ALL}
_PRODUCTS = {"bf16": codes.MULTIPLY_BFLOAT, "f32.f32": codes.MULTIPLY_HALF}
_MATRICES = {None: codes.MATRICES, ".trans": codes.MATRICES_TRANSPOSED}
_RESULTS = ("result", "flag", "third", "fourth")
_FRAGMENTS = ("a0", "a1", "a2", "a3", "b0", "b1", "c0", "c1", "c2", "c3")
_ALL = 0xFFFF_FFFF
_BARRIERS = {"popc": codes.BARRIER_COUNT, "and": codes.BARRIER_AND, "or": codes.BARRIER_OR}


def _collective(
    signature: Signature, machine: Addresses, kind: int, fields: Sequence[str], constants: Mapping[str, int]
) -> Definition:
    """Store operand i in field i, an empty name leaves it out; suspend; load what the result needs."""
    lines = running_thread(machine)
    for position, (field, type_) in enumerate(zip(fields, signature.types, strict=True)):
        if field:
            lines += _widen(type_, f"%a{position}", f"%w{position}")
            lines += _store_field(field, f"%w{position}")
    for field, value in constants.items():
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


def _waits(kinds: int | Mapping[str, int] | Mapping[str | None, int], *fields: str, **constants: int) -> Maker:
    """A collective of one kind, or of those that the match of its name chooses among."""

    def make(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
        kind = kinds if isinstance(kinds, int) else kinds[match[1]]
        return _collective(signature, machine, kind, fields, constants)

    return make


def _barrier(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    return _collective(signature, machine, codes.BARRIER, ("",) * len(signature.types), {})


def _barrier_reduction(match: re.Match[str], signature: Signature, machine: Addresses) -> Definition:
    """The predicate is the last operand, an i1 or an i32 that is not 0."""
    type_ = signature.types[-1]
    last = f"%a{len(signature.types) - 1}"
    made = _collective(signature, machine, _BARRIERS[match[1]], (*[""] * (len(signature.types) - 1), "a"), {})
    test = [f"%holds = icmp ne {type_} {last}, 0", "%predicate = zext i1 %holds to i64"]
    lines = [line.replace(f"store i64 %w{len(signature.types) - 1},", "store i64 %predicate,") for line in made.lines]
    return Definition((*test, *lines), made.value)


COLLECTIVES: tuple[tuple[str, Maker], ...] = (
    (r"shfl\.sync\.(idx|up|down|bfly)\.(?:i32|f32)p?", _waits(_SHUFFLES, "mask", "a", "b", "c")),
    (r"vote\.(all|any|uni|ballot)\.sync", _waits(_VOTES, "mask", "a")),
    (r"match\.(any)\.sync\.i(?:32|64)", _waits(_MATCHES, "mask", "a")),
    (r"match\.(all)\.sync\.i(?:32|64)p", _waits(_MATCHES, "mask", "a")),
    (r"redux\.sync\.(add|and|or|xor|umin|umax|min|max)", _waits(_REDUCTIONS, "a", "mask")),
    (r"mma\.m16n8k16\.row\.col\.(bf16|f32\.f32)", _waits(_PRODUCTS, *_FRAGMENTS, mask=_ALL)),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x4(\.trans)?\.b16\.p3", _waits(_MATRICES, "a", mask=_ALL)),
    (r"bar\.warp\.sync", _waits(codes.SYNC_WARP, "mask")),
    (r"activemask", _waits(codes.ACTIVE_MASK, mask=_ALL)),
    (r"barrier0|barrier\.cta\.sync(?:\.aligned)?\.all", _barrier),
    (r"(?:barrier0|barrier\.cta\.red)\.(popc|and|or)(?:(?:\.aligned)?\.all)?", _barrier_reduction),
)
"""Patterns of names after `llvm.nvvm.`, and how they are defined."""
