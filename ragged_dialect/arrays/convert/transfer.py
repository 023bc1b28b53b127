"""Arrays moved between the memory of the CPU and of a GPU."""

from __future__ import annotations

import re

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.spec import spec
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.signature import Array

DEVICE = re.compile(r"(cpu|cuda)(?::(\d+))?\Z")
"""What names a device: its kind, and the number of a GPU."""

_CONTAINERS: tuple[type[object], ...] = (list, tuple, dict, set)


def spelled(given: object) -> str:
    """The text of what names a device or a dtype; of a list, which may hold itself, only its type."""
    return type(given).__name__ if isinstance(given, _CONTAINERS) else str(given)


def moved(x: RaggedArray, device: object) -> RaggedArray:
    """The array with values and structure on `cpu`, `cuda` or `cuda:0`, a text or a `torch.device`; itself
    where it is there. ArgumentError for another device, DeviceError without CuPy."""
    found = DEVICE.match(spelled(device))
    if found is None:
        raise ArgumentError(f"to: expected a device cpu or cuda, got {spelled(device)}")
    kind, number = found.groups()
    if x.device.split(":")[0] == kind and (number is None or x.device in (kind, f"{kind}:{number}")):
        return x

    def place(array: Array) -> Array:
        return storage.to_host(array) if kind == "cpu" else storage.to_gpu(array, int(number or 0))

    values = place(x.buffer.array)
    axes = [None if a is None else Structure(a.letters, [place(v) for v in a.vectors], a.extents) for a in x.axes]
    library = "torch" if x.spec.plain_library == "torch" else "numpy" if kind == "cpu" else "cupy"
    known = x.spec
    made = spec(known.layout, known.shape, known.dtype, storage.device(values), library)
    return RaggedArray.trusted(Buffer(values), tuple(axes), made)
