"""Reproducers of ragged-opt: where they go, what they have, and running them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.merges import MERGE, tool

from conftest import ROOT
from ragged_dialect.errors import PassError
from ragged_dialect.tools.reproducer import CrashReproducer, recorded, reproducer


def test_reproducer(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.mlir"
    assert tool(file, "--cse", f"--reproducer={kept}") == 0
    assert not kept.exists()
    # The anchor is right, the bufferization of our types is not: the pass fails.
    passes = "cse,one-shot-bufferize"
    assert tool(file, f"--pass-pipeline={passes}", "--no-verify-each", f"--reproducer={kept}") == 1
    first = capfd.readouterr().err
    assert kept.read_text().startswith(MERGE)
    assert tool("--run-reproducer", kept) == 1
    assert capfd.readouterr().err == first.replace(str(file), str(kept))


def test_reproducer_of_a_crash(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.mlir"
    code = (
        "import os; from ragged_dialect.passes import registry; from ragged_dialect.passes.base import RaggedPass\n"
        "class Crash(RaggedPass):\n"
        "    name = 'test-crash'\n"
        "    def run(self, op): os.abort()\n"
        "registry.register('test-crash', lambda: Crash)\n"
        "from ragged_dialect.tools import ragged_opt\n"
        f"ragged_opt.main([{str(file)!r}, '--cse', '--test-crash', '--reproducer={kept}'])"
    )
    root = ROOT
    done = subprocess.run(
        [sys.executable, "-c", code],
        timeout=60,
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode < 0
    assert kept.read_text().startswith(MERGE)
    assert 'pipeline: "builtin.module(cse,test-crash)"' in kept.read_text()


def test_local_reproducer(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.mlir"
    flags = ("--no-verify-each", f"--reproducer={kept}", "--mlir-pass-pipeline-local-reproducer")
    assert tool(file, "--cse", "--one-shot-bufferize", *flags) == 1
    assert kept.read_text().count("ragged.partition") == 1
    assert 'pipeline: "builtin.module(one-shot-bufferize)"' in kept.read_text()
    assert "verify_each: false" in kept.read_text()
    assert tool("--run-reproducer", kept) == 1
    assert "op was not bufferized" in capfd.readouterr().err


def test_a_run_that_succeeds_leaves_the_reproducers_place(file: Path, tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.mlir", tmp_path / "link.mlir"
    kept.write_text("mine")
    kept.chmod(0o640)
    link.symlink_to(kept)
    before = kept.stat()
    assert tool(file, "--cse", f"--reproducer={link}") == 0
    after = kept.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    assert sorted(tmp_path.iterdir()) == sorted([file, kept, link])
    assert tool(file, "--one-shot-bufferize", f"--reproducer={link}") == 1
    assert link.is_symlink()
    assert "mlir_reproducer" in kept.read_text()
    assert kept.stat().st_mode == before.st_mode
    assert sorted(tmp_path.iterdir()) == sorted([file, kept, link])


@pytest.mark.parametrize("passes", ["--cse", "--one-shot-bufferize"])
@pytest.mark.parametrize("place", ["-", os.devnull, "FOLDER", "INPUT", "/nonexistent/a", "no/", "a" * 300])
def test_where_no_reproducer_goes(
    file: Path, tmp_path: Path, place: str, passes: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = file.read_text()
    path = place.replace("FOLDER", str(tmp_path)).replace("INPUT", str(file))
    assert tool(file, passes, f"--reproducer={path}") == 1
    flag = "--mlir-pass-pipeline-crash-reproducer"
    message = {
        "INPUT": f"expected a file that is not read for {flag}, got '{path}'",
        "/nonexistent/a": "/nonexistent/a: no such file or directory",
        "a" * 300: f"{path}: file name too long",
    }.get(place, f"expected a regular file for --mlir-pass-pipeline-crash-reproducer, got '{path}'")
    assert capfd.readouterr() == ("", f"ragged-opt: {message}\n")
    assert file.read_text() == before
    assert [*tmp_path.iterdir()] == [file]


def test_a_place_that_goes_away(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What cannot be moved to its place is an error, and nothing is left of it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    kept = CrashReproducer(str(folder / "a.mlir"), "module {}", "builtin.module(cse)", True, False)
    kept.kept = True
    (folder / "a.mlir").mkdir()
    with pytest.raises(OSError, match=r"a\.mlir"):
        kept.__exit__()
    assert [path.name for path in folder.iterdir()] == ["a.mlir"]
    assert not capfd.readouterr().err


@pytest.mark.parametrize("flag", ["--reproducer", "--mlir-generate-reproducer"])
def test_a_reproducer_is_of_the_first_part_that_fails(file: Path, tmp_path: Path, flag: str) -> None:
    kept = tmp_path / "kept.mlir"
    parts = ["func.func @a() { return }", MERGE, MERGE.replace("@f", "@g"), "func.func @b() { return }"]
    file.write_text("\n// -----\n".join(parts))
    assert tool(file, "--split-input-file", "--one-shot-bufferize", f"{flag}={kept}") == 1
    assert kept.read_text().lstrip().startswith(MERGE.rstrip())


def test_a_reproducer_is_no_text_in_a_comment(file: Path, tmp_path: Path) -> None:
    """The last one counts, as in mlir-opt, and its place is taken by that of a new run."""
    text = (
        '// {-# external_resources: { mlir_reproducer: { pipeline: "no-such" } } #-}\n'
        'module attributes {a.a = "{-# external_resources: { mlir_reproducer: { pipeline: a } } #-}"} {}\n'
        '{-# external_resources: { mlir_reproducer: { pipeline: "no-such" }, other: { x: "0x04000000" } } #-}\n'
        '{-# external_resources: { other: { x: "0x04000000" }, // }\n'
        ' mlir_reproducer : { // }\n pipeline: "cse" } } #-}\n'
    )
    file.write_text(text)
    kept = tmp_path / "kept.mlir"
    assert recorded(text) == ("cse", True)
    assert tool(file, "--run-reproducer", f"--mlir-generate-reproducer={kept}") == 0
    assert kept.read_text().count('pipeline: "') == 2  # in the comment, and the new one
    assert recorded(kept.read_text()) == ("builtin.module(cse)", True)
    assert tool(kept, "--run-reproducer") == 0


def test_reproducers_keep_any_pipeline() -> None:
    for pipeline in ('a{x="y }"}', "b\\c", "builtin.module(func.func(d))"):
        for verify in (True, False):
            assert recorded(reproducer("module {}\n", pipeline, verify)) == (pipeline, verify)


def test_a_reproducer_of_upstream(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As mlir-opt writes it; other resources may stand before it."""
    text = (
        f'{MERGE}\n{{-#\n  dialect_resources: {{ builtin: {{ b: "0x0400000001000000" }} }},\n'
        '  external_resources: {\n    mlir_reproducer: {\n      pipeline: "builtin.module(func.func(cse))",\n'
        "      disable_threading: false,\n      verify_each: true\n    }\n  }\n#-}\n"
    )
    (tmp_path / "in.mlir").write_text(text)
    assert tool("--run-reproducer", tmp_path / "in.mlir") == 0
    assert capfd.readouterr().out.count("ragged.partition") == 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nonsense: true", "expected pipeline, disable_threading, verify_each in 'mlir_reproducer', got 'nonsense'"),
        ('disable_threading: "x"', "expected true or false for 'disable_threading' in 'mlir_reproducer', got \"x\""),
        ('verify_each: "0x04"', "expected true or false for 'verify_each' in 'mlir_reproducer', got \"0x04\""),
        ("pipeline: true", "expected a string for 'pipeline' in 'mlir_reproducer', got true"),
    ],
)
def test_reproducers_that_are_wrong(entry: str, message: str) -> None:
    with pytest.raises(PassError, match=re.escape(message)):
        recorded('{-# external_resources: { mlir_reproducer: { pipeline: "cse", ' + entry + " } } #-}")


def test_reproducer_of_bytecode_is_text(file: Path, tmp_path: Path) -> None:
    code, kept = tmp_path / "in.mlirbc", tmp_path / "kept.mlir"
    assert tool(file, "--emit-bytecode", "-o", code) == 0
    assert tool(code, "--one-shot-bufferize", f"--reproducer={kept}") == 1
    assert "ragged.partition" in kept.read_text()
    assert tool("--run-reproducer", kept) == 1
