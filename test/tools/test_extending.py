"""The plug-in that docs/extending.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.packages import opt_process

from conftest import ROOT

SHOWN = re.search(r"```python\n(from .*?)```", (ROOT / "docs" / "extending.md").read_text(), re.DOTALL)
PROGRAM = """func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %0, %0 : f32
  return %1 : f32
}
func.func @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
WAYS = {
    ("--tools-doubles",): (0, "arith.mulf"),
    ("--tools-doubles=most=1",): (1, "in.mlir:3:8: error: expected at most 1 sums, got 2"),
    ("--tools-pipeline=to=doubles",): (0, "arith.mulf"),
    ("--tools-pipeline=check=true",): (0, "llvm.fmul"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("flags", WAYS, ids=" ".join)
def test_the_plug_in_that_is_shown(flags: tuple[str, ...], folder: Path) -> None:
    assert SHOWN is not None
    (folder / "wrong.py").write_text(SHOWN.group(1))
    (folder / "in.mlir").write_text(PROGRAM)
    found = opt_process(folder, "in.mlir", *flags)
    code, text = WAYS[flags]
    assert (found.returncode, text in found.stdout + found.stderr) == (code, True)
    assert "arith.addf %0, %0 : f32" not in found.stdout
