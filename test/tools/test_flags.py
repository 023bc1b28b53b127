"""Flags of ragged-opt: what is declared, tried and refused; diagnostics as they are shown."""

from __future__ import annotations

import dataclasses
import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from ragged_dialect.asm import files
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.tools import cli, driver, ragged_opt, stock
from ragged_dialect.tools.flags import known
from ragged_dialect.tools.options import GROUPS, IMPOSSIBLE, Diagnosing, Options, parse_options
from ragged_dialect.tools.rendering import Renderer

EMPTY = "func.func @f() { return }\n"
LIT = "\n".join(path.read_text() for path in (ROOT / "lit_tests" / "tools").glob("*.mlir"))


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> str:
    (tmp_path / "in.mlir").write_text(EMPTY)
    return str(tmp_path / "in.mlir")


def refused(capfd: pytest.CaptureFixture[str], *argv: str) -> str:
    """What is said of a command that is refused."""
    assert ragged_opt.main(argv) == 1
    out, err = capfd.readouterr()
    assert out == ""
    return err


def test_groups_are_those_of_the_options() -> None:
    assert [field.type for field in dataclasses.fields(Options)][2:-1] == [group.__name__ for group in GROUPS]


def test_names_are_there_once() -> None:
    names = [name for group in GROUPS for name in known([group])] + [flag.name for flag in IMPOSSIBLE]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [name for name in known(GROUPS) if name != "--help-hidden"])
def test_every_flag_is_in_a_lit_file(name: str) -> None:
    assert f"{name} " in LIT.replace("=", " ")


@pytest.mark.parametrize("flag", IMPOSSIBLE, ids=lambda flag: flag.name)
def test_what_cannot_be_had_is_refused(flag: Any, file: str, capfd: pytest.CaptureFixture[str]) -> None:
    expected = f"ragged-opt: expected a flag that can be had here, got '{flag.name}' ({flag.help})\n"
    assert refused(capfd, file, f"{flag.name}=x") == expected


def test_values_do_not_swallow_the_file() -> None:
    for argv in (["--split-input-file", "f"], ["--verify-each", "f"], ["--verify-diagnostics", "--", "f"]):
        assert parse_options(argv).input == "f"
    assert parse_options(["-o", "out", "f"]).output.output == parse_options(["-o=out"]).output.output == "out"
    assert parse_options(["--mlir-print-ir-after=a,b", "--mlir-print-ir-after=c"]).dumping.after == ("a", "b", "c")


