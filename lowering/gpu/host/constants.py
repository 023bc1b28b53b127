"""Constant tensors of a host program as NumPy arrays."""

from __future__ import annotations

import math
import re

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.errors import CompileError
from ragged_dialect.runtime.signature import numpy_dtype

Array = np.ndarray

_HEX_BLOB = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_RESOURCE = re.compile(r': "0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")


def constant(op: ir.Operation) -> Array:
    """The data of a `memref.global`. CompileError for one without data or of other elements than numbers."""
    type_ = ir.TypeAttr(op.attributes["type"]).value
    element = numpy_dtype(str(type_.element_type))
    if element is None or "initial_value" not in op.attributes:
        raise CompileError(f"expected constants of numbers, got '{op.attributes['sym_name'].value}' of type {type_}")
    attribute, shape = op.attributes["initial_value"], tuple(type_.shape)
    if isinstance(attribute, ir.DenseElementsAttr):
        return _elements(attribute, element).reshape(shape)
    data, size = _resource(op), math.prod(shape) * element.itemsize
    if data is None or len(data) != size:
        got = "none" if data is None else len(data)
        raise CompileError(f"expected {size} bytes of data for {attribute}, got {got}")
    return np.frombuffer(data, element).reshape(shape).copy()


def _resource(op: ir.Operation) -> bytes | None:
    """The data of the resource that a `memref.global` has as its value, which the bindings show in the
    text of a module only, as an alignment of 4 bytes and what follows; None where there is none."""
    module = ir.Module.create(op.location)
    with ir.InsertionPoint(module.body):
        op.clone()
    blob = _RESOURCE.search(str(module))
    return None if blob is None else bytes.fromhex(blob[1])


def _elements(attribute: ir.DenseElementsAttr, element: np.dtype) -> Array:
    values = ir.DenseElementsAttr(attribute)
    if values.is_splat:
        return np.full(len(values), values.get_splat_value().value, element)
    # NumPy reads every element type through the buffer protocol but bfloat16, which it does not know.
    return np.array(values, element) if element.kind != "V" else _from_text(str(attribute), element)


def _from_text(text: str, element: np.dtype) -> Array:
    blob = _HEX_BLOB.match(text)
    if blob is not None:
        return np.frombuffer(bytes.fromhex(blob[1]), element).copy()
    numbers = _NUMBER.findall(text[: text.rindex(":")])
    bits = [_bits(number, element) for number in numbers]
    return np.array(bits, np.uint16).view(element)


def _bits(number: str, element: np.dtype) -> int:
    """The bits of a printed number; those that have no decimal text are printed as bits."""
    return int(number, 16) if number.startswith("0x") else int(np.array(float(number), element).view(np.uint16))
