"""A lowering that leaves invalid IR is an error, not the end of the process."""

from __future__ import annotations

from typing import Any

import pytest

from ragged_dialect import CompileError, compile
from ragged_dialect._mlir import ir
from ragged_dialect.lowering import pipelines


class _Break:
    """A stage after which the module does not verify."""

    def run(self, module: Any, verify: bool) -> None:
        assert not verify
        block = ir.SymbolTable(module.operation)["rg__sum"].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            ir.Operation.create("llvm.add", [ir.IntegerType.get_signless(32)], [block.arguments[0]] * 2)


def test_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func @sum(%a: i64, %b: i64) -> i64 {\n %0 = arith.addi %a, %b : i64\n return %0 : i64\n}"
    assert compile(text)(2, 3) == 5
    whole = pipelines.cpu_pipeline

    def broken(*options: Any) -> tuple[Any, ...]:
        return (*whole(*options), _Break())

    monkeypatch.setattr(pipelines, "cpu_pipeline", broken)
    with pytest.raises(CompileError) as error:
        compile(text)
    assert str(error.value).startswith("sum: expected valid IR after the lowering, got: Verification failed:\n")
    assert "'llvm.add' op requires the same type" in str(error.value)
