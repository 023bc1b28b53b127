"""Passes, pipelines, ops and schedules of other packages: the example."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from support.packages import SUMS, opt

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect import plugins
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.reference.interpreter import run
from ragged_dialect.runtime import cache
from ragged_dialect.tools import ragged_opt


def test_passes_are_found_by_name(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--rowtools-drop-prints=keep=b") == 0
    assert capfd.readouterr().out.count("ragged.print") == 1
    assert opt(rowtools, "--rowtools-drop-prints", "--mlir-print-ir-after=rowtools-drop-prints") == 0
    assert "IR Dump After rowtools-drop-prints" in capfd.readouterr().err


def test_pipelines_are_found_by_name(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--rowtools-release-pipeline", "--mlir-print-ir-after=rowtools-drop-prints") == 0
    assert "IR Dump After rowtools-drop-prints (stage 'quiet')" in capfd.readouterr().err


def test_they_are_listed(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert ragged_opt.main(["--list-passes"]) == 0
    out = capfd.readouterr().out
    assert "--rowtools-drop-prints: Drop `ragged.print`, but for those with a label to keep.\n    keep  (str)\n" in out
    assert "--rowtools-release-pipeline: Ragged IR to the LLVM dialect" in out


def test_they_are_not_looked_for_without_a_reason(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--cse", "--ragged-canonicalize") == 0
    assert "rowtools.plugin" not in sys.modules
    capfd.readouterr()
    assert opt(rowtools, "--no-plugins", "--rowtools-drop-prints") == 1
    assert "unknown flag '--rowtools-drop-prints'" in capfd.readouterr().err


def test_a_module_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "plugin"))
    for _ in range(2):  # the second time it is there
        assert opt(folder, "--no-plugins", "--load-pass-plugin=rowtools.plugin", "--rowtools-drop-prints") == 0
        assert "ragged.print" not in capfd.readouterr().out


REVERSE = """!t = tensor<?x?x4xf32, #ragged.layout<"LAYOUT">>
func.func @f(%x: !t) -> !t {
  %e = math.exp %x : !t
  %y = rowtools.reverse %e {dim = 1} : (!t) -> !t
  %z = math.absf %y : !t
  return %z : !t
}
"""
LAYOUTS = {"dr|d": ([0, 2, 2, 5],), "dw|d": ([3, 0, 0], [2, 0, 4])}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("layout", "target"),
    [
        ("dr|d", "cpu"),
        ("dw|d", "cpu"),
        ("dr|d", "ptx-emulator"),
        pytest.param("dr|d", "emulator", marks=pytest.mark.slow),
        pytest.param("dw|d", "emulator", marks=pytest.mark.slow),
        pytest.param("dw|d", "ptx-emulator", marks=pytest.mark.slow),
    ],
)
def test_ops_mean_what_the_reference_says(rowtools: Path, layout: str, target: str) -> None:
    values = np.random.default_rng(0).random((5, 4), np.float32)
    argument = values, *(np.array(vector) for vector in LAYOUTS[layout])
    text = REVERSE.replace("LAYOUT", layout)
    ((expected, *vectors),) = run(text, "f", [argument])
    np.testing.assert_allclose(expected[:2], np.exp(values[[1, 0]] if layout == "dr|d" else values[[4, 3]]), 1e-6)
    got, *got_vectors = rg.compile(text, target=target)(argument)
    np.testing.assert_allclose(got, expected, 1e-6)
    assert [v.tolist() for v in got_vectors] == [v.tolist() for v in vectors]


@pytest.mark.parametrize("target", ["emulator", "ptx-emulator"])
def test_schedules(rowtools: Path, target: str) -> None:
    values, offsets = np.random.default_rng(0).random((70, 64), np.float32), np.array([0, 0, 33, 34, 70])
    expected = [part.sum(0) for part in np.split(values, offsets[1:-1])]
    asked = SUMS.replace("dimensions = [1]", 'dimensions = [1] {ragged.mapping = {schedule = "rowtools-warps"}}')
    for text, schedule in ((SUMS, "rowtools-warps"), (asked, "auto")):
        got = rg.compile(text, target=target, schedule=schedule)((values, offsets))
        np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def test_versions_of_schedules_are_part_of_the_key(rowtools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are known before the cache is asked."""
    keys: list[str] = []
    monkeypatch.setattr(cache, "load", lambda key: keys.append(" ".join(plugins.versions())))
    asked = SUMS.replace("dimensions = [1]", 'dimensions = [1] {ragged.mapping = {schedule = "rowtools-warps"}}')
    rg.compile(asked, target="emulator")
    assert keys[0].startswith("rowtools.plugin:register rowtools 0.1.0")


