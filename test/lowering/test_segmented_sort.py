"""`ragged.sort` against NumPy's sorts of each segment, on every target and kind of processor."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.cpu_features import mask
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.reference.interpreter import run

KEYS = """func.func @f(%keys: tensor<?xKIND>, %offsets: tensor<?xi64>) -> tensor<?xKIND> {
  %0 = ragged.sort %keys, %offsets : (tensor<?xKIND>, tensor<?xi64>) -> tensor<?xKIND>
  return %0 : tensor<?xKIND>
}"""

NUMBERS = """func.func @f(%keys: tensor<?xKIND>, %offsets: tensor<?xi64>, %numbers: tensor<?xKIND>) -> tensor<?xKIND> {
  %0 = ragged.sort %keys, %offsets, %numbers : (tensor<?xKIND>, tensor<?xi64>, tensor<?xKIND>) -> tensor<?xKIND>
  return %0 : tensor<?xKIND>
}"""

LENGTHS = (
    (), (0,), (1,), (0, 3, 0), (15, 16, 17, 31, 32, 33), (7, 8, 9, 4, 5), (64, 65, 127, 129, 1), (1000, 2, 300),
)  # fmt: skip
"""Around one register, two, and runs of those."""


def keys_of(kind: str, size: int, dtype: str) -> np.ndarray:
    """Keys all over the type, each once, or with its ends; a few, each often; in order, and from the last one on."""
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(size)
    if kind == "few":
        return rng.integers(-2, 2, size).astype(dtype)
    made = rng.integers(ends.min, ends.max, size, dtype, endpoint=True)
    if kind == "apart":
        return made
    made[::5], made[1::7] = ends.max, ends.min
    return made if kind == "all" else np.sort(made) if kind == "ascending" else np.sort(made)[::-1].copy()


def segments(lengths: tuple[int, ...]) -> tuple[np.ndarray, list[slice]]:
    offsets = np.cumsum([0, *lengths])
    return offsets, [slice(low, high) for low, high in pairwise(offsets.tolist())]


@pytest.mark.sampled(48)
@pytest.mark.parametrize("kind", ["all", "few", "ascending", "descending"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_keys(compile: Compile, lengths: tuple[int, ...], dtype: str, kind: str) -> None:
    offsets, parts = segments(lengths)
    keys = keys_of(kind, sum(lengths), dtype)
    text = KEYS.replace("KIND", dtype.replace("nt", ""))
    got = compile(text)(keys, offsets)
    for part in parts:
        np.testing.assert_array_equal(got[part], np.sort(keys[part]))
    (expected,) = run(text, "f", [keys, offsets])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.sampled(192)
@pytest.mark.parametrize("kind", ["all", "few", "descending"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_numbers_by_their_keys(compile: Compile, lengths: tuple[int, ...], dtype: str, kind: str) -> None:
    """Of equal keys the lower number is first; as places they make a stable sort."""
    offsets, parts = segments(lengths)
    keys = keys_of(kind, sum(lengths), dtype)
    places = np.arange(len(keys)).astype(dtype)
    text = NUMBERS.replace("KIND", dtype.replace("nt", ""))
    got = compile(text)(keys, offsets, places)
    for part in parts:
        np.testing.assert_array_equal(got[part] - part.start, np.argsort(keys[part], kind="stable"))
    numbers = keys_of("few", len(keys), dtype)
    found = compile(text)(keys, offsets, numbers)
    for part in parts:
        np.testing.assert_array_equal(found[part], numbers[part][np.lexsort((numbers[part], keys[part]))])
    np.testing.assert_array_equal(found, run(text, "f", [keys, offsets, numbers])[0])


def rows_of(size: str, length: int, type_: str, numbers: bool = False) -> str:
    """A program that sorts rows of a matrix, one offset more than there are."""
    more, its_type = (f", %n: tensor<?x{type_}>", f", tensor<?x{type_}>") if numbers else ("", "")
    return f"""func.func @f(%keys: tensor<?x{type_}>{more}, %rows: index) -> tensor<?x{type_}> {{
  %size = {size}
  %length = arith.constant {length} : index
  %e = tensor.empty(%size) : tensor<?xi64>
  %offsets = linalg.generic {{
    indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  }} outs(%e : tensor<?xi64>) {{
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %at = arith.muli %i, %length : index
    %offset = arith.index_cast %at : index to i64
    linalg.yield %offset : i64
  }} -> tensor<?xi64>
  %0 = ragged.sort %keys, %offsets{", %n" if numbers else ""} : (tensor<?x{type_}>, tensor<?xi64>{its_type})
    -> tensor<?x{type_}>
  return %0 : tensor<?x{type_}>
}}"""


@pytest.mark.sampled(48)
@pytest.mark.parametrize("length", [1, 3, 8, 16, 20, 33, 64, 100, 128, 129, 300])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("numbers", [False, True])
def test_segments_of_one_length(compile: Compile, numbers: bool, dtype: str, length: int) -> None:
    """As rows of a matrix, for which there is code for their length alone."""
    rows = 5
    text = rows_of(f"arith.constant {rows + 1} : index", length, dtype.replace("nt", ""), numbers)
    for kind in ("all", "few", "descending"):
        keys = keys_of(kind, rows * length, dtype)
        places = np.arange(keys.size).astype(dtype)
        got = compile(text)(keys, *([places] if numbers else []), rows)
        matrix = keys.reshape(rows, length)
        order = np.argsort(matrix, axis=1, kind="stable") + length * np.arange(rows)[:, None]
        np.testing.assert_array_equal(got.reshape(rows, length), order if numbers else np.sort(matrix, axis=1))


@pytest.mark.parametrize("length", [2**63 - 1, -(2**63), 2**61, -1, 0, 2**20 + 1])
def test_segments_of_any_one_length(compile: Compile, length: int) -> None:
    """Of which there may be none."""
    function = compile(rows_of("arith.addi %rows, %one : index", length, "i32").replace(
        "  %size", "  %one = arith.constant 1 : index\n  %size", 1
    ))  # fmt: skip
    assert function(np.zeros(0, np.int32), 0).size == 0
    with pytest.raises(RuntimeCheckError, match=r"^ragged.sort: level 0"):
        function(np.zeros(3, np.int32), 1)


LONG = ((3000, 0, 33, 1), (700,) * 30, (63, 64, 65, 513, 600), (1,) * 20)
"""Components of several blocks, around one, and short ones."""


@pytest.mark.sampled(264)
@pytest.mark.parametrize("kind", ["apart", "all", "few", "ascending", "descending"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("lengths", LONG)
@pytest.mark.parametrize("limit", [1, 8, 100, 1025])
def test_the_first_few(compile: Compile, limit: int, lengths: tuple[int, ...], dtype: str, kind: str) -> None:
    """Those of a segment, and numbers by their keys; what is behind them is nobody's."""
    offsets, parts = segments(lengths)
    keys = keys_of(kind, sum(lengths), dtype)
    places = np.arange(len(keys)).astype(dtype)
    few = f" {{limit = {limit}}} :"
    keyed, numbered = (text.replace("KIND", dtype.replace("nt", "")).replace(" :", few, 1) for text in (KEYS, NUMBERS))
    got, found = compile(keyed)(keys, offsets), compile(numbered)(keys, offsets, places)
    for part in parts:
        own = keys[part]
        np.testing.assert_array_equal(got[part][:limit], np.sort(own)[:limit])
        np.testing.assert_array_equal(found[part][:limit] - part.start, np.argsort(own, kind="stable")[:limit])
    np.testing.assert_array_equal(run(keyed, "f", [keys, offsets])[0][parts[0]][:limit], got[parts[0]][:limit])


