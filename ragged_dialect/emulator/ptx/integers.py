"""Integer, logic and comparison instructions (PTX ISA 9.7.1, 9.7.5 to 9.7.8)."""

from __future__ import annotations

import re

from ragged_dialect.emulator.ptx.body import Body, Rule, parts
from ragged_dialect.emulator.ptx.types import TYPES, Type

_INTEGER = r"[bus](?:16|32|64)"
_OPERATORS = {"add": "add", "sub": "sub", "mul.lo": "mul", "and": "and", "or": "or", "xor": "xor"}
_INTEGER_COMPARE = {
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"},
}
# Ordered: false for a NaN. The second ones are true for a NaN.
_FLOAT_COMPARE = {
    **{name: f"o{name}" for name in ("eq", "lt", "le", "gt", "ge")},
    "ne": "one",
    **{f"{name}u": f"u{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "num": "ord",
    "nan": "uno",
}
_SIZES = {"16": "b32", "32": "b64"}


def _binary(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match[2]]
    a, b = (body.value(operand, kind) for operand in operands[1:])
    body.set(operands[0], kind, body.emit(f"{_OPERATORS[match[1]]} {kind.llvm} {a}, {b}"))


def _division(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """By zero: a number that PTX leaves open, so the checks report it."""
    kind = TYPES[match[2]]
    a, b = (body.value(operand, kind) for operand in operands[1:])
    body.set(operands[0], kind, body.emit(f"{'s' if kind.signed else 'u'}{match[1]} {kind.llvm} {a}, {b}"))


def minimum(body: Body, name: str, kind: Type, a: str, b: str) -> str:
    """`min` or `max` of two integers."""
    comparison = f"{'s' if kind.signed else 'u'}{'lt' if name == 'min' else 'gt'}"
    return body.emit(
        f"select i1 {body.emit(f'icmp {comparison} {kind.llvm} {a}, {b}')}, {kind.llvm} {a}, {kind.llvm} {b}"
    )


def _minimum(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`.relu` makes the result at least 0."""
    kind = TYPES[match[3]]
    found = minimum(body, match[1], kind, *(body.value(operand, kind) for operand in operands[1:]))
    body.set(operands[0], kind, minimum(body, "max", kind, found, "0") if match[2] else found)


def _extended(body: Body, operand: str, kind: Type, wide: str) -> str:
    return body.emit(f"{'sext' if kind.signed else 'zext'} {kind.llvm} {body.value(operand, kind)} to {wide}")


def _high(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`mul.hi`: the upper half of the product."""
    kind = TYPES[match[1]]
    wide = f"i{2 * kind.bits}"
    a, b = (_extended(body, operand, kind, wide) for operand in operands[1:])
    product = body.emit(f"mul {wide} {a}, {b}")
    upper = body.emit(f"lshr {wide} {product}, {kind.bits}")
    body.set(operands[0], kind, body.emit(f"trunc {wide} {upper} to {kind.llvm}"))


def _wide(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`mul.wide`, `mad.wide`: a product of twice the bits."""
    kind = TYPES[match[2]]
    wide = TYPES[("s" if kind.signed else "u") + str(2 * kind.bits)]
    a, b = (_extended(body, operand, kind, wide.llvm) for operand in operands[1:3])
    product = body.emit(f"mul {wide.llvm} {a}, {b}")
    if match[1] == "mad":
        product = body.emit(f"add {wide.llvm} {product}, {body.value(operands[3], wide)}")
    body.set(operands[0], wide, product)


def _multiply_add(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match[1]]
    a, b, c = (body.value(operand, kind) for operand in operands[1:])
    product = body.emit(f"mul {kind.llvm} {a}, {b}")
    body.set(operands[0], kind, body.emit(f"add {kind.llvm} {product}, {c}"))


def _unary(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match[2]]
    a = body.value(operands[1], kind)
    if match[1] == "not":
        found = body.emit(f"xor {kind.llvm} {a}, -1")
    else:
        found = body.emit(f"sub {kind.llvm} 0, {a}")
    if match[1] == "abs":
        negative = body.emit(f"icmp slt {kind.llvm} {a}, 0")
        found = body.emit(f"select i1 {negative}, {kind.llvm} {found}, {kind.llvm} {a}")
    body.set(operands[0], kind, found)


def _shift(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Amounts are 32 bits, and above the width as the width: zeros, or copies of the sign."""
    kind, amount = TYPES[match[2]], TYPES["u32"]
    a, count = body.value(operands[1], kind), body.value(operands[2], amount)
    arithmetic = match[1] == "shr" and kind.signed
    limit = kind.bits - 1 if arithmetic else kind.bits
    within = minimum(body, "min", amount, count, str(limit))
    wide = f"i{2 * kind.bits}"
    by = body.emit(f"zext i32 {within} to {wide}") if kind.bits > 16 else within
    extended = body.emit(f"{'sext' if arithmetic else 'zext'} {kind.llvm} {a} to {wide}")
    operator = "shl" if match[1] == "shl" else "lshr"
    shifted = body.emit(f"{operator} {wide} {extended}, {by}")
    body.set(operands[0], kind, body.emit(f"trunc {wide} {shifted} to {kind.llvm}"))


def _funnel(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`shf`: the upper (l) or lower (r) word of b:a shifted."""
    word = TYPES["b32"]
    a, b, count = (body.value(operand, word) for operand in operands[1:])
    by = body.emit(f"and i32 {count}, 31") if match[2] == "wrap" else minimum(body, "min", TYPES["u32"], count, "32")
    low, high, by = (body.emit(f"zext i32 {part} to i64") for part in (a, b, by))
    both = body.emit(f"or i64 {body.emit(f'shl i64 {high}, 32')}, {low}")
    if match[1] == "l":
        shifted = body.emit(f"lshr i64 {body.emit(f'shl i64 {both}, {by}')}, 32")
    else:
        shifted = body.emit(f"lshr i64 {both}, {by}")
    body.set(operands[0], word, body.emit(f"trunc i64 {shifted} to i32"))


def _extract(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`bfe`: `len` bits from `pos` on, each 8 bits of a number; beyond the top zeros, or copies of the sign."""
    kind, wide = TYPES[match[1]], "i512"
    a = body.emit(f"{'sext' if kind.signed else 'zext'} {kind.llvm} {body.value(operands[1], kind)} to {wide}")
    start, length = (body.emit(f"and i32 {body.value(operand, TYPES['u32'])}, 255") for operand in operands[2:])
    low = body.emit(f"lshr {wide} {a}, {body.emit(f'zext i32 {start} to {wide}')}")
    unused = body.emit(f"sub {wide} 512, {body.emit(f'zext i32 {length} to {wide}')}")
    top = body.emit(f"shl {wide} {low}, {unused}")
    field = body.emit(f"{'ashr' if kind.signed else 'lshr'} {wide} {top}, {unused}")
    empty = body.emit(f"icmp eq i32 {length}, 0")
    cut = body.emit(f"trunc {wide} {field} to {kind.llvm}")
    body.set(operands[0], kind, body.emit(f"select i1 {empty}, {kind.llvm} 0, {kind.llvm} {cut}"))


def _count(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Results of `popc` and `clz` have 32 bits; `brev` keeps the type."""
    kind = TYPES[match[2]]
    a = body.value(operands[1], kind)
    name = {"popc": "ctpop", "clz": "ctlz", "brev": "bitreverse"}[match[1]]
    extra = ("i1", "false") if match[1] == "clz" else ()
    types = [kind.llvm, *extra[:1]]
    found = body.call(f"llvm.{name}.{kind.llvm}", kind.llvm, types, [a, *extra[1:]])
    if match[1] == "brev":
        body.set(operands[0], kind, found)
    else:
        found = body.emit(f"trunc i64 {found} to i32") if kind.bits == 64 else found
        body.set(operands[0], TYPES["u32"], found)


def _permute(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`prmt`: four of the eight bytes of b:a, each by 3 bits of the selector; its fourth bit takes the sign."""
    word = TYPES["b32"]
    a, b, selector = (body.value(operand, word) for operand in operands[1:])
    low, high = (body.emit(f"zext i32 {part} to i64") for part in (a, b))
    both = body.emit(f"or i64 {body.emit(f'shl i64 {high}, 32')}, {low}")
    result = "0"
    for position in range(4):
        nibble = body.emit(f"lshr i32 {selector}, {4 * position}")
        eight = body.emit(f"shl i32 {body.emit(f'and i32 {nibble}, 7')}, 3")
        chosen = body.emit(f"lshr i64 {both}, {body.emit(f'zext i32 {eight} to i64')}")
        byte = body.emit(f"trunc i64 {chosen} to i8")
        signs = body.emit(f"icmp ne i32 {body.emit(f'and i32 {nibble}, 8')}, 0")
        filled = body.emit(f"ashr i8 {byte}, 7")
        byte = body.emit(f"select i1 {signs}, i8 {filled}, i8 {byte}")
        placed = body.emit(f"shl i32 {body.emit(f'zext i8 {byte} to i32')}, {8 * position}")
        result = body.emit(f"or i32 {result}, {placed}")
    body.set(operands[0], word, result)


def _compare(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`setp`: p and its opposite, each combined with a predicate where there is one (PTX ISA 9.7.6.2)."""
    kind = TYPES[match[3]]
    targets = operands[0].split("|")
    a, b = (body.value(operand, kind) for operand in operands[1:3])
    if kind.float:
        found = body.emit(f"fcmp {_FLOAT_COMPARE[match[1]]} {kind.llvm} {a}, {b}")
    else:
        name = _INTEGER_COMPARE[match[1]]
        prefix = "" if name in ("eq", "ne") else "s" if kind.signed else "u"
        found = body.emit(f"icmp {prefix}{name} {kind.llvm} {a}, {b}")
    results = [found, body.emit(f"xor i1 {found}, true")]
    for target, result in zip(targets, results, strict=False):
        if match[2]:
            with_ = body.value(operands[3].lstrip("!"), TYPES["pred"])
            with_ = body.emit(f"xor i1 {with_}, true") if operands[3].startswith("!") else with_
            result = body.emit(f"{match[2]} i1 {result}, {with_}")
        body.set(target.strip(), TYPES["pred"], result)


def _select(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match[1]]
    a, b = (body.value(operand, kind) for operand in operands[1:3])
    holds = body.value(operands[3], TYPES["pred"])
    body.set(operands[0], kind, body.emit(f"select i1 {holds}, {kind.llvm} {a}, {kind.llvm} {b}"))


def _predicate(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES["pred"]
    if match[1] == "not":
        found = body.emit(f"xor i1 {body.value(operands[1], kind)}, true")
    elif match[1] == "mov":
        found = body.value(operands[1], kind)
    else:
        a, b = (body.value(operand, kind) for operand in operands[1:])
        found = body.emit(f"{match[1]} i1 {a}, {b}")
    body.set(operands[0], kind, found)


def _move(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Also packs `{%r1, %r2}` into one register and unpacks it, the first part lowest (PTX ISA 9.7.9.4)."""
    kind = TYPES[match[1]]
    target, source = operands
    if source.startswith("{"):
        narrow = TYPES[f"b{kind.bits // len(parts(source))}"]
        found = "0"
        for position, part in enumerate(parts(source)):
            wide = body.emit(f"zext {narrow.llvm} {body.value(part, narrow)} to i{kind.bits}")
            placed = body.emit(f"shl i{kind.bits} {wide}, {position * narrow.bits}")
            found = body.emit(f"or i{kind.bits} {found}, {placed}")
        body.set(target, TYPES[f"b{kind.bits}"], found)
    elif target.startswith("{"):
        value = body.value(source, TYPES[f"b{kind.bits}"])
        narrow = TYPES[f"b{kind.bits // len(parts(target))}"]
        for position, part in enumerate(parts(target)):
            shifted = body.emit(f"lshr i{kind.bits} {value}, {position * narrow.bits}")
            if part != "_":
                body.set(part, narrow, body.emit(f"trunc i{kind.bits} {shifted} to {narrow.llvm}"))
    else:
        body.set(target, kind, body.value(source, kind))


_FLOAT = r"f16|bf16|f32|f64"
_TABLE: tuple[tuple[str, Rule], ...] = (
    (r"(and|or|xor|not|mov)\.pred", _predicate),
    (rf"(add|sub|mul\.lo|and|or|xor)\.({_INTEGER})", _binary),
    (r"(div|rem)\.([us](?:16|32|64))", _division),
    (r"(min|max)(\.relu)?\.([us](?:16|32|64))", _minimum),
    (r"mul\.hi\.([us](?:16|32|64))", _high),
    (r"(mul|mad)\.wide\.([us](?:16|32))", _wide),
    (r"mad\.lo\.([us](?:16|32|64))", _multiply_add),
    (rf"(not|neg|abs)\.({_INTEGER})", _unary),
    (rf"(shl|shr)\.({_INTEGER})", _shift),
    (r"shf\.([lr])\.(wrap|clamp)\.b32", _funnel),
    (r"bfe\.([us](?:32|64))", _extract),
    (r"(popc|clz|brev)\.(b32|b64)", _count),
    (r"prmt\.b32", _permute),
    (rf"setp\.({'|'.join(_INTEGER_COMPARE)})(?:\.(and|or|xor))?\.({_INTEGER})", _compare),
    (rf"setp\.({'|'.join(_FLOAT_COMPARE)})(?:\.(and|or|xor))?\.({_FLOAT})", _compare),
    (rf"selp\.({_INTEGER}|{_FLOAT})", _select),
    (rf"mov\.({_INTEGER}|{_FLOAT})", _move),
)
RULES = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)
"""Patterns of names, and what translates them."""
