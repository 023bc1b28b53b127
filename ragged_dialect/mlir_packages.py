"""The packages that can provide MLIR's Python bindings; none is imported here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("mlir", "torch_mlir")


def candidates() -> tuple[str, ...]:
    """Their names, in the order in which they are tried: RAGGED_MLIR_PACKAGE alone, or first what is imported."""
    forced = os.environ.get("RAGGED_MLIR_PACKAGE")
    return (forced,) if forced else (*(name for name in _PACKAGES if name in sys.modules), *_PACKAGES)


def mlir_libraries() -> Iterator[tuple[str, Path]]:
    """The packages that are there, and the folder with the libraries of each: one of them is used."""
    for name in dict.fromkeys(candidates()):
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):  # no name of a package, or one without a place: `_mlir` says so
            continue
        for place in (spec.submodule_search_locations if spec is not None else None) or ():
            yield name, Path(place) / "_mlir_libs"
