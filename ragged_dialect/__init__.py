"""ragged-dialect: raggedness as part of a tensor's type, from MLIR to machine code.

`compile` turns a program into a callable on arrays; the dialect, its passes and lowerings
are in `ragged_dialect.dialect`, `ragged_dialect.passes` and `ragged_dialect.lowering`. Names load
on first use, so that tools which need no compiler do not pay for one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragged_dialect.arrays.api import (
        RaggedArray,
        assume_valid,
        astype,
        attention,
        boolean_mask,
        chunk,
        clip,
        compact,
        compilations,
        concat,
        cumsum,
        einsum,
        empty_like,
        erf,
        from_arrow,
        from_awkward,
        from_dlpack,
        from_lengths,
        from_offsets,
        from_padded,
        from_row_ids,
        from_starts_lengths,
        from_torch_nested,
        gather,
        jit,
        layer_norm,
        like,
        load_npz,
        log_softmax,
        logsumexp,
        matmul,
        merge,
        narrow,
        partition,
        ragged,
        reshape,
        rms_norm,
        rsqrt,
        save_npz,
        select,
        softmax,
        split,
        squeeze,
        stack,
        take,
        to_padded,
        transpose,
        transposed_matmul,
        unsqueeze,
        where,
    )
    from ragged_dialect.errors import (
        AllocationError,
        ArgumentError,
        AxisError,
        CompileError,
        DeviceError,
        DeviceMemoryError,
        EmulatorError,
        LayoutError,
        MissingPackageError,
        PassError,
        RaggedError,
        RangeError,
        RuntimeCheckError,
        TraceError,
        VerifyError,
    )
    from ragged_dialect.execution import compile
    from ragged_dialect.layout import Layout
    from ragged_dialect.runtime.gpu_status import synchronize

__all__ = [
    "AllocationError",
    "ArgumentError",
    "AxisError",
    "CompileError",
    "DeviceError",
    "DeviceMemoryError",
    "EmulatorError",
    "Layout",
    "LayoutError",
    "MissingPackageError",
    "PassError",
    "RaggedArray",
    "RaggedError",
    "RangeError",
    "RuntimeCheckError",
    "TraceError",
    "VerifyError",
    "assume_valid",
    "astype",
    "attention",
    "boolean_mask",
    "chunk",
    "clip",
    "compact",
    "compilations",
    "compile",
    "concat",
    "cumsum",
    "einsum",
    "empty_like",
    "erf",
    "from_arrow",
    "from_awkward",
    "from_dlpack",
    "from_lengths",
    "from_offsets",
    "from_padded",
    "from_row_ids",
    "from_starts_lengths",
    "from_torch_nested",
    "gather",
    "jit",
    "layer_norm",
    "like",
    "load_npz",
    "log_softmax",
    "logsumexp",
    "matmul",
    "merge",
    "narrow",
    "partition",
    "ragged",
    "reshape",
    "rms_norm",
    "rsqrt",
    "save_npz",
    "select",
    "softmax",
    "split",
    "squeeze",
    "stack",
    "synchronize",
    "take",
    "to_padded",
    "transpose",
    "transposed_matmul",
    "unsqueeze",
    "where",
]

_HOMES = {
    "compile": "execution",
    "Layout": "layout",
    "synchronize": "runtime.gpu_status",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module 'ragged_dialect' has no attribute '{name}'")
    home = _HOMES.get(name, "errors" if name.endswith("Error") else "arrays.api")
    return getattr(importlib.import_module(f"ragged_dialect.{home}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("ragged-dialect")
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "0"
