"""What `--input` gives: files and numbers, grouped to the arguments of a function."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.npy import open_regular, read_npy
from ragged_dialect.runtime.signature import Argument, Group, Part, Signature

_ZIP = b"PK\x03\x04"


def read_arguments(signature: Signature, inputs: Sequence[str]) -> list[Argument]:
    """One value per argument, a tuple of consecutive inputs for a ragged one. ArgumentError for a
    wrong number of inputs and for an input that is not what its place asks for."""
    wanted = sum(len(group.parts) for group in signature.arguments)
    if len(inputs) != wanted:
        places = "; ".join(_names(k, group) for k, group in enumerate(signature.arguments))
        listed = f" ({places})" if places else ""
        raise ArgumentError(f"{signature.name}: expected {wanted} inputs{listed}, got {len(inputs)}")
    given = iter(inputs)
    arguments: list[Argument] = []
    for group in signature.arguments:
        values = tuple((_number if part.shape is None else _load)(part, next(given)) for part in group.parts)
        arguments.append(values if group.ragged else values[0])
    return arguments


def _names(number: int, group: Group) -> str:
    names = ", ".join(part.name for part in group.parts)
    return f"argument {number}: {names}" if group.ragged else f"argument {number}"


def _number(part: Part, text: str) -> Argument:
    kind = part.dtype.kind
    if kind == "b":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ArgumentError(f"expected true or false, got '{text}'")
    try:
        return int(text, 0) if kind == "i" else float(text)
    except ValueError:
        raise ArgumentError(f"expected a number of type {part.dtype}, got '{text}'") from None


def _load(part: Part, path: str) -> Argument:
    with open_regular(path) as file:
        if file.read(len(_ZIP)) == _ZIP:
            raise ArgumentError(f"{path}: expected an .npy file with one array, got an .npz file")
        file.seek(0)
        try:
            loaded = read_npy(file, os.fstat(file.fileno()).st_size)
        except ArgumentError:
            raise ArgumentError(f"{path}: expected an .npy file with an array of numbers") from None
    # NumPy's file format knows no bfloat16 and calls it two bytes.
    return loaded.view(part.dtype) if part.dtype.kind == "V" and loaded.dtype == np.dtype("V2") else loaded
