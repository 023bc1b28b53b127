"""Numbers where arrays are expected, and what traced code does with them; pullbacks wherever they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.errors import RaggedError

X = rg.from_lengths(np.arange(20.0).reshape(10, 2), [3, 0, 5, 2])


def test_a_number_with_more_dims() -> None:
    assert rg.unsqueeze(3, axis=0).tolist() == [3]
    assert rg.stack([1, 2]).tolist() == [1, 2]
    assert rg.jit(lambda a: a[None])(3.0).tolist() == [3.0]
    assert rg.jit(lambda a: (a, a * 2))(2) == (2, 4)


def test_parameters_of_numpys_types() -> None:
    made = rg.split(X, axis=2, factor=np.int8(2))  # pyright: ignore[reportArgumentType]
    assert made.values.tolist() == X.values.tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4"])
def test_partition_by_short_integers(dtype: str) -> None:
    values = np.arange(10.0)
    made: Any = rg.partition(values, np.array([0, 3, 10], dtype))
    assert (
        made.lengths.tolist() == rg.partition(values, np.array([3, 7], dtype), lengths=True).lengths.tolist() == [3, 7]
    )


def test_pieces_are_one_program() -> None:
    before = rg.compilations()
    parts = rg.chunk(X, 40, axis=1)
    assert rg.compilations() - before <= 1
    assert np.concatenate([p.lengths for p in parts]).reshape(40, 4).sum(0).tolist() == [3, 0, 5, 2]
    assert [p.lengths.tolist() for p in np.array_split(X, np.int64(2), axis=1)] == [[2, 0, 3, 1], [1, 0, 2, 1]]


def test_pullbacks_in_traced_code() -> None:
    pull = rg.vjp(lambda a: a * a, X)[1]
    assert rg.jit(lambda c: pull(c)[0])(X).values.tolist() == (2 * X.values**2).tolist()
    assert rg.vjp(lambda a: a.sum(), X)[1](1)[0].values.tolist() == np.ones((10, 2)).tolist()
    assert rg.jvp(lambda a: a * a, (2.0,), (1,)) == (4.0, 4.0)
    assert rg.vjp(lambda a: X.sum(), "text")[1](1.0) == ("text",)


def _leaked() -> Any:
    kept: list[Any] = []
    rg.jit(lambda a: kept.append(rg.vjp(lambda b: b * 2, a)[1]) or a * 1)(X)
    return kept[0](X)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (_leaked, "expected a value of the function that is traced, got one that left the jit function"),
    (
        lambda: rg.grad(lambda a: a.sum(), argnums=(0, -1))(X),
        r"grad: expected different argument numbers, got \[0, -1\]",
    ),
    (lambda: rg.vjp(lambda a: a * 2, X)[1](X[:2]), "vjp: level 0: expected 4 components, got 2"),
    (lambda: rg.jit(lambda x, a: x[:, a:])(X, 1.5), "getitem: expected an integer as an index, got float64 of rank 0"),
    (lambda: rg.from_padded(np.ones((3, 3)), 1), "expected a vector of integers for lengths, got int64 of rank 0"),
    (lambda: rg.chunk(X, 2**62, axis=1), r"expected chunks in \[1, 1048576\], got 4611686018427387904"),
    (lambda: np.array_split(X, 2**40), r"expected sections in \[1, 1048576\], got 1099511627776"),
    (lambda: rg.ragged([np.ones(2), None]), r"ragged: expected a list or an array at \[1\], got None"),
    (lambda: rg.ragged(np.array([1, None], object)), r"ragged: expected a list or an array at \[1\], got None"),
    (lambda: np.full_like(X, "a"), "expected an array or nested lists of numbers, got str"),  # pyright: ignore
    (lambda: np.full_like(X, np.array("a")), "np.full_like: expected numbers that float64 holds, got <U1"),  # pyright: ignore
    (lambda: np.add.reduce(X, axis=1, where=[[1, 2], [3]]), "expected an array or nested lists"),  # pyright: ignore
    (lambda: X.requires_grad_(np.ones(2)), "expected a boolean for requires_grad, got ndarray"),  # pyright: ignore
    (lambda: rg.save_npz("x.npz", X, compressed=np.ones(2)), "expected a boolean for compressed"),  # pyright: ignore
    (
        lambda: rg.jit(lambda a: a, target="")(X),
        "expected a target among cpu, gpu, emulator, ptx-emulator, auto, got ''",
    ),
    (lambda: rg.jit(lambda a: a, target="").memory(X), "expected a program for the CPU, whose memory is counted, got "),
    (lambda: rg.vjp(lambda a: a * 2, X)[1](X, X), r"vjp: expected arguments \(cotangents\), got others: too many"),
    (lambda: rg.vjp(lambda a: a * 2, X)[1](), r"vjp: expected arguments \(cotangents\), got others: missing"),
    (lambda: rg.jit(lambda a: rg.vjp(lambda b: b * 2, a)[1](a, a))(X), r"vjp: expected arguments \(cotangents\), got"),
    (lambda: rg.jit(lambda a: a, target=np.ones(2)), "jit: expected text or None for target, got ndarray"),  # pyright: ignore
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RaggedError, match=text):
        call()
