"""How threads are spread over the loops of an op."""

from __future__ import annotations

from typing import Any

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.thread_shape import ThreadShape, fast_loop, thread_shape

PARALLEL, REDUCED = "parallel", "reduction"


def generic(x: str, kinds: list[str], element: str = "f32") -> tuple[Any, GenericOp]:
    """A reduction of a buffer of an op's loops over those that are `reduction`, with its module."""
    dims = [f"d{k}" for k in range(len(kinds))]
    kept = [k for k, kind in enumerate(kinds) if kind == PARALLEL]
    shape = x.split("x")
    out = "".join(f"{shape[k]}x" for k in kept)
    loops = ", ".join(dims)
    maps = f"affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({', '.join(dims[k] for k in kept)})>"
    text = f"""
    func.func @f(%x: memref<{x}x{element}>, %y: memref<{out}{element}>) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{", ".join(f'"{k}"' for k in kinds)}]}}
          ins(%x : memref<{x}x{element}>) outs(%y : memref<{out}{element}>) {{
        ^bb0(%v: {element}, %a: {element}):
          %r = arith.addf %v, %a : {element}
          linalg.yield %r : {element}
      }}
      return
    }}"""
    module = ir.Module.parse(text)
    return module, GenericOp(module.body.operations[0].regions[0].blocks[0].operations[0].operation)


SHAPES = [
    # a vector of 16 bytes a thread, or of what divides the extent
    ("4096", [PARALLEL], "f32", (256,), 4),
    ("4096", [PARALLEL], "f16", (256,), 8),
    ("4094", [PARALLEL], "f32", (256,), 2),
    ("4095", [PARALLEL], "f32", (256,), 1),
    ("?", [PARALLEL], "f32", (256,), 1),
    # a dynamic contiguous loop is a warp wide, the rest goes to the next one
    ("?x?", [PARALLEL, PARALLEL], "f32", (8, 32), 1),
    ("?x8", [PARALLEL, PARALLEL], "f32", (128, 2), 4),
    # exact lanes along a short contiguous loop, though they are odd: none is idle
    ("?x3", [PARALLEL, PARALLEL], "f32", (85, 3), 1),
    # a contiguous reduction is combined by shuffles in a warp
    ("64x128", [PARALLEL, REDUCED], "f32", (8, 32), 4),
    ("?x?", [PARALLEL, REDUCED], "f32", (8, 32), 1),
    # features beside one another, the rows of a component over what is left
    ("?x64", [REDUCED, PARALLEL], "f32", (16, 16), 4),
    ("?", [REDUCED], "f32", (256,), 1),
    ("8", [REDUCED], "f64", (4,), 2),
]


@pytest.mark.parametrize(("x", "kinds", "element", "shape", "width"), SHAPES)
def test_shapes(x: str, kinds: list[str], element: str, shape: tuple[int, ...], width: int, mlir_context: Any) -> None:
    _, op = generic(x, kinds, element)
    found = thread_shape(op, 256, split=True)
    assert tuple(found.shape[d] for d in range(op.rank)) == shape
    assert (found.vector.width if found.vector is not None else 1) == width
    assert found.used <= 256
    assert len(set(numbers(found))) == found.used


def numbers(shape: ThreadShape) -> list[int]:
    """The thread at every place: no two share one."""
    found = [0]
    for loop, threads in shape.shape.items():
        found = [n + shape.stride[loop] * k for n in found for k in range(threads)]
    return found


def test_reductions_that_may_not_be_split_have_one_thread(mlir_context: Any) -> None:
    _, op = generic("64x128", [PARALLEL, REDUCED])
    found = thread_shape(op, 256, split=False)
    assert found.shape == {0: 64, 1: 1}
    assert found.vector is None


def test_one_thread(mlir_context: Any) -> None:
    _, op = generic("4096", [PARALLEL])
    assert thread_shape(op, 1, split=True).shape == {0: 1}


def test_the_contiguous_loop_is_that_of_most_operands(mlir_context: Any) -> None:
    text = """
    func.func @f(%x: memref<8x4xf32>, %y: memref<4x8xf32>, %z: memref<4x8xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>,
                                       affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%x, %y : memref<8x4xf32>, memref<4x8xf32>) outs(%z : memref<4x8xf32>) {
        ^bb0(%a: f32, %b: f32, %c: f32):
          %r = arith.addf %a, %b : f32
          linalg.yield %r : f32
      }
      return
    }"""
    module = ir.Module.parse(text)
    assert fast_loop(GenericOp(module.body.operations[0].regions[0].blocks[0].operations[0].operation)) == 1
