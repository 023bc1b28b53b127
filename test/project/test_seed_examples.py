"""The numeric examples of the documents the semantics come from, as golden tests.

nvFuser's RaggedIterDomain and split divisibility, fvdb's JaggedTensor, torch.nested. Every
program runs in the interpreter and on every target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.targets import TARGETS, compile_for

from ragged_dialect import reference

Run = Callable[..., list[Any]]


def _reference(text: str, entry: str, *args: Any) -> list[Any]:
    return reference.run(text, entry, args)


def _compiled(target: str) -> Run:
    def run(text: str, entry: str, *args: Any) -> list[Any]:
        results = compile_for(target)(text, entry)(*args)
        single = len(reference.run(text, entry, args)) == 1
        return [results] if single else list(results or ())

    return run


@pytest.fixture(params=["reference", *TARGETS])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a program on one backend: a function of (text, entry, *args) that returns the list of the results."""
    return _reference if request.param == "reference" else _compiled(request.param)


def _tokens(count: int, width: int = 2) -> np.ndarray[Any, Any]:
    return np.arange(count * width, dtype=np.float32).reshape(count, width)


OFFSETS_AND_LENGTHS = """
func.func @by_offsets(%x: tensor<325x2xf32>, %o: tensor<4xi64>) -> (tensor<?xi64>, index, tensor<?x2xf32>) {
  %0 = ragged.partition %x, %o {dim = 0}
     : (tensor<325x2xf32>, tensor<4xi64>) -> tensor<3x?x2xf32, #ragged.layout<"dr|d">>
  %1 = ragged.lengths %0 {level = 1} : (tensor<3x?x2xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
  %2 = ragged.total %0 {level = 1} : (tensor<3x?x2xf32, #ragged.layout<"dr|d">>) -> index
  %3 = ragged.merge %0 {dim = 0} : (tensor<3x?x2xf32, #ragged.layout<"dr|d">>) -> tensor<?x2xf32>
  return %1, %2, %3 : tensor<?xi64>, index, tensor<?x2xf32>
}
func.func @by_lengths(%x: tensor<325x2xf32>, %n: tensor<3xi64>) -> tensor<?xi64> {
  %0 = ragged.partition %x, %n {dim = 0, lengths}
     : (tensor<325x2xf32>, tensor<3xi64>) -> tensor<3x?x2xf32, #ragged.layout<"dr|d">>
  %1 = ragged.offsets %0 {level = 1} : (tensor<3x?x2xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
  return %1 : tensor<?xi64>
}
"""


def test_tokens_by_expert(run: Run) -> None:
    """Offsets [0, 127, 127, 325] are lengths [127, 0, 198], and merging gives the tokens back."""
    x = _tokens(325)
    lengths, total, merged = run(OFFSETS_AND_LENGTHS, "by_offsets", x, np.array([0, 127, 127, 325]))
    assert lengths.tolist() == [127, 0, 198]
    assert total == 325
    np.testing.assert_array_equal(merged, x)
    (offsets,) = run(OFFSETS_AND_LENGTHS, "by_lengths", x, np.array([127, 0, 198]))
    assert offsets.tolist() == [0, 127, 127, 325]


TWO_LEVELS = """
func.func @f(%x: tensor<325xf32>, %e: tensor<4xi64>, %r: tensor<3x3xi64>)
    -> (tensor<3x2x?xf32, #ragged.layout<"ddr">>, tensor<?xi64>) {
  %0 = ragged.partition %x, %e {dim = 0} : (tensor<325xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %1 = ragged.partition %0, %r {dim = 1}
     : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x3xi64>) -> tensor<3x2x?xf32, #ragged.layout<"ddr">>
  %2 = ragged.lengths %1 {level = 2} : (tensor<3x2x?xf32, #ragged.layout<"ddr">>) -> tensor<?xi64>
  return %1, %2 : tensor<3x2x?xf32, #ragged.layout<"ddr">>, tensor<?xi64>
}
"""


