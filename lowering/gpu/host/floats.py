"""Float ops of the host program: NumPy scalars, which round as their type does."""

from __future__ import annotations

import math

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.host.integers import literal, signed, unsigned, width
from ragged_dialect.lowering.gpu.host.writer import FLOATS, Emitter, HostWriter, dtype, kind

_FORMS = {
    "arith.addf": "{0} + {1}",
    "arith.subf": "{0} - {1}",
    "arith.mulf": "{0} * {1}",
    "arith.divf": "{0} / {1}",
    "arith.negf": "-{0}",
    "arith.remf": "np.fmod({0}, {1})",
    "arith.minimumf": "np.minimum({0}, {1})",
    "arith.maximumf": "np.maximum({0}, {1})",
    "arith.minnumf": "np.fmin({0}, {1})",
    "arith.maxnumf": "np.fmax({0}, {1})",
    "arith.extf": "{type}({0})",
    "arith.truncf": "{type}({0})",
    "math.absf": "abs({0})",
    "math.copysign": "np.copysign({0}, {1})",
    "math.floor": "np.floor({0})",
    "math.ceil": "np.ceil({0})",
    "math.trunc": "np.trunc({0})",
    "math.round": "round_away({0})",
    "math.roundeven": "np.rint({0})",
    # computed in double precision and rounded once
    "math.fma": "{type}(fma({0}, {1}, {2}))",
    "math.erf": "{type}(math.erf({0}))",
    "math.erfc": "{type}(math.erfc({0}))",
    "math.rsqrt": "{type}(1 / np.sqrt(float64({0})))",
    **{f"math.{name}": f"{{type}}(np.{name}(float64({{0}})))" for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
        "cosh", "tanh",
    )},
    **{f"math.a{name}": f"{{type}}(np.arc{name}(float64({{0}})))" for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh",
    )},
    "math.atan2": "{type}(np.arctan2(float64({0}), float64({1})))",
    "math.powf": "{type}(np.power(float64({0}), float64({1})))",
    "math.fpowi": "{type}(np.power(float64({0}), float64({1})))",
}  # fmt: skip
"""Floats of floats."""

_OTHERS = {
    **{f"math.{name}": f"bool(np.{name}({{0}}))" for name in ("isnan", "isinf", "isfinite")},
    "arith.select": "{1} if {0} else {2}",
}
"""What needs no arithmetic of NumPy's scalars."""

_PREDICATES = (
    "False", "{0} == {1}", "{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}", "{0} < {1} or {0} > {1}",
    "{0} == {0} and {1} == {1}", "not ({0} < {1} or {0} > {1})", "not {0} <= {1}", "not {0} < {1}",
    "not {0} >= {1}", "not {0} > {1}", "{0} != {1}", "{0} != {0} or {1} != {1}", "True",
)  # fmt: skip
"""By number: false, ordered and unordered comparisons, true; Python's comparisons are the ordered ones."""


def constant(w: HostWriter, op: ir.Operation) -> None:
    """A literal instead of a name; a float is made once, before the program runs."""
    name = kind(op.results[0].type)
    attribute = op.attributes["value"]
    if name not in FLOATS:
        value = attribute.value
        w.alias(op.results[0], str(bool(value)) if name == "i1" else literal(int(value)))
        return
    number = ir.FloatAttr(attribute).value
    w.alias(op.results[0], w.bind(f"{FLOATS[name]}({_digits(number, name)})", "c"))


def _digits(number: float, name: str) -> str:
    """The shortest text that reads back as the number in its type."""
    if not math.isfinite(number):
        return f"'{number}'"
    return str(np.float32(number)) if name == "f32" else repr(number)


def _float(w: HostWriter, op: ir.Operation) -> None:
    w.uses_floats = True
    w.assign(op.results[0], _FORMS[op.name].format(*w.names(op.operands), type=dtype(op.results[0].type)))


def _other(w: HostWriter, op: ir.Operation) -> None:
    w.assign(op.results[0], _OTHERS[op.name].format(*w.names(op.operands)))


def _compare(w: HostWriter, op: ir.Operation) -> None:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    w.assign(op.results[0], f"bool({_PREDICATES[predicate].format(*w.names(op.operands))})")


def _from_integer(w: HostWriter, op: ir.Operation) -> None:
    """Through NumPy's integers: Python's become doubles first, and would be rounded twice."""
    w.uses_floats = True
    value = op.operands[0]
    text = f"int64({signed(w, value)})" if op.name == "arith.sitofp" else f"uint64({unsigned(w, value)})"
    w.assign(op.results[0], f"{dtype(op.results[0].type)}({text})")


def _to_integer(w: HostWriter, op: ir.Operation) -> None:
    w.assign(op.results[0], f"i{width(kind(op.results[0].type))}(to_int({w.name(op.operands[0])}))")


def _bitcast(w: HostWriter, op: ir.Operation) -> None:
    source, target = op.operands[0], op.results[0]
    given, wanted = kind(source.type), kind(target.type)
    text = w.name(source)
    if given in FLOATS and wanted not in FLOATS:
        w.assign(target, f"int({text}.view({dtype(target.type)}))")
    elif given not in FLOATS and wanted in FLOATS:
        w.assign(target, f"{dtype(source.type)}({text}).view({dtype(target.type)})")
    elif given == wanted:
        w.alias(target, text)
    else:
        w.assign(target, f"{text}.view({dtype(target.type)})")


EMITTERS: dict[str, Emitter] = {
    **dict.fromkeys(_FORMS, _float),
    **dict.fromkeys(_OTHERS, _other),
    **dict.fromkeys(["arith.sitofp", "arith.uitofp"], _from_integer),
    **dict.fromkeys(["arith.fptosi", "arith.fptoui"], _to_integer),
    "arith.constant": constant,
    "arith.cmpf": _compare,
    "arith.bitcast": _bitcast,
}
