"""Every valid program of the examples and the lit tests comes back from text, bytecode, IRDL and reproducers."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.mlir_files import FILES, programs

from conftest import ROOT
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.tools import info, stock
from ragged_dialect.tools.reproducer import recorded, reproducer


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


LACKED = frozenset({"gpu", "llvm", "nvvm", "ragged_transform", "transform"})
"""Dialects that the stock tool lacks. Their ops go through its text as they are; in its bytecode properties are
attributes, which nobody who knows the ops reads."""


@pytest.mark.slow
@pytest.mark.skipif(stock.find() is None, reason=f"no {stock.NAME}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_come_back_from_the_stock_tool(path: Path) -> None:
    """In text, and in bytecode that the tool writes."""
    for module in programs(path):
        generic = print_module(module, generic=True, use_local_scope=True)
        assert again(stock.rewritten(generic, [info.irdl()], ["--mlir-print-op-generic"]).decode()) == again(generic)
        if LACKED.isdisjoint(op.name.partition(".")[0] for op in ops_in(module.operation)):
            assert again(stock.rewritten(generic, [info.irdl()], ["--emit-bytecode"])) == again(generic)