def test_tokens_by_expert_and_rank(run: Run) -> None:
    """Rows of offsets, relative to their expert, give [[50, 77], [0, 0], [100, 98]]."""
    rows = np.array([[0, 50, 127], [0, 0, 0], [0, 100, 198]])
    (values, offsets), lengths = run(
        TWO_LEVELS, "f", np.arange(325, dtype=np.float32), np.array([0, 127, 127, 325]), rows
    )
    assert lengths.reshape(3, 2).tolist() == [[50, 77], [0, 0], [100, 98]]
    assert offsets.tolist() == [0, 50, 127, 127, 127, 227, 325]
    np.testing.assert_array_equal(values, np.arange(325, dtype=np.float32))


INDEPENDENT = """
func.func @independent(%x: tensor<8x827xi8>, %g: tensor<3xi64>, %t: tensor<9xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0 = ragged.partition %x, %t {dim = 1}
     : (tensor<8x827xi8>, tensor<9xi64>) -> tensor<8x8x?xi8, #ragged.layout<"d|dr">>
  %1 = ragged.partition %0, %g {dim = 0}
     : (tensor<8x8x?xi8, #ragged.layout<"d|dr">>, tensor<3xi64>) -> tensor<2x?x8x?xi8, #ragged.layout<"dr|dr">>
  %2 = ragged.lengths %1 {level = 1} : (tensor<2x?x8x?xi8, #ragged.layout<"dr|dr">>) -> tensor<?xi64>
  %3 = ragged.lengths %1 {level = 3} : (tensor<2x?x8x?xi8, #ragged.layout<"dr|dr">>) -> tensor<?xi64>
  return %2, %3 : tensor<?xi64>, tensor<?xi64>
}
func.func @nested(%x: tensor<827xi8>, %g: tensor<3xi64>, %t: tensor<9xi64>)
    -> (tensor<2x?x?xi8, #ragged.layout<"drr">>, tensor<?xi64>) {
  %0 = ragged.partition %x, %t {dim = 0} : (tensor<827xi8>, tensor<9xi64>) -> tensor<8x?xi8, #ragged.layout<"dr">>
  %1 = ragged.partition %0, %g {dim = 0}
     : (tensor<8x?xi8, #ragged.layout<"dr">>, tensor<3xi64>) -> tensor<2x?x?xi8, #ragged.layout<"drr">>
  %2 = ragged.lengths %1 {level = 2} : (tensor<2x?x?xi8, #ragged.layout<"drr">>) -> tensor<?xi64>
  return %1, %2 : tensor<2x?x?xi8, #ragged.layout<"drr">>, tensor<?xi64>
}
"""
TOKENS_PER_EXPERT = [127, 0, 198, 64, 89, 103, 45, 201]


def test_independent_ragged_dims(run: Run) -> None:
    """Experts [5, 3] over GPUs, and tokens per expert, as two ragged dims or as a list of lists."""
    gpus, tokens = np.array([0, 5, 8]), np.concatenate([[0], np.cumsum(TOKENS_PER_EXPERT)])
    experts, lengths = run(INDEPENDENT, "independent", np.zeros((8, 827), np.int8), gpus, tokens)
    assert experts.tolist() == [5, 3]
    assert lengths.tolist() == TOKENS_PER_EXPERT
    (_, outer, inner), lengths = run(INDEPENDENT, "nested", np.zeros(827, np.int8), gpus, tokens)
    assert outer.tolist() == [0, 5, 8]
    assert inner.tolist() == tokens.tolist()
    assert lengths.tolist() == TOKENS_PER_EXPERT


