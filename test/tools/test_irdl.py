"""`--emit-irdl`: a stock tool that loads it parses our files in generic form."""

from __future__ import annotations

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


@pytest.mark.sampled(2)
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
