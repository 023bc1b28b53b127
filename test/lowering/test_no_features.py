"""Rows without features, of an extent that types have: slices of nothing are IR that MLIR takes at every stage."""

from __future__ import annotations

import numpy as np
import pytest

from ragged_dialect import compile
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering import pipelines
from ragged_dialect.reference.interpreter import run

T = 'tensor<?x?x0xf32, #ragged.layout<"dr|d">>'
W = 'tensor<?x?x0xf32, #ragged.layout<"dw|d">>'
ADD = "(%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }"
BODIES = {
    "elementwise": (f"%r = math.exp %x : {T}", T),
    "sum of rows": (
        f"%r = linalg.reduce ins(%x : {T}) outs(%i : tensor<?x0xf32>) dimensions = [1] {ADD}",
        "tensor<?x0xf32>",
    ),
    "concat": (f"%r = ragged.concat %x, %x {{dim = 1}} : ({T}, {T}) -> {T}", T),
    "concat of components": (f"%r = ragged.concat %x, %x {{dim = 0}} : ({T}, {T}) -> {T}", T),
    "slice": (
        f"%w = ragged.slice %x, %zero, %zero {{dim = 1}} : ({T}, index, index) -> {W}\n"
        f"%r = ragged.compact %w : ({W}) -> {T}",
        T,
    ),
    "select": (f"%r = ragged.select %x, %zero {{dim = 0}} : ({T}, index) -> tensor<?x0xf32>", "tensor<?x0xf32>"),
    "pad": (f"%r = ragged.to_padded %x, %one : ({T}, f32) -> tensor<?x?x0xf32>", "tensor<?x?x0xf32>"),
    "scan": (f'%r = ragged.scan %x {{dim = 1, kind = "sum"}} : ({T}) -> {T}', T),
    "scan of features": (f'%r = ragged.scan %x {{dim = 2, kind = "max", reverse}} : ({T}) -> {T}', T),
    "across": (
        f'%r = ragged.reduce_across %x, %four {{dim = 1, kind = "sum"}} : ({T}, index) -> tensor<?x0xf32>',
        "tensor<?x0xf32>",
    ),
}


def text_of(name: str) -> str:
    """A function of rows, and of a row per component."""
    body, result = BODIES[name]
    return f"""func.func @f(%x: {T}, %i: tensor<?x0xf32>) -> {result} {{
      %zero = arith.constant 0 : index
      %four = arith.constant 4 : index
      %one = arith.constant 1.0 : f32
      {body}
      return %r : {result}
    }}"""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("name", BODIES)
def test_rows_without_features(name: str, target: str) -> None:
    arguments = (np.zeros((5, 0), np.float32), np.array([0, 3, 3, 5])), np.zeros((3, 0), np.float32)
    (expected,) = run(text_of(name), "f", arguments)
    found = compile(text_of(name), target=target)(*arguments)
    parts, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    assert [np.shape(p) for p in parts] == [np.shape(p) for p in wanted]
    assert [p.tolist() for p in parts[1:]] == [p.tolist() for p in wanted[1:]]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("pipeline", [pipelines.cpu_pipeline, pipelines.gpu_pipeline])
@pytest.mark.parametrize("name", BODIES)
def test_every_stage_verifies(name: str, pipeline: object) -> None:
    module = load_module(text_of(name), context())
    for stage in pipeline():  # type: ignore[operator]
        stage.run(module)
