"""Arrays in `.npz` files, which NumPy reads too."""

from __future__ import annotations

import io
import zipfile
import zlib
from os import PathLike
from typing import Any, BinaryIO

import numpy as np

from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.convert.stored import from_parts, to_parts
from ragged_dialect.errors import ArgumentError, RuntimeCheckError

File = str | PathLike[str] | BinaryIO

# What zipfile, zlib and NumPy raise for bytes that are no such file.
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, RuntimeError, SyntaxError)


def save_npz(file: File, x: RaggedArray, *, compressed: bool = False) -> None:
    """Write an array to a file, by path or opened for binary writing: values, structure and a version.
    ArgumentError for what is no ragged array, LayoutError for tiles; OSError from the file system."""
    if not isinstance(x, RaggedArray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"save_npz: expected a ragged array, got {type(x).__name__}")
    _check_file("save_npz", file, "write")
    parts: dict[str, Any] = to_parts(x, "save_npz")
    write = np.savez_compressed if compressed else np.savez
    if not isinstance(file, (str, PathLike)):
        write(file, **parts)
        return
    with open(file, "wb") as opened:  # a path's name is kept as it is; NumPy would append .npz
        write(opened, **parts)


def load_npz(file: File) -> RaggedArray:
    """The array of a file that `save_npz` wrote; nothing in it is executed.

    RuntimeCheckError for another file, a damaged one (every part has a checksum), and a version that
    this release does not read; OSError from the file system."""
    _check_file("load_npz", file, "read")
    try:
        with zipfile.ZipFile(file) as archive:
            parts = {name.removesuffix(".npy"): _part(archive.read(name)) for name in archive.namelist()}
    except _DAMAGES as error:
        text = f"load_npz: expected a file of save_npz, got a damaged or another one: {error}"
        raise RuntimeCheckError(text) from error
    return from_parts(parts, "load_npz")


def _check_file(op: str, file: Any, method: str) -> None:
    if not isinstance(file, (str, PathLike)) and not hasattr(file, method):
        raise ArgumentError(f"{op}: expected a path or an opened file, got {type(file).__name__}")


def _part(data: bytes) -> Any:
    return np.load(io.BytesIO(data), allow_pickle=False)
