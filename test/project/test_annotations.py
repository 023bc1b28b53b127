"""Annotations: how much of the code is `Any`, and that the stubs are those of the installed bindings."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from conftest import ROOT

MOST = {
    "lowering": 8,
    "passes": 11,
    "ragged_dialect": 50,
    "ragged_dialect/arrays": 110,
    "ragged_dialect/artifacts": 7,
    "ragged_dialect/asm": 6,
    "ragged_dialect/checking": 2,
    "ragged_dialect/compat": 61,
    "ragged_dialect/compiler": 1,
    "ragged_dialect/emulator": 36,
    "ragged_dialect/ir": 2,
    "ragged_dialect/mlir_dialects": 0,
    "ragged_dialect/nn": 0,
    "ragged_dialect/ops": 19,
    "ragged_dialect/ptx": 1,
    "ragged_dialect/ranks": 16,
    "ragged_dialect/reference": 5,
    "ragged_dialect/runtime": 39,
    "ragged_dialect/tools": 3,
    "ragged_dialect/transform": 0,
}
"""Annotations that are `Any` or have it inside, by folder. Lower a number when there are fewer; what needs to raise
one has a better type."""


def any_names(path: Path) -> int:
    """How often a file names `Any`, its import aside."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(path.read_text())))


def sources(folder: str) -> list[Path]:
    """The files of a folder and those below it; of the package itself only its own."""
    found = (ROOT / folder).glob("*.py") if folder == "ragged_dialect" else (ROOT / folder).rglob("*.py")
    return sorted(found)


@pytest.mark.parametrize("folder", MOST)
def test_any_does_not_grow(folder: str) -> None:
    counts = {path.relative_to(ROOT).as_posix(): any_names(path) for path in sources(folder)}
    assert sum(counts.values()) <= MOST[folder], sorted(counts.items(), key=lambda item: -item[1])[:5]


def test_every_folder_is_counted() -> None:
    folders = {
        f"ragged_dialect/{path.name}"
        for path in (ROOT / "ragged_dialect").iterdir()
        if path.is_dir() and not path.is_symlink() and any(path.glob("*.py"))
    }
    assert folders | {"lowering", "passes", "ragged_dialect"} == MOST.keys()


@pytest.mark.parametrize("module", ["ir", "passmanager"])
def test_stubs_are_those_of_the_bindings(module: str, tmp_path: Path) -> None:
    pytest.importorskip("nanobind", reason="stubs are made with nanobind")
    generate = runpy.run_path(str(ROOT / "typings" / "generate.py"))
    assert (ROOT / "typings" / "torch_mlir" / f"{module}.pyi").read_text() == generate["stub"](module, tmp_path)
