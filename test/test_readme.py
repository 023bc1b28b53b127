"""README's Python runs as it is written."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from ragged_dialect import RuntimeCheckError

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 2


def test_the_first_example_ends_with_the_error_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    code, expected = BLOCKS[0].rsplit("# RuntimeCheckError: ", 1)
    with pytest.raises(RuntimeCheckError) as raised:
        exec(compile(code, "README.md", "exec"), {})
    assert str(raised.value) == expected.strip()
    assert capsys.readouterr().out == "[1. 1. 1. 1.] [1. 1. 1. 1.]\n"


def test_the_stages_print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(BLOCKS[1], "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "scf.forall" in printed
    assert "llvm.func" in printed
