"""The MLIR files of the repository, and the valid programs in them."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.driver import split_chunks

EXAMPLES = sorted((ROOT / "examples").glob("**/*.mlir"))
FILES = [*EXAMPLES, *sorted((ROOT / "lit_tests").glob("**/*.mlir"))]


def programs(path: Path, name: str = "<string>") -> list[ir.Module]:
    """The parts of a file that are valid, each in a context of its own, with locations in a file of that name."""
    found: list[ir.Module] = []
    for chunk in split_chunks(path.read_text()):
        made = context()
        made.allow_unregistered_dialects = True
        try:
            found.append(load_module(chunk, made, name))
        except RaggedError:
            continue
    return found
