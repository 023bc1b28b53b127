"""`ragged.scatter_add` against `np.add.at`, on every target, as it is and decomposed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.dtypes import FLOATS, INTEGERS
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.errors import RangeError, RuntimeCheckError
from ragged_dialect.reference.interpreter import run

TEXT = """func.func @f(%terms: tensor<?FxT>, %positions: tensor<?xi64>, %count: index) -> tensor<?FxT> {
  %0 = ragged.scatter_add %terms, %positions, %count : (tensor<?FxT>, tensor<?xi64>, index) -> tensor<?FxT>
  return %0 : tensor<?FxT>
}"""
DTYPES = {**FLOATS, **{kind: INTEGERS[kind] for kind in ("i32", "index")}}
EPSILON = {"f32": 2e-6, "f64": 4e-15, "f16": 2e-3, "bf16": 1e-2, "i32": 0, "index": 0}
"""Of sums of 300 terms, rounded once."""


def text_for(features: str, kind: str) -> str:
    """The program for rows of some features."""
    return TEXT.replace("F", features).replace("T", kind)


def expected(terms: np.ndarray, positions: np.ndarray, count: int) -> np.ndarray:
    """Sums, of floats in float64."""
    wide = terms.dtype if terms.dtype.kind == "i" else np.float64
    sums = np.zeros((count, *terms.shape[1:]), wide)
    np.add.at(sums, positions, terms.astype(wide))
    return sums


@pytest.mark.sampled(448)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("row", [(), (3,), (8,), (2, 5)])
@pytest.mark.parametrize(("size", "count"), [(0, 0), (0, 3), (5, 1), (300, 7), (70, 3000)])
def test_sums_at_positions(compile: Compile, kind: str, row: tuple[int, ...], size: int, count: int) -> None:
    rng = np.random.default_rng(size)
    terms = (rng.standard_normal((size, *row)) * 10).astype(DTYPES[kind])
    positions = np.minimum(rng.zipf(1.5, size) - 1, count - 1)
    text = text_for("".join(f"x{n}" for n in row), kind)
    made = compile(text)(terms, positions, count)
    (reference,) = run(text, "f", [terms, positions, count])
    bound = float(expected(abs(terms), positions, count).astype(float).max(initial=1)) * EPSILON[kind]
    for result in (made, reference):
        np.testing.assert_allclose(result.astype(float), expected(terms, positions, count).astype(float), 0, bound)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("features", ["", "x8"])
@pytest.mark.parametrize("position", [-1, 3, 2**40, -(2**63)])
def test_positions_out_of_range(compile: Compile, features: str, position: int) -> None:
    terms = np.ones((2, 8) if features else 2, np.float32)
    text = f"^ragged.scatter_add: level 0, component 1: expected index in \\[0, 3\\), got {position}$"
    with pytest.raises(RangeError, match=text):
        compile(text_for(features, "f32"))(terms, np.array([0, position]), 3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("features", ["", "x8"])
def test_extents_that_do_not_fit(compile: Compile, features: str) -> None:
    function, terms = compile(text_for(features, "f32")), np.ones((2, 8) if features else 2, np.float32)
    with pytest.raises(RuntimeCheckError, match=r"^ragged.scatter_add: level 0: expected at least 0, got -1$"):
        function(terms, np.array([0, 0]), -1)
    with pytest.raises(RuntimeCheckError, match=r"^ragged.scatter_add: dim 0: expected extent 2, got 3$"):
        function(terms, np.array([0, 0, 0]), 1)
    static = text_for(features, "f32").replace(f"-> tensor<?{features}xf32>", f"-> tensor<4{features}xf32>")
    static = static.replace(f"return %0 : tensor<?{features}xf32>", f"return %0 : tensor<4{features}xf32>")
    with pytest.raises(RuntimeCheckError, match=r"^ragged.scatter_add: dim 0: expected extent 4, got 3$"):
        compile(static)(terms, np.array([0, 0]), 3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [2**40, 2**62, 2**63 - 1])
def test_more_rows_than_memory_has(compile: Compile, count: int) -> None:
    with pytest.raises((MemoryError, RuntimeCheckError)):
        compile(text_for("x8", "f32"))(np.ones((2, 8), np.float32), np.array([0, 1]), count)


@pytest.mark.sampled(160)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("row", [(), (3,), (2, 5)])
@pytest.mark.parametrize(("size", "count"), [(0, 0), (0, 3), (5, 5), (300, 300), (70, 3000)])
def test_unique_positions(compile: Compile, kind: str, row: tuple[int, ...], size: int, count: int) -> None:
    """Rows are moved as they are, -0.0 too."""
    rng = np.random.default_rng(size)
    terms = (rng.standard_normal((size, *row)) * 10).astype(DTYPES[kind]) * DTYPES[kind](-1)
    terms[::2] = -terms[::2] * 0
    positions = rng.permutation(count)[:size].astype(np.int64)
    text = text_for("".join(f"x{n}" for n in row), kind).replace("%count :", "%count {unique} :")
    wanted = np.zeros((count, *row), DTYPES[kind])
    wanted[positions] = terms
    for result in (compile(text)(terms, positions, count), run(text, "f", [terms, positions, count])[0]):
        np.testing.assert_array_equal(result.astype(float), wanted.astype(float))
        np.testing.assert_array_equal(np.signbit(result.astype(float)), np.signbit(wanted.astype(float)))


LISTS = """!terms = tensor<?x?FxT, #ragged.layout<"drL">>
!at = tensor<?x?xP, #ragged.layout<"dr">>
func.func @f(%terms: !terms, %positions: !at, %count: index) -> tensor<?x?FxT> {
  %0 = ragged.scatter_add %terms, %positions, %count : (!terms, !at, index) -> tensor<?x?FxT>
  return %0 : tensor<?x?FxT>
}"""


def lists_for(row: tuple[int, ...], kind: str, position: str = "i64") -> str:
    """The program for lists of rows of some features."""
    text = LISTS.replace("F", "".join(f"x{n}" for n in row)).replace("L", "|d" * len(row)).replace("P", position)
    return text.replace("T", kind)


@pytest.mark.sampled(96)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("row", [(), (3,), (2, 5)])
@pytest.mark.parametrize(
    ("lengths", "count"), [([], 3), ([0, 0], 0), ([4, 0, 7, 1], 1), ([0, 30, 2, 0], 7), ([2, 9], 300)]
)
def test_lists(compile: Compile, kind: str, row: tuple[int, ...], lengths: list[int], count: int) -> None:
    """Every component has sums of its own."""
    size, offsets = sum(lengths), np.append(0, np.cumsum(lengths, dtype=np.int64))
    rng = np.random.default_rng(size)
    terms = (rng.standard_normal((size, *row)) * 10).astype(DTYPES[kind])
    positions = rng.integers(0, max(count, 1), size).astype(np.int32 if size % 2 else np.int64)
    text = lists_for(row, kind, "i32" if size % 2 else "i64")
    given = [(terms, offsets), (positions, offsets), count]
    parts = [slice(low, high) for low, high in pairwise(offsets)]
    wanted = np.zeros((len(lengths), count, *row))
    for number, part in enumerate(parts):
        wanted[number] = expected(terms[part], positions[part], count)
    bound = float(abs(terms).astype(float).max(initial=1)) * max(lengths, default=1) * EPSILON[kind]
    for result in (compile(text)(*given), run(text, "f", given)[0]):
        np.testing.assert_allclose(np.asarray(result).astype(float), wanted, 0, bound)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("position", [-1, 3, 2**40])
def test_lists_of_positions_out_of_range(compile: Compile, position: int) -> None:
    function, terms = compile(lists_for((), "f32")), (np.ones(3, np.float32), np.array([0, 1, 3]))
    text = f"^ragged.scatter_add: level 1, component 2: expected index in \\[0, 3\\), got {position}$"
    with pytest.raises(RangeError, match=text):
        function(terms, (np.array([0, 1, position]), terms[1]), 3)


@pytest.mark.sampled(2)
def test_lists_that_do_not_fit(compile: Compile) -> None:
    function, terms = compile(lists_for((), "f32")), (np.ones(3, np.float32), np.array([0, 1, 3]))
    other = np.array([0, 1, 2]), np.array([0, 2, 3])
    with pytest.raises(RuntimeCheckError, match=r"level 1, component 0: expected length 1, got 2$"):
        function(terms, other, 3)
    with pytest.raises(RuntimeCheckError, match=r"^ragged.scatter_add: level 1: expected at least 0, got -2$"):
        function(terms, (other[0], terms[1]), -2)


@pytest.mark.parametrize("lengths", [[100_003], [70_000, 0, 3, 90_000], [9] * 3000])
def test_long_lists(lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Are added in parts, short ones beside each other; in both ways on any number of threads."""
    count, size, offsets = 40, sum(lengths), np.append(0, np.cumsum(lengths))
    rng = np.random.default_rng(size)
    terms, positions = rng.standard_normal(size), rng.integers(0, count, size)
    made = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        made.append(rg.compile(lists_for((), "f64"))((terms, offsets), (positions, offsets), count))
    np.testing.assert_array_equal(*made)
    sums = [expected(terms[low:high], positions[low:high], count) for low, high in pairwise(offsets)]
    np.testing.assert_allclose(made[0], sums, 0, 1e-9)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("row", [(), (3,), (16,)])
def test_many_terms_for_each_position(kind: str, row: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Are added in parts, which are as many on any number of threads; one of them is shorter than the others."""
    size, count = 100_003, 40
    rng = np.random.default_rng(size)
    terms = rng.integers(-3, 4, (size, *row)).astype(DTYPES[kind])
    positions = rng.integers(0, count, size)
    made = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        made.append(rg.compile(text_for("".join(f"x{n}" for n in row), kind))(terms, positions, count))
    sums = expected(terms, positions, count).astype(DTYPES[kind])
    for result in made:
        np.testing.assert_array_equal(result.astype(float), sums.astype(float))