TRANSFORMS = """
#j = #ragged.layout<"dr">
#jd = #ragged.layout<"dr|d">
#jt = #ragged.layout<"drt">
func.func @split(%x: tensor<3x?xi32, #j>) -> (tensor<3x?x2xi32, #jt>, tensor<?xi64>, tensor<?xi64>) {
  %0 = ragged.split %x {dim = 1, factor = 2} : (tensor<3x?xi32, #j>) -> tensor<3x?x2xi32, #jt>
  %1 = ragged.lengths %0 {level = 1} : (tensor<3x?x2xi32, #jt>) -> tensor<?xi64>
  %2 = ragged.lengths %0 {level = 2} : (tensor<3x?x2xi32, #jt>) -> tensor<?xi64>
  return %0, %1, %2 : tensor<3x?x2xi32, #jt>, tensor<?xi64>, tensor<?xi64>
}
func.func @merge(%x: tensor<3x?x4xi32, #jd>) -> (tensor<3x?xi32, #j>, tensor<?xi64>) {
  %0 = ragged.merge %x {dim = 1} : (tensor<3x?x4xi32, #jd>) -> tensor<3x?xi32, #j>
  %1 = ragged.lengths %0 {level = 1} : (tensor<3x?xi32, #j>) -> tensor<?xi64>
  return %0, %1 : tensor<3x?xi32, #j>, tensor<?xi64>
}
func.func @select(%x: tensor<3x?x4xi32, #jd>, %i: index) -> tensor<?x4xi32> {
  %0 = ragged.select %x, %i {dim = 0} : (tensor<3x?x4xi32, #jd>, index) -> tensor<?x4xi32>
  return %0 : tensor<?x4xi32>
}
func.func @round_trip(%x: tensor<?x4xi32>, %o: tensor<?xi64>) -> tensor<?x4xi32> {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?x4xi32>, tensor<?xi64>) -> tensor<?x?x4xi32, #jd>
  %1 = ragged.merge %0 {dim = 0} : (tensor<?x?x4xi32, #jd>) -> tensor<?x4xi32>
  return %1 : tensor<?x4xi32>
}
"""
SEQUENCES = np.array([0, 3, 8, 10])


def test_split_of_ragged(run: Run) -> None:
    """[3, 5, 2] split by 2: outer extents [2, 3, 1], inner extent 2 with holes."""
    (values, offsets), outer, inner = run(TRANSFORMS, "split", (np.arange(10, dtype=np.int32), SEQUENCES))
    assert outer.tolist() == [2, 3, 1]
    assert inner.tolist() == [2, 1, 2, 2, 1, 2]
    assert offsets.tolist() == SEQUENCES.tolist()
    assert values.tolist() == list(range(10))


def test_merge_with_dense(run: Run) -> None:
    """[3, 5, 2] merged with an inner extent of 4 is [12, 20, 8]."""
    (values, offsets), lengths = run(TRANSFORMS, "merge", (np.arange(40, dtype=np.int32).reshape(10, 4), SEQUENCES))
    assert lengths.tolist() == [12, 20, 8]
    assert offsets.tolist() == [0, 12, 32, 40]
    assert values.tolist() == list(range(40))


def test_select_component(run: Run) -> None:
    """Component 1 of [3, 5, 2] is a dense tensor of extent 5."""
    x = np.arange(40, dtype=np.int32).reshape(10, 4)
    (selected,) = run(TRANSFORMS, "select", (x, SEQUENCES), 1)
    np.testing.assert_array_equal(selected, x[3:8])


def test_nested_and_flattened_again(run: Run) -> None:
    """asNested, then asFlattened."""
    x = np.arange(40, dtype=np.int32).reshape(10, 4)
    (flat,) = run(TRANSFORMS, "round_trip", x, SEQUENCES)
    np.testing.assert_array_equal(flat, x)


DIVISIBILITY = """
#t = #ragged.layout<"dt">
#dt = #ragged.layout<"d|dt">
#r = #ragged.layout<"dr">
func.func @six(%x: tensor<6xi32>) -> (tensor<2x4xi32, #t>, tensor<?xi64>, tensor<?xi32>) {
  %0 = ragged.split %x {dim = 0, factor = 4} : (tensor<6xi32>) -> tensor<2x4xi32, #t>
  %1 = ragged.lengths %0 {level = 1} : (tensor<2x4xi32, #t>) -> tensor<?xi64>
  %2 = ragged.merge %0 {dim = 0} : (tensor<2x4xi32, #t>) -> tensor<?xi32>
  return %0, %1, %2 : tensor<2x4xi32, #t>, tensor<?xi64>, tensor<?xi32>
}
func.func @split_then_merge(%x: tensor<2x5xi32>) -> (tensor<?xi32>, tensor<?xi64>) {
  %0 = ragged.split %x {dim = 1, factor = 4} : (tensor<2x5xi32>) -> tensor<2x2x4xi32, #dt>
  %1 = ragged.merge %0 {dim = 0} : (tensor<2x2x4xi32, #dt>) -> tensor<4x?xi32, #r>
  %2 = ragged.values %1 : (tensor<4x?xi32, #r>) -> tensor<?xi32>
  %3 = ragged.lengths %1 {level = 1} : (tensor<4x?xi32, #r>) -> tensor<?xi64>
  return %2, %3 : tensor<?xi32>, tensor<?xi64>
}
func.func @merge_then_split(%x: tensor<2x5xi32>) -> (tensor<?xi32>, tensor<?xi64>) {
  %0 = ragged.merge %x {dim = 0} : (tensor<2x5xi32>) -> tensor<10xi32>
  %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<10xi32>) -> tensor<3x4xi32, #t>
  %2 = ragged.values %1 : (tensor<3x4xi32, #t>) -> tensor<?xi32>
  %3 = ragged.lengths %1 {level = 1} : (tensor<3x4xi32, #t>) -> tensor<?xi64>
  return %2, %3 : tensor<?xi32>, tensor<?xi64>
}
"""


