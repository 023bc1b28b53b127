"""Rounding f64 to bf16: the same on every target, and NumPy's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ragged_dialect import compile

DENSE = """
func.func @f(%x: tensor<?xf64>) -> tensor<?xbf16> {
  %y = arith.truncf %x : tensor<?xf64> to tensor<?xbf16>
  return %y : tensor<?xbf16>
}
"""
RAGGED = """
func.func @f(%x: tensor<?x?xf64, #ragged.layout<"dr">>) -> tensor<?x?xbf16, #ragged.layout<"dr">> {
  %y = arith.truncf %x : tensor<?x?xf64, #ragged.layout<"dr">> to tensor<?x?xbf16, #ragged.layout<"dr">>
  return %y : tensor<?x?xbf16, #ragged.layout<"dr">>
}
"""
# the first one is above a tie of bf16, but not in f32
VALUES = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, -3.14159, 1e300, -1e-320, np.inf, np.nan])
with np.errstate(all="ignore"):
    WANTED = VALUES.astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_dense(target: str) -> None:
    got = compile(DENSE, target=target)(VALUES)
    np.testing.assert_array_equal(got.astype(np.float32), WANTED.astype(np.float32))


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_ragged(target: str) -> None:
    got, _ = compile(RAGGED, target=target)((VALUES, np.array([0, 3, 7])))
    np.testing.assert_array_equal(got.astype(np.float32), WANTED.astype(np.float32))
