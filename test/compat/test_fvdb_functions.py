"""Functions of PyTorch on fvdb's JaggedTensor: those of single rows, and those that are refused."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.torch_like import call_torch

from ragged_dialect.compat.fvdb import JaggedTensor
from ragged_dialect.errors import (
    ArgumentError,
)

HAS_TORCH = importlib.util.find_spec("torch") is not None

ROWS = np.arange(25.0).reshape(5, 5) - 12
"""As many rows as columns: what goes along the wrong dim has the right shape."""


def square(data: Any = ROWS) -> JaggedTensor:
    """Tensors of 3 and 2 rows."""
    return JaggedTensor.from_data_and_offsets(data, [0, 3, 5])


def named(name: str) -> Callable[..., Any]:
    """A function of a name that torch has; it never gets so far as to be called."""

    def function(*args: Any, **options: Any) -> Any:
        raise AssertionError(f"{name} was called with {args} and {options}")

    function.__name__ = name
    return function


@pytest.mark.parametrize("name", "softmax cumsum cumprod flip sort argsort roll transpose cat linear median".split())
def test_functions_that_see_several_rows(name: str) -> None:
    for options in ({"dim": 0}, {"dim": 1}, {}):
        with pytest.raises(ArgumentError, match=r"\w+: expected a function of single rows, got another \(use jdata\)"):
            call_torch(named(name), square(), **options)


@pytest.mark.parametrize("name", "sum mean prod amax amin argmax argmin all any norm var std".split())
def test_reductions_along_the_rows(name: str) -> None:
    text = rf"torch.{name}: expected dims of elements, 1 to 1, got "
    for options in ({}, {"dim": 0}, {"dim": -2}, {"dim": (1, 0)}, {"axis": 0}, {"dim": True}, {"dim": 2}, {"dim": ()}):
        with pytest.raises(ArgumentError, match=text):
            call_torch(named(name), square(), **options)
    with pytest.raises(ArgumentError, match=text):
        call_torch(named(name), square(), *[2] * (name == "norm"), 0)


@pytest.mark.parametrize(
    "operands",
    [
        (square(), square(ROWS[:, 0])),
        (square(ROWS[:, 0]), square()),
        (square(ROWS[:, 0]), ROWS),
        (square(), ROWS[None]),
    ],
)
def test_operands_whose_rows_would_meet_other_dims(operands: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"torch.add: expected operands of rank \d( at most)?, got rank \d"):
        call_torch(named("add"), *operands)


def test_functions_of_single_rows() -> None:
    assert call_torch(np.sum, square(), axis=1).jdata.tolist() == ROWS.sum(1).tolist()
    assert call_torch(np.add, square(), ROWS[0]).jdata.tolist() == (ROWS + ROWS[0]).tolist()
    assert call_torch(np.add, square(), ROWS[:1]).jdata.tolist() == (ROWS + ROWS[0]).tolist()
    assert call_torch(np.where, call_torch(named_as("gt", np.greater), square(), 3.0), square(), 0.0).jdata.max() == 12


def named_as(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function under a name that torch has for it."""

    def other(*args: Any, inplace: bool = False) -> Any:
        return function(*args)

    other.__name__ = name
    return other


def test_functions_in_place_give_the_tensor() -> None:
    jt = square()
    data = jt.jdata
    assert call_torch(named_as("abs_", np.abs), jt) is jt
    assert jt.jdata.min() == 0
    assert data.min() == -12  # others may have it
    assert call_torch(named_as("relu", lambda x: np.maximum(x, 7)), jt, inplace=True) is jt
    assert jt.jdata.min() == 7
    out = square(np.zeros((5, 5)))
    assert call_torch(np.add, square(), 1.0, out=out) is out
    assert out.jdata.tolist() == (ROWS + 1).tolist()


@pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch")
def test_functions_of_pytorch_itself() -> None:
    import torch

    jt = square(torch.from_numpy(ROWS))
    for function in (torch.softmax, torch.cumsum, torch.flip, torch.argsort):
        with pytest.raises(ArgumentError, match="expected a function of single rows"):
            function(jt, [0] if function is torch.flip else 0)
    for function in (torch.sum, torch.argmax, torch.var):
        with pytest.raises(ArgumentError, match="expected dims of elements"):
            function(jt, dim=0)
    assert torch.sum(jt, dim=1).jdata.tolist() == ROWS.sum(1).tolist()
    assert torch.relu_(jt) is jt
    assert jt.jdata.min() == 0
    assert torch.nn.functional.gelu(jt).lshape == [3, 2]
