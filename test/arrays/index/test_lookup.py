"""Rows of a table by ids of any structure, as NumPy's `table[ids]`, and what their gradient adds up."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ragged_dialect as rg

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((10, 2, 3))


def ids_of(structure: str) -> Any:
    """Ids of a structure, from the end where negative."""
    ids = np.array([3, 1, 9, 0, -1, 3, 3])
    if structure == "dense":
        return ids
    if structure == "matrix":
        return ids[:6].reshape(2, 3)
    ragged = rg.from_lengths(ids, [1, 0, 4, 2])
    made = {
        "ragged": ragged,
        "windows": ragged[::-1],
        "lists of lists": rg.partition(ragged, np.array([0, 2, 2, 4]), axis=0),
        "rows": rg.from_lengths(RNG.integers(-10, 10, (7, 4)), [1, 0, 4, 2]),
        "tiles": rg.split(ragged, 1, 2),
        "none": rg.from_lengths(ids[:0], [0, 0]),
    }
    return made[structure]


def flat(x: Any) -> Any:
    """Elements in order."""
    return x.values if isinstance(x, rg.RaggedArray) else x


STRUCTURES = ("dense", "matrix", "ragged", "windows", "lists of lists", "rows", "tiles", "none")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_rows_of_a_table(structure: str) -> None:
    ids = ids_of(structure)
    for found in (rg.take(TABLE, ids), rg.jit(lambda table, ids: table[ids])(TABLE, ids)):
        np.testing.assert_array_equal(flat(found), TABLE[flat(ids)])
        if isinstance(ids, rg.RaggedArray):
            assert str(found.layout).startswith(str(rg.compact(ids).layout))
            np.testing.assert_array_equal(found.lengths, ids.lengths)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pool", [lambda x: x.sum(axis=1), lambda x: x.mean(axis=1), lambda x: x.max(axis=1)])
def test_bags_of_rows(pool: Any) -> None:
    """They are pooled where they are in the table: the rows are not stored."""
    ids = rg.from_lengths(np.array([3, 1, -1, 0, -10, 3, 3]), [1, 4, 2])
    pooled = rg.jit(lambda table, ids: pool(rg.take(table, ids)))
    np.testing.assert_allclose(pooled(TABLE, ids), pool(rg.take(TABLE, ids)), rtol=1e-12)
    program = str(pooled.lower(TABLE, ids).stages["ragged"])
    (gather,) = [generic for generic in program.split("linalg.generic")[1:] if "tensor.extract %arg0[" in generic]
    assert '"reduction"' in gather.partition("ins(")[0]


@pytest.mark.parametrize("structure", ["matrix", "ragged"])
def test_features_of_rows(structure: str) -> None:
    """A dim that is not the first, of a ragged array."""
    x, ids = rg.from_lengths(RNG.standard_normal((5, 10)), [2, 0, 3]), ids_of(structure)
    np.testing.assert_array_equal(rg.take(x, ids, axis=2).values, x.values[:, flat(ids)])


@pytest.mark.parametrize("id_", [10, -11])
def test_ids_out_of_range(id_: int) -> None:
    ids = rg.from_lengths(np.array([0, id_]), [0, 2])
    with pytest.raises(IndexError, match=rf"^take: level 1, component 1: expected index in \[-10, 10\), got {id_}$"):
        rg.take(TABLE, ids)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_gradients_add_up(structure: str, dtype: str) -> None:
    """Several elements take one row, and none others. Short floats are added as float32."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    ids = ids_of(structure)
    taken = TABLE[flat(ids)]
    upstream = RNG.integers(-4, 5, taken.shape).astype(kind)
    cotangent = rg.like(rg.take(TABLE.astype(kind), ids), upstream) if isinstance(ids, rg.RaggedArray) else upstream
    (got,) = rg.vjp(lambda table: rg.take(table, ids), TABLE.astype(kind))[1](cotangent)
    expected = np.zeros(TABLE.shape)
    np.add.at(expected, flat(ids), upstream.astype(np.float64))
    assert got.dtype == kind
    np.testing.assert_array_equal(got, expected)


