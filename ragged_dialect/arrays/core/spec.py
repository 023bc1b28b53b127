"""`Spec`: what a program is specialised for, of one argument."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ragged_dialect.layout import Layout, Shape

DType = np.dtype


@dataclass(frozen=True, eq=False)
class Spec:
    """Layout, static extents (None where a program works for any), dtype, device, and the library whose
    arrays a user gets. `weak` marks a Python number, whose dtype gives way to that of arrays. Equal
    specs are one object: see `spec`."""

    layout: Layout
    shape: Shape
    dtype: DType
    device: str = "cpu"
    library: str = "numpy"
    weak: bool = False

    @property
    def rank(self) -> int:
        """Number of logical dims."""
        return len(self.shape)

    @property
    def plain_library(self) -> str:
        """The library of arrays of which no gradients are recorded, as index vectors are."""
        return "torch" if self.library == "autograd" else self.library

    def of_library(self, library: str) -> Spec:
        """The spec of the same array of another library."""
        return _of_library(self, library)

    def __reduce__(self) -> tuple[object, ...]:
        """Equal ones are one object in another process too."""
        return spec, (self.layout, self.shape, self.dtype, self.device, self.library, self.weak)

    def __str__(self) -> str:
        dims = "x".join("?" if extent is None else str(extent) for extent in self.shape)
        layout = "" if self.layout.is_dense else f', "{self.layout}"'
        return f"{dims}{'x' if dims else ''}{self.dtype}{layout}"


def spec(
    layout: Layout, shape: Shape, dtype: DType, device: str = "cpu", library: str = "numpy", weak: bool = False
) -> Spec:
    """The one spec of these fields."""
    return _spec(layout, shape, dtype, device, library, weak)  # `cache` tells apart what is given from what is left out


_spec = cache(Spec)


@cache
def _of_library(known: Spec, library: str) -> Spec:
    return spec(known.layout, known.shape, known.dtype, known.device, library, known.weak)


BOOL, INT, FLOAT = (spec(Layout(()), (), np.dtype(kind), weak=True) for kind in (np.bool_, np.int64, np.float64))
"""Specs of Python numbers."""

NUMBERS: dict[type, Spec] = {bool: BOOL, int: INT, float: FLOAT}
"""The same by type."""
