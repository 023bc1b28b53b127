"""Numbers of programs that are indices: kernels with 32-bit indices do not hold all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect import compile
from ragged_dialect.compiler.stages import run_stages
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.reference import run

VALUES, OFFSETS = np.arange(6) * 3_000_000_000, np.array([0, 2, 3, 6])
ROWS = 'tensor<3x?xi64, #ragged.layout<"dr">>'
SPLIT = 'tensor<3x?xFACTORxf32, #ragged.layout<"drt">>'
PROGRAMS = {
    "elements as indices": (
        f"""func.func @f(%x: {ROWS}) -> {ROWS} {{
          %y = arith.index_cast %x : {ROWS} to {ROWS.replace("i64", "index")}
          %z = arith.addi %y, %y : {ROWS.replace("i64", "index")}
          %w = arith.index_cast %z : {ROWS.replace("i64", "index")} to {ROWS}
          return %w : {ROWS}
        }}""",
        (VALUES, OFFSETS),
    ),
    "a large constant": (
        f"""func.func @f(%x: {ROWS}) -> {ROWS} {{
          %c = arith.constant 5000000000 : index
          %e = ragged.empty %x : ({ROWS}) -> {ROWS}
          %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
              iterator_types = ["parallel", "parallel"]}} outs(%e : {ROWS}) {{
          ^bb0(%o: i64):
            %i = linalg.index 1 : index
            %m = arith.muli %i, %c : index
            %k = arith.index_cast %m : index to i64
            linalg.yield %k : i64
          }} -> {ROWS}
          return %y : {ROWS}
        }}""",
        (VALUES, OFFSETS),
    ),
    "a comparison": (
        """func.func @f(%x: tensor<?xi64>) -> tensor<?xi1> {
          %c0 = arith.constant 0 : index
          %n = tensor.dim %x, %c0 : tensor<?xi64>
          %e = tensor.empty(%n) : tensor<?xi1>
          %w = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
              iterator_types = ["parallel"]} ins(%x : tensor<?xi64>) outs(%e : tensor<?xi1>) {
          ^bb0(%a: i64, %o: i1):
            %i = arith.index_cast %a : i64 to index
            %l = arith.cmpi slt, %i, %n : index
            linalg.yield %l : i1
          } -> tensor<?xi1>
          return %w : tensor<?xi1>
        }""",
        VALUES,
    ),
    **{
        name: (
            f"""func.func @f(%x: {ROWS}) -> {ROWS} {{
              %e = ragged.empty %x : ({ROWS}) -> {ROWS}
              %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}} ins(%x : {ROWS}) outs(%e : {ROWS}) {{
              ^bb0(%a: i64, %o: i64):
                %i = linalg.index 1 : index
                %c = arith.constant 100000 : index
                {body}
                %r = arith.index_cast %p : index to i64
                linalg.yield %r : i64
              }} -> {ROWS}
              return %y : {ROWS}
            }}""",
            (np.arange(6), OFFSETS),
        )
        for name, body in {
            "squares of loop indices": "%j = arith.addi %i, %c : index\n%p = arith.muli %j, %j : index",
            "shifts": "%j = arith.addi %i, %i : index\n%s = arith.shli %j, %j : index\n%p = arith.muli %s, %c : index",
            "elements without a sign": "%t = arith.trunci %a : i64 to i32\n%z = arith.constant 0 : i32\n"
            "%n = arith.subi %z, %t : i32\n%p = arith.index_castui %n : i32 to index",
            "products of elements": "%t = arith.trunci %a : i64 to i32\n%k = arith.index_cast %t : i32 to index\n"
            "%j = arith.addi %k, %c : index\n%p = arith.muli %j, %j : index",
        }.items()
    },
    **{
        f"tiles of {factor}": (
            f"""func.func @f(%x: tensor<3x?xf32, #ragged.layout<"dr">>) -> (tensor<?xi64>, index) {{
              %0 = ragged.split %x {{dim = 1, factor = {factor}}}
                 : (tensor<3x?xf32, #ragged.layout<"dr">>) -> {SPLIT.replace("FACTOR", str(factor))}
              %l = ragged.lengths %0 {{level = 1}} : ({SPLIT.replace("FACTOR", str(factor))}) -> tensor<?xi64>
              %t = ragged.total %0 {{level = 1}} : ({SPLIT.replace("FACTOR", str(factor))}) -> index
              return %l, %t : tensor<?xi64>, index
            }}""",
            (np.arange(6, dtype=np.float32), OFFSETS),
        )
        for factor in (2**62, 2**63 - 1, 2**32 + 1)
    },
}


@pytest.mark.sampled(18)
@pytest.mark.parametrize("target", ["cpu", "emulator", "ptx-emulator"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, target: str) -> None:
    text, argument = PROGRAMS[name]
    found: Any = compile(text, target=target)(argument)
    wanted: Any = run(text, "f", [argument])
    if "tiles" in name:
        np.testing.assert_array_equal(found[0], wanted[0])
        assert int(found[1]) == int(wanted[1])
    else:
        np.testing.assert_array_equal(*(x[0] if isinstance(x, tuple) else x for x in (found, wanted[0])))


LENGTHS = np.array([1_000_000_000, 3_000_000_000, 0, 2])
ENDS = LENGTHS.cumsum()
VECTORS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "lengths": (lambda x: x.lengths, LENGTHS),
    "lengths of slices": (lambda x: x[:, 1:].lengths, np.maximum(LENGTHS - 1, 0)),
    "starts of slices": (lambda x: x[:, -2:], ENDS - np.minimum(LENGTHS, 2)),
    "offsets": (lambda x: rg.concat([x, x], axis=1).offsets, np.append(0, 2 * ENDS)),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_many_rows(name: str) -> None:
    """Kernels of index vectors have small buffers, whose numbers are rows of a large one."""
    function, wanted = VECTORS[name]
    x = rg.from_lengths(np.zeros((LENGTHS.sum(), 0), np.float32), LENGTHS)
    found: Any = rg.jit(function, target="ptx-emulator")(x)
    np.testing.assert_array_equal(found.stored[1][0] if isinstance(found, rg.RaggedArray) else found, wanted)


def test_addresses_stay_narrow() -> None:
    """Elements that are only places to read from, as those of gathers, are checked, and fit."""
    compared = PROGRAMS["a comparison"][0]
    text = compared.replace("arith.cmpi slt, %i, %n : index", "tensor.extract %t[%i] : tensor<?xi1>")
    text = text.replace("(%x: tensor<?xi64>)", "(%x: tensor<?xi64>, %t: tensor<?xi1>)")
    assert (WIDE in gpu(text), WIDE in gpu(compared)) == (False, True)


def gpu(text: str) -> str:
    """The program with its kernels."""
    return run_stages(text, "gpu")[0]["gpu"]
