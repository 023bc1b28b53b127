"""What is written beside the result: never over what is read, or over each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.merges import tool

from conftest import ROOT
from ragged_dialect.tools import ragged_compile, ragged_run
from ragged_dialect.tools.ragged_opt import main
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("flag", ["--mlir-generate-reproducer", "--reproducer", "--dump-pipeline-file"])
@pytest.mark.parametrize("path", ["in.mlir", "/dev/stdin", "out.mlir", "plug.py", "words", "lib/one.mlir"])
def test_what_is_open_or_imported_is_not_written(path: str, flag: str, folder: Path) -> None:
    """What standard input comes from and standard output goes to, plug-ins, response files, folders of libraries."""
    (folder / "in.mlir").write_text("func.func @f() { return }")
    (folder / "plug.py").write_text("def register(): pass")
    (folder / "words").write_text("--cse")
    (folder / "lib").mkdir()
    (folder / "lib" / "one.mlir").write_text("module {}")
    before = {one: one.read_text() for one in folder.rglob("*.*") if one.is_file()}
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "@words", "--load-pass-plugin=plug"]
    library = "--transform-preload-library=transform-library-paths=lib"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), "."])}
    with (folder / "in.mlir").open() as given, (folder / "out.mlir").open("w") as out:
        made = subprocess.run(
            [*command, library, f"{flag}={path}"],
            stdin=given, stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, check=False,
        )  # fmt: skip
    assert made.returncode == 1
    assert f", got '{path}'" in made.stderr
    assert {one: one.read_text() for one in before} == before
    assert (folder / "words").read_text() == "--cse"


@pytest.mark.parametrize("how", ["read", "written"])
def test_dumps_are_apart(how: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    inside = folder / "dumps" / "builtin_module_no-symbol-name" / "0_cse.mlir"
    inside.parent.mkdir(parents=True)
    for path in (inside, folder / "in.mlir"):
        path.write_text("func.func @f() { return }")
    words = [str(inside)] if how == "read" else [str(folder / "in.mlir"), "-o", str(inside)]
    dumps = ["--mlir-print-ir-after-all", f"--mlir-print-ir-tree-dir={folder / 'dumps'}"]
    assert main([*words, "--cse", *dumps]) == 1
    assert f"expected a file apart from those of --mlir-print-ir-tree-dir, got '{inside}'" in capfd.readouterr().err
    assert inside.read_text() == "func.func @f() { return }"


def test_every_dump_has_a_file(folder: Path) -> None:
    (folder / "in.mlir").write_text('func.func @"f?"() { return } func.func @"f!"() { return }')
    words = ["--pass-pipeline=builtin.module(func.func(cse))", "--mlir-print-ir-after-all"]
    assert main([str(folder / "in.mlir"), *words, f"--mlir-print-ir-tree-dir={folder / 'dumps'}"]) == 0
    texts = [path.read_text() for path in (folder / "dumps").rglob("*.mlir")]
    assert sorted(name for text in texts for name in ("f?", "f!") if name in text) == ["f!", "f?"]


def test_stages_are_no_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of stages in options are not what is read: a run may be repeated."""
    monkeypatch.chdir(folder)
    (folder / "dense").mkdir()
    (folder / "in.mlir").write_text("func.func @f() { return }")
    for _ in range(2):
        words = ["--ragged-to-llvm-pipeline=to=dense", "-o", "dense/out.mlir", "--dump-pipeline-file=dense/p.json"]
        assert main(["in.mlir", *words]) == 0


def test_a_pipeline_file_is_written_at_the_end(folder: Path) -> None:
    kept = folder / "stages.json"
    kept.write_text("kept")
    (folder / "wrong.mlir").write_text("func.func @f(")
    for name in ("nothing.mlir", "wrong.mlir"):
        assert main([str(folder / name), "--cse", f"--dump-pipeline-file={kept}"]) == 1
        assert kept.read_text() == "kept"


def test_a_header_and_results_do_not_replace_a_program(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = folder / "f.h"
    program.write_text("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }")
    before = program.read_text()
    np.save(folder / "x.npy", np.ones(2, np.float32))
    assert ragged_compile.main([str(program), "-o", str(folder / "libf.so")]) == 1
    assert f"expected a file that is not read for the C header, got '{program}'" in capfd.readouterr().err
    assert ragged_run.main([str(program), "--input", str(folder / "x.npy"), "--output", str(program)]) == 1
    assert f"expected a file that is not read for --output, got '{program}'" in capfd.readouterr().err
    given = folder / "x.npy"
    assert ragged_run.main([str(program), "--input", str(given), "--output", str(given)]) == 1
    assert f"expected a file that is not read for --output, got '{given}'" in capfd.readouterr().err
    assert np.load(given).tolist() == [1, 1]
    assert program.read_text() == before
