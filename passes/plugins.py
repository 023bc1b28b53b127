"""Passes and named pipelines of other packages.

A package names a function in its metadata, which registers what it adds:

    [project.entry-points."ragged_dialect.plugins"]
    rowtools = "rowtools.plugin:register"

    def register() -> None:
        registry.register("rowtools-count", lambda: importlib.import_module("rowtools.count").RowtoolsCount)
        registry.register_pipeline("rowtools-pipeline", "rowtools.plugin", "pipeline")

Passes follow the contract of `passes/base.py`. Functions are called when a name is asked for that neither this package
nor MLIR has: reading the metadata takes longer than most runs of the tools.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ragged_dialect.errors import PassError
from ragged_dialect.passes import registry

GROUP = "ragged_dialect.plugins"
_loaded: set[str] = set()
_allowed = True


@contextmanager
def allowed(installed: bool) -> Generator[None]:
    """Whether installed plug-ins are looked for while this is entered."""
    global _allowed
    before, _allowed = _allowed, installed
    try:
        yield
    finally:
        _allowed = before


def load_installed() -> None:
    """Load the plug-ins of installed packages, once. PassError for one that cannot be loaded."""
    if not _allowed:
        return
    from importlib import metadata

    for entry in metadata.entry_points(group=GROUP):
        _load(entry.value, entry.load)


def load(name: str) -> None:
    """Load the plug-in that is a module with a function `register`, once. PassError when there is none."""
    if name.endswith((".so", ".dylib", ".dll")):
        raise PassError(f"expected a Python module as plug-in, got the shared library '{name}'")
    _load(f"{name}:register", lambda: importlib.import_module(name).register)


def _load(name: str, find: Callable[[], Callable[[], object]]) -> None:
    """Call a plug-in's function. What it registered before it failed is taken back."""
    if name in _loaded:
        return
    try:
        with registry.all_or_none():
            find()()
    except Exception as error:
        reason = str(error) if isinstance(error, PassError) else f"{type(error).__name__}: {error}"
        raise PassError(f"expected plug-in '{name}' to register what it adds, got {reason}") from error
    _loaded.add(name)
