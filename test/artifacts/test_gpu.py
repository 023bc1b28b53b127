"""Python modules made of programs: alone, on the fake CuPy, with the results and errors of the package."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.gpu_artifacts import artifact, imported
from support.gpu_programs import HEADER, with_emulator

from ragged_dialect import RangeError, compile
from ragged_dialect.artifacts import gpu_module
from ragged_dialect.artifacts.amalgamation import amalgamate
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.tools import ragged_compile

F32 = np.float32
X = 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>'
SOFT = f"""
func.func @soft(%x: {X}, %by: f32) -> ({X}, tensor<?xi64>) {{
  %0 = math.exp %x : {X}
  %1 = ragged.lengths %0 {{level = 1}} : ({X}) -> tensor<?xi64>
  return %0, %1 : {X}, tensor<?xi64>
}}
"""
GOOD = (np.array([[0.1, 1], [2, 3], [4, 5]], F32), np.array([0, 1, 1, 3]))


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake with kernels that the emulator runs."""
    return with_emulator(monkeypatch)


def test_results(tmp_path: Path, cupy: StandIn) -> None:
    made = artifact(tmp_path, SOFT)
    (values, offsets), lengths = made.soft(GOOD, 2.5)
    expected = compile(SOFT, target="emulator")(GOOD, 2.5)
    assert values.get().tolist() == expected[0][0].tolist()
    assert (offsets.get().tolist(), lengths.get().tolist()) == ([0, 1, 1, 3], [1, 0, 2])


def test_buffers_of_any_size(tmp_path: Path, cupy: StandIn) -> None:
    """The file has the kernels with 64-bit indices too; they are loaded when a launch needs them."""
    made = artifact(tmp_path, SOFT)
    expected = made.soft(GOOD, 2.5)[0][0].get().tolist()
    assert len(cupy.loaded) == 1
    made.LIMIT = 2
    for _ in range(2):
        assert made.soft(GOOD, 2.5)[0][0].get().tolist() == expected
    assert [b"_i32" in ptx for ptx in cupy.loaded] == [True, False]


