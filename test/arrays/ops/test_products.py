"""Products against loops over the components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, dense
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
OTHER = (2, 4, 0, 3)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_matmul_with_weights(lengths: tuple[int, ...]) -> None:
    x, w = array(lengths), dense((4,), (5,), seed=1)
    parts = components(x)
    assert_components(x @ w, [c @ w for c in parts])
    assert_components(x @ w[:, 0], [c @ w[:, 0] for c in parts])
    own = np.random.default_rng(2).standard_normal((len(lengths), 4, 3)).astype(np.float32)
    assert_components(x @ own, [c @ m for c, m in zip(parts, own, strict=True)])


def test_a_dim_before_the_components() -> None:
    """It is no part of the batch: the result has the structure that the array has, once for all of it."""
    values, w = np.random.default_rng(0).standard_normal((9, 4, 3)), dense((3,), (5,), "f8", 1)
    x = rg.transpose(rg.from_lengths(values, LENGTHS), (2, 0, 1, 3))
    expected = np.einsum("tad,de->ate", values, w)
    for multiply in (lambda x, w: x @ w, lambda x, w: rg.einsum("abid,de->abie", x, w)):
        found = rg.jit(multiply)(x, w)
        assert str(found.layout) == str(x.layout) == "d|dr|d"
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    swapped = rg.jit(lambda x: rg.einsum("abid->baid", x))(x)
    np.testing.assert_array_equal(swapped[2].tolist(), values[3:8].transpose(1, 0, 2).tolist())
    gradient = rg.jit(lambda x, w: rg.grad(lambda w: ((x @ w) ** 2.0).sum())(w))(x, w)
    np.testing.assert_allclose(gradient, np.einsum("tad,ate->de", values, 2 * expected), rtol=1e-10)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_weights_go_to_blas(dtype: str) -> None:
    """No program is compiled; `jit`, small weights and other kinds of arguments have one, with the same results."""
    x, w = array((3, 0, 5), (2, 4), dtype), dense((4,), (33000,), dtype, 1)
    before = rg.compilations()
    got = x @ w
    assert rg.compilations() == before
    assert got.shape == (3, None, 2, 33000)
    assert not got.values.flags.writeable
    assert_components(got, [c @ w for c in components(x)])
    w, many = w[:, :64].copy(), array((1000, 0, 1100), (2, 4), dtype)
    before = rg.compilations()
    assert_components(x @ w, [c @ w for c in components(x)])  # few rows
    assert rg.compilations() == before
    assert_components(many @ w, [c @ w for c in components(many)])
    assert rg.compilations() == before + 1
    w = w[:, :6].copy()
    got = x @ w
    np.testing.assert_allclose(rg.jit(lambda x, w: x @ w)(x, w).values, got.values, 1e-5, 1e-5)
    for other in (w.astype("f8" if dtype == "f4" else "f4"), w[:, 0], [list(row) for row in w]):
        assert_components(rg.matmul(x, np.asarray(other)), [c @ np.asarray(other) for c in components(x)])
    windows = x[:, 1:]
    assert_components(windows @ w, [c[1:] @ w for c in components(x)])


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "?"])
def test_matmul_of_other_dtypes(dtype: str) -> None:
    x, w = array((3, 0, 5), dtype=dtype), dense((4,), (5,), dtype, 1)
    got = x @ w
    assert got.dtype == (x.values @ w).dtype
    np.testing.assert_allclose(got.values.astype(np.float64), (x.values @ w).astype(np.float64), 2e-3, 2e-3)


def test_transposed_matmul_and_einsum() -> None:
    x, y = array(LENGTHS), array(LENGTHS, (3,), seed=1)
    expected = [a.T @ b for a, b in zip(components(x), components(y), strict=True)]
    np.testing.assert_allclose(rg.transposed_matmul(x, y), expected, 1e-5, 1e-5)
    np.testing.assert_allclose(rg.einsum("blk,bln->bkn", x, y), expected, 1e-5, 1e-5)
    assert not rg.transposed_matmul(x, y)[1].any()
    np.testing.assert_allclose(rg.einsum("blk->bk", x), x.sum(1), 1e-5, 1e-5)
    assert_components(rg.einsum("blk,k->bl", x, np.ones(4, np.float32)), [c.sum(1) for c in components(x)])


def product(*shape: int) -> Any:
    return array(LENGTHS, shape), [x.astype(np.float64) for x in components(array(LENGTHS, shape))]


def test_ragged_dot() -> None:
    """The three modes; an empty group, and sums of nothing."""
    x, rows = product(5)
    w = np.random.default_rng(2).standard_normal((len(LENGTHS), 5, 3)).astype(np.float32)
    assert_components(rg.ragged_dot(x, w), [r @ m for r, m in zip(rows, w, strict=True)])
    y, others = product(7)
    expected = [r.T @ o for r, o in zip(rows, others, strict=True)]
    np.testing.assert_allclose(rg.ragged_dot(x, y, mode="contraction"), expected, 1e-5, 1e-5)
    (a, firsts), (b, seconds) = product(2, 5), product(5, 3)
    found = rg.jit(lambda a, b: rg.ragged_dot(a, b, mode="batch"))(a, b)
    assert_components(found, [f @ s for f, s in zip(firsts, seconds, strict=True)])
    none = rg.ragged_dot(x[:, :, :0], w[:, :0])
    assert_components(none, [np.zeros((n, 3)) for n in LENGTHS])


def test_scores_are_ragged_in_both() -> None:
    q, k = array(LENGTHS), array(OTHER, seed=1)
    got = rg.einsum("bid,bjd->bij", q, k)
    assert str(got.layout) == "drr"
    expected = [a @ b.T for a, b in zip(components(q), components(k), strict=True)]
    for part, scores in zip(got.unbind(), expected, strict=True):
        np.testing.assert_allclose(part.values.reshape(scores.shape), scores, 1e-5, 1e-5)


def test_scores_with_heads_between() -> None:
    """A dense dim before the ragged one that hangs from the batch: a level of its own."""
    q, k, v = array(LENGTHS, (2, 4)), array(OTHER, (2, 4), seed=1), array(OTHER, (3, 4), seed=2)
    got = rg.einsum("bihd,bjhd->bihj", q, k)
    assert str(got.layout) == "drdr"
    expected = [np.einsum("ihd,jhd->ihj", a, b) for a, b in zip(components(q), components(k), strict=True)]
    for part, scores in zip(got.unbind(), expected, strict=True):
        found = [x for heads in part.tolist() for row in heads for x in row]
        np.testing.assert_allclose(found, scores.ravel(), 1e-5, 1e-5)
    back = rg.einsum("bihj,bjhe->bihe", got, k)
    assert back.shape == (len(LENGTHS), None, 2, 4)
    assert_components(back, [np.einsum("ihj,jhe->ihe", s, b) for s, b in zip(expected, components(k), strict=True)])
    with pytest.raises(rg.RuntimeCheckError, match="einsum: dim 2: expected extent 2, got 3"):
        rg.einsum("bihj,bjhe->bihe", got, v)


REFUSED: list[Refusal] = [
    (lambda x: x @ np.ones((5, 2), np.float32), rg.RuntimeCheckError, "matmul: dim 0: expected extent 4, got 5"),
    (lambda x: x @ np.ones((3, 4, 2), np.float32), rg.RuntimeCheckError, "matmul: dim 0: expected extent 4, got 3"),
    (lambda x: x @ np.ones((1, 1, 1, 4, 2)), TypeError,
     "matmul: expected a second array of rank 4 at most, got rank 5"),
    (lambda x: x[..., 0] @ x[..., 0], rg.LayoutError,
     'matmul: expected a second array that is dense or of rank 3, got layout "dr" ((x * y).sum(axis=1) multiplies'),
    (lambda x: x @ 2.0, TypeError, "matmul: expected arrays of rank 1 or more, got a number"),
    (lambda x: rg.transposed_matmul(x, array(OTHER)), rg.RuntimeCheckError,
     "transposed_matmul: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.transposed_matmul(x, np.ones((4, 9, 2), np.float32)), rg.LayoutError,
     "transposed_matmul: expected x and y that are ragged in the same of the dims blk and bln"),
    (lambda x: rg.transposed_matmul(np.ones((4, 9, 2), np.float32), x), rg.LayoutError,
     'of the dims blk and bln, got layouts "d|d|d" and "dr|d"'),
    (lambda x: rg.matmul(np.ones((2, 2)), rg.from_lengths(np.ones(3), [2, 1])), rg.LayoutError,
     "matmul: expected a second array that is dense or of rank 3"),
    (lambda x: rg.all_to_all(rg.partition(np.ones((2, 3)), [0, 1, 3], axis=1)), rg.LayoutError,
     "all_to_all: expected a leading dim of ranks"),
    (lambda x: rg.ragged_dot(x, x, mode="rowwise"), TypeError,
     "ragged_dot: expected mode among rows, contraction, batch, got 'rowwise'"),
    (lambda x: rg.ragged_dot(x, x, mode="batch"), TypeError, "ragged_dot: expected an array of rank 4, got rank 3"),
    (lambda x: rg.ragged_dot(x, array(OTHER), mode="contraction"), rg.RuntimeCheckError,
     "ragged_dot: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.ragged_dot(x, x), rg.LayoutError, "ragged_dot: expected x and w that are ragged in the same of the "
     'dims blk and bkn, got layouts "dr|d" and "dr|d"'),
    (lambda x: rg.ragged_dot(x, np.ones((4, 9, 2), np.float32), mode="contraction"), rg.LayoutError,
     'of the dims blk and bln, got layouts "dr|d" and "d|d|d"'),
    (lambda x: rg.ragged_dot(x, np.ones((3, 4, 2), np.float32)), rg.RuntimeCheckError,
     "ragged_dot: dim 0: expected extent 4, got 3"),
    (lambda x: rg.ragged_dot(x, np.ones((4, 5, 2), np.float32)), rg.RuntimeCheckError,
     "ragged_dot: dim 1: expected extent 4, got 5"),
    (lambda x: rg.einsum("blk->bz", x), TypeError, 
     "einsum: expected a result of letters of the operands, got 'blk->bz'"),
    (lambda x: rg.einsum("bk->b", x), TypeError, "einsum: expected an array of rank 2, got rank 3"),
    (lambda x: rg.einsum("blk->lk", x), rg.LayoutError, "batch of ragged dim 'l' before it in the result, got none"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


BATCHED = [
    ((2, 2), (2, 2, 2)), ((2, 3), (4, 3, 5)), ((3,), (4, 3, 5)), ((1, 2, 3), (4, 3, 5)), ((4, 2, 3), (1, 3, 5)),
    ((4, 2, 3), (3, 5)), ((4, 2, 3), (3,)), ((5, 1, 2, 3), (4, 3, 2)), ((4, 2, 3), (5, 1, 3, 2)), ((0, 2, 3), (3, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y"), BATCHED)
def test_dense_operands_broadcast_as_numpys(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(x), rng.standard_normal(y)
    traced = rg.jit(lambda a, b: a @ b)
    for made in (rg.matmul(a, b), traced(a, b)):
        assert made.shape == (a @ b).shape
        np.testing.assert_allclose(made, a @ b)


def test_dense_operands_that_do_not_broadcast() -> None:
    with pytest.raises(rg.RuntimeCheckError, match="matmul: dim 0: expected extent 3, got 4"):
        rg.matmul(np.ones((3, 2, 3)), np.ones((4, 3, 5)))


def test_weights_of_one_component_are_those_of_all() -> None:
    x = rg.from_lengths(np.arange(12.0).reshape(4, 3), [1, 3])
    w = np.arange(6.0).reshape(1, 3, 2)
    assert rg.matmul(x, w).tolist() == (x @ w[0]).tolist()
