"""ragged-opt as a command: options, exit codes, output files, reproducers."""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from ragged_dialect.asm.probe import BYTECODE
from ragged_dialect.errors import PassError, RaggedError
from ragged_dialect.tools import ragged_opt
from ragged_dialect.tools.options import MARKER, parse_options
from ragged_dialect.tools.reproducer import CrashReproducer, recorded, reproducer

MERGE = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
"""
BAD = MERGE.replace("{dim = 0} : (tensor<3", "{dim = 5} : (tensor<3")


BAD_LINE = BAD.splitlines()[3]


def _shown(name: object, line: int) -> str:
    """The error of BAD, at a line."""
    message = "'ragged.merge' op expected dim in [0, 1), got 5"
    return f"{name}:{line}:8: error: {message}\n{BAD_LINE}\n       ^\n"


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(MERGE)
    return path


def _opt(*argv: Any) -> int:
    return ragged_opt.main([str(arg) for arg in argv])


def test_prints_the_short_form(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt(file) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.count("ragged.partition %arg0, %arg1 {dim = 0} : (") == 2
    assert _opt(file, "--cse", "--mlir-print-op-generic") == 0
    assert capfd.readouterr().out.count('"ragged.partition"(%arg0, %arg1)') == 1
    assert _opt(file, "--mlir-print-debuginfo") == 0
    assert f'loc("{file}":2:8)' in capfd.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    class Input:
        buffer = io.BytesIO(BAD.encode())

    monkeypatch.setattr(sys, "stdin", Input)
    assert _opt("-") == 1
    assert capfd.readouterr() == ("", _shown("<stdin>", 4))


@pytest.mark.parametrize(
    ("argv", "pipeline"),
    [
        ([], None),
        (["--cse", "f", "--ragged-canonicalize=max-iterations=3"], "cse,ragged-canonicalize{max-iterations=3}"),
        (["-cse", "-canonicalize=max-iterations=1 top-down=0"], "cse,canonicalize{max-iterations=1 top-down=0}"),
        (["--canonicalize={a=1}"], "canonicalize{a=1}"),
        (["-pass-pipeline=builtin.module(cse)"], "builtin.module(cse)"),
        (["--pass-pipeline", "cse"], "cse"),
    ],
)
def test_passes_in_order(argv: list[str], pipeline: str | None) -> None:
    assert parse_options(argv).passes.pipeline == pipeline


def test_verify_each_spellings() -> None:
    for argv in [], ["--verify-each"], ["--verify-each=1"], ["--no-verify-each", "--verify-each"]:
        assert parse_options(argv).passes.verify_each
    for argv in ["--verify-each=0"], ["--verify-each=false"], ["--no-verify-each"]:
        assert not parse_options(argv).passes.verify_each


REFUSED = [
    (["a", "b"], "ragged-opt: expected one input, got 'a' and 'b'"),
    (["--cse", "--pass-pipeline=cse"], "expected --pass-pipeline or single passes, got both ('--cse')"),
    (["--run-reproducer", "--cse"], "expected --run-reproducer without passes, the file names them"),
    (["--verify-each=maybe"], "expected true or false for '--verify-each', got 'maybe'"),
    (["--emit-bytecode-version=-1"], "expected a number of at most 9 digits for '--emit-bytecode-version', got '-1'"),
    (["--emit-bytecode-version=9999999999"], "for '--emit-bytecode-version', got '9999999999'"),
    (["--pass-pipeline"], "expected a value for '--pass-pipeline', got none"),
    (["--mlir-timing-display=x"], "expected one of tree, list for '--mlir-timing-display', got 'x'"),
    (
        ["--ragged-canonicalise", os.devnull],
        "expected a known flag or pass, got the unknown flag '--ragged-canonicalise' (did you mean '--ragged-canon",
    ),
    (["--irdl-file=-", "-"], "ragged-opt: expected standard input once, got '-' for several files"),
    ([os.devnull, "-o", "/dev/full"], "ragged-opt: /dev/full: no space left on device"),
    (["-q"], "expected a known flag or pass, got the unknown flag '-q'"),
    (["--mlir-print-ir-befor=cse", os.devnull], "unknown flag '--mlir-print-ir-befor' (did you mean '--mlir-print"),
    (["--pass-pipeline=no-such", os.devnull], "pipeline:1:1: error: expected a known pass, got 'no-such'"),
    (
        ["--mlir-print-ir-after=no-such", os.devnull],
        "expected known passes for --mlir-print-ir-before and -after, got 'no-such'",
    ),
    (["--debug-only=x"], "expected a flag that can be had here, got '--debug-only' (release builds of LLVM have no"),
    (
        ["--emit-bytecode", "--emit-bytecode-version=99", "-o", os.devnull, os.devnull],
        "expected a version of bytecode that can be written, got 99",
    ),
    (["--cse=x=1", os.devnull], "pipeline:1:1: error: 'cse': <Pass-Options-Parser>: no such option x"),
    (["/nonexistent/in.mlir"], "ragged-opt: /nonexistent/in.mlir: no such file or directory"),
    ([os.devnull, "-o", "/nonexistent/out.mlir"], "no such file or directory"),
    (
        ["--run-reproducer", os.devnull],
        "expected a resource 'mlir_reproducer' with a pipeline in the text, got none",
    ),
    (
        ["--no-implicit-module", os.devnull],
        "expected one op in the file with --no-implicit-module, got 0",
    ),
    (["--load-pass-plugin=libpass.so"], "expected a Python module as plug-in, got the shared library 'libpass.so'"),
    (
        ["--load-pass-plugin=no.such"],
        "expected plug-in 'no.such:register' to register what it adds, got Mod",
    ),
    (["-o", ""], "expected a file for '-o', got an empty name"),
    (["--irdl-file="], "expected a file for '--irdl-file', got an empty name"),
    (["--load-pass-plugin="], "expected a module for '--load-pass-plugin', got an empty name"),
    (["--ragged-fuse=max-ops=4},cse{", os.devnull], "expected options of '--ragged-fuse', got more than that: 'max-"),
    (["--ragged-fuse=max-ops=1_0", os.devnull], "expected an integer for 'max-ops', got '1_0'"),
    (["--ragged-fuse=max-ops=9223372036854775808", os.devnull], "expected an integer for 'max-ops', got '92233720368"),
    (["--pass-pipeline=any(cse),any(ragged-fuse)", os.devnull], "under an op by its name, like 'func.func', got it"),
    (["--convert-ragged-forall-to-loops=chunk=0", os.devnull], "expected a chunk of at least 1 element, got 0"),
    (["/dev/zero"], "expected MLIR text or bytecode, got a zero byte"),
]


@pytest.mark.parametrize(("argv", "message"), REFUSED)
def test_refused(argv: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt(*argv) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_output_is_written_as_a_whole(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    assert _opt(file, "-o", out) == 0
    assert out.read_text().startswith("module {")
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~_umask()
    before = out.read_text()
    file.write_text(BAD)
    assert _opt(file, "-o", out) == 1
    assert out.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.mlir", "out.mlir"]
    assert capfd.readouterr().err == _shown(file, 4)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_output_through_a_link_keeps_the_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "real.mlir").write_text("old")
    (tmp_path / "link.mlir").symlink_to("real.mlir")
    assert _opt(file, "-o", tmp_path / "link.mlir") == 0
    assert (tmp_path / "link.mlir").is_symlink()
    assert (tmp_path / "real.mlir").read_text().startswith("module")


def test_bytecode_there_and_back(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlirbc"
    assert _opt(file, "--emit-bytecode", "-o", out) == 0
    assert out.read_bytes().startswith(BYTECODE)
    assert _opt(file) == 0
    text = capfd.readouterr().out
    assert _opt(out) == 0
    assert capfd.readouterr().out == text


def test_split_chunks_keep_their_lines(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{MERGE}// -----\n{MERGE}// -----\n{BAD}")
    assert _opt(file, "--split-input-file") == 1
    assert capfd.readouterr() == ("", _shown(file, 18))
    file.write_text(f"{MERGE}// -----\n{MERGE}")
    assert _opt(file, "--split-input-file") == 0
    assert capfd.readouterr().out.count("// -----\n") == 1


def test_dumps_and_times(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt(file, "--cse", "--canonicalize", "--mlir-print-ir-after-all", "--mlir-timing") == 0
    err = capfd.readouterr().err
    assert re.findall(r"// -----// IR Dump After (\S+) //----- //", err) == ["cse", "canonicalize"]
    names = re.findall(r"%\)  (.*)$", err, re.MULTILINE)
    assert names == ["Parser", "cse", "canonicalize", "Output", "Rest", "Total"]
    assert _opt(file, "--cse", "--cse", "--mlir-print-ir-after-change") == 0
    assert capfd.readouterr().err.count("IR Dump After") == 1


def test_unregistered_dialects(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text('%0 = "other.op"() : () -> i32\n')
    assert _opt(file) == 1
    assert "unregistered" in capfd.readouterr().err
    assert _opt(file, "--allow-unregistered-dialect") == 0


def test_reproducer(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.mlir"
    assert _opt(file, "--cse", f"--reproducer={kept}") == 0
    assert not kept.exists()
    # The anchor is right, the bufferization of our types is not: the pass fails.
    passes = "cse,one-shot-bufferize"
    assert _opt(file, f"--pass-pipeline={passes}", "--no-verify-each", f"--reproducer={kept}") == 1
    first = capfd.readouterr().err
    assert kept.read_text().startswith(MERGE)
    assert _opt("--run-reproducer", kept) == 1
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
    assert _opt(file, "--cse", "--one-shot-bufferize", *flags) == 1
    assert kept.read_text().count("ragged.partition") == 1
    assert 'pipeline: "builtin.module(one-shot-bufferize)"' in kept.read_text()
    assert "verify_each: false" in kept.read_text()
    assert _opt("--run-reproducer", kept) == 1
    assert "op was not bufferized" in capfd.readouterr().err


def test_a_run_that_succeeds_leaves_the_reproducers_place(file: Path, tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.mlir", tmp_path / "link.mlir"
    kept.write_text("mine")
    kept.chmod(0o640)
    link.symlink_to(kept)
    before = kept.stat()
    assert _opt(file, "--cse", f"--reproducer={link}") == 0
    after = kept.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    assert sorted(tmp_path.iterdir()) == sorted([file, kept, link])
    assert _opt(file, "--one-shot-bufferize", f"--reproducer={link}") == 1
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
    assert _opt(file, passes, f"--reproducer={path}") == 1
    flag = "--mlir-pass-pipeline-crash-reproducer"
    message = {
        "INPUT": f"expected another file than the input for {flag}, got '{path}'",
        "/nonexistent/a": "/nonexistent/a: no such file or directory",
        "a" * 300: f"{path}: file name too long",
    }.get(place, f"expected a regular file for {flag}, got '{path}'")
    assert capfd.readouterr() == ("", f"ragged-opt: {message}\n")
    assert file.read_text() == before
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("flag", ["--reproducer", "--mlir-generate-reproducer", "--dump-pipeline-file"])
def test_two_outputs_are_two_files(file: Path, tmp_path: Path, flag: str, capfd: pytest.CaptureFixture[str]) -> None:
    made, link = tmp_path / "made.mlir", tmp_path / "link.mlir"
    link.symlink_to(made)
    assert _opt(file, "--one-shot-bufferize", f"{flag}={link}", "-o", str(made)) == 1
    named = {"--reproducer": "--mlir-pass-pipeline-crash-reproducer"}.get(flag, flag)
    message = f"ragged-opt: expected another file for {named} than for -o, got '{link}' for both\n"
    assert capfd.readouterr() == ("", message)
    assert not made.exists()


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


def test_a_generated_reproducer_is_no_input(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt(file, "--cse", f"--mlir-generate-reproducer={file}") == 1
    assert "than the input for --mlir-generate-reproducer, got" in capfd.readouterr().err


@pytest.mark.parametrize("flag", ["--reproducer", "--mlir-generate-reproducer"])
def test_a_reproducer_is_of_the_first_part_that_fails(file: Path, tmp_path: Path, flag: str) -> None:
    kept = tmp_path / "kept.mlir"
    parts = ["func.func @a() { return }", MERGE, MERGE.replace("@f", "@g"), "func.func @b() { return }"]
    file.write_text("\n// -----\n".join(parts))
    assert _opt(file, "--split-input-file", "--one-shot-bufferize", f"{flag}={kept}") == 1
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
    assert _opt(file, "--run-reproducer", f"--mlir-generate-reproducer={kept}") == 0
    assert kept.read_text().count('pipeline: "') == 2  # in the comment, and the new one
    assert recorded(kept.read_text()) == ("builtin.module(cse)", True)
    assert _opt(kept, "--run-reproducer") == 0


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
    assert _opt("--run-reproducer", tmp_path / "in.mlir") == 0
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


def test_no_bytecode_on_a_terminal(file: Path) -> None:
    controller, terminal = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", str(file), "--emit-bytecode"],
        timeout=60,
        check=False,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    os.close(terminal)
    os.close(controller)
    assert done.returncode == 1
    assert done.stderr == "ragged-opt: expected -o FILE or a pipe for bytecode, got a terminal\n"


def test_reproducer_of_bytecode_is_text(file: Path, tmp_path: Path) -> None:
    code, kept = tmp_path / "in.mlirbc", tmp_path / "kept.mlir"
    assert _opt(file, "--emit-bytecode", "-o", code) == 0
    assert _opt(code, "--one-shot-bufferize", f"--reproducer={kept}") == 1
    assert "ragged.partition" in kept.read_text()
    assert _opt("--run-reproducer", kept) == 1


def test_damaged_bytecode(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Some of it crashes MLIR's reader, but never the tool."""
    code = tmp_path / "in.mlirbc"
    assert _opt(file, "--emit-bytecode", "-o", code) == 0
    data = code.read_bytes()
    capfd.readouterr()
    errors: list[str] = []
    for at in range(len(BYTECODE), 60):
        code.write_bytes(data[:at] + b"\0" + data[at + 1 :])
        if _opt(code, "-o", os.devnull) == 1:
            errors.append(capfd.readouterr().err)
    unreadable = [e for e in errors if "ragged-opt: expected MLIR bytecode, got some that MLIR cannot read" in e]
    assert 0 < len(unreadable) < len(errors)


