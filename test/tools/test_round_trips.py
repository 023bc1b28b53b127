"""Every valid program of the examples and the lit tests comes back from text, bytecode, IRDL and reproducers."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from conftest import ROOT
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.tools import info, stock
from ragged_dialect.tools.driver import split_chunks
from ragged_dialect.tools.reproducer import recorded, reproducer

EXAMPLES = sorted((ROOT / "examples").glob("**/*.mlir"))
FILES = [*EXAMPLES, *sorted((ROOT / "lit_tests").glob("**/*.mlir"))]


def programs(path: Path) -> list[ir.Module]:
    """The parts of a file that are valid."""
    found: list[ir.Module] = []
    for chunk in split_chunks(path.read_text()):
        made = context()
        made.allow_unregistered_dialects = True
        try:
            found.append(load_module(chunk, made))
        except RaggedError:
            continue
    return found


def again(program: str | bytes) -> str:
    """What a program is read as, without what text does not keep of it."""
    made = context()
    made.allow_unregistered_dialects = True
    return print_module(load_module(program, made))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_come_back(path: Path) -> None:
    for module in programs(path):
        text = print_module(module)
        data = io.BytesIO()
        module.operation.write_bytecode(data)
        assert again(text) == text
        assert again(data.getvalue()) == text
        assert recorded(reproducer(text, "builtin.module(cse)", True)) == ("builtin.module(cse)", True)
        assert again(reproducer(text, "builtin.module(cse)", True)) == text


@pytest.mark.slow
@pytest.mark.skipif(stock.find() is None, reason=f"no {stock.NAME}")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_come_back_from_the_stock_tool(path: Path) -> None:
    """In text and in bytecode that the tool writes, of dialects that it has."""
    for module in programs(path):
        generic = print_module(module, generic=True, use_local_scope=True)
        if "nvvm." in generic or '"gpu.' in generic or "ragged_transform." in generic:
            continue  # dialects that the tool lacks
        text = print_module(module)
        for flags in (["--mlir-print-op-generic"], ["--emit-bytecode"]):
            data = stock.rewritten(generic, [info.irdl()], flags)
            assert again(data if flags == ["--emit-bytecode"] else data.decode()) == text
