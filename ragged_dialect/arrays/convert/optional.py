"""Packages that conversions need and the project does not."""

from __future__ import annotations

import importlib
from typing import Any

from ragged_dialect.errors import MissingPackageError


def optional(name: str, op: str, package: str | None = None) -> Any:
    """A module of a package that may not be there; `package` is what to install, by default its name.
    MissingPackageError says so where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        wanted = package or name
        raise MissingPackageError(f"{op}: expected the package {wanted}, got none (pip install {wanted})") from error
