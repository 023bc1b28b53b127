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

from ragged_dialect.asm.probe import BYTECODE
from ragged_dialect.tools import ragged_opt
from ragged_dialect.tools.options import parse_options

MERGE = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
"""
BAD = MERGE.replace("{dim = 0} : (tensor<3", "{dim = 5} : (tensor<3")


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
    assert capfd.readouterr() == ("", "<stdin>:4:8: error: 'ragged.merge' op expected dim in [0, 1), got 5\n")


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
    assert parse_options(argv).pipeline == pipeline


def test_verify_each_spellings() -> None:
    for argv in [], ["--verify-each"], ["--verify-each=1"], ["--no-verify-each", "--verify-each"]:
        assert parse_options(argv).verify_each
    for argv in ["--verify-each=0"], ["--verify-each=false"], ["--no-verify-each"]:
        assert not parse_options(argv).verify_each


REFUSED = [
    (["a", "b"], "unrecognized arguments: b"),
    (["--cse", "--pass-pipeline=cse"], "expected --pass-pipeline or single passes, got both ('--cse')"),
    (["--run-reproducer", "--cse"], "expected --run-reproducer without passes, the file names them"),
    (["--verify-each=maybe"], "invalid choice: 'maybe'"),
    (
        ["--ragged-canonicalise", os.devnull],
        "1:1: error: expected a known pass, got 'ragged-canonicalise' (did you mean 'ragged-canonicalize'",
    ),
    (["--cse=x=1", os.devnull], "pipeline:1:1: error: 'cse': <Pass-Options-Parser>: no such option x"),
    (["/nonexistent/in.mlir"], "ragged-opt: /nonexistent/in.mlir: no such file or directory"),
    ([os.devnull, "-o", "/nonexistent/out.mlir"], "no such file or directory"),
    (["--run-reproducer", os.devnull], "expected a line '// ragged-opt-reproducer: …' in the input, got none"),
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
    assert capfd.readouterr().err == f"{file}:4:8: error: 'ragged.merge' op expected dim in [0, 1), got 5\n"


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
    assert capfd.readouterr() == ("", f"{file}:18:8: error: 'ragged.merge' op expected dim in [0, 1), got 5\n")
    file.write_text(f"{MERGE}// -----\n{MERGE}")
    assert _opt(file, "--split-input-file") == 0
    assert capfd.readouterr().out.count("// -----\n") == 1


def test_dumps_and_times(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _opt(file, "--cse", "--canonicalize", "--mlir-print-ir-after-all", "--mlir-timing") == 0
    err = capfd.readouterr().err
    assert re.findall(r"// -----// IR Dump After (\S+) //----- //", err) == ["cse", "canonicalize"]
    assert re.findall(r"(\S+)$", err.rstrip().split("}\n")[-1], re.MULTILINE) == ["cse", "canonicalize", "total"]
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
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        timeout=60,
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode < 0
    assert kept.read_text().startswith(MERGE)
    assert '"pipeline": "cse,test-crash"' in kept.read_text()


def test_a_broken_reproducer(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text('// ragged-opt-reproducer: {"pipeline": "cse"}\n')
    assert _opt("--run-reproducer", file) == 1
    expected = "expected pipeline and verify-each in '// ragged-opt-reproducer: …': 'verify-each'"
    assert capfd.readouterr().err == f"ragged-opt: {expected}\n"


def test_no_bytecode_on_a_terminal(file: Path) -> None:
    controller, terminal = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", str(file), "--emit-bytecode"],
        timeout=60,
        check=False,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
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
    root = Path(__file__).resolve().parent.parent
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
        "bad = [m for m in sys.modules if m in ('numpy', 'difflib', 'tempfile') or m.endswith('dialects.linalg')]\n"
        "assert not bad, bad"
    )
    root = Path(__file__).resolve().parent.parent
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={**os.environ, "PYTHONPATH": str(root)})