def test_printing(tmp_path: Path, cupy: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    text = f'func.func @f(%x: {X}) {{ ragged.print %x {{label = "x"}} : ({X}) -> () return }}'
    assert artifact(tmp_path, text).f(GOOD) is None
    out = capsys.readouterr().out
    compile(text)(GOOD)
    assert capsys.readouterr().out == out


def test_errors(tmp_path: Path, cupy: StandIn) -> None:
    """The texts of the package, of classes of the module's own."""
    made = artifact(tmp_path, SOFT)
    function = compile(SOFT)
    for given in [(GOOD,), (GOOD, "x"), (GOOD[0], 1), ((GOOD[0], 3), 1), ((GOOD[0][:, :1], GOOD[1]), 1)]:
        with pytest.raises(TypeError) as expected:
            function(*given)
        with pytest.raises(made.ArgumentError) as error:
            made.soft(*given)
        assert str(error.value).replace("array on the device or a NumPy", "NumPy").replace(
            "an NumPy", "a NumPy"
        ) == str(expected.value)
        assert isinstance(error.value, made.RaggedError)
    made.soft((GOOD[0], np.array([0, 2])), 1.0)
    with pytest.raises(made.RuntimeCheckError) as failure:
        made.synchronize()
    assert str(failure.value) == "argument 0: level 1, component 0: expected offsets[1] == 3, got 2"


def test_an_index_out_of_range(tmp_path: Path, cupy: StandIn) -> None:
    """One class for a kind of check, here as in the package."""
    text = f"""func.func @row(%x: {X}, %i: index) -> tensor<?x2xf32> {{
      %0 = ragged.select %x, %i {{dim = 0}} : ({X}, index) -> tensor<?x2xf32>
      return %0 : tensor<?x2xf32>
    }}"""
    made = artifact(tmp_path, text, check="sync")
    assert made.row(GOOD, 2).get().tolist() == [[2, 3], [4, 5]]
    for raised, function in ((made.RangeError, made.row), (RangeError, compile(text, target="emulator"))):
        with pytest.raises(raised, match=r"ragged.select: level 0: expected index in \[0, 3\), got 3"):
            function(GOOD, 3)
    assert issubclass(made.RangeError, IndexError)
    assert issubclass(made.RangeError, RuntimeError)


def test_checks_at_once_and_none(tmp_path: Path, cupy: StandIn) -> None:
    bad = (GOOD[0], np.array([0, 2]))
    made = artifact(tmp_path, SOFT, check="sync")
    assert "Every call waits for its checks." in made.__doc__
    with pytest.raises(made.RuntimeCheckError):
        made.soft(bad, 1.0)
    made = artifact(tmp_path, SOFT, check=False)
    assert "check" not in made.__doc__
    assert made.soft(bad, 1.0)[0][1].get().tolist() == [0, 2]


def test_constants_and_bfloat16(tmp_path: Path, cupy: StandIn) -> None:
    text = """func.func @f(%a: bf16) -> (bf16, tensor<2xbf16>) {
      %0 = arith.constant dense<[1.5, -2.0]> : tensor<2xbf16>
      %1 = arith.mulf %a, %a : bf16
      return %1, %0 : bf16, tensor<2xbf16>
    }"""
    made = artifact(tmp_path, text)
    for _ in range(2):
        number, constant = made.f(1.5)
        assert (number, constant.dtype, constant.get().tolist()) == (2.25, np.dtype(ml_dtypes.bfloat16), [1.5, -2])


def test_the_file(tmp_path: Path, cupy: StandIn) -> None:
    """Reads well from the top, and imports NumPy and what comes with Python."""
    text = gpu_module.write(SOFT, None, tmp_path / "soft.py", arch="sm_90").read_text()
    assert text.startswith(
        '"""soft, compiled for sm_90. Needs NumPy and CuPy.\n\n'
        "soft((values: float32[?, 2], offsets1: int64[?]), float32) -> "
        "(values: float32[?, 2], offsets1: int64[?]), int64[?]\n"
    )
    tree = ast.parse(text)
    assert "ragged_dialect" not in {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else
                     [node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }  # fmt: skip
    modules = {a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names}
    assert modules - set(sys.stdlib_module_names) == {"numpy"}
    assert f'PTX = r"""{HEADER}' in text
    assert "\n\n\n\n" not in text


def test_names_of_the_runtime_differ() -> None:
    """Two modules with one name would overwrite each other."""
    names = [amalgamate([module]).names for module in gpu_module.RUNTIME]
    shared = {name for k, one in enumerate(names) for other in names[:k] for name in one & other}
    assert not shared


def test_the_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With real PTX."""
    (tmp_path / "p.mlir").write_text(SOFT)
    output = tmp_path / "soft.py"
    given = [str(tmp_path / "p.mlir"), "--entry", "soft", "-o", str(output)]
    assert ragged_compile.main([*given, "--target", "sm_90"]) == 0
    assert ".visible .entry" in output.read_text()
    assert "\n.target sm_90\n" in output.read_text()
    assert "by synchronize()" in output.read_text()
    assert ragged_compile.main([*given, "--target", "sm_80", "--no-check", "--fast-math"]) == 0
    assert "by synchronize()" not in output.read_text()
    assert "\n.target sm_80\n" in output.read_text()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "cupy", None)
    made = imported(output)
    with pytest.raises(made.DeviceError, match=r"expected CuPy to run on a GPU, got: .*; pip install cupy-cuda12x"):
        made.soft(GOOD, 1.0)


def test_the_tool_makes_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is passed on to the CPU's part."""
    from ragged_dialect.artifacts import cpu_library

    seen: list[Any] = []
    monkeypatch.setattr(cpu_library, "write", lambda program, _, *given: seen.append((program.name, *given)))
    (tmp_path / "p.mlir").write_text(SOFT)
    given = [str(tmp_path / "p.mlir"), "--target", "cpu", "-o", "libsoft.so"]
    assert ragged_compile.main(given) == 0
    assert ragged_compile.main([*given, "--entry", "soft", "--no-check", "--cpu", "generic"]) == 0
    assert seen == [("soft", Path("libsoft.so"), True, "host"), ("soft", Path("libsoft.so"), False, "generic")]


REFUSED = [
    ([], "ragged-compile: expected -o FILE, got none\n"),
    (["-o", "x.py", "--target", "sm_1"], "ragged-compile: expected an arch among sm_80"),
    (["-o", "x.py", "--target", "sm_90", "--entry", "g"], "ragged-compile: expected an entry among soft, got 'g'\n"),
    (["-o", "/none/x.py", "--target", "sm_90"], "ragged-compile: /none/x.py: no such file or directory\n"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_the_tool_refuses(tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.mlir").write_text(SOFT)
    assert ragged_compile.main([str(tmp_path / "p.mlir"), *options]) == 1
    assert capsys.readouterr().err.startswith(message)


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert ragged_compile.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ragged-compile ")
    assert ragged_compile.main(["--help"]) == 0
    assert "a shared library, and a C header" in capsys.readouterr().out