def test_a_context_that_was_there_before(rowtools: Path) -> None:
    before, data = context(), BytesIO()
    load_module(REVERSE.replace("LAYOUT", "dr|d"), context()).operation.write_bytecode(data)
    assert "rowtools.reverse" in str(load_module(data.getvalue(), before))


def test_versions_are_part_of_the_key_of_what_is_compiled(folder: Path) -> None:
    (folder / "wrong.py").write_text("def register(): pass")
    none = plugins.versions()
    plugins.load("wrong")
    (one,) = plugins.versions()
    assert none == ()
    assert one.startswith("wrong:register ")


def test_tests_of_the_example(rowtools: Path) -> None:
    paths = os.pathsep.join([str(rowtools), str(ROOT / "examples" / "plugin"), str(ROOT)])
    lit = [sys.executable, "-m", "lit.main", "-q", str(ROOT / "examples" / "plugin" / "lit_tests")]
    found = subprocess.run(lit, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


CONVERSION = """from dataclasses import dataclass
from ragged_dialect import ops
from ragged_dialect._mlir import arith, ext, ir
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.ops.base import Operand, Result
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
class Squares(ext.Dialect, name="squares"): pass
class Square(Squares.Operation, name="square"):
    res: Result[ir.F32Type]
    x: Operand[ir.F32Type]
@dataclass(frozen=True)
class ConvertSquares(RaggedPass):
    name = "convert-squares-to-arith"
    def run(self, op):
        for found in find_ops(op, "squares.square"):
            with ir.InsertionPoint(found), found.location:
                found.results[0].replace_all_uses_with(arith.mulf(found.operands[0], found.operands[0]))
            found.erase()
def pipeline():
    first, *rest = pipelines.cpu_pipeline()
    return (Stage("convert", "convert-squares-to-arith"), first, *rest)
def register():
    registry.register("convert-squares-to-arith", lambda: ConvertSquares)
    registry.register_pipeline("squares-to-llvm-pipeline", __name__, "pipeline")
    ops.register_dialect(Squares)
"""
SQUARED = """!x = tensor<?x?xf32, #ragged.layout<"dr">>
func.func @f(%x: !x) -> !x {
  %e = ragged.empty %x : (!x) -> !x
  %y = linalg.map ins(%x : !x) outs(%e : !x) (%a: f32, %o: f32) {
    %s = squares.square %a : (f32) -> f32
    linalg.yield %s : f32
  }
  return %y : !x
}
"""


def test_a_dialect_conversion(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of ops of a package's own in bodies on ragged tensors: a pass, alone and as the first stage of a pipeline."""
    (folder / "wrong_squares.py").write_text(CONVERSION)
    (folder / "in.mlir").write_text(SQUARED)
    assert opt(folder, "--load-pass-plugin=wrong_squares", "--convert-squares-to-arith") == 0
    out = capfd.readouterr().out
    assert "arith.mulf" in out
    assert "squares." not in out
    assert opt(folder, "--load-pass-plugin=wrong_squares", "--squares-to-llvm-pipeline") == 0
    out = capfd.readouterr().out
    assert "llvm.fmul" in out
    assert "squares." not in out
