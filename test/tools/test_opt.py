"""ragged-opt as a command: options, exit codes, output files."""

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
from support.merges import MERGE, tool

from conftest import ROOT
from ragged_dialect.asm.probe import BYTECODE
from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.options import MARKER, parse_options

BAD = MERGE.replace("{dim = 0} : (tensor<3", "{dim = 5} : (tensor<3")


BAD_LINE = BAD.splitlines()[3]


def _shown(name: object, line: int) -> str:
    """The error of BAD, at a line."""
    message = "'ragged.merge' op expected dim in [0, 1), got 5"
    return f"{name}:{line}:8: error: {message}\n{BAD_LINE}\n       ^\n"


def test_prints_the_short_form(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool(file) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.count("ragged.partition %arg0, %arg1 {dim = 0} : (") == 2
    assert tool(file, "--cse", "--mlir-print-op-generic") == 0
    assert capfd.readouterr().out.count('"ragged.partition"(%arg0, %arg1)') == 1
    assert tool(file, "--mlir-print-debuginfo") == 0
    assert f'loc("{file}":2:8)' in capfd.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    class Input:
        buffer = io.BytesIO(BAD.encode())

    monkeypatch.setattr(sys, "stdin", Input)
    assert tool("-") == 1
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
    (["--expand-ragged-scans=tile=-1", os.devnull], "expected a tile of at least 0 rows, got -1"),
    (
        ["--convert-ragged-to-scf=keys=0", os.devnull],
        "expected keys and keys-of-a-count of at least 1 and counts of at least 0, got 0, 8 and 0",
    ),
    (["--convert-ragged-forall-to-loops=chunk=0", os.devnull], "expected a chunk of at least 1 element, got 0"),
    (["/dev/zero"], "expected MLIR text or bytecode, got a zero byte"),
]


@pytest.mark.parametrize(("argv", "message"), REFUSED)
def test_refused(argv: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool(*argv) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_output_is_written_as_a_whole(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    assert tool(file, "-o", out) == 0
    assert out.read_text().startswith("module {")
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~_umask()
    before = out.read_text()
    file.write_text(BAD)
    assert tool(file, "-o", out) == 1
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
    assert tool(file, "-o", tmp_path / "link.mlir") == 0
    assert (tmp_path / "link.mlir").is_symlink()
    assert (tmp_path / "real.mlir").read_text().startswith("module")


def test_bytecode_there_and_back(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlirbc"
    assert tool(file, "--emit-bytecode", "-o", out) == 0
    assert out.read_bytes().startswith(BYTECODE)
    assert tool(file) == 0
    text = capfd.readouterr().out
    assert tool(out) == 0
    assert capfd.readouterr().out == text


def test_split_chunks_keep_their_lines(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{MERGE}// -----\n{MERGE}// -----\n{BAD}")
    assert tool(file, "--split-input-file") == 1
    assert capfd.readouterr() == ("", _shown(file, 18))
    file.write_text(f"{MERGE}// -----\n{MERGE}")
    assert tool(file, "--split-input-file") == 0
    assert capfd.readouterr().out.count("// -----\n") == 1


def test_dumps_and_times(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool(file, "--cse", "--canonicalize", "--mlir-print-ir-after-all", "--mlir-timing") == 0
    err = capfd.readouterr().err
    assert re.findall(r"// -----// IR Dump After (\S+) //----- //", err) == ["cse", "canonicalize"]
    names = re.findall(r"%\)  (.*)$", err, re.MULTILINE)
    assert names == ["Parser", "cse", "canonicalize", "Output", "Rest", "Total"]
    assert tool(file, "--cse", "--cse", "--mlir-print-ir-after-change") == 0
    assert capfd.readouterr().err.count("IR Dump After") == 1


def test_unregistered_dialects(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text('%0 = "other.op"() : () -> i32\n')
    assert tool(file) == 1
    assert "unregistered" in capfd.readouterr().err
    assert tool(file, "--allow-unregistered-dialect") == 0


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


def test_damaged_bytecode(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Some of it crashes MLIR's reader, but never the tool."""
    code = tmp_path / "in.mlirbc"
    assert tool(file, "--emit-bytecode", "-o", code) == 0
    data = code.read_bytes()
    capfd.readouterr()
    errors: list[str] = []
    for at in range(len(BYTECODE), 60):
        code.write_bytes(data[:at] + b"\0" + data[at + 1 :])
        if tool(code, "-o", os.devnull) == 1:
            errors.append(capfd.readouterr().err)
    unreadable = [e for e in errors if "ragged-opt: expected MLIR bytecode, got some that MLIR cannot read" in e]
    assert 0 < len(unreadable) < len(errors)


def test_interrupted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragged_dialect.tools.driver.load_module", interrupt)
    assert tool(file) == 130


def test_version_and_passes(capfd: pytest.CaptureFixture[str]) -> None:
    assert tool("--version") == 0
    assert re.search(r"^ragged-opt .*\nbindings: \w+ \S+\n(LLVM version \S+\n)?$", capfd.readouterr().out)
    assert tool("--list-passes") == 0
    assert re.search(r"^--ragged-canonicalize: \S", capfd.readouterr().out, re.MULTILINE)
    assert tool("--help") == 0
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


def test_empty_values_are_those_of_mlirtool(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default marker, and no folder."""
    monkeypatch.chdir(tmp_path)
    assert parse_options(["--split-input-file="]).reading.split == MARKER
    assert tool(file, "--cse", "--mlir-print-ir-tree-dir=", "--mlir-print-ir-after-all", "-o", os.devnull) == 0
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
    for text, got in (
        ("f.mlir '-o x", "no closing quotation"),
        ("f.mlir -o x\0y", "a zero byte"),
        ("a\\", "no escaped"),
    ):
        inner.write_text(text)
        with pytest.raises(RaggedError, match=f"expected words in '@.*', got {got}"):
            parse_options([f"@{inner}"])


def test_bytecode_is_of_one_module(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    two, output = tmp_path / "two.mlir", tmp_path / "out.bc"
    two.write_text("func.func private @f()\n// -----\nfunc.func private @g()\n")
    assert tool(two, "--split-input-file", "--emit-bytecode", "-o", output) == 1
    assert not output.exists()
    assert tool(file, "--emit-bytecode", "-o", output) == 0
    assert tool(output, "--split-input-file") == 1
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
    tool(file, "--allow-unregistered-dialect", "--pass-pipeline=a.b(func.func(cse))", *flags)
    assert [path.parent.name for path in tree.rglob("*_no-symbol-name/*/0_cse.mlir")] == ["func_func_g"]
    file.write_text(f"{MERGE}\n// -----\n{MERGE}")
    assert tool(file, "--one-shot-bufferize", *flags) == 1
    assert sum(1 for _ in tree.rglob("*one-shot-bufferize.mlir")) == 2
