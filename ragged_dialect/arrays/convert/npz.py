"""Arrays in `.npz` files, which NumPy reads too."""

from __future__ import annotations

import struct
import zipfile
import zlib
from os import PathLike
from typing import Any, BinaryIO

import numpy as np

from ragged_dialect.arrays.convert.stored import from_parts, to_parts
from ragged_dialect.arrays.core.arguments import flag, integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
from ragged_dialect.runtime.memory import enough, total_memory
from ragged_dialect.runtime.npy import open_regular, read_npy
from ragged_dialect.runtime.signature import Array
from ragged_dialect.runtime.whole_files import replacing

File = str | PathLike[str] | BinaryIO

# What zipfile, zlib and NumPy raise for bytes that are no such file.
_DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, KeyError, RuntimeError, ArgumentError)


@enough("save_npz")
def save_npz(file: File, x: RaggedArray, *, compressed: bool = False) -> None:
    """Write an array to a file, by path or opened for binary writing: values, structure and a version.
    ArgumentError for what is no ragged array, LayoutError for tiles; OSError from the file system."""
    if not isinstance(x, RaggedArray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"save_npz: expected a ragged array, got {type(x).__name__}")
    _check_file("save_npz", file, "write")
    compressed = flag("save_npz", "compressed", compressed)
    parts: dict[str, Any] = to_parts(x, "save_npz")
    write = np.savez_compressed if compressed else np.savez
    if not isinstance(file, (str, PathLike)):
        write(file, **parts)
        return
    with replacing(file) as opened:  # a path's name is kept as it is; NumPy would append .npz
        write(opened, **parts)


@enough("load_npz")
def load_npz(file: File, *, max_bytes: int | None = None) -> RaggedArray:
    """The array of a file that `save_npz` wrote; nothing in it is executed.

    RuntimeCheckError for another file, a damaged one (every part has a checksum), a version that this
    release does not read, and one whose arrays have more than `max_bytes` (by default the memory that
    this process may have): nothing of it is unpacked then. ArgumentError for what is no file, OSError from the
    file system."""
    if max_bytes is not None:
        max_bytes = integer("load_npz", "max_bytes", max_bytes)
    if isinstance(file, (str, PathLike)):
        with open_regular(file) as opened:
            return load_npz(opened, max_bytes=max_bytes)
    _check_file("load_npz", file, "read", "seek")
    try:
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive, total_memory() if max_bytes is None else max_bytes)
            parts = {info.filename.removesuffix(".npy"): _part(archive, info) for info in archive.infolist()}
    except RuntimeCheckError:
        raise
    except _DAMAGES as error:
        text = f"load_npz: expected a file of save_npz, got a damaged or another one: {error}"
        raise RuntimeCheckError(text) from error
    return from_parts(parts, "load_npz")


def _check_file(op: str, file: object, *methods: str) -> None:
    if not isinstance(file, (str, PathLike)) and not all(callable(getattr(file, name, None)) for name in methods):
        raise ArgumentError(f"{op}: expected a path or an opened file, got {type(file).__name__}")


def _check_sizes(archive: zipfile.ZipFile, most: int) -> None:
    """Refuse what unpacks to more, and what NumPy does not pack with; zipfile unpacks no more than it says."""
    total = sum(info.file_size for info in archive.infolist())
    if total > most:
        raise RuntimeCheckError(f"load_npz: expected at most {most} bytes, got {total} (raise max_bytes to load it)")
    for info in archive.infolist():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"expected parts stored or deflated, got '{info.filename}'")


def _part(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as part:
        array = read_npy(part, info.file_size)
        while part.read(1 << 16):  # the checksum is compared at the end
            pass
    return array
