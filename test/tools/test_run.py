"""ragged-run: inputs, results saved and printed, what it refuses."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.gpu_programs import with_emulator

from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.tools import ragged_run

F32 = np.float32
X = 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>'
PROGRAM = f"""
func.func @scale(%x: {X}, %by: f32) -> ({X}, tensor<?xi64>, f32) {{
  %e = ragged.empty %x : ({X}) -> {X}
  %s = linalg.fill ins(%by : f32) outs(%e : {X}) -> {X}
  %0 = arith.mulf %x, %s : {X}
  %1 = ragged.lengths %0 {{level = 1}} : ({X}) -> tensor<?xi64>
  return %0, %1, %by : {X}, tensor<?xi64>, f32
}}
func.func @flags(%a: i1, %b: i8, %c: tensor<?xbf16>) -> (i1, i8, tensor<?xbf16>) {{
  return %a, %b, %c : i1, i8, tensor<?xbf16>
}}
func.func @greet(%x: tensor<?xf32>) {{
  ragged.print %x {{label = "x"}} : (tensor<?xf32>) -> ()
  return
}}
"""


class Folder:
    """A folder with the program and arrays; runs the tool on them."""

    def __init__(self, path: Path, output: pytest.CaptureFixture[str]) -> None:
        self.path, self.output = path, output
        (path / "p.mlir").write_text(PROGRAM)
        self.array("v", np.array([[0.1, 1], [2, 3], [4, 5]], F32))
        self.array("o", np.array([0, 1, 1, 3]))

    def array(self, name: str, data: np.ndarray[Any, Any]) -> None:
        np.save(self.path / f"{name}.npy", data)

    def run(self, entry: str, *inputs: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """Exit code, stdout and stderr; an input like `v.npy` is a file of the folder."""
        arguments = [str(self.path / "p.mlir"), "--entry", entry, *options]
        for text in inputs:
            arguments.append(f"--input={self.path / text if text.endswith(('.npy', '.npz')) else text}")
        code = ragged_run.main(arguments)
        return (code, *self.output.readouterr())


@pytest.fixture
def folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Folder:
    """The program, values `v.npy` and offsets `o.npy`."""
    return Folder(tmp_path, capfd)


def test_prints_results(folder: Folder) -> None:
    code, out, err = folder.run("scale", "v.npy", "o.npy", "10")
    assert (code, err) == (0, "")
    assert out == ("result0 = [[[1.0, 10.0]], [], [[20.0, 30.0], [40.0, 50.0]]]\nresult1 = [1, 0, 2]\nresult2 = 10.0\n")


def test_prints_long_lists_by_component(folder: Folder) -> None:
    folder.array("v", np.full((30, 2), 0.1, F32))
    folder.array("o", np.array([0, 10, 30]))
    code, out, _ = folder.run("scale", "v.npy", "o.npy", "1")
    lines = out.splitlines()
    assert code == 0
    assert lines[:3] == ["result0 = [", "  [", "    [0.1, 0.1],"]
    assert lines[12:14] == ["  ],", "  ["]
    assert lines[34:] == ["  ],", "]", "result1 = [10, 20]", "result2 = 1.0"]


def test_prints_large_results_by_part(folder: Folder) -> None:
    folder.array("v", np.zeros((2000, 2), F32))
    folder.array("o", np.array([0, 2000]))
    code, out, _ = folder.run("scale", "v.npy", "o.npy", "1")
    assert code == 0
    assert out.startswith("result0 = [[0., 0.],\n           [0., 0.],")
    assert "\nresult0.1 = [   0, 2000]\nresult1 = [2000]\n" in out


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
def test_saves_results(folder: Folder, element: str) -> None:
    """As .npz; bfloat16, which NumPy's format does not know, as pairs of bytes, which are taken back."""
    output = folder.path / "out.npz"
    if element == "float32":
        code, out, err = folder.run("scale", "v.npy", "o.npy", "10", options=("--output", str(output)))
        loaded = np.load(output)
        assert set(loaded) == {"result0", "result0.1", "result1", "result2"}
        assert loaded["result0"].tolist() == [[1, 10], [20, 30], [40, 50]]
        assert loaded["result0.1"].tolist() == [0, 1, 1, 3]
        assert (loaded["result2"].dtype, loaded["result2"].shape) == (np.dtype(F32), ())
    else:
        folder.array("b", np.array([1.5, -2], ml_dtypes.bfloat16))
        code, out, err = folder.run("flags", "true", "-7", "b.npy", options=("--output", str(output)))
        loaded = np.load(output)
        assert loaded["result2"].view(ml_dtypes.bfloat16).tolist() == [1.5, -2]
        assert loaded["result0"].dtype == bool
    assert (code, out, err) == (0, "", "")
    assert sorted(p.name for p in folder.path.glob("*")) == sorted(
        ["p.mlir", "v.npy", "o.npy", "out.npz", *(["b.npy"] if element == "bfloat16" else [])]
    )


