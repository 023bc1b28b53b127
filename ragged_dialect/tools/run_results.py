"""Results of ragged-run: as an .npz file, or printed."""

from __future__ import annotations

import io

import numpy as np

from ragged_dialect.narrowing import is_array, is_tuple
from ragged_dialect.reference.value import RaggedValue
from ragged_dialect.runtime.signature import Argument, Group, Signature
from ragged_dialect.tools.cli import write_output

COLUMNS = 100
MOST_ELEMENTS = 1000
"""Larger ragged results are printed as their parts, which NumPy shortens."""


def as_list(signature: Signature, returned: Argument) -> list[Argument]:
    """What a call returned as a list of results, arrays of the GPU as NumPy's."""
    count = len(signature.results)
    results = [] if count == 0 else [returned] if count == 1 else list(returned)
    return [tuple(_on_host(part) for part in r) if is_tuple(r) else _on_host(r) for r in results]


def _on_host(value: Argument) -> Argument:
    return value.get() if hasattr(value, "__cuda_array_interface__") else value


def save(signature: Signature, results: list[Argument], path: str) -> None:
    """Write an .npz with `result0`, or `result0`, `result0.1`, … for the parts of a ragged result."""
    arrays: dict[str, Argument] = {}
    for number, (group, result) in enumerate(zip(signature.results, results, strict=True)):
        for place, (part, value) in enumerate(zip(group.parts, result if group.ragged else (result,), strict=True)):
            arrays[_name(number, place)] = np.asarray(value, part.dtype)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_output(path, buffer.getvalue())


def show(signature: Signature, results: list[Argument]) -> str:
    """One `result0 = …` per result: numbers, arrays, and ragged tensors as nested lists."""
    shown = zip(signature.results, results, strict=True)
    return "".join(f"{line}\n" for number, (group, result) in enumerate(shown) for line in _show(number, group, result))


def _name(number: int, place: int) -> str:
    return f"result{number}.{place}" if place else f"result{number}"


def _show(number: int, group: Group, result: Argument) -> list[str]:
    if group.shape is not None and result[0].size <= MOST_ELEMENTS:
        exact = np.array([_number(x) for x in result[0].flat], object).reshape(result[0].shape)
        nested = RaggedValue.from_parts(group.shape, (exact, *result[1:])).to_nested()
        return [f"{_name(number, 0)} = {_nested(nested, '')}"]
    parts = result if group.ragged else (result,)
    return [_plain(_name(number, place), value) for place, value in enumerate(parts)]


def _plain(name: str, value: Argument) -> str:
    text = np.array2string(value, separator=", ", prefix=f"{name} = ") if is_array(value) else value
    return f"{name} = {text}"


class _Element:
    """An element as the tool prints it, inside an array of objects."""

    def __init__(self, text: str) -> None:
        self.text = text

    def item(self) -> _Element:
        return self

    def __repr__(self) -> str:
        return self.text


def _number(value: Argument) -> _Element:
    """Shortest text of a number in its own type: 0.1, where float64 would say 0.10000000149."""
    return _Element(str(value))


def _nested(value: Argument, indent: str) -> str:
    """A nested list, on one line where it fits."""
    line = repr(value)
    if len(indent) + len(line) <= COLUMNS or not any(isinstance(item, list) for item in value):
        return line
    deeper = indent + "  "
    items = "".join(f"{deeper}{_nested(item, deeper)},\n" for item in value)
    return f"[\n{items}{indent}]"
