"""Python modules made of programs for GPUs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from ragged_dialect.artifacts import gpu_module


def imported(path: Path) -> Any:
    """The module of a file, which cannot import the package."""
    hidden = {name: sys.modules[name] for name in list(sys.modules) if name.split(".")[0] == "ragged_dialect"}
    with pytest.MonkeyPatch.context() as patch:
        for name in hidden:
            patch.setitem(sys.modules, name, None)
        spec = importlib.util.spec_from_file_location("made", path)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "made", made)
        spec.loader.exec_module(made)
    return made


def artifact(path: Path, source: str, **options: Any) -> Any:
    """The module that a program becomes."""
    return imported(gpu_module.write(source, None, path / "made.py", arch="sm_90", **options))
