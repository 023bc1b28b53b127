"""Floating-point instructions (PTX ISA 9.7.3 to 9.7.4, mixed precision 9.7.5).

Approximate instructions are exact here, but for the gross ones of f64. Where no rounding is written, a GPU may
contract a product and a sum into one `fma`; here they are never contracted.
"""

from __future__ import annotations

from ragged_dialect.emulator.ptx.body import Body
from ragged_dialect.emulator.ptx.forms import Found
from ragged_dialect.emulator.ptx.types import TYPES, Type

_SMALLEST = {
    "half": "0xH0400",
    "bfloat": "0xR0080",
    "float": "0x3810000000000000",
    "double": "0x0010000000000000",
}
"""The least normal numbers: 2^-14, 2^-126 and 2^-1022."""
_FUNCTIONS = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "sqrt": "sqrt", "abs": "fabs"}


def llvm_function(body: Body, name: str, kind: Type, values: list[str]) -> str:
    """A call of an LLVM function whose operands and result have one type."""
    return body.call(f"llvm.{name}.{kind.suffix}", kind.llvm, [kind.llvm] * len(values), values)


def number(kind: Type, value: str) -> str:
    """A constant of a type."""
    return f"<{_element(kind)} {value}, {_element(kind)} {value}>" if kind.llvm[0] == "<" else value


def _element(kind: Type) -> str:
    """The LLVM type of a number, or of each of two."""
    return kind.llvm[5:-1] if kind.llvm[0] == "<" else kind.llvm


def flushed(body: Body, flush: bool, kind: Type, value: str) -> str:
    """`.ftz`: a subnormal number becomes a zero of its sign."""
    if not flush:
        return value
    size = llvm_function(body, "fabs", kind, [value])
    small = body.emit(f"fcmp olt {kind.llvm} {size}, {number(kind, _SMALLEST[_element(kind)])}")
    zero = llvm_function(body, "copysign", kind, [number(kind, "0.0"), value])
    return body.emit(f"select {_tests(kind)} {small}, {kind.llvm} {zero}, {kind.llvm} {value}")


def _tests(kind: Type) -> str:
    return "<2 x i1>" if kind.llvm[0] == "<" else "i1"


def _saturated(body: Body, kind: Type, value: str) -> str:
    """`.sat`: clamped to [0, 1]; a NaN becomes +0."""
    zero, one = number(kind, "0.0"), number(kind, "1.0")
    test = _tests(kind)
    above = body.emit(f"fcmp ogt {kind.llvm} {value}, {zero}")
    value = body.emit(f"select {test} {above}, {kind.llvm} {value}, {kind.llvm} {zero}")
    below = body.emit(f"fcmp olt {kind.llvm} {value}, {one}")
    return body.emit(f"select {test} {below}, {kind.llvm} {value}, {kind.llvm} {one}")


def relu(body: Body, kind: Type, value: str) -> str:
    """`.relu`: negative numbers are 0; a NaN stays."""
    return llvm_function(body, "maximum", kind, [value, number(kind, "0.0")])


def finish(body: Body, found: Found, value: str, flush: bool) -> None:
    """Write a result: `.relu` and `.sat` as the instruction has them, `.ftz` where it is about the result."""
    kind = found.kind(0)
    value = relu(body, kind, value) if found.has("relu") else value
    value = flushed(body, flush, kind, value)
    found.set(body, _saturated(body, kind, value) if found.has("sat") else value)


def _inputs(body: Body, found: Found) -> list[str]:
    """The operands, flushed where the instruction has `.ftz`."""
    return [flushed(body, found.has("ftz"), found.type, value) for value in found.values(body)]


def binary(body: Body, found: Found) -> None:
    """`add`, `sub`, `mul`, `div`."""
    a, b = _inputs(body, found)
    finish(body, found, body.emit(f"f{found.opcode} {found.type.llvm} {a}, {b}"), found.has("ftz"))


def mixed(body: Body, found: Found) -> None:
    """`add.rn.f32.bf16 d, a, c`: a is widened. `fma` widens a and b."""
    *products, c = found.values(body)
    wide = [body.emit(f"fpext {found.type.llvm} {value} to float") for value in products]
    if found.opcode == "fma":
        value = llvm_function(body, "fma", found.kind(0), [*wide, c])
    else:
        value = body.emit(f"f{found.opcode} float {wide[0]}, {c}")
    finish(body, found, value, False)


def fma(body: Body, found: Found) -> None:
    """`fma`."""
    values, kind = _inputs(body, found), found.type
    native = kind.name in ("f32", "f32x2", "f64")
    value = llvm_function(body, "fma", kind, values) if native else _narrow_fma(body, kind, values)
    finish(body, found, value, found.has("ftz"))


def _narrow_fma(body: Body, kind: Type, values: list[str]) -> str:
    """One rounding for 16-bit floats, which the host has no `fma` for: in double the product is exact, and the
    sum is rounded to odd before it is rounded to the type."""
    if kind.llvm[0] == "<":
        element, result = TYPES[kind.name[:-2]], "poison"
        for lane in range(2):
            taken = [body.emit(f"extractelement {kind.llvm} {value}, i32 {lane}") for value in values]
            part = _narrow_fma(body, element, taken)
            result = body.emit(f"insertelement {kind.llvm} {result}, {element.llvm} {part}, i32 {lane}")
        return result
    a, b, c = (body.emit(f"fpext {kind.llvm} {value} to double") for value in values)
    odd = _odd_sum(body, body.emit(f"fmul double {a}, {b}"), c)
    return body.emit(f"fptrunc double {odd} to {kind.llvm}")


