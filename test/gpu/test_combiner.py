"""Reductions that threads share: which payloads are known as combiners, and what they make of NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.targets import Compile

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.kernel.combiner import combiner_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.reference import run

X = 'tensor<?x?xf32, #ragged.layout<"dr">>'


def payload(text: str, element: str = "f32") -> str:
    """A reduction of one buffer, `%v`, into `%a`."""
    return f"""
    func.func @f(%x: memref<4x?x{element}>, %out: memref<4x{element}>) {{
      linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                      iterator_types = ["parallel", "reduction"]}}
          ins(%x : memref<4x?x{element}>) outs(%out : memref<4x{element}>) {{
        ^bb0(%v: {element}, %a: {element}):
          {text}
          linalg.yield %r : {element}
      }}
      return
    }}"""


def combiner(text: str, element: str = "f32") -> Any:
    """The combiner of a reduction, with the context it lives in."""
    module = ir.Module.parse(payload(text, element))
    function = module.body.operations[0]
    return module, combiner_of(GenericOp(function.regions[0].blocks[0].operations[0].operation), 0)


KNOWN = [
    ("%r = arith.addf %v, %a : f32", "f32", -0.0),
    ("%r = arith.mulf %a, %v : f32", "f32", 1.0),
    ("%r = arith.maximumf %a, %v : f32", "f32", float("-inf")),
    ("%s = math.exp %v : f32\n%r = arith.addf %s, %a : f32", "f32", -0.0),
    ("%r = arith.minsi %v, %a : i32", "i32", "highest"),
    ("%r = arith.andi %v, %a : i32", "i32", "ones"),
    ("%c = arith.cmpf ogt, %v, %a : f32\n%r = arith.select %c, %v, %a : f32", "f32", float("-inf")),
    ("%c = arith.cmpf ult, %v, %a : f32\n%r = arith.select %c, %a, %v : f32", "f32", float("-inf")),
    ("%c = arith.cmpf oge, %a, %v : f32\n%r = arith.select %c, %v, %a : f32", "f32", float("inf")),
]


@pytest.mark.parametrize(("text", "element", "neutral"), KNOWN)
def test_combiners(text: str, element: str, neutral: float | str, mlir_context: Any) -> None:
    _, found = combiner(text, element)
    assert found.neutral == neutral
    assert found.takes_pairs == ("select" not in text)
    if element == "f32":
        assert np.signbit(found.neutral) == np.signbit(neutral)


UNKNOWN = [
    "%r = arith.subf %v, %a : f32",
    "%r = arith.addf %a, %a : f32",
    "%r = arith.addf %v, %v : f32",
    # the accumulator is used once more
    "%s = arith.mulf %a, %v : f32\n%r = arith.addf %s, %a : f32",
    "%s = arith.addf %v, %a : f32\n%r = arith.addf %s, %v : f32",
    "%c = arith.cmpf oeq, %v, %a : f32\n%r = arith.select %c, %v, %a : f32",
    # NaN becomes the accumulator, and the next element takes its place
    "%c = arith.cmpf ogt, %v, %a : f32\n%r = arith.select %c, %a, %v : f32",
    "%c = arith.cmpf ugt, %v, %a : f32\n%r = arith.select %c, %v, %a : f32",
    "%z = arith.constant 0.0 : f32\n%c = arith.cmpf ogt, %v, %z : f32\n%r = arith.select %c, %v, %a : f32",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_no_combiner(text: str, mlir_context: Any) -> None:
    assert combiner(text)[1] is None


LENGTHS = [0, 1, 3, 40, 2100, 33, 2]
"""Some for one warp, some for several batches of loads of every thread, two of NaN only."""

PAYLOADS = [
    *(f"%r = arith.{name} %v, %a : f32" for name in ("maxnumf", "minnumf", "maximumf")),
    "%c = arith.cmpf ogt, %v, %a : f32\n%r = arith.select %c, %v, %a : f32",
    "%c = arith.cmpf ule, %a, %v : f32\n%r = arith.select %c, %a, %v : f32",
    "%c = arith.cmpf ult, %v, %a : f32\n%r = arith.select %c, %v, %a : f32",
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("text", PAYLOADS)
def test_nan_among_elements_and_in_the_init(text: str, compile: Compile) -> None:
    program = f"""
    func.func @f(%x: {X}, %init: tensor<?xf32>) -> tensor<?xf32> {{
      %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                           iterator_types = ["parallel", "reduction"]}}
          ins(%x : {X}) outs(%init : tensor<?xf32>) {{
        ^bb0(%v: f32, %a: f32):
          {text}
          linalg.yield %r : f32
      }} -> tensor<?xf32>
      return %y : tensor<?xf32>
    }}"""
    rng = np.random.default_rng(3)
    offsets = np.cumsum([0, *LENGTHS])
    values = rng.normal(size=offsets[-1]).astype(np.float32)
    values[rng.random(values.size) < 0.3] = np.nan
    values[offsets[5] :] = np.nan
    function = compile(program)
    for start in (0.0, -np.inf, np.nan):
        init = np.full(len(LENGTHS), start, np.float32)
        np.testing.assert_array_equal(
            function((values, offsets), init), run(program, "f", [(values, offsets), init])[0]
        )