@pytest.mark.sampled(24)
@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("limit", [1, 8, 100])
def test_the_first_few_on_processors(level: str, dtype: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    lengths = (3000, 65, 0, 513, 7, *(700,) * 30)
    offsets, parts = segments(lengths)
    text = NUMBERS.replace("KIND", dtype.replace("nt", "")).replace(" :", f" {{limit = {limit}}} :", 1)
    function = rg.compile(text)
    for kind in ("apart", "all", "few", "ascending", "descending"):
        keys = keys_of(kind, sum(lengths), dtype)
        found = function(keys, offsets, np.arange(len(keys)).astype(dtype))
        for part in parts:
            order = np.argsort(keys[part], kind="stable")[:limit]
            np.testing.assert_array_equal(found[part][:limit] - part.start, order)


@pytest.mark.sampled(4)
def test_what_does_not_fit(compile: Compile) -> None:
    keys = np.arange(5)
    for offsets in ([0, 3], [1, 5], [0, 4, 3, 5], [0, 9, 5]):
        with pytest.raises(RuntimeCheckError, match=r"^ragged.sort: level 0"):
            compile(KEYS.replace("KIND", "i64"))(keys, np.array(offsets))
    with pytest.raises(RuntimeCheckError, match=r"^ragged.sort: dim 0: expected extent 5, got 4$"):
        compile(NUMBERS.replace("KIND", "i64"))(keys, np.array([0, 5]), keys[1:])


def test_a_static_result(compile: Compile) -> None:
    text = KEYS.replace("KIND", "i64")
    for place in ("-> tensor", "return %0 : tensor"):
        text = text.replace(f"{place}<?xi64>", f"{place}<5xi64>")
    function = compile(text)
    assert function(np.array([3, 2, 1, 5, 4]), np.array([0, 3, 5])).tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(RuntimeCheckError, match=r"^ragged.sort: dim 0: expected extent 5, got 3$"):
        function(np.array([3, 2, 1]), np.array([0, 3]))


VALUES = (-0.0, 0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -3.0)


@pytest.mark.sampled(48)
@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int64", "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_arrays(level: str, dtype: str, descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements in order are those that their indices find, in programs, where these are asked for, and outside."""
    mask(level, monkeypatch)
    lengths = [0, 1, 9, 40, 16, 300, 0, 33]
    rng = np.random.default_rng(3)
    made = rng.choice(VALUES if "float" in dtype else (-3, 0, 1, 5, 127, -128), sum(lengths))
    x = rg.from_lengths(made > 0 if dtype == "bool" else made, lengths).astype(dtype)
    places = rg.jit(lambda x: rg.argsort(x, axis=1, descending=descending))(x)
    whole = rg.jit(lambda x: rg.sort(x, axis=1, descending=descending))(x)
    alone = rg.sort(x, axis=1, descending=descending)
    for own, at, one, other in zip(x.tolist(), places.tolist(), whole.tolist(), alone.tolist(), strict=True):
        assert sorted(at) == list(range(len(own)))
        np.testing.assert_array_equal(one, [own[k] for k in at])
        np.testing.assert_array_equal(one, other)
        order = np.array(one, np.float64)[::-1] if descending else np.array(one, np.float64)
        np.testing.assert_array_equal(order, np.sort(np.array(own, np.float64)))
        tied = [(a, b) for a, b in pairwise(at) if own[a] == own[b]]
        assert all(a < b for a, b in tied)


def test_signs_of_zero_stay() -> None:
    """Alone no sign is lost; nobody can tell which of two zeros is first."""
    x = rg.from_lengths(np.array([0.0, -0.0, 0.0, -1.0, -0.0]), [5])
    assert np.signbit(rg.sort(x, axis=1).values).tolist() == [True, True, True, False, False]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", [(3, 20), (0, 20), (3, 0), (1, 1), (40,), (2, 3, 50)])
def test_dense_dims(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal((5, *shape)).astype(np.float32)
    y = rg.from_lengths(x, [2, 0, 3])
    np.testing.assert_array_equal(rg.sort(y, axis=-1).values, np.sort(x, axis=-1))
    np.testing.assert_array_equal(rg.argsort(y, axis=-1).values, np.argsort(x, axis=-1, kind="stable"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("shape", [(1, 4), (1, 3, 4), (1, 1, 1), (1, 4, 1), (5,)])
def test_a_batch_of_one(shape: tuple[int, ...]) -> None:
    """All extents are static."""
    x = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_array_equal(rg.sort(x, axis=-1), np.sort(x, axis=-1))
    np.testing.assert_array_equal(rg.jit(lambda x: rg.argsort(x, axis=-1))(x), np.argsort(x, axis=-1))
    np.testing.assert_array_equal(rg.median(x, axis=-1), np.median(x, axis=-1))


def test_more_elements_than_there_are_places_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragged_dialect.arrays.ops.sorting.merges.PLACE", 4)
    order = rg.jit(lambda x: rg.argsort(x, axis=1))
    np.testing.assert_array_equal(
        order(rg.from_lengths(np.arange(32)[::-1], [16, 16]).astype("i4"))[0], range(15, -1, -1)
    )
    with pytest.raises(RuntimeCheckError, match=r"^argsort: level 1: expected at most 16, got 17$"):
        order(rg.from_lengths(np.zeros(20, np.int8), [17, 3]))
