"""Arrays in NumPy's file format from anywhere: what a header asks for is there before memory is."""

from __future__ import annotations

import math
import os
import stat
from os import PathLike
from tokenize import TokenError
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy

from ragged_dialect.errors import ArgumentError

# What NumPy and Python's parser raise for a header that is none.
_DAMAGES = (ValueError, SyntaxError, TypeError, KeyError, OverflowError, MemoryError, RecursionError, TokenError)
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npy(file: IO[bytes], size: int) -> np.ndarray:
    """The array that a file of `size` bytes has from here on. ArgumentError where it has none, one of Python
    objects, or one of more bytes than are left."""
    start = file.tell()
    try:
        shape, fortran, dtype = _HEADERS[npy.read_magic(file)](file)
    except _DAMAGES as error:
        raise ArgumentError("expected NumPy's header of an array, got a damaged one") from error
    extents = [int(extent) for extent in shape]
    if dtype.hasobject or any(extent < 0 for extent in extents):
        raise ArgumentError(f"expected an array of numbers, got one of {dtype} and extents {extents}")
    # NumPy multiplies without the extents that are 0.
    bytes_, addressed = (dtype.itemsize * math.prod(found) for found in (extents, [max(e, 1) for e in extents]))
    left = size - (file.tell() - start)
    if bytes_ > left or addressed >= 2**63:
        raise ArgumentError(f"expected {bytes_} bytes for extents {extents} of {dtype}, got {left}")
    made = np.empty(extents, dtype, order="F" if fortran else "C")
    if bytes_:
        _fill(file, made.reshape(-1, order="A").view(np.uint8).data)
    return made


def open_regular(path: str | PathLike[str]) -> BinaryIO:
    """A file opened for reading. ArgumentError for a pipe or a device, which may never end or never start;
    OSError from the file system."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ArgumentError(f"expected a file, got a pipe or a device: {os.fspath(path)}")
    return open(path, "rb")


def _fill(file: IO[bytes], memory: memoryview) -> None:
    while memory:
        count: int | None = getattr(file, "readinto")(memory)
        if not count:
            raise ArgumentError(f"expected {len(memory)} more bytes, got the end of the file")
        memory = memory[count:]
