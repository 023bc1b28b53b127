"""What the documents say: programs verify, files exist, tables agree with the code.

The excerpts of IR in passes.md are no programs; lit tests those passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, make_shape
from ragged_dialect.asm.module import parse_module
from ragged_dialect.layout import Layout

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
PROGRAMS = [
    pytest.param(block, id=f"{path.name}-{at}")
    for path in DOCUMENTS
    for at, block in enumerate(re.findall(r"```mlir\n(.*?)```", path.read_text(), re.S))
    if "func.func" in block and path.name != "passes.md"
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_verify(program: str, mlir_context: Any) -> None:
    from ragged_dialect.verify import verify_ragged

    module = parse_module(program, mlir_context)
    assert verify_ragged(module.operation)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_exist(path: Path) -> None:
    folders = "docs|passes|lowering|ragged_dialect|lit_tests|test|examples"
    named = re.findall(rf"`((?:{folders})/[\w/.-]*)`", path.read_text())
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "ragged_dialect" / name).exists()]
    assert not missing


def rows(heading: str) -> list[list[str]]:
    """Cells of the table below a heading of docs/layouts.md, but for its head."""
    section = (ROOT / "docs" / "layouts.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_example_layouts() -> None:
    table = rows("Layouts by example")
    assert len(table) >= 8
    for layout, extents, _ in table:
        assert make_shape(layout.strip("`"), extents).layout == Layout.parse(layout.strip("`"))


def test_table_of_parts() -> None:
    table = rows("The 1:N form")
    assert len(table) >= 6
    for type_, parts in table:
        extents, layout = (cell.strip("` ") for cell in type_.split(","))
        shape = make_shape(layout, extents)
        storage = "x".join("?" if e is None else str(e) for e in shape.storage_shape())
        rest = [f"{part.kind} of dim {part.dim}" for part in shape.parts()[1:]]
        assert parts == ", ".join([f"values `{storage}`", *rest])


def test_merge_table() -> None:
    """Every example of one layout merges in some dim to the layout beside it."""
    table = rows("Merge")
    assert len(table) == 11
    for _, example, result, _ in table:
        for layout in re.findall(r"`([drwt|]+)`", example):
            expected = result.strip("`")
            if set(expected) <= set("drwt|"):
                assert expected in merges(layout), layout


def merges(layout: str) -> set[str]:
    """Layouts that merging some dim of a layout yields."""
    from ragged_dialect.errors import LayoutError

    extents = "x".join({"d": "2", "t": "4"}.get(letter, "?") for letter in layout.replace("|", ""))
    shape, found = make_shape(layout, extents), set()
    for dim in range(shape.rank - 1):
        try:
            found.add(str(shape.merge(dim).layout))
        except LayoutError:
            continue
    return found