def test_split_that_does_not_divide(run: Run) -> None:
    """[6] split by 4 is 2 x 4, of which the second tile has 2 elements."""
    (values,), lengths, merged = run(DIVISIBILITY, "six", np.arange(6, dtype=np.int32))
    assert values.tolist() == list(range(6))
    assert lengths.tolist() == [4, 2]
    assert merged.tolist() == list(range(6))


def _visits(values: Any, lengths: Any) -> list[list[tuple[int, int]]]:
    """The (i, j) that every tile visits, from elements that hold 10 * i + j."""
    ends = np.cumsum(lengths)
    return [[divmod(int(v), 10) for v in values[end - n : end]] for n, end in zip(lengths, ends, strict=True)]


SCHEDULES = {
    "split_then_merge": [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 4)],
        [(1, 0), (1, 1), (1, 2), (1, 3)],
        [(1, 4)],
    ],
    "merge_then_split": [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 4), (1, 0), (1, 1), (1, 2)],
        [(1, 3), (1, 4)],
    ],
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_schedules(run: Run, schedule: str) -> None:
    """The two schedules of a 2x5 tensor visit it in different tiles; holes are left out."""
    x = np.array([[10 * i + j for j in range(5)] for i in range(2)], np.int32)
    assert _visits(*run(DIVISIBILITY, schedule, x)) == SCHEDULES[schedule]


EXPERT_PARALLEL = """
#ddr = #ragged.layout<"ddr|d">
#dr = #ragged.layout<"dr|d">
func.func @f(%x: tensor<2x100x2xf32>, %o: tensor<2x5xi64>)
    -> (tensor<?xi64>, tensor<?xi64>, tensor<2x2x?x2xf32, #ddr>) {
  %0 = ragged.partition %x, %o {dim = 1} : (tensor<2x100x2xf32>, tensor<2x5xi64>) -> tensor<2x4x?x2xf32, #ddr>
  %1 = ragged.empty %0 {from = [[0, 1], [0, 0], [0, 2], -1]}
     : (tensor<2x4x?x2xf32, #ddr>) -> tensor<4x2x?x2xf32, #ddr>
  %2 = linalg.transpose ins(%0 : tensor<2x4x?x2xf32, #ddr>) outs(%1 : tensor<4x2x?x2xf32, #ddr>)
       permutation = [1, 0, 2, 3]
  %3 = ragged.merge %2 {dim = 1} : (tensor<4x2x?x2xf32, #ddr>) -> tensor<4x?x2xf32, #dr>
  %4 = ragged.split %3 {dim = 0, factor = 2} : (tensor<4x?x2xf32, #dr>) -> tensor<2x2x?x2xf32, #ddr>
  %5 = ragged.lengths %3 {level = 1} : (tensor<4x?x2xf32, #dr>) -> tensor<?xi64>
  %6 = ragged.lengths %4 {level = 2} : (tensor<2x2x?x2xf32, #ddr>) -> tensor<?xi64>
  return %5, %6, %4 : tensor<?xi64>, tensor<?xi64>, tensor<2x2x?x2xf32, #ddr>
}
"""


def test_expert_parallel_reshuffle(run: Run) -> None:
    """Rank-first to expert-first: 2 GPUs x 100 tokens and 4 experts become [[55, 35], [65, 45]]."""
    offsets = np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]])
    x = _tokens(200).reshape(2, 100, 2)
    merged, split, (values, absolute) = run(EXPERT_PARALLEL, "f", x, offsets)
    assert merged.tolist() == [55, 35, 65, 45]
    assert split.reshape(2, 2).tolist() == [[55, 35], [65, 45]]
    assert absolute.tolist() == [0, 55, 90, 155, 200]
    expected = [x[gpu, offsets[gpu, e] : offsets[gpu, e + 1]] for e in range(4) for gpu in range(2)]
    np.testing.assert_array_equal(values, np.concatenate(expected))


