"""Running sums by a block: what was pending before the loop still is when the loop runs no times."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.emulator import Emulator
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.passes.pipeline.running import run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline

THREADS = 64
# Every thread reads what one of them replaces after the loop.
PROGRAM = """
func.func @f(%n: index, %lengths: memref<?xi64>, %sums: memref<?xi64>, %start: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  scf.forall (%b) in (1) {
    %first = memref.load %start[%c0] : memref<1xi64>
    %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (i64) {
      %length = memref.load %lengths[%i] : memref<?xi64>
      %next = arith.addi %sum, %length : i64
      memref.store %next, %sums[%i] : memref<?xi64>
      scf.yield %next : i64
    } {ragged.fold = {kind = "scan"}}
    %last = arith.addi %first, %total : i64
    memref.store %last, %start[%c0] : memref<1xi64>
  }
  return
}
"""


@cache
def lowered() -> str:
    """The kernel as LLVM IR."""
    module: Any = parse_module(PROGRAM, context())
    text = f"convert-forall-to-gpu{{threads={THREADS}}},canonicalize,cse"
    run_pipeline(module, parse_pipeline(text, module.operation.context), True)
    return kernels_to_llvm(module)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("count", [0, 1, 511, 512, 513])
def test_no_race_with_what_follows(count: int, order: str) -> None:
    lengths = np.random.default_rng(count).integers(0, 9, count)
    sums, start = np.zeros(count, np.int64), np.array([7])
    arguments = [start, count, count, lengths, count, sums]
    Emulator(lowered(), order=order).launch("f_0", (1, 1, 1), (THREADS, 1, 1), arguments)
    np.testing.assert_array_equal(sums, np.cumsum(lengths))
    assert start[0] == 7 + lengths.sum()
