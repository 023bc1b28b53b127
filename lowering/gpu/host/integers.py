"""Integer ops of the host program: Python ints in the signed range of their type.

A table gives each op's expression on signed or unsigned operands. A result that may leave the
range is brought back by `i64(…)`, and what may be negative is read unsigned by `u64(…)`.
"""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.host.writer import Emitter, HostWriter, kind

_SIGNED = {
    "arith.addi": "{0} + {1}",
    "arith.subi": "{0} - {1}",
    "arith.muli": "{0} * {1}",
    "arith.divsi": "quotient({0}, {1})",
    "arith.remsi": "remainder({0}, {1})",
    "arith.ceildivsi": "-(-{0} // {1})",
    "arith.floordivsi": "{0} // {1}",
    "arith.minsi": "min({0}, {1})",
    "arith.maxsi": "max({0}, {1})",
    "arith.andi": "{0} & {1}",
    "arith.ori": "{0} | {1}",
    "arith.xori": "{0} ^ {1}",
    "arith.shli": "{0} << ({1} & 63)",
    "arith.shrsi": "{0} >> ({1} & 63)",
    "math.absi": "abs({0})",
    "math.ipowi": "({0} ** {1} if {1} >= 0 else quotient(1, {0} ** -{1}))",
    "math.ctpop": "bin({0} & {mask}).count('1')",
    "math.ctlz": "{bits} - ({0} & {mask}).bit_length()",
    "math.cttz": "trailing_zeros({0}, {bits})",
}
_UNSIGNED = {
    "arith.divui": "{0} // {1}",
    "arith.remui": "{0} % {1}",
    "arith.ceildivui": "-(-{0} // {1})",
    "arith.minui": "min({0}, {1})",
    "arith.maxui": "max({0}, {1})",
    "arith.shrui": "{0} >> ({1} & 63)",
}
_CASTS = {
    "arith.index_cast": False,
    "arith.extsi": False,
    "arith.trunci": False,
    "arith.index_castui": True,
    "arith.extui": True,
}
_EXTENDED = {
    "arith.addui_extended": ("{0} + {1}", "{0} + {1} >> {bits}", True),
    "arith.mului_extended": ("{0} * {1}", "{0} * {1} >> {bits}", True),
    "arith.mulsi_extended": ("{0} * {1}", "{0} * {1} >> {bits}", False),
}
_STAYS = frozenset(f"arith.{name}" for name in ("minsi", "maxsi", "andi", "ori", "xori", "shrsi", "remsi"))
"""Ops whose result is in range where the operands are."""

_KEEPS_SIGN = frozenset(
    {"arith.addi", "arith.muli", "arith.minsi", "arith.divsi", "arith.remsi", "arith.ceildivsi", "arith.floordivsi"}
) | frozenset(_UNSIGNED)
"""Ops that give no negative number of operands that are none, where they do not wrap."""

_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED = 6
_DEEPEST = 8


def width(name: str) -> int:
    """Bits of an integer kind; `index` has 64."""
    return 64 if name == "index" else int(name[1:])


def _wrap(name: str) -> str:
    return f"i{width(name)}"


def signed(w: HostWriter, value: ir.Value) -> str:
    """The signed number of a value: -1 for a true i1."""
    return f"-{w.name(value)}" if kind(value.type) == "i1" else w.name(value)


def unsigned(w: HostWriter, value: ir.Value) -> str:
    """The unsigned number of a value."""
    name = w.name(value)
    return name if kind(value.type) == "i1" or not_negative(value) else f"u{width(kind(value.type))}({name})"


def literal(value: int) -> str:
    """An integer literal that operators bind no tighter than."""
    return str(value) if value >= 0 else f"({value})"


def not_negative(value: ir.Value, depth: int = 0) -> bool:
    """Whether an integer value is plainly at least 0."""
    if isinstance(value.owner, ir.Block) or depth > _DEEPEST:
        return False
    op = value.owner.operation
    if op.name == "memref.dim":
        return True
    if op.name == "arith.constant":
        return not str(op.attributes["value"]).startswith("-")
    if op.name == "arith.maxsi":
        return any(not_negative(operand, depth + 1) for operand in op.operands)
    if op.name in _KEEPS_SIGN and not (op.name in ("arith.addi", "arith.muli") and _may_wrap(op)):
        return all(not_negative(operand, depth + 1) for operand in op.operands)
    return False


def _may_wrap(op: ir.Operation) -> bool:
    return "nsw" not in str(op.attributes["overflowFlags"]) if "overflowFlags" in op.attributes else True


def _binary(w: HostWriter, op: ir.Operation) -> None:
    name = kind(op.results[0].type)
    is_unsigned = op.name in _UNSIGNED
    read = unsigned if is_unsigned else signed
    operands = [read(w, operand) for operand in op.operands]
    form = _UNSIGNED[op.name] if is_unsigned else _SIGNED[op.name]
    text = form.format(*operands, bits=width(name), mask=hex((1 << width(name)) - 1))
    w.assign(op.results[0], text if name != "i1" and _in_range(op) else f"{_wrap(name)}({text})")


def _in_range(op: ir.Operation) -> bool:
    if op.name in ("arith.addi", "arith.subi", "arith.muli"):
        return not _may_wrap(op)
    if op.name in _UNSIGNED or op.name in ("arith.divsi", "arith.ceildivsi", "arith.floordivsi"):
        return all(not_negative(operand) for operand in op.operands)
    return op.name in _STAYS


def _compare(w: HostWriter, op: ir.Operation) -> None:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    read = unsigned if predicate >= _FIRST_UNSIGNED else signed
    a, b = (read(w, operand) for operand in op.operands)
    w.assign(op.results[0], f"{a} {_PREDICATES[predicate]} {b}")


def _cast(w: HostWriter, op: ir.Operation) -> None:
    source, target = kind(op.operands[0].type), kind(op.results[0].type)
    is_unsigned = _CASTS[op.name] and width(source) < width(target)
    text = unsigned(w, op.operands[0]) if is_unsigned else signed(w, op.operands[0])
    if width(target) < width(source):
        w.assign(op.results[0], f"{_wrap(target)}({text})")
    elif source == "i1":
        w.assign(op.results[0], f"int({text})")
    elif text == w.name(op.operands[0]):
        w.alias(op.results[0], text)
    else:
        w.assign(op.results[0], text)


def _extended(w: HostWriter, op: ir.Operation) -> None:
    low, high, is_unsigned = _EXTENDED[op.name]
    read = unsigned if is_unsigned else signed
    operands = [read(w, operand) for operand in op.operands]
    bits = width(kind(op.operands[0].type))
    for result, form in zip(op.results, (low, high), strict=True):
        w.assign(result, f"{_wrap(kind(result.type))}({form.format(*operands, bits=bits)})")


EMITTERS: dict[str, Emitter] = {
    **dict.fromkeys([*_SIGNED, *_UNSIGNED], _binary),
    **dict.fromkeys(_CASTS, _cast),
    **dict.fromkeys(_EXTENDED, _extended),
    "arith.cmpi": _compare,
}
