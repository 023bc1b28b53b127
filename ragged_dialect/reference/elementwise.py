"""arith, math and index ops on scalars, dense and ragged tensors."""

from __future__ import annotations

import re

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.elements import elements_of
from ragged_dialect.reference.functions import FUNCTIONS
from ragged_dialect.reference.program import Program, Run, dtype_of_type, handler, pure, result_dtype
from ragged_dialect.reference.scalars import (
    BINARY,
    CASTS,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    Data,
    Function,
    select,
    unsigned,
)
from ragged_dialect.reference.value import RaggedValue
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_tensor


def _lifted(function: Function) -> Run:
    """A function of scalars and arrays on ragged tensors too: on their elements in logical order;
    the result has storage of its own."""

    def run(*operands: Data | RaggedValue) -> Data | RaggedValue:
        result = function(*(x.gather() if isinstance(x, RaggedValue) else x for x in operands))
        ragged = [x for x in operands if isinstance(x, RaggedValue)]
        return ragged[0].fresh(result) if ragged else result

    return pure(run)


@handler("arith.*")
def _arith(program: Program, op: ir.Operation) -> Run:
    name = op.name.removeprefix("arith.")
    if name in BINARY:
        return _lifted(BINARY[name])
    if name in CASTS:
        cast, dtype = CASTS[name], result_dtype(op)
        return _lifted(lambda x: cast(x, dtype))
    raise RaggedError(f"expected an op that the interpreter knows, got '{op.name}'")


@handler("arith.negf")
def _negf(program: Program, op: ir.Operation) -> Run:
    return _lifted(lambda x: -np.asarray(x))


@handler("arith.cmpi")
def _cmpi(program: Program, op: ir.Operation) -> Run:
    return _lifted(INTEGER_PREDICATES[int_attr(op, "predicate")])


@handler("arith.cmpf")
def _cmpf(program: Program, op: ir.Operation) -> Run:
    compare = FLOAT_PREDICATES[int_attr(op, "predicate")]
    return _lifted(lambda a, b: compare(np.asarray(a), np.asarray(b)))


@handler("arith.select")
def _select(program: Program, op: ir.Operation) -> Run:
    if not is_tensor(op.operands[0].type):
        return pure(lambda condition, a, b: a if condition else b)
    return _lifted(select)


@handler("arith.addui_extended", "arith.mulsi_extended", "arith.mului_extended")
def _extended(program: Program, op: ir.Operation) -> Run:
    """Low part, and the carry or the high part: computed in Python's integers."""

    def parts(a: Data, b: Data) -> tuple[Data, Data]:
        dtype = np.asarray(a).dtype
        bits = 8 * dtype.itemsize
        view = np.asarray if "mulsi" in op.name else unsigned
        x, y = (np.asarray(view(v).astype(object), object) for v in (a, b))
        whole = np.asarray(x + y if "addui" in op.name else x * y, object)
        low, high = (np.asarray(part, object) for part in (whole % 2**bits, whole // 2**bits % 2**bits))
        words = [part.astype(f"u{dtype.itemsize}").view(dtype) for part in (low, high)]
        return words[0], (words[1] != 0 if "addui" in op.name else words[1])

    return lambda env, operands: parts(*operands)


@handler("arith.constant")
def _constant(program: Program, op: ir.Operation) -> Run:
    value = constant(op.attributes["value"], op.results[0].type)
    return lambda env, operands: [value]


def constant(attr: ir.Attribute, type_: ir.Type) -> Data:
    """The value of a constant attribute."""
    if not is_tensor(type_):
        assert isinstance(attr, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr))
        return np.asarray(attr.value).astype(dtype_of_type(type_))[()]
    dtype = dtype_of_type(type_.element_type)
    if not isinstance(attr, ir.DenseElementsAttr):  # a resource, sparse elements
        raise RaggedError(f"expected a constant with its elements, got '{str(attr)[:60]}'")
    return elements_of(attr, dtype).reshape(type_.shape)


@handler("math.*")
def _math(program: Program, op: ir.Operation) -> Run:
    name = op.name.removeprefix("math.")
    if name not in FUNCTIONS:
        raise RaggedError(f"expected an op that the interpreter knows, got '{op.name}'")
    return _lifted(FUNCTIONS[name])


@handler("math.sincos")
def _sincos(program: Program, op: ir.Operation) -> Run:
    sine, cosine = (_lifted(FUNCTIONS[name]) for name in ("sin", "cos"))
    return lambda env, operands: [*sine(env, operands), *cosine(env, operands)]


_INDEX_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@handler("index.*")
def _index(program: Program, op: ir.Operation) -> Run:
    name = op.name.removeprefix("index.")
    if name == "constant":
        value = np.int64(op.attributes["value"].value)
        return lambda env, operands: [value]
    if name in ("casts", "castu"):
        cast, dtype = CASTS["index_cast" if name == "casts" else "index_castui"], result_dtype(op)
        return pure(lambda x: cast(x, dtype))
    if name == "cmp":
        text = str(op.attributes["pred"])
        found = [k for k, predicate in enumerate(_INDEX_PREDICATES) if re.search(rf"\b{predicate}\b", text)]
        return pure(INTEGER_PREDICATES[found[0]])
    if f"{name}i" not in BINARY:
        raise RaggedError(f"expected an op that the interpreter knows, got '{op.name}'")
    return pure(BINARY[f"{name}i"])
