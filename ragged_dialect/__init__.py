"""ragged-dialect: raggedness as part of a tensor's type, from MLIR to machine code.

`compile` turns a program into a callable on arrays; the dialect, its passes and lowerings
are in `ragged_dialect.dialect`, `ragged_dialect.passes` and `ragged_dialect.lowering`. Names load
on first use, so that tools which need no compiler do not pay for one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragged_dialect.errors import (
        ArgumentError,
        CompileError,
        DeviceError,
        EmulatorError,
        LayoutError,
        PassError,
        RaggedError,
        RuntimeCheckError,
        VerifyError,
    )
    from ragged_dialect.execution import compile
    from ragged_dialect.layout import Layout
    from ragged_dialect.runtime.gpu_status import synchronize

__all__ = [
    "ArgumentError",
    "CompileError",
    "DeviceError",
    "EmulatorError",
    "Layout",
    "LayoutError",
    "PassError",
    "RaggedError",
    "RuntimeCheckError",
    "VerifyError",
    "compile",
    "synchronize",
]

_HOMES = {"compile": "execution", "Layout": "layout", "synchronize": "runtime.gpu_status"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ragged_dialect' has no attribute '{name}'")
    module = importlib.import_module(f"ragged_dialect.{_HOMES.get(name, 'errors')}")
    return getattr(module, name)
