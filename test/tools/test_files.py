"""What the tools do with files and streams that are not what they seem."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.c_program import NO_CC

from conftest import ROOT
from ragged_dialect.artifacts.cpu_library import write
from ragged_dialect.tools import ragged_compile, ragged_opt, ragged_run, ragged_translate

DOUBLE = """func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
PRINTS = "func.func @f(%x: tensor<?xf32>) { ragged.print %x : (tensor<?xf32>) -> () return }"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with programs and an input."""
    (tmp_path / "f.mlir").write_text(DOUBLE)
    (tmp_path / "p.mlir").write_text(PRINTS)
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(tool: str, line: str, folder: Path) -> tuple[int, str]:
    """Exit code and errors of a tool in a process of its own."""
    command = f"exec {sys.executable} -m ragged_dialect.tools.ragged_{tool} {line}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("tool", "line"),
    [("opt", "f.mlir"), ("opt", "--help"), ("run", "p.mlir --input x.npy"), ("translate", "f.mlir")],
)
def test_closed_output(tool: str, line: str, folder: Path) -> None:
    assert shell(tool, f"{line} >&-", folder) == (1, f"ragged-{tool}: standard output: bad file descriptor\n")


def test_full_output(folder: Path) -> None:
    text = "ragged-run: standard output: no space left on device\n"
    assert shell("run", "p.mlir --input x.npy >/dev/full", folder) == (1, text)


@pytest.mark.parametrize(
    ("line", "place", "reason"),
    [("<&-", "standard input", "bad file descriptor"), ("/proc/self/mem", "/proc/self/mem", "input/output error")],
)
def test_inputs_that_cannot_be_read(line: str, place: str, reason: str, folder: Path) -> None:
    assert shell("opt", line, folder) == (1, f"ragged-opt: {place}: {reason}\n")


def test_all_streams_closed(folder: Path) -> None:
    """What is printed to them does not get into the file that has their number."""
    assert shell("opt", "f.mlir --mlir-timing -o out.mlir <&- >&- 2>&-", folder) == (0, "")
    assert (folder / "out.mlir").read_text().startswith("module {\n")
    assert "total" not in (folder / "out.mlir").read_text()


def test_inputs_that_may_never_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "/dev/zero"):
        assert ragged_run.main(["f.mlir", "--input", name]) == 1
        assert capsys.readouterr().err == f"ragged-run: expected a file, got a pipe or a device: {name}\n"


def test_damaged_headers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (folder / "x.npy").read_bytes()
    for damaged in (data.replace(b"(3,)", b"(3, "), data.replace(b"(3,)", b"(9,)"), data[:-1]):
        (folder / "bad.npy").write_bytes(damaged)
        assert ragged_run.main(["f.mlir", "--input", "bad.npy"]) == 1
        text = "ragged-run: bad.npy: expected an .npy file with an array of numbers\n"
        assert capsys.readouterr().err == text


def test_file_names_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"\xff.mlir")
    (folder / name).write_text(DOUBLE)
    assert ragged_opt.main([name, "--mlir-print-debuginfo"]) == 0
    assert "udcff.mlir" in capsys.readouterr().out


FLAGS = [
    "--pass-pipeline=\udcff",
    "--mlir-print-ir-after=\udcff",
    "--output-split-marker=\udcff",
    "--split-input-file=\udcff",
    "--load-pass-plugin=\udcff",
    "--ragged-transform-interpreter=library=\udcff",
    "--one-shot-bufferize=\udcff",
]


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_that_are_no_text(flag: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ragged_opt.main(["f.mlir", flag]) == 1
    name, _, value = flag.partition("=")
    assert capsys.readouterr() == ("", f"ragged-opt: expected UTF-8 for '{name}', got {value!r}\n")


def test_diagnostics_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ragged_translate.main(["f.mlir", "--to=ptx", "--schedule=\udcff"]) == 1
    assert "expected a schedule among general, balanced, segment, contract, got '\\udcff'" in capsys.readouterr().err


NAMES = [
    "lib,-z,execstack.so",
    'q"\n#error x\n".so',
    "-Wl,x.so",
    "@f.so",
    "a,b/libx.so",
    "n" * 252 + ".so",
    "\udcff.so",
]


@pytest.mark.sampled(8)
@pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")
@pytest.mark.parametrize("name", NAMES)
def test_names_of_libraries(name: str, folder: Path) -> None:
    """They reach neither the linker as flags nor C as code."""
    (folder / "a,b").mkdir()
    files = write(DOUBLE, None, folder / name)
    assert [file.name for file in files] == [Path(name).name, Path(name).stem.removeprefix("lib") + ".h"]
    assert os.fsencode(Path(name).name) + b"\0" in files[0].read_bytes()
    assert not list(folder.glob(".ragged.*"))


@pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")
def test_a_library_and_its_header_or_neither(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "f.h").mkdir()
    before = sorted(folder.iterdir())
    assert ragged_compile.main(["f.mlir", "-o", "libf.so"]) == 1
    assert capsys.readouterr().err == "ragged-compile: f.h: is a directory\n"
    assert sorted(folder.iterdir()) == before
    (folder / "libg.so").mkdir()
    (folder / "g.h").write_text("mine")
    assert ragged_compile.main(["f.mlir", "-o", "libg.so"]) == 1
    assert (folder / "g.h").read_text() == "mine"
    (folder / "libg.so").rmdir()
    assert ragged_compile.main(["f.mlir", "-o", "lib.so"]) == 0
    assert (folder / "lib.h").is_file()


def test_outputs_where_no_file_can_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loop").symlink_to("loop")
    for name, text in (("loop", "too many levels of symbolic links"), ("new/", "is a directory"),
                       ("x.npy/", "not a directory"), ("none/new", "no such file or directory")):  # fmt: skip
        assert ragged_run.main(["f.mlir", "--input", "x.npy", "--output", name]) == 1
        assert ragged_opt.main(["f.mlir", "-o", name]) == 1
        assert capsys.readouterr().err == f"ragged-run: {name}: {text}\nragged-opt: {name}: {text}\n"
    assert sorted(os.listdir(folder)) == ["f.mlir", "loop", "p.mlir", "x.npy"]


def test_no_memory(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def endless(path: Path) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Path, "read_bytes", endless)
    assert ragged_opt.main(["f.mlir"]) == 1
    assert capsys.readouterr().err == "ragged-opt: expected more memory, got no more\n"


def test_no_bindings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_MLIR_PACKAGE", "zz")
    code, text = shell("run", "f.mlir --input x.npy", folder)
    assert (code, text.split(": zz:")[0]) == (1, "ragged-run: expected MLIR Python bindings, got none that can be used")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--fast-math"], "expected no --fast-math for --target=cpu, got one"),
        (["--schedule=general"], "expected no --schedule for --target=cpu, got one"),
        (["--target=sm_90", "--cpu=generic"], "expected no --cpu for --target=sm_90, got one"),
    ],
)
def test_options_of_another_target(flags: list[str], text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert ragged_compile.main(["f.mlir", "-o", "libf.so", *flags]) == 1
    assert capfd.readouterr().err == f"ragged-compile: {text}\n"
