"""Gradients of views and products of lists of lists: against differences, and against loops of NumPy."""

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.errors import PassError

LISTS = rg.from_lengths(np.arange(1.0, 10), [2, 1], [3, 2, 4])
GAPS = rg.from_lengths(np.arange(1.0, 8), [2, 1], [3, 0, 4])  # the second list is empty
ROWS = rg.from_lengths(np.arange(1.0, 15).reshape(7, 2), [2, 1], [3, 0, 4])
BATCHES = rg.split(rg.from_lengths(np.arange(1.0, 10), [3, 0, 2, 4]), axis=0, factor=2)
PLANES = rg.einsum("bcl,y->bcyl", GAPS, np.ones(2))
WEIGHTS = np.arange(1.0, 3)


def check(f, x):
    """The gradient of a weighed sum of squares, in a jit function and not, against central differences."""

    def loss(x):
        y = f(x)
        return (y * y).sum()

    def like(values):
        return rg.like(x, values) if isinstance(x, rg.RaggedArray) else values

    jitted, base = rg.jit(loss), np.asarray(getattr(x, "values", x))
    expected = np.zeros(base.shape)
    for at in np.ndindex(*base.shape):
        step = np.zeros(base.shape)
        step[at] = 1e-4  # of a polynomial of degree 2: no error but rounding
        expected[at] = (jitted(like(base + step)) - jitted(like(base - step))) / 2e-4
    for gradient in (rg.grad(loss)(x), rg.jit(rg.grad(loss))(x)):
        np.testing.assert_allclose(getattr(gradient, "values", gradient), expected, rtol=1e-6, atol=1e-6)


VIEWS = {
    "inner": lambda x: x[:, :, 1:],
    "inner sums": lambda x: x[:, :, 1:].sum(2),
    "outer": lambda x: x[:, 1:],
    "outer, last": lambda x: x[:, -1:],
    "backwards": lambda x: x[:, :, ::-1],
    "lists backwards": lambda x: x[:, ::-1],
    "first": lambda x: x[:, 0],
    "last": lambda x: x[:, -1],
    "both": lambda x: x[:, 1:, 1:],
    "inner, then outer": lambda x: x[:, :, 1:][:, :1],
    "windows of windows": lambda x: x[:, :, 1:][:, :, :-1],
    "of components": lambda x: x[np.array([1, 0, 1])][:, :, 1:],
    "of a list": lambda x: x[:, 0, 1:],
    "of some components": lambda x: x[1:, :, 1:],
    "sums": lambda x: x[:, :, 1:] - x[:, :, :-1],
    "merged": lambda x: rg.merge(x[:, 1:], axis=1),
    "joined": lambda x: rg.concat([x[:, :, 1:], x], axis=2),
}


@pytest.mark.sampled(72)
@pytest.mark.parametrize("x", [GAPS, ROWS, BATCHES], ids=["drr", "drr|d", "ddr"])
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, x):
    check(VIEWS[name], x)


@pytest.mark.slow
def test_rows_of_lists():
    """One row of every list: of the innermost level, below windows too."""
    check(lambda x: x[:, :, -1], LISTS)
    check(lambda x: x[:, -1:, 0], LISTS)
    check(lambda x: x[:, 0, 0], LISTS)


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("features", [(), (2,)], ids=["ddr", "ddr|d"])
def test_rows_of_batches_of_several_dims(features):
    """What is left has the dims of the batch, which are one of the storage."""
    rows = np.arange(1.0, 1 + 8 * np.prod(features, dtype=int)).reshape(8, *features)
    x = rg.split(rg.from_lengths(rows, [2, 1, 3, 2]), axis=0, factor=2)
    check(lambda x: x[:, :, 0], x)
    check(lambda x: x[1:, :, -1], x)
    check(lambda x: x[:, 1:2, 0], x)
    check(
        lambda x: rg.einsum("bcl,y->bcyl", x, WEIGHTS)[:, :, :, 0], rg.from_lengths(np.arange(7.0), [2, 1], [2, 1, 4])
    )


@pytest.mark.slow
def test_features_of_windows():
    check(lambda x: x[:, 1:][..., 0][:, :, 1:], ROWS)
    check(lambda x: x[:, 1:][..., :1][:, :1], ROWS)


def test_masks():
    check(lambda x: x[x > 2.5][:, :, 1:], GAPS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cut", [slice(1, None), slice(None, -1)])
def test_slices_of_inner_lists_against_numpy(cut):
    expected = [np.zeros(n) for n in (3, 0, 4)]
    for part, start in zip(expected, (1, 4, 4), strict=True):
        part[cut] = 2 * np.arange(start, start + len(part))[cut]
    gradient = rg.grad(lambda x: (x[:, :, cut] ** 2.0).sum())(GAPS)
    np.testing.assert_array_equal(gradient.values, np.concatenate(expected))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [([3, 0, 2, 2],), ([2, 1], [3, 0, 4])])
def test_slices_of_looked_up_rows(lengths):
    ids = rg.from_lengths(np.array([1, 0, 2, 2, 1, 0, 3]), *lengths)
    ids = rg.split(ids, axis=0, factor=2) if len(lengths) == 1 else ids
    check(lambda t: rg.take(t, ids)[:, :, 1:].sum(2), np.arange(1.0, 13).reshape(4, 3))
    check(lambda t: rg.take(t, ids, axis=1)[:, :, :, 1:].sum(3), np.arange(1.0, 13).reshape(3, 4))