JAGGED = """
#j = #ragged.layout<"dr">
#jj = #ragged.layout<"drr">
func.func @batch(%x: tensor<6xi64>, %o: tensor<4xi64>) -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) {
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<6xi64>, tensor<4xi64>) -> tensor<3x?xi64, #j>
  %1 = ragged.lengths %0 {level = 1} : (tensor<3x?xi64, #j>) -> tensor<?xi64>
  %2 = ragged.row_ids %0 {level = 1} : (tensor<3x?xi64, #j>) -> tensor<?xi64>
  %c1 = arith.constant 1 : index
  %3 = ragged.select %0, %c1 {dim = 0} : (tensor<3x?xi64, #j>, index) -> tensor<?xi64>
  return %1, %2, %3 : tensor<?xi64>, tensor<?xi64>, tensor<?xi64>
}
func.func @lists(%x: tensor<7xi64>, %n: tensor<3xi64>, %l: tensor<2xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0 = ragged.partition %x, %n {dim = 0, lengths} : (tensor<7xi64>, tensor<3xi64>) -> tensor<3x?xi64, #j>
  %1 = ragged.partition %0, %l {dim = 0, lengths}
     : (tensor<3x?xi64, #j>, tensor<2xi64>) -> tensor<2x?x?xi64, #jj>
  %2 = ragged.offsets %1 {level = 2} : (tensor<2x?x?xi64, #jj>) -> tensor<?xi64>
  %3 = ragged.row_ids %1 {level = 1} : (tensor<2x?x?xi64, #jj>) -> tensor<?xi64>
  return %2, %3 : tensor<?xi64>, tensor<?xi64>
}
"""


def test_jagged_tensor(run: Run) -> None:
    """fvdb: offsets [0, 2, 5, 6] of [1 … 6], the index of every element, one component."""
    lengths, ids, selected = run(JAGGED, "batch", np.arange(1, 7), np.array([0, 2, 5, 6]))
    assert lengths.tolist() == [2, 3, 1]
    assert ids.tolist() == [0, 0, 1, 1, 1, 2]
    assert selected.tolist() == [3, 4, 5]


def test_lists_of_lists(run: Run) -> None:
    """fvdb: lshape [[2, 1], [4]] has offsets [0, 2, 3, 7]."""
    offsets, lists = run(JAGGED, "lists", np.arange(7), np.array([2, 1, 4]), np.array([2, 1]))
    assert offsets.tolist() == [0, 2, 3, 7]
    assert lists.tolist() == [0, 0, 1]


NARROW = """
#w = #ragged.layout<"dw|d">
func.func @f(%padded: tensor<3x5x4xf32>, %n: tensor<3xi64>)
    -> (tensor<3x?x4xf32, #w>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>) {
  %0 = tensor.collapse_shape %padded [[0, 1], [2]] : tensor<3x5x4xf32> into tensor<15x4xf32>
  %s = arith.constant dense<[0, 5, 10]> : tensor<3xi64>
  %1 = ragged.assemble %0, %s, %n : (tensor<15x4xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?x4xf32, #w>
  %2 = ragged.compact %1 : (tensor<3x?x4xf32, #w>) -> tensor<3x?x4xf32, #ragged.layout<"dr|d">>
  return %1, %2 : tensor<3x?x4xf32, #w>, tensor<3x?x4xf32, #ragged.layout<"dr|d">>
}
"""


def test_narrow(run: Run) -> None:
    """torch.nested.narrow of a padded 3x5x4 to lengths [3, 2, 5]: windows, then packed."""
    padded = np.arange(60, dtype=np.float32).reshape(3, 5, 4)
    (_, starts, lengths), (values, offsets) = run(NARROW, "f", padded, np.array([3, 2, 5]))
    assert starts.tolist() == [0, 5, 10]
    assert lengths.tolist() == [3, 2, 5]
    assert offsets.tolist() == [0, 3, 5, 10]
    np.testing.assert_array_equal(values, np.concatenate([padded[0, :3], padded[1, :2], padded[2]]))
