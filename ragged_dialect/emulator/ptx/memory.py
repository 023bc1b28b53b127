"""Loads, stores, atomics (PTX ISA 9.7.9, 9.7.13) and control flow, barriers, warp collectives (9.7.12 to 9.7.13).

State spaces are LLVM address spaces, so that the checks know which memory an address may lie in. What
`.nc` reads is read through an invariant load. Registers, addresses and accesses have their natural
alignment: that of all bytes of the access.
"""

from __future__ import annotations

import re

from ragged_dialect.emulator.ptx.body import Body, Rule, block, parts
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

_SPACES = {"global": "ptr addrspace(1)", "const": "ptr addrspace(1)", "shared": "ptr addrspace(3)", None: "ptr"}
_TYPE = r"[bus](?:8|16|32|64)|f32|f64"
_ATOMICS = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "min": "min", "max": "max"}


def _pointer(body: Body, space: str | None, operand: str) -> str:
    kind = _SPACES[space]
    return f"{kind} {body.emit(f'inttoptr i64 {body.address(operand)} to {kind}')}"


def _vector(kind: str, count: int) -> str:
    return kind if count == 1 else f"<{count} x {kind}>"


def _load(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind, targets = TYPES[match["type"]], parts(operands[0])
    _count(match, targets)
    whole = _vector(f"i{kind.bits}", len(targets))
    size = kind.bits // 8 * len(targets)
    invariant = ", !invariant.load !0" if match["nc"] else ""
    volatile = "volatile " if match["volatile"] else ""
    pointer = _pointer(body, match["space"], operands[1])
    loaded = body.emit(f"load {volatile}{whole}, {pointer}, align {size}{invariant}")
    for position, target in enumerate(targets):
        part = loaded if len(targets) == 1 else body.emit(f"extractelement {whole} {loaded}, i32 {position}")
        if target != "_":
            body.set(target, kind if not kind.float else TYPES[f"b{kind.bits}"], part)


def _store(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind, sources = TYPES[f"b{TYPES[match['type']].bits}"], parts(operands[1])
    _count(match, sources)
    whole = _vector(kind.llvm, len(sources))
    stored = body.value(sources[0], kind)
    if len(sources) > 1:
        stored = "poison"
        for position, source in enumerate(sources):
            part = body.value(source, kind)
            stored = body.emit(f"insertelement {whole} {stored}, {kind.llvm} {part}, i32 {position}")
    size = kind.bits // 8 * len(sources)
    volatile = "volatile " if match["volatile"] else ""
    pointer = _pointer(body, match["space"], operands[0])
    body.run(f"store {volatile}{whole} {stored}, {pointer}, align {size}")


def _count(match: re.Match[str], registers: list[str]) -> None:
    if int(match["count"] or 1) != len(registers):
        raise EmulatorError(f"expected {match['count'] or 1} registers for {match[0]}, got {len(registers)}")


def _parameter(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`ld.param`: a parameter as a whole."""
    kind = TYPES[match["type"]]
    name = operands[1][1:-1]
    if name not in {parameter.name for parameter in body.kernel.parameters}:
        raise EmulatorError(f"{body.kernel.name}: expected a whole parameter, got {operands[1]}")
    declared = next(TYPES[p.type] for p in body.kernel.parameters if p.name == name)
    if declared.bits != kind.bits:
        raise EmulatorError(f"{body.kernel.name}: expected a load of {declared.bits} bits of {name}, got {match[0]}")
    body.set(operands[0], TYPES[f"b{kind.bits}"], f"%p.{name}")


def _atomic(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match["type"]]
    target, address, *values = operands if match["op"] == "atom" else ("", *operands)
    operator = _ATOMICS[match["name"]]
    if operator in ("min", "max") and not kind.signed:
        operator = "u" + operator
    operator = "f" + operator if kind.float and operator != "xchg" else operator
    size = kind.bits // 8
    pointer = _pointer(body, match["space"], address)
    old = body.emit(f"atomicrmw {operator} {pointer}, {kind.llvm} {body.value(values[0], kind)} seq_cst, align {size}")
    if target and target != "_":
        body.set(target, kind, old)


def _swap(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`atom.cas`: the old value."""
    kind = TYPES[match["type"]]
    expected, new = (body.value(operand, kind) for operand in operands[2:])
    pointer = _pointer(body, match["space"], operands[1])
    pair = body.emit(
        f"cmpxchg {pointer}, {kind.llvm} {expected}, {kind.llvm} {new} seq_cst seq_cst, align {kind.bits // 8}"
    )
    body.set(operands[0], kind, body.emit(f"extractvalue {{ {kind.llvm}, i1 }} {pair}, 0"))


def _nothing(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Memory is sequential here, and its generic addresses are those of its spaces."""


def _convert_address(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    body.set(operands[0], TYPES["b64"], body.value(operands[1], TYPES["b64"]))


def _branch(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    body.run(f"br label %{block(operands[0])}")
    body.run(f"{body.label('after')}:")


def _return(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    body.run("ret void")
    body.run(f"{body.label('after')}:")


def _other_barrier(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> EmulatorError:
    got = f"{match[0]} {', '.join(operands)}"
    return EmulatorError(f"{body.kernel.name}: expected barrier 0 of all threads, got {got}")


def _barrier(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    if operands != ("0",):
        raise _other_barrier(body, match, operands)
    body.call("llvm.nvvm.barrier.cta.sync.aligned.all", "void", ["i32"], ["0"])


def _barrier_reduction(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`bar.red`: how many threads, whether all or any hold."""
    if operands[1] != "0" or len(operands) != 3:
        raise _other_barrier(body, match, operands)
    kind = "i32" if match[1] == "popc" else "i1"
    holds = body.value(operands[2].lstrip("!"), TYPES["pred"])
    if operands[2].startswith("!"):
        holds = body.emit(f"xor i1 {holds}, true")
    found = body.call(f"llvm.nvvm.barrier.cta.red.{match[1]}.aligned.all", kind, ["i32", "i1"], ["0", holds])
    body.set(operands[0], TYPES["u32" if kind == "i32" else "pred"], found)


def _shuffle(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    word = TYPES["b32"]
    target, _, flag = operands[0].partition("|")
    a, b, clamp, mask = (body.value(operand, word) for operand in operands[1:])
    pair = body.call(f"llvm.nvvm.shfl.sync.{match[1]}.i32p", "{ i32, i1 }", ["i32"] * 4, [mask, a, b, clamp])
    body.set(target.strip(), word, body.emit(f"extractvalue {{ i32, i1 }} {pair}, 0"))
    if flag:
        body.set(flag.strip(), TYPES["pred"], body.emit(f"extractvalue {{ i32, i1 }} {pair}, 1"))


def _vote(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    holds = body.value(operands[1].lstrip("!"), TYPES["pred"])
    holds = body.emit(f"xor i1 {holds}, true") if operands[1].startswith("!") else holds
    mask = body.value(operands[2], TYPES["b32"])
    kind = "i32" if match[1] == "ballot" else "i1"
    found = body.call(f"llvm.nvvm.vote.{match[1]}.sync", kind, ["i32", "i1"], [mask, holds])
    body.set(operands[0], TYPES["b32" if kind == "i32" else "pred"], found)


def _reduction(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match[2]]
    name = "u" + match[1] if match[1] in ("min", "max") and not kind.signed else match[1]
    a, mask = (body.value(operand, TYPES["b32"]) for operand in operands[1:])
    body.set(operands[0], kind, body.call(f"llvm.nvvm.redux.sync.{name}", "i32", ["i32", "i32"], [a, mask]))


def _warp_barrier(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    body.call("llvm.nvvm.bar.warp.sync", "void", ["i32"], [body.value(operands[0], TYPES["b32"])])


def _active(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    body.set(operands[0], TYPES["b32"], body.call("llvm.nvvm.activemask", "i32", [], []))


_SPACE = r"(?:\.(?P<space>global|shared|const)(?:::cta)?)?"
_ORDER = r"(?P<volatile>\.volatile|\.(?:relaxed|acquire|release)\.(?:cta|gpu|sys))?(?:\.weak)?"
_SCOPE = r"(?:\.\w+\.(?:cta|gpu|sys))?"
_CACHE = r"(?:\.L[12]::\w+|\.c[agsv])?"
_SHAPE = rf"(?:\.v(?P<count>[248]))?\.(?P<type>{_TYPE})"
_TABLE: tuple[tuple[str, Rule], ...] = (
    (rf"ld\.param\.(?P<type>{_TYPE})", _parameter),
    (rf"ld{_ORDER}{_SPACE}(?P<nc>\.nc)?{_CACHE}{_SHAPE}", _load),
    (rf"st{_ORDER}{_SPACE}{_CACHE}{_SHAPE}", _store),
    (rf"(?P<op>atom|red){_SCOPE}{_SPACE}\.(?P<name>{'|'.join(_ATOMICS)})\.(?P<type>{_TYPE})", _atomic),
    (rf"atom{_SCOPE}{_SPACE}\.cas\.(?P<type>b32|b64)", _swap),
    (r"(?:membar\.\w+|fence\.\w+\.\w+)", _nothing),
    (r"cvta(?:\.to)?\.(?:global|shared|local)\.u64", _convert_address),
    (r"bra(?:\.uni)?", _branch),
    (r"ret|exit", _return),
    (r"bar\.sync|barrier\.sync(?:\.aligned)?", _barrier),
    (r"bar\.red\.(popc|and|or)\.(?:u32|pred)", _barrier_reduction),
    (r"shfl\.sync\.(up|down|bfly|idx)\.b32", _shuffle),
    (r"vote\.sync\.(all|any|uni|ballot)\.(?:pred|b32)", _vote),
    (r"redux\.sync\.(add|min|max|and|or|xor)\.([bsu]32)", _reduction),
    (r"bar\.warp\.sync", _warp_barrier),
    (r"activemask\.b32", _active),
)
RULES = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)
"""Patterns of names, and what translates them."""