def test_interrupted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragged_dialect.tools.driver.load_module", interrupt)
    assert _opt(file) == 130


def test_version_and_passes(capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt("--version") == 0
    assert re.search(r"^ragged-opt .*\nbindings: \w+ \S+\n(LLVM version \S+\n)?$", capfd.readouterr().out)
    assert _opt("--list-passes") == 0
    assert re.search(r"^--ragged-canonicalize: \S", capfd.readouterr().out, re.MULTILINE)
    assert _opt("--help") == 0
    assert "--verify-diagnostics" in capfd.readouterr().out


def test_the_whole_process(file: Path) -> None:
    """As a module, from another directory; the reader of the output may go early."""
    root = ROOT
    settings: Any = {
        "env": {**os.environ, "PYTHONPATH": str(root)},
        "capture_output": True,
        "text": True,
        "timeout": 60,
        "check": True,
        "cwd": "/",
    }
    command = f"{sys.executable} -m ragged_dialect.tools.ragged_opt {file}"
    assert subprocess.run(command.split(), **settings).stdout.startswith("module {")
    assert subprocess.run(f"{command} | true", shell=True, **settings).stderr == ""


def test_imports_nothing_heavy(file: Path) -> None:
    """NumPy and the named linalg ops take longer to import than the rest of the tool."""
    code = (
        "import sys; from ragged_dialect.tools import ragged_opt\n"
        f"assert ragged_opt.main([{str(file)!r}, '-o', {os.devnull!r}]) == 0\n"
        "heavy = ('numpy', 'difflib', 'tempfile', 'argparse', 'json')\n"
        "bad = [m for m in sys.modules if m in heavy or m.endswith('dialects.linalg')]\n"
        "assert not bad, bad"
    )
    root = ROOT
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={**os.environ, "PYTHONPATH": str(root)})