def _odd_sum(body: Body, product: str, c: str) -> str:
    """The sum of two doubles rounded to odd, which is on the same side as the sum itself of every shorter number, and
    of what is half way between two."""
    near = body.emit(f"fadd double {product}, {c}")
    part = body.emit(f"fsub double {near}, {product}")
    rest = body.emit(f"fsub double {product}, {body.emit(f'fsub double {near}, {part}')}")
    error = body.emit(f"fadd double {rest}, {body.emit(f'fsub double {c}, {part}')}")
    inexact = body.emit(f"fcmp one double {error}, 0.0")
    bits = body.emit(f"bitcast double {near} to i64")
    outward = body.emit(f"xor i1 {body.emit(f'fcmp olt double {error}, 0.0')}, {body.emit(f'icmp slt i64 {bits}, 0')}")
    inner = body.emit(f"sub i64 {bits}, {body.emit(f'zext i1 {outward} to i64')}")
    odd = body.emit(f"select i1 {inexact}, i64 {body.emit(f'or i64 {inner}, 1')}, i64 {bits}")
    return body.emit(f"bitcast i64 {odd} to double")


def truncated(body: Body, found: Found) -> None:
    """`add`, `sub`, `mul`, `fma` with `.rz`, of f32: products are exact in double."""
    a, b, *c = (body.emit(f"fpext float {value} to double") for value in _inputs(body, found))
    match found.opcode:
        case "add":
            exact = _odd_sum(body, a, b)
        case "sub":
            exact = _odd_sum(body, a, body.emit(f"fneg double {b}"))
        case _:
            exact = body.emit(f"fmul double {a}, {b}")
            exact = _odd_sum(body, exact, c[0]) if c else exact
    near = body.emit(f"fptrunc double {exact} to float")
    back = body.emit(f"fpext float {near} to double")
    size, wanted = (llvm_function(body, "fabs", TYPES["f64"], [value]) for value in (back, exact))
    outward = body.emit(f"zext i1 {body.emit(f'fcmp ogt double {size}, {wanted}')} to i32")
    bits = body.emit(f"sub i32 {body.emit(f'bitcast float {near} to i32')}, {outward}")
    finish(body, found, body.emit(f"bitcast i32 {bits} to float"), found.has("ftz"))


def unary(body: Body, found: Found) -> None:
    """`neg`, `abs`, `rcp`, roots, exponentials, logarithms, `sin`, `cos`, `tanh`."""
    (a,), kind = _inputs(body, found), found.type
    match found.opcode:
        case "neg":
            value = body.emit(f"fneg {kind.llvm} {a}")
        case "rcp":
            value = body.emit(f"fdiv {kind.llvm} 1.0, {a}")
        case "rsqrt":
            value = body.emit(f"fdiv {kind.llvm} 1.0, {llvm_function(body, 'sqrt', kind, [a])}")
        case "tanh":
            value = body.call("__nv_tanhf", "float", ["float"], [a])
        case name:
            value = llvm_function(body, _FUNCTIONS[name], kind, [a])
    finish(body, found, value, found.has("ftz"))


def high_half(body: Body, found: Found) -> None:
    """`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: of the upper 32 bits, to 32 bits; the lower ones are 0."""
    kind = found.type
    bits = body.emit(f"bitcast double {found.values(body)[0]} to i64")
    upper = body.emit(f"and i64 {bits}, -4294967296")
    a = flushed(body, True, kind, body.emit(f"bitcast i64 {upper} to double"))
    root = llvm_function(body, "sqrt", kind, [a]) if found.opcode == "rsqrt" else a
    quotient = flushed(body, True, kind, body.emit(f"fdiv double 1.0, {root}"))
    bits = body.emit(f"and i64 {body.emit(f'bitcast double {quotient} to i64')}, -4294967296")
    found.set(body, body.emit(f"bitcast i64 {bits} to double"))


def extremum(body: Body, found: Found) -> None:
    """`min`, `max`: without `.NaN` the other operand where one is a NaN; -0 is below +0."""
    name = f"{found.opcode}imum" + ("" if found.has("NaN") else "num")
    found.set(body, llvm_function(body, name, found.type, _inputs(body, found)))


def copysign(body: Body, found: Found) -> None:
    """`copysign`: the sign of a, the size of b."""
    a, b = found.values(body)
    found.set(body, llvm_function(body, "copysign", found.type, [b, a]))


def test(body: Body, found: Found) -> None:
    """`testp`."""
    (a,), kind = found.values(body), found.type
    classes = {"finite": "504", "infinite": "516", "number": "1020", "notanumber": "3"}  # as llvm.is.fpclass has them
    values = [a, classes[found.modifiers[0]]]
    found.set(body, body.call(f"llvm.is.fpclass.{kind.suffix}", "i1", [kind.llvm, "i32"], values))
