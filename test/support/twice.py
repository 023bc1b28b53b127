"""The program that most tests of `compile` run, arguments for it, and what a wrong one is told."""

from __future__ import annotations

import numpy as np

X = 'tensor<?x?xf32, #ragged.layout<"dr">>'
TWICE = f"func.func @twice(%x: {X}) -> {X} {{\n  %0 = arith.addf %x, %x : {X}\n  return %0 : {X}\n}}\n"
GOOD = (np.array([1, 2, 3], np.float32), np.array([0, 2, 2, 3]))
BAD = (GOOD[0], np.array([1, 2, 2, 3]))
MESSAGE = "argument 0: level 1, component 0: expected offsets[0] == 0, got 1"
ZEROS = """func.func @f(%n: index) -> tensor<?xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}"""
"""A tensor of any size: too little memory is told at run time."""
