"""What ragged IRs elsewhere refuse: reductions over the ragged dim, split and merge of it, slicing,
concatenation, selection, several levels, and tensors that conform by value. Compiled programs
against plain NumPy loops over the components."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.targets import Compile

from conftest import ROOT
from ragged_dialect import RaggedError, RuntimeCheckError

EXAMPLES = ROOT / "examples"
Run = Callable[..., Any]
LENGTHS = [3, 0, 5, 1, 0, 7]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
HEAD = """
#r = #ragged.layout<"dr">
#rd = #ragged.layout<"dr|d">
#rr = #ragged.layout<"drr">
#w = #ragged.layout<"dw">
#t = #ragged.layout<"drt">
"""


def integers(*shape: int) -> np.ndarray:
    """Random float32 integers: sums of them are exact in any order."""
    return np.random.default_rng(7).integers(-9, 9, shape).astype(np.float32)


def pieces(values: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """Components of values by offsets."""
    return [values[a:b] for a, b in pairwise(offsets)]


@pytest.fixture
def run(compile: Compile) -> Run:
    """Compiles the one function of a program and calls it, on every target."""
    return lambda body, *arguments: compile(HEAD + body)(*arguments)


def test_reduction_over_the_ragged_dim(run: Run) -> None:
    x = integers(OFFSETS[-1], 4)
    got = run(
        """
        func.func @f(%x: tensor<?x?x4xf32, #rd>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
          %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x4xf32, #rd>)
               outs(%init : tensor<?x4xf32>) dimensions = [1]
          return %y : tensor<?x4xf32>
        }""",
        (x, OFFSETS),
        np.full((6, 4), 2, np.float32),
    )
    np.testing.assert_array_equal(got, [p.sum(0) + 2 for p in pieces(x, OFFSETS)])


def test_reduction_over_both_levels_of_nested_lists(run: Run) -> None:
    outer = np.array([0, 2, 2, 6], np.int64)
    x = integers(OFFSETS[-1])
    got = run(
        """
        func.func @f(%x: tensor<?x?x?xf32, #rr>, %init: tensor<?xf32>) -> tensor<?xf32> {
          %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x?xf32, #rr>)
               outs(%init : tensor<?xf32>) dimensions = [1, 2]
          return %y : tensor<?xf32>
        }""",
        (x, outer, OFFSETS),
        np.zeros(3, np.float32),
    )
    leaves = pieces(x, OFFSETS)
    np.testing.assert_array_equal(got, [sum(p.sum() for p in leaves[a:b]) for a, b in [(0, 2), (2, 2), (2, 6)]])


def test_split_of_the_ragged_dim_and_sums_of_tiles(run: Run) -> None:
    x = integers(OFFSETS[-1])
    values, offsets = run(
        """
        func.func @f(%x: tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r> {
          %zero = arith.constant 0.0 : f32
          %s = ragged.split %x {dim = 1, factor = 2} : (tensor<?x?xf32, #r>) -> tensor<?x?x2xf32, #t>
          %e = ragged.empty %s {from = [[0, 0], [0, 1]]} : (tensor<?x?x2xf32, #t>) -> tensor<?x?xf32, #r>
          %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r>
          %y = linalg.reduce { arith.addf } ins(%s : tensor<?x?x2xf32, #t>)
               outs(%z : tensor<?x?xf32, #r>) dimensions = [2]
          return %y : tensor<?x?xf32, #r>
        }""",
        (x, OFFSETS),
    )
    tiles = [[p[i : i + 2].sum() for i in range(0, len(p), 2)] for p in pieces(x, OFFSETS)]
    np.testing.assert_array_equal(np.diff(offsets), [len(t) for t in tiles])
    np.testing.assert_array_equal(values, [v for t in tiles for v in t])


def test_merge_of_the_ragged_dim_with_a_dense_one(run: Run) -> None:
    x = integers(OFFSETS[-1], 4)
    values, offsets = run(
        """
        func.func @f(%x: tensor<?x?x4xf32, #rd>) -> tensor<?x?xf32, #r> {
          %y = ragged.merge %x {dim = 1} : (tensor<?x?x4xf32, #rd>) -> tensor<?x?xf32, #r>
          return %y : tensor<?x?xf32, #r>
        }""",
        (x, OFFSETS),
    )
    np.testing.assert_array_equal(values, x.ravel())
    np.testing.assert_array_equal(offsets, OFFSETS * 4)


@pytest.mark.sampled(2)
def test_slice_with_a_range_per_component(run: Run) -> None:
    x = integers(OFFSETS[-1])
    low = np.array([0, 0, 2, 1, 0, 3], np.int32)
    high = np.array([2, 0, 5, 1, 0, 6], np.int32)
    values, offsets = run(
        """
        func.func @f(%x: tensor<?x?xf32, #r>, %lo: tensor<?xi32>, %hi: tensor<?xi32>) -> tensor<?x?xf32, #r> {
          %s = ragged.slice %x, %lo, %hi {dim = 1}
               : (tensor<?x?xf32, #r>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xf32, #w>
          %y = ragged.compact %s : (tensor<?x?xf32, #w>) -> tensor<?x?xf32, #r>
          return %y : tensor<?x?xf32, #r>
        }""",
        (x, OFFSETS),
        low,
        high,
    )
    wanted = [p[a:b] for p, a, b in zip(pieces(x, OFFSETS), low, high, strict=True)]
    np.testing.assert_array_equal(np.diff(offsets), [len(p) for p in wanted])
    np.testing.assert_array_equal(values, np.concatenate(wanted))


def test_concat_component_by_component(run: Run) -> None:
    x, y = integers(OFFSETS[-1]), integers(12)
    other = np.array([0, 2, 5, 5, 7, 12, 12], np.int64)
    values, offsets = run(
        """
        func.func @f(%x: tensor<?x?xf32, #r>, %y: tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r> {
          %z = ragged.concat %x, %y {dim = 1} : (tensor<?x?xf32, #r>, tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r>
          return %z : tensor<?x?xf32, #r>
        }""",
        (x, OFFSETS),
        (y, other),
    )
    wanted = [np.concatenate(p) for p in zip(pieces(x, OFFSETS), pieces(y, other), strict=True)]
    np.testing.assert_array_equal(np.diff(offsets), [len(p) for p in wanted])
    np.testing.assert_array_equal(values, np.concatenate(wanted))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("index", [0, 2, 5])
def test_select_a_component(run: Run, index: int) -> None:
    x = integers(OFFSETS[-1], 4)
    got = run(
        """
        func.func @f(%x: tensor<?x?x4xf32, #rd>, %i: index) -> tensor<?x4xf32> {
          %y = ragged.select %x, %i {dim = 0} : (tensor<?x?x4xf32, #rd>, index) -> tensor<?x4xf32>
          return %y : tensor<?x4xf32>
        }""",
        (x, OFFSETS),
        index,
    )
    np.testing.assert_array_equal(got, pieces(x, OFFSETS)[index])


@pytest.mark.sampled(4)
def test_a_batch_of_many_components_needs_no_more_stack_than_a_small_one(run: Run, target: str) -> None:
    count = 300 if target == "emulator" else 300_000  # the emulator's blocks take their time
    x = np.ones((count, 16), np.float32)
    offsets = np.arange(count + 1)
    values, _ = run(
        """
        func.func @f(%x: tensor<?x?x16xf32, #rd>) -> tensor<?x?x16xf32, #rd> {
          %e = ragged.empty %x : (tensor<?x?x16xf32, #rd>) -> tensor<?x?x16xf32, #rd>
          %y = linalg.softmax dimension(1) ins(%x : tensor<?x?x16xf32, #rd>) outs(%e : tensor<?x?x16xf32, #rd>)
               -> tensor<?x?x16xf32, #rd>
          return %y : tensor<?x?x16xf32, #rd>
        }""",
        (x, offsets),
    )
    np.testing.assert_array_equal(values, x)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention of one component."""
    scores = q @ k.T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True) @ v


@pytest.mark.sampled(2)
def test_attention_with_two_lengths_per_component(compile: Compile) -> None:
    queries, keys = np.array([0, 2, 2, 5], np.int64), np.array([0, 4, 5, 7], np.int64)
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((n, 8)).astype(np.float32) for n in (5, 7, 7))
    attention = compile(EXAMPLES / "ragged_attention.mlir")
    got, offsets = attention((q, queries), (k, keys), (v, keys.copy()))
    parts = zip(pieces(q, queries), pieces(k, keys), pieces(v, keys), strict=True)
    np.testing.assert_allclose(got, np.concatenate([attend(*p) for p in parts if len(p[0])]), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(offsets, queries)
    with pytest.raises(RuntimeCheckError, match=r"^linalg\.generic: level 2, component 0: expected length 4, got 3$"):
        attention((q, queries), (k, keys), (v, np.array([0, 3, 5, 7])))


ADD = """
    func.func @f(%x: tensor<?x?xf32, #r>, %y: tensor<?x?xf32, #r>) -> tensor<?x?xf32, #r> {
      %z = arith.addf %x, %y : tensor<?x?xf32, #r>
      return %z : tensor<?x?xf32, #r>
    }"""


def test_pairs_below_a_batch_of_three_dims(run: Run) -> None:
    """Every query under its own index tuple has as many keys as that has: the tuple is found from its place."""
    rng = np.random.default_rng(11)
    lengths, keys = rng.integers(0, 4, 2 * 3 * 5), rng.integers(0, 5, 2 * 3 * 5)
    rows, columns = (np.concatenate([[0], np.cumsum(n)]).astype(np.int64) for n in (lengths, keys))
    x, y = integers(rows[-1]), integers(columns[-1])
    got = run(
        """
        #a = #ragged.layout<"dddr">
        #p = #ragged.layout<"dddrr">
        !a = tensor<2x3x5x?xf32, #a>
        !p = tensor<2x3x5x?x?xf32, #p>
        func.func @f(%x: !a, %y: !a) -> !p {
          %e = ragged.empty %x, %y {from = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 3]]} : (!a, !a) -> !p
          %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, i, j) -> (a, b, c, i)>,
               affine_map<(a, b, c, i, j) -> (a, b, c, j)>, affine_map<(a, b, c, i, j) -> (a, b, c, i, j)>],
               iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
               ins(%x, %y : !a, !a) outs(%e : !p) {
          ^bb0(%u: f32, %v: f32, %o: f32):
            %s = arith.mulf %u, %v : f32
            linalg.yield %s : f32
          } -> !p
          return %r : !p
        }
        """,
        (x, rows),
        (y, columns),
    )
    pairs = zip(pieces(x, rows), pieces(y, columns), strict=True)
    np.testing.assert_array_equal(got[0], np.concatenate([np.outer(a, b).ravel() for a, b in pairs]))
    np.testing.assert_array_equal(np.diff(got[-1]), np.repeat(keys, lengths))


def test_offsets_of_equal_values_conform_whatever_object_holds_them(run: Run) -> None:
    x = integers(OFFSETS[-1])
    values, offsets = run(ADD, (x, OFFSETS), (x, OFFSETS.copy()))
    np.testing.assert_array_equal(values, 2 * x)
    np.testing.assert_array_equal(offsets, OFFSETS)


def test_offsets_of_different_values_are_refused(run: Run) -> None:
    x = integers(OFFSETS[-1])
    other = OFFSETS.copy()
    other[1] -= 1
    with pytest.raises(RuntimeCheckError, match=r"^arith\.addf: level 1, component 0: expected length 3, got 2$"):
        run(ADD, (x, OFFSETS), (x, other))
    assert issubclass(RuntimeCheckError, RaggedError)
