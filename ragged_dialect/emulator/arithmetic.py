"""Arithmetic instructions of the GPU that have an intrinsic; the approximate ones are exact here."""

from __future__ import annotations

import re

from ragged_dialect.emulator.definitions import Addresses, Definition, Maker, Signature

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
