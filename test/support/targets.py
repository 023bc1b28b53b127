"""The targets that numeric tests run on. On all of them compiled functions return NumPy arrays, and a
failed check is raised by the call itself."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import ragged_dialect

TARGETS = ("cpu", "emulator", pytest.param("gpu", marks=pytest.mark.gpu))

Compile = Callable[..., Callable[..., Any]]
"""`compile` of a target: takes a source, and `entry` and `check` as the public one does."""


@cache
def has_gpu() -> bool:
    """Whether there is a GPU that CuPy finds."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def ptx_target() -> str:
    """The target that runs PTX: a GPU where there is one, else its text."""
    return "gpu" if has_gpu() else "ptx-emulator"


def compile_for(target: str) -> Compile:
    """`ragged_dialect.compile` for a target."""

    def compile(source: Any, entry: str | None = None, check: bool = True) -> Callable[..., Any]:
        if target != "gpu":
            return ragged_dialect.compile(source, entry, target, check)
        function = ragged_dialect.compile(source, entry, target, check)

        def call(*arguments: Any) -> Any:
            results = on_host(function(*arguments))
            ragged_dialect.synchronize()
            return results

        return call

    return compile


def on_host(value: Any) -> Any:
    """A result with CuPy arrays as NumPy arrays."""
    if isinstance(value, tuple):
        return tuple(map(on_host, value))
    return value.get() if hasattr(value, "get") else value