def test_second_derivatives_of_inner_slices():
    second = rg.grad(lambda x: rg.grad(lambda y: (y[:, :, 1:] ** 3.0).sum())(x).sum())(GAPS)
    np.testing.assert_array_equal(second.values, [0, 12, 18, 0, 30, 36, 42])


PRODUCTS = {
    "bcly->bycl": (ROWS,),
    "bcly->bcyl": (ROWS,),
    "bcl,y->bycl": (GAPS, WEIGHTS),
    "bcl,y->bcyl": (GAPS, WEIGHTS),
    "bcl,by->bcyl": (GAPS, np.arange(1.0, 5).reshape(2, 2)),
    "bcl,yz->byczl": (GAPS, np.arange(1.0, 7).reshape(2, 3)),
    "bcl,yz->byzcl": (GAPS, np.arange(1.0, 7).reshape(2, 3)),
    "bcl,bycl->bycl": (GAPS, rg.einsum("bcl,y->bycl", GAPS, WEIGHTS)),
    "bcyl,yz->bczyl": (PLANES, np.arange(1.0, 7).reshape(2, 3)),
    "bcyl,y->bc": (PLANES, WEIGHTS),
    "bcyl,cy->b": (PLANES, np.arange(1.0, 5).reshape(2, 2)),
    "bcl,lb->bc": (GAPS, np.arange(1.0, 9).reshape(4, 2)),
    "bcl,cl->b": (GAPS, np.arange(1.0, 9).reshape(2, 4)),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_dims_between_levels(name):
    arguments = PRODUCTS[name]
    for number, argument in enumerate(arguments):

        def product(x, number=number):
            return rg.einsum(name, *arguments[:number], x, *arguments[number + 1 :])

        check(product, argument)


def test_second_derivatives_of_products_with_dims_between_levels():
    def loss(x, w):
        return (rg.einsum("bcl,y->bycl", x, w) ** 2.0).sum()

    second = rg.grad(lambda x: rg.grad(loss, argnums=1)(x, WEIGHTS).sum())(GAPS)
    np.testing.assert_allclose(second.values, 4 * GAPS.values * WEIGHTS.sum())


def test_a_dense_operand_along_two_ragged_axes():
    rows = rg.from_lengths(np.arange(1.0, 6), [2, 3])
    pairs = rg.einsum("br,cs->brcs", rows, rows)
    check(lambda w: rg.einsum("brcs,rsc->brcs", pairs, w), np.arange(1.0, 19).reshape(3, 3, 2))
    with pytest.raises(PassError, match="expected a dense operand of a reduction along ragged loops of one axis"):
        rg.grad(lambda w: rg.einsum("brcs,rsc->b", pairs, w).sum())(np.ones((3, 3, 2)))


UNIFORM = rg.split(rg.from_lengths(np.arange(1.0, 9), [3, 0, 0, 4, 1, 0]), axis=0, factor=3)
"""The lists of GAPS and more: of three each."""
PADDED = rg.from_lengths(np.arange(1.0, 37).reshape(3, 4, 3), [2, 1])
OTHERS = rg.from_lengths(np.arange(1.0, 7), [2, 1], [2, 0, 4])


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("bij,bijk->bij", (GAPS, PADDED)),
        ("bij,bijk->bk", (GAPS, PADDED)),
        ("bij,bij->bi", (GAPS, UNIFORM)),
        ("bij,bik->bijk", (GAPS, OTHERS)),
        ("bijf,bfj->bfi", (ROWS, np.arange(1.0, 17).reshape(2, 2, 4))),
    ],
    ids=["padded rows", "sums of padded rows", "uniform lists", "products of lists", "fewer parents"],
)
def test_operands_with_structures_of_their_own(subscripts, operands):
    """A dim that is dense in one operand, and ragged in another; a ragged dim that the result repeats."""
    for k, x in enumerate(operands):
        check(lambda x, k=k: rg.einsum(subscripts, *operands[:k], x, *operands[k + 1 :]), x)


def test_a_batch_dim_above_a_ragged_one_that_is_ragged_elsewhere():
    """The terms would be ragged in both, as no operand is."""
    rows = rg.from_lengths(np.ones((3, 4)), [2, 1])
    with pytest.raises(PassError) as error:
        rg.grad(lambda x: rg.einsum("bij,bij->b", x, rows).sum())(UNIFORM)
    assert str(error.value) == (
        "grad: expected dims above a ragged one that are ragged in every operand or in none, "
        'got layout "ddr" with a dense one that is ragged in another operand'
    )


def test_rows_of_windows_have_no_storage_of_their_own():
    lists = rg.partition(LISTS, [0, 1, 2], axis=0)
    with pytest.raises(PassError, match="grad: expected values without windows"):
        rg.grad(lambda x: x[:, :, 1:][..., 0][:, :, 1:].sum())(lists)
    compact = rg.grad(lambda x: rg.compact(x[:, :, 1:][..., 0])[:, :, 1:].sum())(lists)
    assert compact.values.tolist() == [0.0] * 9