def test_a_function_without_results(folder: Folder) -> None:
    folder.array("v", np.array([1.5, 2], F32))
    output = folder.path / "out.npz"
    assert folder.run("greet", "v.npy", options=("--output", str(output))) == (0, "x: [1.5, 2.0]\n", "")
    assert np.load(output).files == []


def test_bytecode_and_standard_input(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.path / "p.mlir"
    with file.open("wb") as out:
        parse_module(PROGRAM, context()).operation.write_bytecode(out)
    assert folder.run("flags", "false", "1", "o.npy")[2].endswith("expected dtype bfloat16, got int64\n")
    with (folder.path / "bad.mlir").open("w+") as stdin:
        stdin.write("func.func @f( {")
        stdin.seek(0)
        monkeypatch.setattr("sys.stdin", stdin)
        assert ragged_run.main([]) == 1
    expected = f"<stdin>:1:14: error: expected non-function type\nfunc.func @f( {{\n{13 * ' '}^\n"
    assert folder.output.readouterr() == ("", expected)


def test_scalars(folder: Folder) -> None:
    folder.array("b", np.zeros(0, ml_dtypes.bfloat16))
    assert folder.run("flags", "TRUE", "0x1f", "b.npy")[1] == "result0 = True\nresult1 = 31\nresult2 = []\n"
    assert folder.run("scale", "v.npy", "o.npy", "-inf")[1].endswith("result2 = -inf\n")


REFUSED = [
    ("other", [], "expected an entry among scale, flags, greet, got 'other'"),
    ("scale", [], "scale: expected 3 inputs (argument 0: values, offsets1; argument 1), got 0"),
    ("greet", ["v.npy", "o.npy"], "greet: expected 1 inputs (argument 0), got 2"),
    ("scale", ["v.npy", "o.npy", "x"], "expected a number of type float32, got 'x'"),
    ("flags", ["1", "1", "o.npy"], "expected true or false, got '1'"),
    ("flags", ["true", "1.5", "o.npy"], "expected a number of type int8, got '1.5'"),
    ("flags", ["true", "200", "o.npy"], "flags: argument 1: expected a number in [-128, 127], got 200"),
    ("greet", ["v.npy"], "greet: argument 0: expected rank 1, got rank 2"),
    ("scale", ["o.npy", "o.npy", "1"], "scale: argument 0, values: expected rank 2, got rank 1"),
    ("scale", ["v.npy", "bad.npy", "1"], "{0}/bad.npy: expected an .npy file with an array of numbers"),
    ("scale", ["v.npy", "empty.npy", "1"], "{0}/empty.npy: expected an .npy file with an array of numbers"),
    ("scale", ["v.npy", "objects.npy", "1"], "{0}/objects.npy: expected an .npy file with an array of numbers"),
    ("scale", ["v.npy", "two.npz", "1"], "{0}/two.npz: expected an .npy file with one array, got an .npz file"),
    ("scale", ["v.npy", "none.npy", "1"], "{0}/none.npy: no such file or directory"),
    ("scale", ["v.npy", "wrong.npy", "1"], "argument 0: level 1, component 0: expected offsets[0] == 0, got 1"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("entry", "inputs", "message"), REFUSED)
def test_refused(folder: Folder, entry: str, inputs: list[str], message: str) -> None:
    (folder.path / "bad.npy").write_text("no array")
    (folder.path / "empty.npy").write_bytes(b"")
    np.save(folder.path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez(folder.path / "two.npz", a=np.zeros(1), b=np.zeros(1))
    folder.array("wrong", np.array([1, 3]))
    output = folder.path / "out.npz"
    code, out, err = folder.run(entry, *inputs, options=("--output", str(output)))
    assert (code, out) == (1, "")
    assert err == f"ragged-run: {message.format(folder.path)}\n"
    assert not output.exists()


OPTIONS = [
    (("--target", "tpu"), "ragged-run: expected a target among cpu, gpu, emulator, ptx-emulator, auto, got 'tpu'\n"),
    (("--arch", "sm_90"), "ragged-run: expected no arch for target 'cpu', got 'sm_90'\n"),
    (("--schedule", "segment"), "ragged-run: expected no schedule for target 'cpu', got 'segment'\n"),
    (("--threads", "0"), "ragged-run: expected --threads of at least 1, got 0\n"),
    (("--output", "/nonexistent/out.npz"), "ragged-run: /nonexistent/out.npz: no such file or directory\n"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_refused(folder: Folder, options: tuple[str, ...], message: str) -> None:
    assert folder.run("scale", "v.npy", "o.npy", "1", options=options) == (1, "", message)


def test_usage(folder: Folder) -> None:
    assert ragged_run.main(["--threads", "many"]) == 1
    assert "error: argument --threads: invalid int value: 'many'\n" in folder.output.readouterr().err
    assert ragged_run.main(["--help"]) == 0
    assert "values, index vectors, extents" in folder.output.readouterr().out
    assert ragged_run.main(["--version"]) == 0
    assert folder.output.readouterr().out.startswith("ragged-run ")


def test_threads(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option wins over the environment, which is as before afterwards."""
    for before in ("many", None):
        monkeypatch.delenv("RAGGED_NUM_THREADS", raising=False)
        if before is not None:
            monkeypatch.setenv("RAGGED_NUM_THREADS", before)
        assert folder.run("scale", "v.npy", "o.npy", "1", options=("--threads", "2"))[0] == 0
        assert os.environ.get("RAGGED_NUM_THREADS") == before


def test_targets(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same output; `auto` tells on stderr what it took."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    arguments = ("scale", "v.npy", "o.npy", "10")
    code, out, _ = folder.run(*arguments)
    assert code == 0
    assert folder.run(*arguments, options=("--target", "emulator")) == (0, out, "")
    assert folder.run(*arguments, options=("--target", "auto", "--arch", "sm_90")) == (0, out, "target: cpu\n")
    code, nothing, err = folder.run(*arguments, options=("--target", "gpu"))
    assert (code, nothing) == (1, "")
    assert err.startswith("ragged-run: expected CuPy to run on a GPU, got: ")
    with_emulator(monkeypatch)
    assert folder.run(*arguments, options=("--target", "gpu", "--arch", "sm_90")) == (0, out, "")
    assert folder.run(*arguments, options=("--target", "auto")) == (0, out, "target: gpu\n")
    folder.array("o", np.array([0, 1]))
    for target in ("gpu", "emulator"):
        assert folder.run(*arguments, options=("--target", target)) == (
            1,
            "",
            "ragged-run: argument 0: level 1, component 0: expected offsets[1] == 3, got 1\n",
        )


def test_no_check(folder: Folder) -> None:
    folder.array("o", np.array([0, 1]))
    code, _, err = folder.run("scale", "v.npy", "o.npy", "1")
    assert (code, err) == (1, "ragged-run: argument 0: level 1, component 0: expected offsets[1] == 3, got 1\n")
    code, out, err = folder.run("scale", "v.npy", "o.npy", "1", options=("--no-check",))
    assert (code, err) == (0, "")
    assert out.startswith("result0 = [[[0.1, 1.0]]]\n")
