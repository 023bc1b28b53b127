"""Kernels of ops whose maps are more than dims, against NumPy: what shares an element of the result is added up by one
thread, and what is divided may be negative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.targets import compile_for

Y = np.arange(9, dtype=np.float32)
X, W = np.arange(1.0, 9, dtype=np.float32), np.arange(3.0, 11, dtype=np.float32)


def reduction(ins: str, maps: str, kinds: str, size: int, body: str) -> str:
    """A function that adds into a vector of a size, which is 0 at first."""
    names = [f"%x{k}" for k in range(ins.count("x") if ins else 0)]
    types = [f"tensor<{part}>" for part in ins.split()]
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    elements = ", ".join(f"%a{k}: f32" for k in range(len(names)))
    return f"""
    func.func @f({arguments}) -> tensor<{size}xf32> {{
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<{size}xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<{size}xf32>) -> tensor<{size}xf32>
      %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins({", ".join(names)} : {", ".join(types)}) outs(%i : tensor<{size}xf32>) {{
        ^bb0({elements}, %o: f32):
          {body}
          linalg.yield %s : f32
      }} -> tensor<{size}xf32>
      return %y : tensor<{size}xf32>
    }}"""


SUM = "%s = arith.addf %a0, %o : f32"
PROGRAMS: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "polynomials": (
        reduction(
            "8xf32 8xf32",
            "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i + j)>",
            '"reduction", "reduction"',
            15,
            "%m = arith.mulf %a0, %a1 : f32\n%s = arith.addf %m, %o : f32",
        ),
        (X, W),
        np.convolve(X, W),
    ),
    "pairs": (
        reduction("8xf32", "affine_map<(i) -> (i)>, affine_map<(i) -> (i floordiv 2)>", '"reduction"', 4, SUM),
        (X,),
        X.reshape(4, 2).sum(1),
    ),
    "every fourth": (
        reduction("8xf32", "affine_map<(i) -> (i)>, affine_map<(i) -> (i mod 4)>", '"reduction"', 4, SUM),
        (X,),
        X.reshape(2, 4).sum(0),
    ),
    "before the first": (
        reduction("9xf32", "affine_map<(i) -> ((i - 3) mod 9)>, affine_map<(i) -> (i)>", '"parallel"', 9, SUM),
        (Y,),
        np.roll(Y, 3),
    ),
    "thirds before the first": (
        reduction("9xf32", "affine_map<(i) -> ((i - 5) floordiv 3 + 2)>, affine_map<(i) -> (i)>", '"parallel"', 9, SUM),
        (Y,),
        Y[(np.arange(9) - 5) // 3 + 2],
    ),
    "thirds rounded up": (
        reduction("9xf32", "affine_map<(i) -> ((i - 5) ceildiv 3 + 1)>, affine_map<(i) -> (i)>", '"parallel"', 9, SUM),
        (Y,),
        Y[-((5 - np.arange(9)) // 3) + 1],
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_maps(name: str, target: str) -> None:
    text, arguments, expected = PROGRAMS[name]
    np.testing.assert_array_equal(compile_for(target)(text)(*arguments), expected)
