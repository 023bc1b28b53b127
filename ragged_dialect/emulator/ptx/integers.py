"""Integer, logic, comparison and `mov` instructions (PTX ISA 9.7.1, 9.7.6 to 9.7.9.4)."""

from __future__ import annotations

from ragged_dialect.emulator.ptx.body import Body
from ragged_dialect.emulator.ptx.forms import Found
from ragged_dialect.emulator.ptx.types import Type

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


def binary(body: Body, found: Found) -> None:
    """`add`, `sub`, `mul.lo`, `and`, `or`, `xor`: LLVM calls them so too."""
    a, b = found.values(body)
    found.set(body, body.emit(f"{found.opcode} {found.type.llvm} {a}, {b}"))


def division(body: Body, found: Found) -> None:
    """`div`, `rem`. By zero: a number that PTX leaves open, so the checks report it."""
    a, b = found.values(body)
    found.set(body, body.emit(f"{'s' if found.type.signed else 'u'}{found.opcode} {found.type.llvm} {a}, {b}"))


def _least(body: Body, name: str, kind: Type, a: str, b: str) -> str:
    """`min` or `max` of two integers."""
    function = f"llvm.{'s' if kind.signed else 'u'}{name}.{kind.llvm}"
    return body.call(function, kind.llvm, [kind.llvm] * 2, [a, b])


def minimum(body: Body, found: Found) -> None:
    """`min`, `max`; `.relu` makes the result at least 0."""
    a, b = found.values(body)
    least = _least(body, found.opcode, found.type, a, b)
    found.set(body, _least(body, "max", found.type, least, "0") if found.has("relu") else least)


def carried(body: Body, found: Found) -> None:
    """`add`, `sub` and `mad` with `.cc`, `addc`, `subc`, `madc`: with the carry, or borrow, of the one before."""
    kind, wide = found.type, f"i{2 * found.type.bits + 1}"
    values = found.values(body)
    if found.opcode.startswith("mad"):
        values = [_half(body, kind, values[:2], found.has("hi")), values[2]]
    x, y = (body.emit(f"zext {kind.llvm} {value} to {wide}") for value in values)
    operation = "sub" if found.opcode.startswith("sub") else "add"
    result = body.emit(f"{operation} {wide} {x}, {y}")
    if found.opcode.endswith("c"):
        carry = body.emit(f"zext i1 {body.emit(f'load i1, ptr {body.carry()}, align 8')} to {wide}")
        result = body.emit(f"{operation} {wide} {result}, {carry}")
    if found.has("cc"):
        over = body.emit(f"lshr {wide} {result}, {kind.bits}")
        body.run(f"store i1 {body.emit(f'trunc {wide} {over} to i1')}, ptr {body.carry()}, align 8")
    found.set(body, body.emit(f"trunc {wide} {result} to {kind.llvm}"))


def _extended(body: Body, value: str, kind: Type, wide: str) -> str:
    return body.emit(f"{'sext' if kind.signed else 'zext'} {kind.llvm} {value} to {wide}")


def _half(body: Body, kind: Type, factors: list[str], upper: bool) -> str:
    """The upper or the lower half of a product."""
    wide = f"i{2 * kind.bits}"
    a, b = (_extended(body, value, kind, wide) for value in factors)
    product = body.emit(f"mul {wide} {a}, {b}")
    found = body.emit(f"lshr {wide} {product}, {kind.bits}") if upper else product
    return body.emit(f"trunc {wide} {found} to {kind.llvm}")


def high(body: Body, found: Found) -> None:
    """`mul.hi`: the upper half of the product."""
    found.set(body, _half(body, found.type, found.values(body), True))


def wide(body: Body, found: Found) -> None:
    """`mul.wide`, `mad.wide`: a product of twice the bits."""
    whole = found.kind(0).llvm
    a, b, *c = found.values(body)
    a, b = (_extended(body, value, found.type, whole) for value in (a, b))
    product = body.emit(f"mul {whole} {a}, {b}")
    found.set(body, body.emit(f"add {whole} {product}, {c[0]}") if c else product)


def multiply_add(body: Body, found: Found) -> None:
    """`mad.lo`."""
    a, b, c = found.values(body)
    product = body.emit(f"mul {found.type.llvm} {a}, {b}")
    found.set(body, body.emit(f"add {found.type.llvm} {product}, {c}"))


def unary(body: Body, found: Found) -> None:
    """`not`, `neg`, `abs`, `mov`."""
    kind = found.type
    (a,) = found.values(body)
    if found.opcode == "mov":
        result = a
    elif found.opcode == "not":
        result = body.emit(f"xor {kind.llvm} {a}, -1")
    elif found.opcode == "neg":
        result = body.emit(f"sub {kind.llvm} 0, {a}")
    else:
        result = body.call(f"llvm.abs.{kind.llvm}", kind.llvm, [kind.llvm, "i1"], [a, "false"])
    found.set(body, result)


def shift(body: Body, found: Found) -> None:
    """`shl`, `shr`. Amounts above the width are as the width: zeros, or copies of the sign."""
    kind, amount = found.type, found.kind(2)
    a, count = found.values(body)
    arithmetic = found.opcode == "shr" and kind.signed
    limit = kind.bits - 1 if arithmetic else kind.bits
    within = _least(body, "min", amount, count, str(limit))
    wide = f"i{2 * kind.bits}"
    by = body.emit(f"zext i32 {within} to {wide}") if kind.bits > 16 else within
    extended = body.emit(f"{'sext' if arithmetic else 'zext'} {kind.llvm} {a} to {wide}")
    operator = "shl" if found.opcode == "shl" else "lshr"
    shifted = body.emit(f"{operator} {wide} {extended}, {by}")
    found.set(body, body.emit(f"trunc {wide} {shifted} to {kind.llvm}"))


