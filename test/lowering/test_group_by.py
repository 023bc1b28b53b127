"""`ragged.group_by` against NumPy's stable sort, on every target."""

from __future__ import annotations

import numpy as np
import pytest
from support.targets import Compile

from ragged_dialect.errors import RangeError, RuntimeCheckError
from ragged_dialect.reference.interpreter import run

TEXT = """func.func @f(%keys: tensor<?xKIND>, %count: index) -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count : (tensor<?xKIND>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}"""


def keys_of(kind: str, count: int, size: int) -> np.ndarray:
    """Uniform ones, most of them one, all of them one; components are empty where there are more than keys."""
    rng = np.random.default_rng(size)
    if kind == "uniform":
        return rng.integers(0, count, size)
    return np.minimum(rng.zipf(1.5, size) - 1, count - 1) if kind == "skewed" else np.full(size, count - 1)


@pytest.mark.sampled(120)
@pytest.mark.parametrize("kind", ["uniform", "skewed", "one"])
@pytest.mark.parametrize(
    ("count", "size"), [(1, 5), (8, 0), (3, 1), (7, 300), (300, 7), (5, 2000), (3, 70000), (1025, 5), (3000, 4000)]
)
def test_the_places_of_every_key(compile: Compile, kind: str, count: int, size: int) -> None:
    keys = keys_of(kind, count, size)
    places, offsets = compile(TEXT.replace("KIND", "i64"))(keys, count)
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(np.diff(offsets), np.bincount(keys, minlength=count))
    ((expected, vector),) = run(TEXT.replace("KIND", "i64"), "f", [keys, count])
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(offsets, vector)


@pytest.mark.sampled(2)
def test_narrow_keys(compile: Compile) -> None:
    places, offsets = compile(TEXT.replace("KIND", "i32"))(np.array([2, 0, 2], np.int32), 3)
    assert (places.tolist(), offsets.tolist()) == ([1, 0, 2], [0, 1, 1, 3])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", [-1, 3, 2**40, -(2**63)])
def test_keys_out_of_range(compile: Compile, key: int) -> None:
    text = f"^ragged.group_by: level 0, component 1: expected index in \\[0, 3\\), got {key}$"
    with pytest.raises(RangeError, match=text):
        compile(TEXT.replace("KIND", "i64"))(np.array([0, key]), 3)


@pytest.mark.sampled(4)
def test_counts_that_do_not_fit(compile: Compile) -> None:
    function = compile(TEXT.replace("KIND", "i64"))
    with pytest.raises(RuntimeCheckError, match=r"^ragged.group_by: level 0: expected at least 0, got -1$"):
        function(np.array([], np.int64), -1)
    places, offsets = function(np.array([], np.int64), 0)
    assert (places.tolist(), offsets.tolist()) == ([], [0])
    static = TEXT.replace("KIND", "i64").replace("tensor<?x?xi64,", "tensor<4x?xi64,")
    with pytest.raises(RuntimeCheckError, match=r"^ragged.group_by: dim 0: expected extent 4, got 3$"):
        compile(static)(np.array([0]), 3)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("count", [2**40, 2**62, 2**63 - 1])
def test_more_counts_than_memory_has(compile: Compile, count: int) -> None:
    with pytest.raises(MemoryError):
        compile(TEXT.replace("KIND", "i64"))(np.arange(10), count)


NUMBERS = """func.func @f(%keys: tensor<?xi32>, %count: i64, %x: tensor<?xKIND>)
    -> tensor<?x?xi64, #ragged.layout<"dr">> {
  %0 = ragged.group_by %keys, %count, %x : (tensor<?xi32>, i64, tensor<?xKIND>) -> tensor<?x?xi64, #ragged.layout<"dr">>
  return %0 : tensor<?x?xi64, #ragged.layout<"dr">>
}"""


@pytest.mark.sampled(14)
@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize(("count", "size"), [(3, 0), (7, 300), (5, 70000), (3000, 4000)])
def test_numbers_instead_of_places(compile: Compile, kind: str, count: int, size: int) -> None:
    keys = keys_of("skewed", count, size).astype(np.int32)
    numbers = np.random.default_rng(1).integers(-(2**31), 2**31, size).astype(np.dtype(f"int{kind[1:]}"))
    found, offsets = compile(NUMBERS.replace("KIND", kind))(keys, count, numbers)
    np.testing.assert_array_equal(found, numbers[np.argsort(keys, kind="stable")])
    ((expected, vector),) = run(NUMBERS.replace("KIND", kind), "f", [keys, count, numbers])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(offsets, vector)


@pytest.mark.sampled(2)
def test_numbers_of_all_keys(compile: Compile) -> None:
    with pytest.raises(RuntimeCheckError, match=r"^ragged.group_by: dim 0: expected extent 3, got 2$"):
        compile(NUMBERS.replace("KIND", "i64"))(np.zeros(3, np.int32), 1, np.zeros(2, np.int64))
