"""Floating-point instructions (PTX ISA 9.7.3 to 9.7.4, mixed precision 9.7.5) and conversions (9.7.9.21).

Approximate instructions are exact here, but for the gross ones of f64. Where no rounding is written, a GPU may
contract a product and a sum into one `fma`; here they are never contracted.
"""

from __future__ import annotations

import re

from ragged_dialect.emulator.ptx.body import Body, Rule
from ragged_dialect.emulator.ptx.types import TYPES, Type

_SCALAR = r"f16|bf16|f32|f64"
_ANY = rf"{_SCALAR}|f16x2|bf16x2"
_ARITHMETIC = rf"{_ANY}|f32x2"
_OPERATORS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_SMALLEST = {
    "half": "0xH0400",
    "bfloat": "0xR0080",
    "float": "0x3810000000000000",
    "double": "0x0010000000000000",
}
"""The least normal numbers: 2^-14, 2^-126 and 2^-1022."""
_LLVM_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FUNCTIONS = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "sqrt": "sqrt"}


def suffix(kind: Type) -> str:
    """How LLVM names a type in its functions."""
    return ("v2" if kind.llvm[0] == "<" else "") + _LLVM_SUFFIX[_element(kind)]


def _function(body: Body, name: str, kind: Type, values: list[str]) -> str:
    return body.call(f"llvm.{name}.{suffix(kind)}", kind.llvm, [kind.llvm] * len(values), values)


def _number(kind: Type, value: str) -> str:
    """A constant of a type."""
    return f"<{_element(kind)} {value}, {_element(kind)} {value}>" if kind.llvm[0] == "<" else value


def _element(kind: Type) -> str:
    """The LLVM type of a number, or of each of two."""
    return kind.llvm[5:-1] if kind.llvm[0] == "<" else kind.llvm


def _flushed(body: Body, flush: bool, kind: Type, value: str) -> str:
    """`.ftz`: a subnormal number becomes a zero of its sign."""
    if not flush:
        return value
    size = _function(body, "fabs", kind, [value])
    small = body.emit(f"fcmp olt {kind.llvm} {size}, {_number(kind, _SMALLEST[_element(kind)])}")
    zero = _function(body, "copysign", kind, [_number(kind, "0.0"), value])
    return body.emit(f"select {_tests(kind)} {small}, {kind.llvm} {zero}, {kind.llvm} {value}")


def _tests(kind: Type) -> str:
    return "<2 x i1>" if kind.llvm[0] == "<" else "i1"


def _saturated(body: Body, kind: Type, value: str) -> str:
    """`.sat`: clamped to [0, 1]; a NaN becomes +0."""
    zero, one = _number(kind, "0.0"), _number(kind, "1.0")
    test = _tests(kind)
    above = body.emit(f"fcmp ogt {kind.llvm} {value}, {zero}")
    value = body.emit(f"select {test} {above}, {kind.llvm} {value}, {kind.llvm} {zero}")
    below = body.emit(f"fcmp olt {kind.llvm} {value}, {one}")
    return body.emit(f"select {test} {below}, {kind.llvm} {value}, {kind.llvm} {one}")


def _finish(body: Body, target: str, kind: Type, value: str, flush: bool, saturate: bool) -> None:
    value = _flushed(body, flush, kind, value)
    body.set(target, kind, _saturated(body, kind, value) if saturate else value)


def _inputs(body: Body, operands: tuple[str, ...], kind: Type, flush: bool) -> list[str]:
    return [_flushed(body, flush, kind, body.value(operand, kind)) for operand in operands]


