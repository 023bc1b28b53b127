"""Loading what makes programs, and what these are made of."""

from __future__ import annotations

import importlib


def load() -> None:
    """Load the bodies of all operations, which are above what traces them, with what tracers can do."""
    importlib.import_module("ragged_dialect.arrays.operations")
