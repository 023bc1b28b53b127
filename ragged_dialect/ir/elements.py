"""Elements of constant attributes as arrays."""

from __future__ import annotations

import re

import numpy as np

from ragged_dialect._mlir import ir

Array = np.ndarray

_HEX_BLOB = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")


def elements_of(attribute: ir.Attribute, dtype: np.dtype) -> Array:
    """The elements of a dense attribute, one after the other, with the dtype of its element type."""
    values = ir.DenseElementsAttr(attribute)
    if values.is_splat and len(values):
        return np.full(len(values), values.get_splat_value().value, dtype)
    # NumPy reads every element type through the buffer protocol but bfloat16, which it does not know.
    return np.array(values, dtype).reshape(-1) if dtype.kind != "V" else _from_text(str(attribute), dtype)


def _from_text(text: str, dtype: np.dtype) -> Array:
    blob = _HEX_BLOB.match(text)
    if blob is not None:
        return np.frombuffer(bytes.fromhex(blob[1]), dtype).copy()
    numbers = _NUMBER.findall(text[: text.rindex(":")])
    bits = [_bits(number, dtype) for number in numbers]
    return np.array(bits, np.uint16).view(dtype)


def _bits(number: str, dtype: np.dtype) -> int:
    """The bits of a printed number; those that have no decimal text are printed as bits."""
    return int(number, 16) if number.startswith("0x") else int(np.array(float(number), dtype).view(np.uint16))
