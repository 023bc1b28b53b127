"""`--emit-irdl`: a stock tool that loads it parses our files in generic form."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from ragged_dialect.tools import ragged_opt

TOOL = shutil.which("torch-mlir-opt", path=str(Path(sys.executable).parent)) or shutil.which("torch-mlir-opt")
FILES = sorted(
    [f for f in (ROOT / "lit_tests" / "dialect").glob("*.mlir") if "invalid" not in f.name]
    + list((ROOT / "examples").glob("*.mlir"))
)
FILES = [f for f in FILES if "ragged.yield" not in f.read_text()]  # IRDL does not say that an op ends a block


@pytest.fixture(name="irdl", scope="module")
def _irdl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("irdl") / "ragged.irdl.mlir"
    assert ragged_opt.main(["--emit-irdl", "-o", str(path)]) == 0
    return path


def _stock(irdl: Path, file: Path) -> subprocess.CompletedProcess[str]:
    if TOOL is None:
        pytest.skip("no torch-mlir-opt")
    # That tool has few of MLIR's dialects: no math, for one.
    command = [TOOL, f"--irdl-file={irdl}", str(file), "--cse", "--allow-unregistered-dialect"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_stock_tool_parses_our_files(file: Path, irdl: Path, tmp_path: Path) -> None:
    generic = tmp_path / "generic.mlir"
    assert ragged_opt.main([str(file), "--mlir-print-op-generic", "-o", str(generic)]) == 0
    done = _stock(irdl, generic)
    assert done.returncode == 0, done.stderr
    assert "ragged." in done.stdout


def test_constraints_hold_there(irdl: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.mlir"
    file.write_text('%0 = "test.op"() : () -> i32\n"ragged.print"(%0) : (i32) -> ()\n')
    done = _stock(irdl, file)
    assert "expected base type 'builtin.tensor' but got 'builtin.integer'" in done.stderr


def test_the_irdl_is_a_module_of_ours_too(irdl: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    assert ragged_opt.main([str(irdl), "-o", str(out)]) == 0
    assert out.read_text().count("irdl.operation @") == irdl.read_text().count("irdl.operation @") > 20


def _dialect(name: str, constraint: str) -> str:
    return f"irdl.dialect @{name} {{ irdl.operation @t {{\n%0 = {constraint}\nirdl.operands(p: %0) }} }}\n"


WRONG = {
    f"module {{\n{_dialect('foo', 'irdl.any')}}}\nmodule {{\n{_dialect('foo', 'irdl.any')}}}": (
        "7:1: error: expected a new dialect, got 'foo', which is there"
    ),
    _dialect("stablehlo", "irdl.any"): "1:1: error: expected a new dialect, got 'stablehlo', which is there",
    _dialect("builtin", "irdl.any"): "1:1: error: expected a new dialect, got 'builtin', which is there",
    _dialect("foo", 'irdl.c_pred "$_self"'): "2:6: error: expected constraints without code in C++, got 'irdl.c_pred'",
    "func.func private @f()": "1:1: error: expected an irdl.dialect, got none",
    "": "1:1: error: expected an irdl.dialect, got none",
    _dialect("foo", 'irdl.base "!no.type"'): "2:6: error: no registered type with name !no.type",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definitions", WRONG)
def test_definitions_that_cannot_be_loaded(definitions: str, tmp_path: Path) -> None:
    """In a child process, which they would end."""
    (tmp_path / "irdl.mlir").write_text(definitions)
    (tmp_path / "in.mlir").write_text(
        '%0 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>\n'
    )
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", "--irdl-file=irdl.mlir", "in.mlir"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr.split("\n")[0]) == (1, f"irdl.mlir:{WRONG[definitions]}")


def test_a_dialect_of_two_files_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "irdl.mlir").write_text(_dialect("foo", "irdl.any"))
    assert ragged_opt.main([f"--irdl-file={tmp_path / 'irdl.mlir'}"] * 2 + [str(tmp_path / "irdl.mlir")]) == 1
    assert "1:1: error: expected a new dialect, got 'foo', which is there" in capfd.readouterr().err


def test_definitions_in_bytecode(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The stock tool, which prints users of values, gets them too."""
    text, code, program = (tmp_path / name for name in ("foo.mlir", "foo.mlirbc", "in.mlir"))
    text.write_text("irdl.dialect @foo { irdl.type @t {} }")
    program.write_text("func.func @f(%x: !foo.t) -> !foo.t { return %x : !foo.t }")
    assert ragged_opt.main([str(text), "--emit-bytecode", "-o", str(code)]) == 0
    assert ragged_opt.main([str(program), f"--irdl-file={code}", "--mlir-print-value-users"]) == 0
    assert "is used by" in capfd.readouterr().out
