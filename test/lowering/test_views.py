"""Views of what a loop over components makes: what reads them joins the loop only where its indices mean the same."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from support.targets import Compile

from ragged_dialect.reference import run

MERGED = """
#pairs = #ragged.layout<"dr|dr">
#all = affine_map<(b, i, c, j) -> (b, i, c, j)>
#each = affine_map<(b, i, c, j) -> (b, c)>
func.func @f(%x: tensor<?x?x?x?xi32, #pairs>, %bias: tensor<?x?xi32>) -> tensor<?x?x?xi32, #ragged.layout<"dr|d">> {
  %e = ragged.empty %x : (tensor<?x?x?x?xi32, #pairs>) -> tensor<?x?x?x?xi32, #pairs>
  %y = linalg.generic {indexing_maps = [#all, #each, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<?x?x?x?xi32, #pairs>, tensor<?x?xi32>) outs(%e : tensor<?x?x?x?xi32, #pairs>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<?x?x?x?xi32, #pairs>
  %m = ragged.merge %y {dim = 2} : (tensor<?x?x?x?xi32, #pairs>) -> tensor<?x?x?xi32, #ragged.layout<"dr|d">>
  %r = arith.muli %m, %m : tensor<?x?x?xi32, #ragged.layout<"dr|d">>
  return %r : tensor<?x?x?xi32, #ragged.layout<"dr|d">>
}
"""
SLICED = """
#l = #ragged.layout<"ddr">
#w = #ragged.layout<"ddw">
#all = affine_map<(a, b, i) -> (a, b, i)>
#each = affine_map<(a, b, i) -> (a)>
func.func @f(%x: tensor<2x4x?xi32, #l>, %bias: tensor<2xi32>, %lo: index, %hi: index) -> tensor<2x?x?xi32, #w> {
  %e = ragged.empty %x : (tensor<2x4x?xi32, #l>) -> tensor<2x4x?xi32, #l>
  %y = linalg.generic {indexing_maps = [#all, #each, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<2x4x?xi32, #l>, tensor<2xi32>) outs(%e : tensor<2x4x?xi32, #l>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<2x4x?xi32, #l>
  %s = ragged.slice %y, %lo, %hi {dim = 1} : (tensor<2x4x?xi32, #l>, index, index) -> tensor<2x?x?xi32, #w>
  %r = arith.muli %s, %s : tensor<2x?x?xi32, #w>
  return %r : tensor<2x?x?xi32, #w>
}
"""
SCALED = """
#w = #ragged.layout<"dw|d">
#flat = #ragged.layout<"dw">
#r = #ragged.layout<"dr">
#all = affine_map<(b, i, d) -> (b, i, d)>
#each = affine_map<(b, i, d) -> (b, d)>
func.func @f(%x: tensor<?x?x2xi32, #w>, %bias: tensor<?x2xi32>) -> tensor<?x?xi32, #r> {
  %e = ragged.empty %x : (tensor<?x?x2xi32, #w>) -> tensor<?x?x2xi32, #w>
  %y = linalg.generic {indexing_maps = [#all, #each, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %bias : tensor<?x?x2xi32, #w>, tensor<?x2xi32>) outs(%e : tensor<?x?x2xi32, #w>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<?x?x2xi32, #w>
  %m = ragged.merge %y {dim = 1} : (tensor<?x?x2xi32, #w>) -> tensor<?x?xi32, #flat>
  %c = ragged.concat %m, %m {dim = 1} : (tensor<?x?xi32, #flat>, tensor<?x?xi32, #flat>) -> tensor<?x?xi32, #r>
  return %c : tensor<?x?xi32, #r>
}
"""
COLUMNS = """
!x = tensor<?x3x2xi32, #ragged.layout<"dt|d">>
!y = tensor<?x3x?xi32, #ragged.layout<"dt|d">>
func.func @f(%rows: tensor<?x2xi32>) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = ragged.split %rows {dim = 0, factor = 3} : (tensor<?x2xi32>) -> !x
  %s = arith.addi %x, %x : !x
  %y = ragged.slice %s, %c0, %c1 {dim = 2} : (!x, index, index) -> !y
  return %y : !y
}
"""
EXPANDED = """
!x = tensor<8x1x3xi32, #ragged.layout<"d|dt">>
!y = tensor<4x2x1x3xi32, #ragged.layout<"d|d|dt">>
func.func @f(%x: tensor<8x1xi32>) -> tensor<i32> {
  %a = ragged.split %x {dim = 1, factor = 3} : (tensor<8x1xi32>) -> !x
  %e = tensor.expand_shape %a [[0, 1], [2], [3]] output_shape [4, 2, 1, 3] : !x into !y
  %five = arith.constant dense<5> : tensor<i32>
  %sum = linalg.reduce { arith.addi } ins(%e : !y) outs(%five : tensor<i32>) dimensions = [0, 1, 2, 3]
  return %sum : tensor<i32>
}
"""
NUMBERS = np.arange(16, dtype=np.int32)
PAIRS = (NUMBERS.reshape(2, 8), np.array([0, 1, 2]), np.array([0, 5, 8]))
EIGHT = (NUMBERS, np.array([0, 3, 3, 5, 6, 6, 10, 15, 16]))
WINDOWS = (NUMBERS.reshape(8, 2), np.array([1, 4]), np.array([2, 3]))

CASES: dict[str, tuple[str, list[Any]]] = {
    "components that were merged": (MERGED, [PAIRS, np.array([[1, 2], [3, 4]], np.int32)]),
    "a range of a batch dim": (SLICED, [EIGHT, np.array([7, 9], np.int32), 1, 3]),
    "no components": (SLICED, [EIGHT, np.array([7, 9], np.int32), 2, 2]),
    "windows merged with features": (SCALED, [WINDOWS, np.array([[1, 2], [3, 4]], np.int32)]),
}


@pytest.mark.parametrize(("text", "rows"), [(COLUMNS, NUMBERS.reshape(8, 2)), (EXPANDED, NUMBERS[:8, None])])
def test_static_dims(text: str, rows: Any, compile: Compile) -> None:
    """Columns that were computed, which are returned as a type that says nothing of gaps; dims beside a tile."""
    (expected,) = run(text, "f", [rows])
    found = compile(text)(rows)
    for mine, theirs in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES)
def test_views(case: str, compile: Compile) -> None:
    text, arguments = CASES[case]
    (expected,) = run(text, "f", arguments)
    found = compile(text)(*arguments)
    assert shown(found) == shown(expected)


def shown(parts: Any) -> list[Any]:
    """The elements that windows or components hold, and how many each."""
    values, *vectors = parts
    if len(vectors) == 1:
        return [values.tolist(), np.diff(vectors[0]).tolist()]
    starts, lengths = vectors[:2]
    rows = chain.from_iterable(range(a, a + n) for a, n in zip(starts, lengths, strict=True))
    return [values[list(rows)].tolist(), lengths.tolist()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("layout", "dim", "result", "vectors"),
    [
        ("dwrt|d", 1, "dwr|d", [[2, 0, 1], [1, 2, 0], [0, 5, 9, 16]]),
        ("dwrrt|d", 2, "dwrr|d", [[2, 0], [1, 2], [0, 1, 1, 3], [0, 5, 9, 16]]),
    ],
)
def test_merged_tiles_of_windows(
    layout: str, dim: int, result: str, vectors: list[list[int]], compile: Compile
) -> None:
    """Windows take components in an order of their own, and some not at all; tiles are of all that are stored."""
    rank = len(layout) - 1
    types = [
        f'tensor<{"?x" * (rank - 2)}3x3xi32, #ragged.layout<"{layout}">>',
        f'tensor<{"?x" * (rank - 2)}3xi32, #ragged.layout<"{result}">>',
    ]
    text = f"""func.func @f(%x: {types[0]}) -> {types[1]} {{
      %y = ragged.merge %x {{dim = {dim}}} : ({types[0]}) -> {types[1]}
      return %y : {types[1]}
    }}"""
    given = (np.arange(48, dtype=np.int32).reshape(16, 3), *map(np.array, vectors))
    (expected,) = run(text, "f", [given])
    for got, wanted in zip(compile(text)(given), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def of_windows(layout: str, *steps: tuple[str, int, str]) -> str:
    """A program of selects, slices and merges of a dim, each with the layout that it gives, on pairs of numbers."""
    name, given, lines = "%x", layout, list[str]()
    for number, (op, dim, made) in enumerate(steps):
        indices = {"select": 1, "slice": 2}.get(op, 0)
        operands = ", ".join((name, *("%i", "%j")[:indices]))
        types = ", ".join((pairs_of(given), *["index"] * indices))
        lines.append(f"%{number} = ragged.{op} {operands} {{dim = {dim}}} : ({types}) -> {pairs_of(made)}")
        name, given = f"%{number}", made
    head = f"func.func @f(%x: {pairs_of(layout)}, %i: index, %j: index) -> {pairs_of(given)}"
    return "\n".join((f"{head} {{", *lines, f"return {name} : {pairs_of(given)}", "}"))


def pairs_of(layout: str) -> str:
    return f'tensor<{"?x" * len(layout)}2xi32, #ragged.layout<"{layout}|d">>'


UNREACHED: dict[str, tuple[str, list[list[int]]]] = {
    "rows": (of_windows("dwr", ("select", 2, "dw")), [[0, 2, 16]]),
    "rows of windows": (of_windows("dww", ("select", 2, "dw")), [[1, 3], [2, 4]]),
    "components": (of_windows("dwrw", ("select", 2, "dww")), [[0, 2, 4], [1, 0, 12, 5], [8, 0, 0, 1]]),
    "rows of ranges": (of_windows("dwr", ("slice", 2, "dww"), ("select", 2, "dw")), [[0, 2, 16]]),
    "merged ranges": (of_windows("dwrr", ("slice", 2, "dwwr"), ("merge", 2, "dww")), [[0, 2, 4], [0, 2, 4, 6, 16]]),
    "components of ranges": (
        of_windows("dwrr", ("slice", 2, "dwwr"), ("select", 2, "dww")),
        [[0, 2, 4], [0, 2, 4, 6, 16]],
    ),
}


@pytest.mark.sampled(64)
@pytest.mark.parametrize("index", [0, 1, 5, 10**12, -(10**12)])
@pytest.mark.parametrize("case", UNREACHED)
def test_components_that_no_window_reaches(case: str, index: int, compile: Compile) -> None:
    """No check sees them: what they lack is not read."""
    text, vectors = UNREACHED[case]
    none = np.zeros(3, np.int64)
    given: Any = (np.arange(32, dtype=np.int32).reshape(16, 2), none, none, *map(np.array, vectors))
    arguments: list[Any] = [given, index, index + 1]
    (expected,) = run(text, "f", arguments)
    found = compile(text)(*arguments)
    for got, wanted in zip(found[1:3], expected[1:3], strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert [x.shape for x in found] == [x.shape for x in expected]


NOTHING_INSIDE = """
func.func @f(%x: tensor<?x?x?x?xi32, #ragged.layout<"drdr">>, %low: index)
    -> (tensor<?x?x?xi32, #ragged.layout<"dwr">>, tensor<?xi64>) {
  %one = arith.constant 1 : index
  %s = ragged.slice %x, %low, %one {dim = 1} : (tensor<?x?x?x?xi32, #ragged.layout<"drdr">>, index, index)
    -> tensor<?x?x?x?xi32, #ragged.layout<"dwdr">>
  %m = ragged.merge %s {dim = 2} : (tensor<?x?x?x?xi32, #ragged.layout<"dwdr">>)
    -> tensor<?x?x?xi32, #ragged.layout<"dwr">>
  %l = ragged.lengths %m {level = 2} : (tensor<?x?x?xi32, #ragged.layout<"dwr">>) -> tensor<?xi64>
  return %m, %l : tensor<?x?x?xi32, #ragged.layout<"dwr">>, tensor<?xi64>
}
"""


@pytest.mark.sampled(36)
@pytest.mark.parametrize("extent", [0, 2])
@pytest.mark.parametrize("lengths", [[1], [3, 1], [1, 2, 5], []], ids=str)
def test_rows_of_windows_without_lists(lengths: list[int], extent: int, compile: Compile) -> None:
    """Rows that have no lists of their own become lists of nothing: as many as the windows reach, and not as many as
    there were, which no part of the tensor tells."""
    rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    args = [(np.zeros(0, np.int32), rows, np.zeros(rows[-1] * extent + 1, np.int64), extent), 0]
    (_, starts, taken, offsets), found = compile(NOTHING_INSIDE)(*args)
    expected, wanted = run(NOTHING_INSIDE, "f", args)
    np.testing.assert_array_equal(starts, expected[1])
    np.testing.assert_array_equal(taken, expected[2])
    reached = max((starts + taken).tolist(), default=0)
    assert len(offsets) > reached
    assert not np.any(offsets)
    np.testing.assert_array_equal(found, wanted)