def _binary(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind, flush = TYPES[match["type"]], bool(match["ftz"])
    a, b = _inputs(body, operands[1:], kind, flush)
    value = body.emit(f"{_OPERATORS[match['op']]} {kind.llvm} {a}, {b}")
    _finish(body, operands[0], kind, value, flush, bool(match["sat"]))


def _mixed(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`add.rn.f32.bf16 d, a, c`: a is widened. `fma` widens a and b."""
    narrow, kind = TYPES[match["type"]], TYPES["f32"]
    products = operands[1:-1]
    wide = [body.emit(f"fpext {narrow.llvm} {body.value(operand, narrow)} to float") for operand in products]
    values = [*wide, body.value(operands[-1], kind)]
    if match["op"] == "fma":
        value = _function(body, "fma", kind, values)
    else:
        value = body.emit(f"{_OPERATORS[match['op']]} float {values[0]}, {values[1]}")
    _finish(body, operands[0], kind, value, False, bool(match["sat"]))


def _fma(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`.relu` makes negative results 0 and keeps a NaN canonical."""
    kind, flush = TYPES[match["type"]], bool(match["ftz"])
    values = _inputs(body, operands[1:], kind, flush)
    native = kind.name in ("f32", "f32x2", "f64")
    value = _function(body, "fma", kind, values) if native else _narrow_fma(body, kind, values)
    if match["relu"]:
        value = _function(body, "maximum", kind, [value, _number(kind, "0.0")])
    _finish(body, operands[0], kind, value, flush, bool(match["sat"]))


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
    product = body.emit(f"fmul double {a}, {b}")
    near = body.emit(f"fadd double {product}, {c}")
    part = body.emit(f"fsub double {near}, {product}")
    rest = body.emit(f"fsub double {product}, {body.emit(f'fsub double {near}, {part}')}")
    error = body.emit(f"fadd double {rest}, {body.emit(f'fsub double {c}, {part}')}")
    inexact = body.emit(f"fcmp one double {error}, 0.0")
    bits = body.emit(f"bitcast double {near} to i64")
    outward = body.emit(f"xor i1 {body.emit(f'fcmp olt double {error}, 0.0')}, {body.emit(f'icmp slt i64 {bits}, 0')}")
    inner = body.emit(f"sub i64 {bits}, {body.emit(f'zext i1 {outward} to i64')}")
    odd = body.emit(f"select i1 {inexact}, i64 {body.emit(f'or i64 {inner}, 1')}, i64 {bits}")
    return body.emit(f"fptrunc double {body.emit(f'bitcast i64 {odd} to double')} to {kind.llvm}")


def _unary(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind, flush = TYPES[match["type"]], bool(match["ftz"])
    (a,) = _inputs(body, operands[1:], kind, flush)
    if match["op"] == "neg":
        value = body.emit(f"fneg {kind.llvm} {a}")
    elif match["op"] == "abs":
        value = _function(body, "fabs", kind, [a])
    elif match["op"] == "rcp":
        value = body.emit(f"fdiv {kind.llvm} 1.0, {a}")
    elif match["op"] == "rsqrt":
        value = body.emit(f"fdiv {kind.llvm} 1.0, {_function(body, 'sqrt', kind, [a])}")
    elif match["op"] == "tanh":
        value = body.call("__nv_tanhf", "float", ["float"], [a])
    else:
        value = _function(body, _FUNCTIONS[match["op"]], kind, [a])
    _finish(body, operands[0], kind, value, flush, False)


def _high_half(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: of the upper 32 bits, to 32 bits; the lower ones are 0."""
    kind = TYPES["f64"]
    upper = body.emit(f"and i64 {body.value(operands[1], TYPES['b64'])}, -4294967296")
    a = _flushed(body, True, kind, body.emit(f"bitcast i64 {upper} to double"))
    root = _function(body, "sqrt", kind, [a]) if match["op"] == "rsqrt" else a
    quotient = _flushed(body, True, kind, body.emit(f"fdiv double 1.0, {root}"))
    bits = body.emit(f"and i64 {body.emit(f'bitcast double {quotient} to i64')}, -4294967296")
    body.set(operands[0], kind, body.emit(f"bitcast i64 {bits} to double"))


def _extremum(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Without `.NaN` the other operand where one is a NaN; -0 is below +0."""
    kind, flush = TYPES[match["type"]], bool(match["ftz"])
    values = _inputs(body, operands[1:], kind, flush)
    name = f"{match['op']}imum" + ("" if match["nan"] else "num")
    body.set(operands[0], kind, _function(body, name, kind, values))


def _copysign(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """The sign of a, the size of b."""
    kind = TYPES[match["type"]]
    a, b = (body.value(operand, kind) for operand in operands[1:])
    body.set(operands[0], kind, _function(body, "copysign", kind, [b, a]))


def _test(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    kind = TYPES[match["type"]]
    a = body.value(operands[1], kind)
    size = _function(body, "fabs", kind, [a])
    infinity = "0x7FF0000000000000"
    tests = {
        "finite": f"fcmp olt {kind.llvm} {size}, {infinity}",
        "infinite": f"fcmp oeq {kind.llvm} {size}, {infinity}",
        "number": f"fcmp ord {kind.llvm} {a}, {a}",
        "notanumber": f"fcmp uno {kind.llvm} {a}, {a}",
    }
    body.set(operands[0], TYPES["pred"], body.emit(tests[match["op"]]))


def _convert_integers(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Cut, or extended by the sign or zeros of the source; `.sat` clamps to the range of the target."""
    target, source = TYPES[match["to"]], TYPES[match["from"]]
    value = body.value(operands[1], source)
    if source.bits < target.bits:
        value = body.emit(f"{'sext' if source.signed else 'zext'} {source.llvm} {value} to {target.llvm}")
    elif source.bits > target.bits:
        value = body.emit(f"trunc {source.llvm} {value} to {target.llvm}")
    body.set(operands[0], target, value)


def _to_float(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    target, source = TYPES[match["to"]], TYPES[match["from"]]
    value = body.value(operands[1], source)
    name = "sitofp" if source.signed else "uitofp"
    body.set(operands[0], target, body.emit(f"{name} {source.llvm} {value} to {target.llvm}"))


def _to_integer(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """Clamped to the range of the target. A NaN gives 0, or the highest bit alone from f64 or to 64 bits."""
    target, source = TYPES[match["to"]], TYPES[match["from"]]
    value = _flushed(body, bool(match["ftz"]), source, body.value(operands[1], source))
    rounded = _function(body, _ROUNDINGS[match["round"]], source, [value])
    name = f"llvm.fpto{'s' if target.signed else 'u'}i.sat.{target.llvm}.{suffix(source)}"
    clamped = body.call(name, target.llvm, [source.llvm], [rounded])
    if source.bits == 64 or target.bits == 64:
        nan = body.emit(f"fcmp uno {source.llvm} {value}, {value}")
        highest = -(1 << target.bits - 1)
        clamped = body.emit(f"select i1 {nan}, {target.llvm} {highest}, {target.llvm} {clamped}")
    body.set(operands[0], target, clamped)


def _convert_floats(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    target, source, flush = TYPES[match["to"]], TYPES[match["from"]], bool(match["ftz"])
    value = body.value(operands[1], source)
    if source.name == "f32":
        value = _flushed(body, flush, source, value)
    if target.bits == source.bits:
        value = _function(body, _ROUNDINGS[match["round"]], source, [value]) if match["round"] else value
    else:
        name = "fpext" if target.bits > source.bits else "fptrunc"
        value = body.emit(f"{name} {source.llvm} {value} to {target.llvm}")
    if match["relu"]:
        value = _function(body, "maximum", target, [value, "0.0"])
    _finish(body, operands[0], target, value, flush and target.name == "f32", bool(match["sat"]))


def _pack(body: Body, match: re.Match[str], operands: tuple[str, ...]) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half."""
    kind = TYPES[match["to"]]
    element, result = TYPES[match["to"][:-2]], "poison"
    for lane, operand in enumerate((operands[2], operands[1])):
        value = body.emit(f"fptrunc float {body.value(operand, TYPES['f32'])} to {element.llvm}")
        if match["relu"]:
            value = _function(body, "maximum", element, [value, "0.0"])
        result = body.emit(f"insertelement {kind.llvm} {result}, {element.llvm} {value}, i32 {lane}")
    body.set(operands[0], kind, result)


_END = r"(?P<ftz>\.ftz)?(?P<sat>\.sat)?"
_TABLE: tuple[tuple[str, Rule], ...] = (
    (rf"(?P<op>add|sub|mul)(?:\.rn)?{_END}\.(?P<type>{_ARITHMETIC})", _binary),
    (rf"(?P<op>div)\.(?:rn|approx|full){_END}\.(?P<type>f32|f64)", _binary),
    (r"(?P<op>add|sub|fma)\.rn(?P<sat>\.sat)?\.f32\.(?P<type>f16|bf16)", _mixed),
    (rf"fma\.rn{_END}(?P<relu>\.relu)?\.(?P<type>{_ARITHMETIC})", _fma),
    (rf"(?P<op>neg|abs)(?P<ftz>\.ftz)?\.(?P<type>{_ANY})", _unary),
    (r"(?P<op>rcp|rsqrt)\.approx\.ftz\.f64", _high_half),
    (r"(?P<op>rcp|sqrt|rsqrt|ex2|lg2|sin|cos|tanh)\.(?:rn|approx)(?P<ftz>\.ftz)?\.(?P<type>f32|f64)", _unary),
    (rf"(?P<op>min|max)(?P<ftz>\.ftz)?(?P<nan>\.NaN)?\.(?P<type>{_ANY})", _extremum),
    (r"copysign\.(?P<type>f32|f64)", _copysign),
    (r"testp\.(?P<op>finite|infinite|number|notanumber)\.(?P<type>f32|f64)", _test),
    (r"cvt\.(?P<to>[us](?:8|16|32|64))\.(?P<from>[us](?:8|16|32|64))", _convert_integers),
    (rf"cvt\.rn\.(?P<to>{_SCALAR})\.(?P<from>[us](?:8|16|32|64))", _to_float),
    (rf"cvt\.(?P<round>r[nzmp]i)(?P<ftz>\.ftz)?\.(?P<to>[us](?:8|16|32|64))\.(?P<from>{_SCALAR})", _to_integer),
    (
        rf"cvt(?:\.rn|\.(?P<round>r[nzmp]i))?(?P<relu>\.relu)?{_END}\.(?P<to>{_SCALAR})\.(?P<from>{_SCALAR})",
        _convert_floats,
    ),
    (r"cvt\.rn(?P<relu>\.relu)?\.(?P<to>f16x2|bf16x2)\.f32", _pack),
)
RULES = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)
"""Patterns of names, and what translates them."""
