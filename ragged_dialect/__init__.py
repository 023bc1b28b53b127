"""ragged-dialect: raggedness as part of a tensor's type, from MLIR to machine code.

`compile` turns a program into a callable on arrays; the dialect, its passes and lowerings
are in `ragged_dialect.dialect`, `ragged_dialect.passes` and `ragged_dialect.lowering`. Names load
on first use, so that tools which need no compiler do not pay for one. They are listed in `__init__.pyi`, which
type checkers read.
"""

from __future__ import annotations

import importlib
import re
from typing import Any


def _homes() -> dict[str, tuple[str, str]]:
    """The module of every public name, and its name there. Operations are at home where operations are known by name,
    so that those whose programs the cache has are not loaded."""
    with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        found = re.findall(r"^from (\S+) import (\w+) as (\w+)( +# an operation)?$", stub.read(), re.MULTILINE)
    return {name: ("" if named else module, own) for module, own, name, named in found}


_HOMES = _homes()
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'ragged_dialect' has no attribute '{name}'")
    module, own = _HOMES[name]
    if not module:
        found = importlib.import_module(f"{__name__}.arrays.tracing.operation").named(own)
    elif module == __name__:
        found = importlib.import_module(f"{module}.{own}")
    else:
        found = getattr(importlib.import_module(module), own)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _version() -> str:
    from importlib import metadata  # start-up time

    try:
        return metadata.version("ragged-dialect")
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "0"
