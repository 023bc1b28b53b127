"""The Python of README and of the page of stages runs as it is written, and their links lead somewhere."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect import RuntimeCheckError

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LONGEST = 130


def blocks(page: str) -> list[str]:
    """The Python on a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


BLOCKS = blocks("README.md")


def _run(block: str) -> None:
    """Run a block that ends with the error that its last comment shows."""
    code, expected = block.rsplit("# RuntimeCheckError: ", 1)
    with pytest.raises(RuntimeCheckError) as raised:
        exec(compile(code, "README.md", "exec"), {})
    assert str(raised.value) == expected.strip()


def test_it_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= LONGEST
    assert len(BLOCKS) == 2


def test_counts() -> None:
    """The numbers of README are those of the pages and programs that it names."""
    readme, flags, speed = ((ROOT / page).read_text() for page in ("README.md", "docs/flags.md", "docs/speed.md"))
    working, missing = re.findall(r"(\d+) work as in `mlir-opt` or are our own, (\d+) cannot be had", readme)[0]
    assert f"\n{working} flags of `mlir-opt` and of this package work, {missing} cannot be had" in flags
    tables = speed.split("## Operations beside peers")[1].split("|---|\n")[1:3]
    listed = {row.split("|")[1].strip() for table in tables for row in table.split("\n\n")[0].splitlines()}
    assert f"and {len(listed)} operations beside" in readme
    operations = (ROOT / "benchmarks" / "peers" / "ours.py").read_text().split("OPERATIONS = {")[1].split("\n}")[0]
    assert listed == set(re.findall(r'^    "(.+?)":', operations, re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert not [target for target in targets if target and not (page.parent / target).exists()]
    if page.name == "README.md":
        assert {f"docs/{other.name}" for other in PAGES if other.parent.name == "docs"} <= set(targets)


def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    _run(BLOCKS[0])
    printed = " ".join(capsys.readouterr().out.split())
    assert printed == "[[ 3.2 4.2] [ 0. 0. ] [16.8 17.8]] 1"


def test_the_same_in_mlir(capsys: pytest.CaptureFixture[str]) -> None:
    _run(BLOCKS[1])
    assert capsys.readouterr().out == "[1. 1. 1. 1.] [1. 1. 1. 1.]\n"


def test_the_stages_print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = blocks("docs/stages.md")
    exec(compile(block, "stages.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "scf.forall" in printed
    assert "llvm.func" in printed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["tutorial", "recipes"])
def test_a_page_shows_what_comes_out(name: str) -> None:
    """Every input of the page, and the output below it."""
    text = (ROOT / "docs" / f"{name}.md").read_text().replace("```", "")
    page = doctest.DocTestParser().get_doctest(text, {}, name, f"docs/{name}.md", 0)
    assert len(page.examples) > 20
    assert not doctest.DocTestRunner().run(page).failed


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", [n for n in dir(rg) if ">>>" in (getattr(rg, n).__doc__ or "")])
def test_docstrings_show_what_comes_out(name: str) -> None:
    text = inspect.cleandoc(getattr(rg, name).__doc__)
    if "torch" in text:
        pytest.skip("needs PyTorch and what it compiles with: test/arrays/custom_ops")
    examples = doctest.DocTestParser().get_doctest(text, {"np": np, "rg": rg}, name, name, 0)
    assert not doctest.DocTestRunner().run(examples).failed
