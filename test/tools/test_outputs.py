"""What is written beside the result: never over what is read, or over each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.merges import tool

from ragged_dialect.tools.reproducer import reproducer
from ragged_dialect.transform.ragged_transform_interpreter import SHIPPED


@pytest.mark.parametrize("flag", ["--reproducer", "--mlir-generate-reproducer", "--dump-pipeline-file"])
def test_two_outputs_are_two_files(file: Path, tmp_path: Path, flag: str, capfd: pytest.CaptureFixture[str]) -> None:
    made, link = tmp_path / "made.mlir", tmp_path / "link.mlir"
    link.symlink_to(made)
    assert tool(file, "--one-shot-bufferize", f"{flag}={link}", "-o", str(made)) == 1
    named = {"--reproducer": "--mlir-pass-pipeline-crash-reproducer"}.get(flag, flag)
    message = f"ragged-opt: expected another file for {named} than for -o, got '{link}' for both\n"
    assert capfd.readouterr() == ("", message)
    assert not made.exists()


@pytest.mark.parametrize("flag", ["--mlir-generate-reproducer", "--dump-pipeline-file"])
def test_what_is_written_beside_the_result_is_no_input(
    file: Path, tmp_path: Path, flag: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before, link = file.read_text(), tmp_path / "link.mlir"
    link.hardlink_to(file)
    for path in (file, link):
        assert tool(file, "--cse", f"{flag}={path}") == 1
        assert f"expected a file that is not read for {flag}, got" in capfd.readouterr().err
    assert file.read_text() == before


@pytest.mark.parametrize("flag", ["--reproducer", "--mlir-generate-reproducer", "--dump-pipeline-file"])
@pytest.mark.parametrize("how", ["a flag", "text", "a nested list", "a reproducer", "a file", "in a file"])
def test_what_passes_read_is_not_written(
    how: str, flag: str, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script, stages = tmp_path / "a script.mlir", tmp_path / "stages.json"
    script.write_text(SHIPPED.read_text())
    options = f"library='{script}' entry-point=ragged_to_llvm"
    interpreter = f"ragged-transform-interpreter{{{options}}}"
    stages.write_text(json.dumps({"stages": [{"name": "all", "passes": [interpreter]}]}))
    recorded = tmp_path / "recorded.mlir"
    recorded.write_text(reproducer("module {}", f"builtin.module({interpreter})", True))
    from_file = f"--ragged-file-pipeline=file={stages}"
    given = {
        "a flag": [file, f"--ragged-transform-interpreter={options}"],
        "text": [file, f"--pass-pipeline={interpreter}"],
        "a nested list": [file, f"--pass-pipeline=builtin.module(builtin.module({interpreter}))"],
        "a reproducer": [recorded, "--run-reproducer"],
        "a file": [file, from_file],
        "in a file": [file, from_file],
    }
    if (how, flag) == ("a reproducer", "--dump-pipeline-file"):
        pytest.skip("it writes what flags say")
    path = stages if how == "a file" else script
    before = path.read_text()
    assert tool(*given[how], f"{flag}={path}") == 1
    assert f", got '{path}'" in capfd.readouterr().err
    assert path.read_text() == before