def _joined(body: Body, low: str, top: str) -> str:
    """Two words as one of 64 bits."""
    low, top = (body.emit(f"zext i32 {part} to i64") for part in (low, top))
    return body.emit(f"or i64 {body.emit(f'shl i64 {top}, 32')}, {low}")


def funnel(body: Body, found: Found) -> None:
    """`shf`: the upper (l) or lower (r) word of b:a shifted."""
    a, b, count = found.values(body)
    by = body.emit(f"and i32 {count}, 31") if found.has("wrap") else _least(body, "min", found.kind(3), count, "32")
    both, by = _joined(body, a, b), body.emit(f"zext i32 {by} to i64")
    if found.has("l"):
        shifted = body.emit(f"lshr i64 {body.emit(f'shl i64 {both}, {by}')}, 32")
    else:
        shifted = body.emit(f"lshr i64 {both}, {by}")
    found.set(body, body.emit(f"trunc i64 {shifted} to i32"))


def extract(body: Body, found: Found) -> None:
    """`bfe`: `len` bits from `pos` on, each 8 bits of a number; beyond the top zeros, or copies of the sign."""
    kind, wide = found.type, "i512"
    a, *bounds = found.values(body)
    a = _extended(body, a, kind, wide)
    start, length = (body.emit(f"and i32 {bound}, 255") for bound in bounds)
    low = body.emit(f"lshr {wide} {a}, {body.emit(f'zext i32 {start} to {wide}')}")
    unused = body.emit(f"sub {wide} 512, {body.emit(f'zext i32 {length} to {wide}')}")
    top = body.emit(f"shl {wide} {low}, {unused}")
    field = body.emit(f"{'ashr' if kind.signed else 'lshr'} {wide} {top}, {unused}")
    empty = body.emit(f"icmp eq i32 {length}, 0")
    cut = body.emit(f"trunc {wide} {field} to {kind.llvm}")
    found.set(body, body.emit(f"select i1 {empty}, {kind.llvm} 0, {kind.llvm} {cut}"))


def count(body: Body, found: Found) -> None:
    """`popc`, `clz`, `brev`."""
    kind, target = found.type, found.kind(0)
    (a,) = found.values(body)
    name = {"popc": "ctpop", "clz": "ctlz", "brev": "bitreverse"}[found.opcode]
    extra = [("i1", "false")] if found.opcode == "clz" else []
    types, values = zip((kind.llvm, a), *extra, strict=True)
    result = body.call(f"llvm.{name}.{kind.llvm}", kind.llvm, types, values)
    found.set(body, body.emit(f"trunc i64 {result} to i32") if target.bits < kind.bits else result)


def permute(body: Body, found: Found) -> None:
    """`prmt`: four of the eight bytes of b:a, each by 3 bits of the selector; its fourth bit takes the sign."""
    a, b, selector = found.values(body)
    both, result = _joined(body, a, b), "0"
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
    found.set(body, result)


def compare(body: Body, found: Found) -> None:
    """`setp`: p and its opposite, each combined with a predicate where there is one (PTX ISA 9.7.6.2)."""
    kind = found.type
    a, b, *other = found.values(body)
    if kind.float:
        holds = body.emit(f"fcmp {_FLOAT_COMPARE[found.modifiers[0]]} {kind.llvm} {a}, {b}")
    else:
        name = _INTEGER_COMPARE[found.modifiers[0]]
        prefix = "" if name in ("eq", "ne") else "s" if kind.signed else "u"
        holds = body.emit(f"icmp {prefix}{name} {kind.llvm} {a}, {b}")
    results = [holds, body.emit(f"xor i1 {holds}, true")]
    if other:
        results = [body.emit(f"{found.modifiers[1]} i1 {result}, {other[0]}") for result in results]
    found.set(body, *results)


def select(body: Body, found: Found) -> None:
    """`selp`."""
    a, b, holds = found.values(body)
    found.set(body, body.emit(f"select i1 {holds}, {found.type.llvm} {a}, {found.type.llvm} {b}"))


def special(body: Body, found: Found) -> None:
    """`mov` from a special register."""
    found.set(body, body.special(found.operands[1]))


def address_of(body: Body, found: Found) -> None:
    """`mov` of the address of a variable."""
    found.set(body, body.variable(found.operands[1]))


def pack(body: Body, found: Found) -> None:
    """`mov` of several registers into one, the first part lowest."""
    whole, part = found.type, found.kind(1)
    result = "0"
    for position, value in enumerate(found.values(body)):
        wide = body.emit(f"zext {part.llvm} {value} to {whole.llvm}")
        placed = body.emit(f"shl {whole.llvm} {wide}, {position * part.bits}")
        result = body.emit(f"or {whole.llvm} {result}, {placed}")
    found.set(body, result)


def unpack(body: Body, found: Found) -> None:
    """`mov` of one register into several."""
    whole, part = found.type, found.kind(0)
    (value,) = found.values(body)
    shifted = [body.emit(f"lshr {whole.llvm} {value}, {low}") for low in range(0, whole.bits, part.bits)]
    found.set(body, *(body.emit(f"trunc {whole.llvm} {one} to {part.llvm}") for one in shifted))
