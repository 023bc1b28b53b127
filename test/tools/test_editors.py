"""The extension for VS Code: its grammar names what the dialect has, and it builds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from ragged_dialect import ops
from ragged_dialect.transform.dialect import RaggedTransform

FOLDER = ROOT / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "mlir.tmLanguage.json").read_text())


def _rules(rule: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules with a pattern that a rule stands for, in order."""
    if "include" in rule:
        return _rules(GRAMMAR["repository"][rule["include"].removeprefix("#")])
    if "match" in rule:
        return [rule]
    if "begin" in rule:
        return [
            {"name": rule["name"], "match": f"{rule['begin']}(?:{rule['patterns'][0]['match']}|.)*?(?:{rule['end']})"}
        ]
    return [one for inner in rule["patterns"] for one in _rules(inner)]


RULES = [(re.compile(rule["match"]), rule) for rule in _rules(GRAMMAR)]


def scopes(line: str) -> dict[str, str]:
    """What an editor takes the words of a line for: at each place the rule that matches first, of several the first."""
    found: dict[str, str] = {}
    at = 0
    while hits := [(match.start(), order) for order, (p, _) in enumerate(RULES) if (match := p.search(line, at))]:
        start, order = min(hits)
        pattern, rule = RULES[order]
        match = pattern.match(line, start)
        assert match is not None
        captures = rule.get("captures") or {"0": {"name": rule["name"]}}
        found |= {match[int(number)]: capture["name"] for number, capture in captures.items()}
        at = max(match.end(), start + 1)
    return found


def test_ops_of_the_dialect() -> None:
    names = [*ops.OPS, *(op.OPERATION_NAME for op in RaggedTransform.operations)]
    ours = [name for name in names if name.startswith("ragged")]
    assert len(ours) > 25
    for name in ours:
        assert scopes(f"  %y = {name} %x {{dim = 0}} : (i1) -> i1")[name] == "support.function.op.ragged.mlir"
        assert scopes(f'  "{name}"(%x) : (i1) -> i1')[name] == "support.function.op.mlir"


def test_types_names_and_layouts() -> None:
    found = scopes('func.func @f(%x: tensor<?x4xbf16, #ragged.layout<"dr|zd">>, %w: tensor<8x!t, #a>) { // %n')
    expected = {
        "func.func": "support.function.op", "@f": "entity.name.function", "%x": "variable.other",
        "tensor": "storage.type", "?": "constant.numeric.shape", "4": "constant.numeric.shape", "bf16": "storage.type",
        "#ragged.layout": "support.type.layout.ragged", "dr|": "constant.other.layout.ragged",
        "zd": "invalid.illegal.layout.ragged", "!t": "entity.name.type.alias", "#a": "entity.name.type.alias",
        "8": "constant.numeric.shape", "// %n": "comment.line.double-slash",
    }  # fmt: skip
    assert {word: found.get(word) for word in expected} == {word: f"{scope}.mlir" for word, scope in expected.items()}
    found = scopes('  ragged.print %y {label = "ragged.merge %x", dim = -1 : i64} : (index) -> ()')
    assert "%x" not in found
    assert found["label"] == "entity.other.attribute-name.mlir"
    assert (found["-1"], found["i64"], found["index"]) == ("constant.numeric.mlir", *2 * ["storage.type.mlir"])


def test_files_of_the_manifest_are_there() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    added = manifest["contributes"]
    files = [added["languages"][0]["configuration"], *(grammar["path"] for grammar in added["grammars"])]
    assert all((FOLDER / name).is_file() for name in files)
    json.loads((FOLDER / files[0]).read_text())
    assert added["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm")
def test_builds_with_npm(tmp_path: Path) -> None:
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "out"))
    installed = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, timeout=500
    )
    if installed.returncode:
        pytest.skip(f"npm could not install: {installed.stderr.decode()[-300:]}")
    subprocess.run(["npm", "run", "build"], cwd=folder, check=True, timeout=300)
    assert (folder / "out" / "extension.js").stat().st_size > 10_000
