"""How operations are called: as functions and as methods alike; and what has to be spelled out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, get_args

import numpy as np
import pytest
from support.components import array, assert_components, components, nested

import ragged_dialect as rg
from ragged_dialect.arrays.core.arguments import KINDS
from ragged_dialect.arrays.methods import Methods
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.tensor import Tensor

X = array((3, 0, 2))
W = np.arange(4, dtype=np.float32)

AS_NUMPY = {"transpose", "reshape"}
"""Methods that take axes and extents one by one, as NumPy's."""

OF_NUMPY = {"dtype", "initial", "where", "copy"}
"""Options that methods have, as NumPy's: they are made of several operations."""

METHODS = sorted(name for name in vars(Methods) if name in OPERATIONS and name not in AS_NUMPY)


def named(function: Any) -> list[tuple[str, Any, Any]]:
    """Parameters behind the first one."""
    return [(p.name, p.kind, p.default) for p in list(inspect.signature(function).parameters.values())[1:]]


@pytest.mark.parametrize("name", METHODS)
def test_a_function_has_the_parameters_of_the_method(name: str) -> None:
    of_function, of_method = named(getattr(rg, name, OPERATIONS[name])), named(getattr(Methods, name))
    assert of_function == [p for p in of_method if p in of_function or p[0] not in OF_NUMPY]


def test_what_parameters_are_annotated_with_is_asked_for() -> None:
    """A class that is not known would be taken for that of an array."""
    for name, operation in OPERATIONS.items():
        for parameter in operation._signature.parameters.values():
            kind = parameter.annotation
            kinds = set(get_args(kind) if isinstance(kind, UnionType) else (kind,))
            assert kinds <= {*KINDS, Tensor}, (name, parameter)


PAIRS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "axis": (lambda x: rg.softmax(x, 1), lambda x: x.softmax(1)),
    "scan": (lambda x: rg.cumsum(x, 1), lambda x: x.cumsum(1)),
    "merge": (lambda x: rg.merge(x, 0), lambda x: x.merge(0)),
    "dtype": (lambda x: rg.astype(x, np.float64), lambda x: x.astype(np.float64)),
    "several": (lambda x: rg.logsumexp(x, 1, True), lambda x: x.logsumexp(1, True)),
    "tuples": (lambda x: rg.reshape(x, (2,), (2, 2)), lambda x: x.reshape((2,), (2, 2))),
    "after an array": (lambda x: rg.take(x, [1, 0], 0), lambda x: x.take([1, 0], 0)),
    "axes": (lambda x: rg.transpose(x, (0, 1, 2)), lambda x: x.transpose(0, 1, 2)),
    "an array by name": (lambda x: rg.layer_norm(x, bias=W), lambda x: rg.layer_norm(x, None, W, -1)),
    "a number by name": (lambda x: rg.clip(x, max=0.5), lambda x: x.clip(max=0.5)),
    "all by name": (lambda x: rg.softmax(axis=1, x=x), lambda x: x.softmax()),
    "numpy": (lambda x: np.cumsum(x, 1), lambda x: np.cumsum(x, axis=1)),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", PAIRS)
def test_arguments_by_position_and_by_name(case: str) -> None:
    function, method = PAIRS[case]
    for run in (lambda f: f(X), lambda f: rg.jit(f)(X)):
        assert run(function).tolist() == run(method).tolist()


