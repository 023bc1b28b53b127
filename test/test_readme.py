"""README's Python runs as it is written."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from ragged_dialect import RuntimeCheckError

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def _run(block: str) -> None:
    """Run a block that ends with the error that its last comment shows."""
    code, expected = block.rsplit("# RuntimeCheckError: ", 1)
    with pytest.raises(RuntimeCheckError) as raised:
        exec(compile(code, "README.md", "exec"), {})
    assert str(raised.value) == expected.strip()


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 3


def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    _run(BLOCKS[0])
    printed = " ".join(capsys.readouterr().out.split())
    assert printed == "[[ 3.2 4.2] [ 0. 0. ] [16.8 17.8]] 1"


def test_the_same_in_mlir(capsys: pytest.CaptureFixture[str]) -> None:
    _run(BLOCKS[1])
    assert capsys.readouterr().out == "[1. 1. 1. 1.] [1. 1. 1. 1.]\n"


def test_the_stages_print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(BLOCKS[2], "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "scf.forall" in printed
    assert "llvm.func" in printed
