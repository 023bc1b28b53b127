"""Peers by name: a module each, with `VERSION` and `OPERATIONS`. An operation takes a case and returns what to call;
that returns NumPy arrays of the same values in the same order as ours. What a peer does not have is left out; what it
does not have for the values at hand raises NotImplementedError."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from cases import Case

Prepare = Callable[[Case], Callable[[], Any]]

NAMES = ("numpy", "numba", "torch", "torch_nested", "torch_grouped", "awkward", "polars", "jax", "tensorflow")


def load(names: tuple[str, ...] = NAMES) -> dict[str, tuple[str, Mapping[str, Prepare]]]:
    """Version and operations of the peers that are installed."""
    found: dict[str, tuple[str, Mapping[str, Prepare]]] = {}
    for name in names:
        try:
            module = importlib.import_module(f"peers.with_{name}")
        except ImportError:
            continue
        found[name] = (module.VERSION, module.OPERATIONS)
    return found