def test_one_program_for_both_spellings() -> None:
    rg.softmax(X, 1)
    before = rg.compilations()
    rg.softmax(X, axis=1)
    X.softmax(1)
    rg.softmax(x=X, axis=1)
    assert rg.compilations() == before


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "too many": (lambda: rg.softmax(X, 1, 2), "softmax: expected arguments (x, axis), got others: too many"),
    "direct": (lambda: rg.matmul(X, X, axis=1), "matmul: expected arguments (x, y), got others: got an unexpected"),
    "none": (lambda: rg.softmax(), "softmax: expected arguments (x, axis), got others: missing"),
    "one of two": (lambda: rg.matmul(X), "matmul: expected arguments (x, y), got others: missing a"),
    "another name": (lambda: rg.softmax(X, dim=1), "got others: got an unexpected keyword argument 'dim'"),
    "twice": (lambda: rg.merge(X, 0, axis=0), "merge: expected arguments (x, axis), got others: multiple values"),
    "a list": (lambda: rg.softmax(X, [1]), "softmax: expected an integer, a tuple of integers or None for axis, got"),
    "of many": (lambda: rg.einsum("bld->b", X, axis=1), "unexpected keyword argument 'axis'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_arguments_that_do_not_fit(case: str) -> None:
    run, text = WRONG[case]
    with pytest.raises(TypeError) as caught:
        run()
    assert text in str(caught.value)
    with pytest.raises(rg.ArgumentError, match="too many positional"):
        rg.jit(lambda x: rg.softmax(x, 1, 2))(X)


# A dense operand beside a ragged dim ------------------------------------------------------------------

LISTS = nested(((3, 0), (), (5, 2, 1)))
PT = rg.from_lengths(np.arange(6.0), [2, 0, 4])
ONE = rg.from_lengths(np.arange(2.0), [2])
EVEN = rg.from_lengths(np.arange(9.0), [3, 3, 3])


def columns() -> rg.RaggedArray:
    """A batch of vectors in front of a ragged axis, [2, 3, ~]."""
    return rg.partition(np.ones((2, 6)), np.array([0, 2, 2, 6]), axis=1)


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "numbers per component": (lambda: PT / np.ones(3), "[None, :]", "[:, None]"),
    "on the left": (lambda: np.ones(3) / PT, "[None, :]", "[:, None]"),
    "numbers that would fit": (lambda: EVEN + np.ones(3), "[None, :]", "[:, None]"),
    "a batch of one": (lambda: ONE / np.ones(1), "[None, :]", "[:, None]"),
    "in jit": (lambda: rg.jit(lambda a, b: a / b)(PT, np.ones(3)), "[None, :]", "[:, None]"),
    "a mask": (lambda: rg.where(np.ones(3, bool), PT, 0.0), "[None, :]", "[:, None]"),
    "a bound": (lambda: rg.clip(PT, np.ones(3)), "[None, :]", "[:, None]"),
    "a ufunc's mask": (lambda: np.add(PT, 1, where=np.ones(3, bool)), "[None, :]", "[:, None]"),
    "rows": (lambda: X + np.ones((5, 4)), "[None, :, :]", "[:, None, :]"),
    "one row": (lambda: X + np.ones((1, 4)), "[None, :, :]", "[:, None, :]"),
    "two levels": (lambda: LISTS + np.ones(9), "[None, None, :]", "[:, None, None]"),
    "two levels, two dims": (lambda: LISTS + np.ones((3, 2)), "[None, :, :]", "[:, :, None]"),
    "a batch in front": (lambda: columns() + np.ones(4), "[None, None, :]", "[:, None, None]"),
    "a result": (lambda: PT - PT.mean(1), "[None, :]", "[:, None]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_numbers_per_component_do_not_run_along_components(case: str) -> None:
    run, along, each = REFUSED[case]
    with pytest.raises(rg.LayoutError) as caught:
        run()
    assert "beside a ragged dim, got rank" in str(caught.value)
    assert f"(write {along} for elements along the components, {each} for one per component)" in str(caught.value)


def test_what_is_spelled_out_is_meant() -> None:
    x, rows, numbers = components(PT), np.arange(4.0), np.arange(3.0)
    assert_components(PT * rows[None, :], [c * rows[: len(c)] for c in x])
    assert_components(PT * numbers[:, None], [c * n for c, n in zip(x, numbers, strict=True)])
    assert_components(PT - PT.sum(1)[:, None], [c - c.sum() for c in x])
    assert_components(X + W, [c + W for c in components(X)])
    assert (LISTS + np.ones((3, 1, 1))).tolist() == (LISTS + 1).tolist()
    wanted = (columns() + 1).tolist()
    assert (columns() + np.ones((3, 1))).tolist() == (columns() + np.ones((2, 1, 1))).tolist() == wanted
