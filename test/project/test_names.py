"""Names agree: file, pass, class and lit file of a pass; and every lit file can fail."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from ragged_dialect.passes import registry

NOT_TESTS = {"Output", "Inputs"}
LIT_FILES = sorted(p for p in (ROOT / "lit_tests").rglob("*.mlir") if not NOT_TESTS & set(p.parts))
DIRECTIVE = re.compile(r"CHECK(-NEXT|-SAME|-NOT|-DAG|-LABEL|-COUNT-\d+|-EMPTY)?:")


class PassClass(NamedTuple):
    """A pass as its source says: file, class, docstring, whether it has options, and is a dataclass of its own."""

    path: Path
    class_name: str
    doc: str
    has_options: bool
    is_dataclass: bool

    @property
    def name(self) -> str:
        """That of the file in kebab-case."""
        return self.path.stem.replace("_", "-")


def pass_classes() -> list[PassClass]:
    """Every class below RaggedPass in passes/ and lowering/."""
    found = []
    for folder in ("passes", "lowering"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and any("RaggedPass" in ast.unparse(b) for b in node.bases):
                    has_options = any(isinstance(item, ast.AnnAssign) for item in node.body)
                    doc, decorated = ast.get_docstring(node) or "", len(node.decorator_list) > 0
                    found.append(PassClass(path, node.name, doc, has_options, decorated))
    return found


PASSES = pass_classes()


@pytest.mark.parametrize("made", PASSES, ids=lambda made: made.class_name)
class TestPassNames:
    """One pass per file; the names of its class and lit files, and that of the pass, follow from it."""

    def test_kebab_case(self, made: PassClass) -> None:
        pattern = r"ragged(-[a-z0-9]+)+" if made.path.parent == ROOT / "passes" else r"[a-z]+(-[a-z0-9]+)+"
        assert re.fullmatch(pattern, made.name), made.name

    def test_is_registered(self, made: PassClass) -> None:
        assert registry.lookup(made.name).name == made.name

    def test_class_name(self, made: PassClass) -> None:
        assert made.class_name == "".join(word.capitalize() for word in made.name.split("-"))

    def test_options_are_fields(self, made: PassClass) -> None:
        assert made.is_dataclass == made.has_options

    def test_one_pass_per_file(self, made: PassClass) -> None:
        assert [p.class_name for p in PASSES if p.path == made.path] == [made.class_name]

    def test_docstring_shows_before_and_after(self, made: PassClass) -> None:
        assert made.doc.count("```mlir") >= 1, f"expected IR before -> after in the docstring of {made.class_name}"

    def test_lit_file(self, made: PassClass) -> None:
        path = lit_file(made, ".mlir")
        assert path.is_file(), f"expected {path.relative_to(ROOT)}"


ON_RAGGED = [made for made in PASSES if made.path.parent == ROOT / "passes"]
REFUSING = [*ON_RAGGED, *(made for made in PASSES if made.name.startswith("convert-ragged-to-"))]


@pytest.mark.parametrize("made", REFUSING, ids=lambda made: made.class_name)
def test_invalid_lit_file(made: PassClass) -> None:
    """Passes over the user's IR show what they refuse."""
    path = lit_file(made, "-invalid.mlir")
    assert path.is_file(), f"expected {path.relative_to(ROOT)}"


def lit_file(made: PassClass, ending: str) -> Path:
    """The lit file of a pass."""
    folder = "gpu" if "gpu" in made.path.relative_to(ROOT).parts else made.path.parent.name
    return ROOT / "lit_tests" / folder / f"{made.name}{ending}"


def lit_problem(text: str) -> str | None:
    """Why a lit file is dead (it passes whatever the tools do); None when it is alive."""
    runs = re.findall(r"^\s*//\s*RUN:\s*(.*)$", text, re.M)
    if not runs:
        return "expected a RUN line, got none"
    if not any("%s" in run for run in runs):
        return "expected %s in a RUN line, got none"
    prefixes = {"CHECK"}
    for run in runs:
        prefixes.update(p for group in re.findall(r"--check-prefix(?:es)?[= ](\S+)", run) for p in group.split(","))
    piped = any("FileCheck" in run for run in runs)
    used = {p for p in prefixes if re.search(rf"^\s*//\s*{p}(-\w+)*:", text, re.M)}
    if used and not piped:
        return "expected FileCheck in a RUN line, got CHECK lines only"
    if piped and not used:
        return "expected CHECK lines for FileCheck, got none"
    checks = bool(used) or any("--verify-diagnostics" in run for run in runs) or any("not " in run for run in runs)
    if not checks:
        return "expected CHECK lines, --verify-diagnostics or a command that must fail, got none"
    if any("--verify-diagnostics" in run for run in runs) and not piped and "expected-error" not in text:
        return "expected an expected-error line, got none"
    words = re.findall(r"^\s*//\s*(CHECK\S*)", text, re.M)
    misspelt = [word for word in words if not DIRECTIVE.match(word)]
    return f"expected a CHECK directive, got {misspelt[0]}" if misspelt else None


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda path: path.relative_to(ROOT / "lit_tests").as_posix())
def test_lit_file_is_alive(path: Path) -> None:
    assert lit_problem(path.read_text()) is None


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda path: path.relative_to(ROOT / "lit_tests").as_posix())
def test_lit_file_is_in_kebab_case(path: Path) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", path.stem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// CHECK: x\n", "expected a RUN line, got none"),
        ("// RUN: ragged-opt | FileCheck %t\n// CHECK: x\n", "expected %s in a RUN line, got none"),
        ("// RUN: ragged-opt %s\n// CHECK: x\n", "expected FileCheck in a RUN line, got CHECK lines only"),
        ("// RUN: ragged-opt %s | FileCheck %s\n", "expected CHECK lines for FileCheck, got none"),
        (
            "// RUN: ragged-opt %s\n",
            "expected CHECK lines, --verify-diagnostics or a command that must fail, got none",
        ),
        ("// RUN: ragged-opt %s --verify-diagnostics\n", "expected an expected-error line, got none"),
        ("// RUN: x %s | FileCheck %s\n// CHECK: a\n// CHECK_NOT: b\n", "expected a CHECK directive, got CHECK_NOT:"),
        ("// RUN: x %s | FileCheck %s\n// CHECK: a\n// CHECK-NXT: b\n", "expected a CHECK directive, got CHECK-NXT:"),
        ("// RUN: x %s | FileCheck %s --check-prefix=A\n// A: a\n", None),
        ("// RUN: x %s | FileCheck %s\n// CHECK-LABEL: a\n", None),
        ("// RUN: not ragged-opt %s\n", None),
    ],
)
def test_dead_lit_files_are_found(text: str, problem: str | None) -> None:
    assert lit_problem(text) == problem


def test_there_is_something_to_check() -> None:
    assert PASSES
    assert LIT_FILES