def test_gradients_of_what_depends_on_the_rows() -> None:
    """Against a loop, second derivatives by differences of the first."""
    ids = ids_of("ragged")
    gradient = rg.grad(lambda table: (rg.take(table, ids) ** 3.0).sum())
    expected = np.zeros_like(TABLE)
    np.add.at(expected, ids.values, 3 * TABLE[ids.values] ** 2)
    np.testing.assert_allclose(gradient(TABLE), expected, 1e-12)
    second = rg.grad(lambda table: (gradient(table) ** 2.0).sum())(TABLE)
    inner = np.zeros_like(TABLE)
    np.add.at(inner, ids.values, 3 * TABLE[ids.values] ** 2)
    wanted = np.zeros_like(TABLE)
    np.add.at(wanted, ids.values, 2 * inner[ids.values] * 6 * TABLE[ids.values])
    np.testing.assert_allclose(second, wanted, 1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_long_lookups(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than a chunk of rows, which another thread may have."""
    monkeypatch.setenv("RAGGED_NUM_THREADS", threads)
    table, ids = RNG.random((1000, 64), np.float32), rg.from_lengths(RNG.integers(0, 1000, 3000), [1000, 0, 2000])
    np.testing.assert_array_equal((rg.take(table, ids) * 2).values, table[ids.values] * 2)
    gradient = rg.grad(lambda table: (rg.take(table, ids) * 3).sum())(table)
    expected = np.bincount(ids.values, minlength=1000)[:, None] * np.full(64, 3, np.float32)
    np.testing.assert_array_equal(gradient, expected)


FAR = [2**32, -(2**32), 2**32 + 5, 2**62]
"""Indices out of range that are in range again where 32 bits are kept of them, as kernels keep them of their own."""
LISTS = rg.from_lengths(np.arange(6.0), [6])
LOOKUPS: dict[str, tuple[Any, Any]] = {
    "rows": (lambda x, at: rg.take(x, at), np.arange(6.0)),
    "components": (lambda x, at: rg.take(x, at).sum(axis=1), rg.from_lengths(np.arange(6.0), [1] * 6)),
    "elements": (lambda x, at: rg.gather(x, rg.partition(at, np.array([0, 1]))), LISTS),
    "one of each": (lambda x, at: x[:, at], LISTS),
    "a matrix": (lambda x, at: rg.gather(x, at.reshape(1, -1)), LISTS),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["cpu", "ptx-emulator"])
@pytest.mark.parametrize("name", LOOKUPS)
def test_no_bits_of_an_index_are_dropped_before_it_is_checked(name: str, target: str) -> None:
    function, table = LOOKUPS[name]
    compiled = rg.jit(function, target=target)

    def call(*numbers: int) -> None:
        for number in numbers:
            compiled(table, np.array([number]))

    call(5)
    for at in FAR:
        with pytest.raises(rg.RangeError, match="expected index in"):
            call(at, 5)  # on a GPU the next call raises it


@pytest.mark.parametrize("extents", [(3, 0), (0, 4), (0, 0)])
def test_no_ids_of_any_shape(extents: tuple[int, int]) -> None:
    ids = np.zeros(extents, int)
    assert rg.take(np.ones((7, 2)), ids).shape == (*extents, 2)
    assert rg.take(np.ones((7, 2)), rg.from_lengths(ids, [0, extents[0]])).lengths.tolist() == [0, extents[0]]


def test_an_index_of_any_rank_looks_up_one_dim() -> None:
    """Beside `...` too, from both ends, and where there are fewer dims than the index has."""
    x, ids = RNG.standard_normal((4, 4, 4)), np.array([[0, 1], [3, -2]])
    for function in (
        lambda t, i: t[..., i],
        lambda t, i: t[i, ..., 0],
        lambda t, i: t[:, i, 1:],
        lambda t, i: t[:, :, i],
        lambda t, i: t[0, 0][i],
    ):
        np.testing.assert_array_equal(rg.jit(function)(x, ids), function(x, ids))
    lists, few = rg.from_lengths(x, [1, 3]), rg.ragged([[0], [1, 2]])
    found = lists[..., few]
    assert str(found.layout) == "dr|d|dr"
    np.testing.assert_array_equal(found.values, x[:, :, [0, 1, 2]])
    assert lists[few[:, :1] * 0, ..., 2].shape == (2, None, 4)