def test_empty_values_are_those_of_mlir_opt(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default marker, and no folder."""
    monkeypatch.chdir(tmp_path)
    assert parse_options(["--split-input-file="]).reading.split == MARKER
    assert _opt(file, "--cse", "--mlir-print-ir-tree-dir=", "--mlir-print-ir-after-all", "-o", os.devnull) == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_response_files(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("--cse '--ragged-fuse=max-ops=4'\n")
    outer.write_text(f"@{inner} --canonicalize")
    assert parse_options([f"@{outer}", "f.mlir"]).named == ("cse", "ragged-fuse", "canonicalize")
    assert parse_options(["@no-such-file"]).input == "@no-such-file"
    inner.write_text(f"@{outer}")
    with pytest.raises(RaggedError, match="expected response files that do not name themselves, got '@"):
        parse_options([f"@{outer}"])


def test_bytecode_is_of_one_module(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    two, output = tmp_path / "two.mlir", tmp_path / "out.bc"
    two.write_text("func.func private @f()\n// -----\nfunc.func private @g()\n")
    assert _opt(two, "--split-input-file", "--emit-bytecode", "-o", output) == 1
    assert not output.exists()
    assert _opt(file, "--emit-bytecode", "-o", output) == 0
    assert _opt(output, "--split-input-file") == 1
    assert capfd.readouterr().err.splitlines() == [
        "ragged-opt: expected one module for --emit-bytecode, got 2 of --split-input-file",
        "ragged-opt: expected text for --split-input-file, got bytecode",
    ]


def test_dumps_to_files_of_any_symbol_and_of_every_part(file: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    flags = ("--split-input-file", f"--mlir-print-ir-tree-dir={tree}", "--mlir-print-ir-after-all")
    file.write_text(
        '"a.b"() ({ "func.func"() ({ func.return }) {sym_name = "g", function_type = () -> ()} : () -> () })'
        " {sym_name = 3 : i32} : () -> ()\n"
    )
    _opt(file, "--allow-unregistered-dialect", "--pass-pipeline=a.b(func.func(cse))", *flags)
    assert [path.parent.name for path in tree.rglob("*_no-symbol-name/*/0_cse.mlir")] == ["func_func_g"]
    file.write_text(f"{MERGE}\n// -----\n{MERGE}")
    assert _opt(file, "--one-shot-bufferize", *flags) == 1
    assert sum(1 for _ in tree.rglob("*one-shot-bufferize.mlir")) == 2
