"""`rg.windows` and NumPy's `sliding_window_view`: beside NumPy's of each component, and plain loops over lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import lists

import ragged_dialect as rg

sliding = np.lib.stride_tricks.sliding_window_view


def nested(seed: int, levels: int, features: tuple[int, ...] = ()) -> rg.RaggedArray:
    return lists(levels, seed, features, count=5, longest=6)


def framed(rows: list[Any], size: int, step: int, below: int) -> list[Any]:
    """The windows of items of nested lists, so many levels below."""
    if below:
        return [framed(row, size, step, below - 1) for row in rows]
    return [rows[at : at + size] for at in range(0, len(rows) - size + 1, step)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("features", [(), (3,)], ids=str)
def test_every_level(seed: int, features: tuple[int, ...]) -> None:
    x = nested(seed, 3, features)
    for axis in (1, 2, 3):
        for size, step in ((1, 1), (2, 1), (2, 3), (5, 2), (9, 1)):
            made = rg.windows(x, size, step=step, axis=axis)
            assert made.tolist() == framed(x.tolist(), size, step, axis)
            assert (made + 0).tolist() == made.tolist()
            assert made.shape[axis + 1] == size


def test_windows_beside_those_of_numpy() -> None:
    x = nested(0, 1, (4,))
    assert {len(row) < 3 for row in x} == {True, False}
    for axis in (1, 2):
        made = sliding(x, 3, axis=axis)
        for own, row in zip(made, x, strict=True):
            if len(row) >= 3 or axis == 2:
                np.testing.assert_array_equal(own, sliding(row, 3, axis=axis - 1))
            else:
                assert own.shape == (0, 4, 3)
    dense = np.arange(20.0).reshape(2, 10)
    np.testing.assert_array_equal(rg.windows(dense, 4), sliding(dense, 4, axis=1))
    np.testing.assert_array_equal(rg.windows(dense, 2, step=3, axis=1), sliding(dense, 2, axis=1)[:, ::3])
    assert rg.windows(dense, 3, axis=0).shape == (0, 3, 10)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("features", [(), (3,)], ids=str)
def test_in_programs_with_gradients(target: str, features: tuple[int, ...]) -> None:
    x = nested(1, 1, features).astype(np.float32)
    weights = np.array([0.5, -1.0, 2.0], np.float32)

    def smoothed(x: rg.RaggedArray) -> rg.RaggedArray:
        return (rg.windows(x, 3) * weights.reshape(3, *(1 for _ in features))).sum(axis=2)

    function = rg.jit(smoothed, target=target)
    for own, row in zip(function(x), x, strict=True):
        wanted = [np.tensordot(weights, row[at : at + 3], 1) for at in range(len(row) - 2)]
        np.testing.assert_allclose(own, np.reshape(wanted, (-1, *features)), rtol=1e-5, atol=1e-6)
    made = rg.jit(rg.grad(lambda x: (smoothed(x) * 2).sum()), target=target)(x)
    for own, row in zip(made, x, strict=True):
        wanted = np.zeros(row.shape)
        for at in range(len(row) - 2):
            wanted[at : at + 3] += 2 * weights.reshape(3, *(1 for _ in features))
        np.testing.assert_allclose(own, wanted, rtol=1e-5)


def test_sums_over_windows_make_none() -> None:
    """The windows are read where they are: in memory they would be `size` times as much."""
    x = rg.from_lengths(np.arange(3000.0), [1000] * 3)
    use = rg.jit(lambda x: rg.windows(x, 50).max(axis=2)).memory(x)
    assert use.peak < use.arguments + use.results + 1000


def test_windows_of_slices_and_of_nothing() -> None:
    x = rg.ragged([[1, 2, 3, 4], [], [5, 6]])
    assert rg.windows(x[:, 1:], 2).tolist() == [[[2, 3], [3, 4]], [], []]
    assert rg.windows(x[:0], 2).tolist() == []
    assert rg.windows(x[:, :0], 2).tolist() == [[], [], []]
    assert rg.windows(x, 2**31 - 1).tolist() == [[], [], []]
    assert rg.windows(x, 3, step=2**31 - 1).tolist() == [[[1, 2, 3]], [], []]


@pytest.mark.parametrize(
    ("size", "step", "axis", "error", "text"),
    [
        (0, 1, 1, rg.ArgumentError, "windows: expected a size from 1 to 2147483647, got 0"),
        (2**31, 1, 1, rg.ArgumentError, "windows: expected a size from 1 to 2147483647, got 2147483648"),
        (2, -1, 1, rg.ArgumentError, "windows: expected a step from 1 to 2147483647, got -1"),
        (1.5, 1, 1, rg.ArgumentError, "windows: expected an integer for size, got float"),
        (2, 1, 0, rg.LayoutError, 'windows: expected a ragged or a plain dim, got dim 0 of layout "dr"'),
        (2, 1, 2, rg.AxisError, "windows: expected axis in [-2, 2), got 2"),
    ],
    ids=str,
)
def test_errors(size: Any, step: int, axis: int, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as found:
        rg.windows(rg.ragged([[1.0, 2.0], []]), size, step=step, axis=axis)
    assert str(found.value) == text


def test_windows_of_inner_lists_are_the_next_dim() -> None:
    x = rg.ragged([[[1.0, 2.0], [3.0]], [[], [4.0]]])
    assert rg.windows(x, 2).tolist() == [[[[1.0, 2.0], [3.0]]], [[[], [4.0]]]]
    with pytest.raises(rg.LayoutError) as found:
        sliding(x, 2, axis=1)
    wanted = 'sliding_window_view: expected no ragged dims behind dim 1, got layout "drr"'
    assert str(found.value) == wanted + " (rg.windows has the window as the next dim)"


@pytest.mark.parametrize(("window", "axis"), [(2, None), ((2,), 1), (2, (1,))], ids=str)
def test_along_one_dim_only(window: Any, axis: Any) -> None:
    with pytest.raises(rg.ArgumentError, match="sliding_window_view: expected one axis and an integer as window, got"):
        sliding(rg.ragged([[1.0, 2.0], []]), window, axis=axis)
