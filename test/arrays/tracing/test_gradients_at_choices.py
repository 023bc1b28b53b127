"""Gradients where a function has a choice: ties, zeros, and numbers at which a formula is none."""

import numpy as np
import pytest

import ragged_dialect as rg


def _largest(x):
    return x.max(axis=1).sum()


def test_ties_go_to_the_first():
    x = rg.from_lengths(np.array([1.0, 3, 3, 2, 2]), [3, 0, 2])
    present = rg.from_lengths(np.array([1.0, 3, 3, 2, 2]), [3, 2])
    assert rg.grad(_largest)(present).values.tolist() == [0, 1, 0, 1, 0]
    assert rg.vjp(lambda x: x.max(axis=1), x)[1](np.ones(3))[0].values.tolist() == [0, 1, 0, 1, 0]


def test_running_extremes_forget_what_is_infinite():
    """What goes to the largest element so far is not multiplied by 0, and the first element counts, whatever it is."""
    x, w = rg.ragged([[-np.inf, -np.inf, 1.0, 2.0], [-np.inf]]), rg.ragged([[1.0, 2.0, 3.0, np.inf], [5.0]])

    def largest(x):
        return np.maximum.accumulate(x, axis=1)

    assert rg.grad(lambda x: (largest(x) * w).sum())(x).tolist() == [[3, 0, 3, np.inf], [5]]
    assert rg.jvp(largest, [x], [w])[1].tolist() == [[1, 1, 3, np.inf], [5]]
    nans = rg.ragged([[1.0, np.nan, 1.0, 1.0], [1.0]])
    y = rg.ragged([[1.0, 2.0, 3.0, 3.0], [0.0]])
    np.testing.assert_array_equal(rg.grad(lambda x: (largest(x) * nans).sum())(y).values, [1, np.nan, 2, 0, 1])
    products = rg.jvp(lambda x: x.cumprod(axis=1), [rg.ragged([[np.inf, 2.0]])], [rg.ragged([[1.0, 2.0]])])[1]
    assert products.tolist() == [[1, np.inf]]


def test_nan_has_the_derivative_of_a_maximum():
    x = rg.from_lengths(np.array([1.0, np.nan, 3, np.nan, 2]), [3, 0, 2])
    assert rg.grad(lambda x: np.maximum.accumulate(x, axis=1).sum())(x).values.tolist() == [1, 2, 0, 2, 0]
    assert rg.grad(lambda x: np.minimum(x, 2.0).sum())(x).values.tolist() == [1, 1, 0, 1, 1]


ROOT = 0.5**0.5
AT_CHOICES = {
    "hypot": [
        (3, 3, ROOT, ROOT, 0.5 * ROOT / 3),
        (-3, 3, -ROOT, ROOT, 0.5 * ROOT / 3),
        (0, 2, 0, 1, 0.5),
        (0, 0, 0, 0, 0),
    ],
    "logaddexp": [(2, 2, 0.5, 0.5, 0.25), (-np.inf, 2, 0, 1, 0), (np.inf, np.inf, 1, 0, 0)],
    "logaddexp2": [(-1, -1, 0.5, 0.5, np.log(2) / 4)],
    "remainder": [(4, 2, 1, -2, 0), (0, 3, 1, 0, 0), (-4, 2, 1, 2, 0), (4, -2, 1, 2, 0)],
    "power": [(0, 0, 0, 0, 0), (0, 1, 1, 0, 0), (0, 2, 0, 0, 2), (-2, 0, 0, np.nan, 0), (np.nan, 0, 0, np.nan, 0)],
}
"""Two numbers where a formula has a choice that its function has not: both derivatives, and the second one of the
first number."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", AT_CHOICES)
def test_where_a_formula_has_a_choice(name):
    def loss(a, b):
        return getattr(np, name)(a, b).sum()

    a, b, *expected = np.array(AT_CHOICES[name], float).T
    x, y = (rg.from_lengths(v, [0, 1, len(v) - 1]) for v in (a, b))
    found = [rg.grad(loss, argnums=k)(x, y).values for k in (0, 1)]
    second = rg.grad(lambda x, y: rg.grad(loss)(x, y).sum())(x, y).values
    np.testing.assert_allclose([*found, second], expected, rtol=1e-14, atol=1e-15)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [np.std, np.nanstd, np.linalg.norm])
def test_deviations_and_norms_of_0_have_the_derivative_0(function):
    x = rg.from_lengths(np.array([3.0, 0.0, 4.0, 0.0, 0.0]), [3, 0, 1, 1])
    got = rg.grad(lambda x: function(x, axis=1).sum())(x).values
    slope = {np.linalg.norm: [0.6, 0, 0.8]}.get(function, x.values[:3] - 7 / 3)
    np.testing.assert_allclose(got[:3], slope if function is np.linalg.norm else slope / np.std([3, 0, 4]) / 3)
    np.testing.assert_array_equal(got[3:], 0)


def test_powers_of_zero_by_numbers():
    x = rg.from_lengths(np.array([0.0, np.nan, 2.0, -5e-324, np.inf]), [2, 0, 3])
    for exponent in (0, 0.0):
        assert rg.grad(lambda x, exponent=exponent: (x**exponent).sum())(x).values.tolist() == [0] * 5
    assert rg.grad(lambda x: rg.grad(lambda x: (x**1.0).sum())(x).sum())(x).values.tolist() == [0] * 5


def test_fractions_of_whole_numbers_have_the_derivative_1():
    x = rg.from_lengths(np.array([-2.0, -0.0, 2.0, -1.5]), [2, 0, 2])
    assert rg.grad(lambda x: np.modf(x)[0].sum())(x).values.tolist() == [1, 1, 1, 1]
    assert np.signbit(np.modf(x)[0].values).tolist() == [True, True, False, True]


def test_product_with_zeros():
    x = rg.from_lengths(np.array([2.0, 0, 3, 0, 0, 5]), [3, 0, 3])
    gradient = rg.vjp(lambda x: x.prod(axis=1), x)[1](np.ones(3))[0]
    assert gradient.values.tolist() == [0, 6, 0, 0, 0, 0]


def test_second_derivatives_of_products_with_zeros():
    def loss(x):
        product = x.prod(axis=1)
        return (product * product + product).sum()

    lengths, numbers = [3, 0, 3, 2, 3], np.array([2.0, 0, 3, 0, 0, 5, 1, 2, 0, 0, 0])
    x, step = rg.from_lengths(numbers, lengths), np.random.default_rng(0).standard_normal(numbers.size)

    def gradient(numbers):
        parts = np.split(numbers, np.cumsum(lengths)[:-1])
        return np.array([(2 * p.prod() + 1) * np.delete(p, k).prod() for p in parts for k in range(len(p))])

    (second,) = rg.vjp(rg.grad(loss), x)[1](rg.like(x, step))
    expected = (gradient(numbers + 1e-6 * step) - gradient(numbers - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(second.values, expected, atol=1e-8)
