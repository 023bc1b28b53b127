"""Which package provides the bindings: the environment variable, the order, and the refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SHOW = "from ragged_dialect import _mlir; print(_mlir.PACKAGE)"


def run(code: str, *path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own with packages in front of the path."""
    search = os.pathsep.join(map(str, (*path, ROOT)))
    clean = {k: v for k, v in os.environ.items() if k != "RAGGED_MLIR_PACKAGE"}
    clean |= {"PYTHONPATH": search, **env}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean, check=False)


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """A package `mlir` with `ir` only, as other wheels of that name have it."""
    package = tmp_path / "mlir"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "ir.py").touch()
    return tmp_path


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    """A package `mlir` that hands on to torch_mlir, module by module."""
    package = tmp_path / "mlir"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import importlib, importlib.abc, importlib.util, sys\n"
        "class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.startswith('mlir.'):\n"
        "            return importlib.util.spec_from_loader(name, self, is_package=True)\n"
        "    def create_module(self, spec):\n"
        "        return importlib.import_module('torch_' + spec.name)\n"
        "    def exec_module(self, module):\n"
        "        pass\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    return tmp_path


def test_default_is_the_wheel() -> None:
    assert run(SHOW).stdout.strip() == "torch_mlir"


def test_a_complete_mlir_comes_first(complete: Path) -> None:
    done = run(SHOW, complete)
    assert done.stdout.strip() == "mlir", done.stderr


def test_an_imported_package_comes_before_it(complete: Path) -> None:
    done = run("import torch_mlir.ir; " + SHOW, complete)
    assert done.stdout.strip() == "torch_mlir", done.stderr


def test_an_incomplete_mlir_is_passed_over(incomplete: Path) -> None:
    assert run(SHOW, incomplete).stdout.strip() == "torch_mlir"


def test_the_variable_forces_one(complete: Path) -> None:
    assert run(SHOW, complete, RAGGED_MLIR_PACKAGE="torch_mlir").stdout.strip() == "torch_mlir"


def test_what_is_no_package_is_refused() -> None:
    for name in ("..a b", ".", "a..b"):
        done = run(SHOW, RAGGED_MLIR_PACKAGE=name)
        assert done.returncode != 0
        assert f"expected MLIR Python bindings, got none that can be used: {name}: " in done.stderr


def test_a_forced_package_that_lacks_modules_is_refused(incomplete: Path) -> None:
    done = run(SHOW, incomplete, RAGGED_MLIR_PACKAGE="mlir")
    assert "expected MLIR Python bindings, got none that can be used: mlir: no module mlir.passmanager" in done.stderr
    assert done.returncode != 0