def test_streams_that_never_end(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    class Endless(io.RawIOBase):
        buffer: Any

        def read(self, size: int = -1) -> bytes:
            return b"// x" * (size // 4)

    endless = Endless()
    endless.buffer = endless
    monkeypatch.setattr(files, "LONGEST_STREAM", 4 << 20)
    monkeypatch.setattr(sys, "stdin", endless)
    assert refused(capfd, "-") == "ragged-opt: expected at most 4 MiB from a stream, got more\n"


def test_unknown_flags_are_refused_before_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "unknown flag '--no-such-flag'" in refused(capfd, "--no-such-flag")


def test_help_has_a_short_name(capfd: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    for name in ("-h", "--help"):
        assert ragged_opt.main([name]) == 0
        shown.append(capfd.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0].startswith("usage: ragged-opt [flags] [file]\n")


def test_without_the_stock_tool(file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(stock, "find", lambda: None)
    expected = "expected torch-mlir-opt for --mlir-print-value-users, got none (it comes with torch-mlir)"
    assert refused(capfd, file, "--mlir-print-value-users") == f"ragged-opt: {expected}\n"
    assert ragged_opt.main(["--version"]) == 0


def test_what_the_stock_tool_refuses(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driver, "print_module", lambda *_, **__: "zz")
    text = refused(capfd, file, "--mlir-print-value-users")
    assert "expected a module that torch-mlir-opt reads for --mlir-print-value-users, got -:1:1: error" in text


def test_what_is_not_read_as_it_is(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driver, "_bytecode", lambda *_: "func.func @other() { return }")
    expected = "error: expected bytecode of the module that is read as it is, got another module"
    assert expected in refused(capfd, file, "--verify-roundtrip")


@pytest.mark.parametrize(
    ("line", "column", "caret"),
    [("  %0 = x", 3, "  ^"), ("\t\tx", 3, "\t\t^"), ("é é x", 7, "    ^"), ("", 1, None), ("x" * 3000, 1, None)],
)
def test_carets(line: str, column: int, caret: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns count bytes."""
    monkeypatch.setitem(cli.INPUTS, "f.mlir", f"\n{line}\n".encode())
    shown = Renderer(Diagnosing(color=False)).render(Diagnostic("expected more", "f.mlir", 2, column))
    head = f"f.mlir:2:{column}: error: expected more"
    assert shown == (head if caret is None else f"{head}\n{line}\n{caret}")


def test_lines_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.INPUTS, "f.mlir", b"x")
    for name, line in (("f.mlir", 9), ("g.mlir", 1), ("f.mlir", 0)):
        assert "\n" not in Renderer(Diagnosing(color=False)).render(Diagnostic("expected more", name, line, 1))


def test_colours_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text("zz")
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        controller, terminal = pty.openpty()
        command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "in.mlir"]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **more}
        env.pop("NO_COLOR", None) if not more else None
        subprocess.run(command, cwd=tmp_path, env=env, stderr=terminal, timeout=60, check=False)
        os.close(terminal)
        assert (b"\x1b[1;31merror:" in os.read(controller, 10_000)) == coloured
        os.close(controller)


def test_passes_of_torch_are_loaded_when_they_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
    )
    assert ragged_opt.main([str(tmp_path / "in.mlir"), "--stablehlo-legalize-to-linalg"]) == 0
    assert "linalg.generic" in capfd.readouterr().out


def test_readme_counts_the_flags() -> None:
    count = len({one.flag for one in known(GROUPS).values()})
    assert (
        f"{count} work as in `mlir-opt` or are our own, {len(IMPOSSIBLE)} cannot be had"
        in (ROOT / "README.md").read_text()
    )


@pytest.mark.parametrize("name", ["arith", "gpu", "ragged", "builtin"])
def test_dialects_that_are_there(name: str, file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Loading them would end the process."""
    path = tmp_path / "d.mlir"
    path.write_text(f"module {{ irdl.dialect @{name} {{ irdl.operation @op {{}} }} }}\n")
    expected = f"{path}:1:10: error: expected a new dialect, got '{name}', which is there"
    assert refused(capfd, file, f"--irdl-file={path}").startswith(expected)
    path.write_text("irdl.dialect @mine { irdl.operation @op {} }\n")
    assert "got 'mine', which is there" in refused(capfd, file, f"--irdl-file={path},{path}")


def test_the_only_op_may_be_removed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text("func.func private @f()")
    text = refused(capfd, str(tmp_path / "in.mlir"), "--no-implicit-module", "--symbol-dce")
    assert text == "ragged-opt: expected one op after the passes with --no-implicit-module, got 0\n"


def test_a_module_that_is_written_stays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text("\nmodule @m { func.func @f() { return } }")
    assert ragged_opt.main([str(tmp_path / "in.mlir"), "--no-implicit-module"]) == 0
    assert capfd.readouterr().out.startswith("module @m {")


def test_lines_of_an_irdl_file_are_shown(file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.mlir").write_text("irdl.zz\n")
    assert "irdl.zz\n^" in refused(capfd, file, f"--irdl-file={tmp_path / 'd.mlir'}")


def test_when_the_stock_tool_dies(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    died = subprocess.CompletedProcess([], -6, b"", b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: died)
    expected = "expected a module that torch-mlir-opt reads for --mlir-print-value-users, got one that it dies of"
    assert refused(capfd, file, "--mlir-print-value-users") == f"ragged-opt: {expected}\n"


EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
FILES = [path for path in sorted((ROOT / "lit_tests").rglob("*.mlir")) if "invalid" not in path.name]


@pytest.mark.parametrize(
    "path", [*EXAMPLES, *(pytest.param(path, marks=pytest.mark.slow) for path in FILES)], ids=lambda path: path.stem
)
def test_programs_are_read_as_they_are_written(path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As text, as bytecode, and from a reproducer."""
    flags = ("--split-input-file", "--allow-unregistered-dialect")
    once, again = tmp_path / "once.mlir", tmp_path / "again.mlir"
    if ragged_opt.main([str(path), *flags, "-o", str(once)]) != 0:
        pytest.skip("a file with something to refuse")
    assert ragged_opt.main([str(once), *flags, "--verify-roundtrip", "-o", str(again)]) == 0, capfd.readouterr().err
    assert again.read_text() == once.read_text()
    if "// -----" not in once.read_text():
        kept = tmp_path / "kept.mlir"
        assert ragged_opt.main([str(once), *flags[1:], f"--mlir-generate-reproducer={kept}", "--cse"]) == 0
        expected = capfd.readouterr().out
        assert ragged_opt.main([str(kept), *flags[1:], "--run-reproducer"]) == 0
        assert capfd.readouterr().out == expected
