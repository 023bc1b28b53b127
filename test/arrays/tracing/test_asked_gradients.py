"""What calls in PyTorch's graph do not do: gradients that nobody asks for, and questions that need not be asked."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.tracing import autograd
from ragged_dialect.arrays.tracing.guards import Elsewhere, EqualExtents, Fixed
from ragged_dialect.arrays.tracing.leaves import Origin
from ragged_dialect.errors import RuntimeCheckError

LENGTHS = [2, 0, 3]


def test_gradients_that_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces are gradients of an energy by positions: none by weights is computed on the way, nor once more for those
    of the forces."""
    torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")
    generator = torch.Generator().manual_seed(0)
    x, w, v = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((5, 2), (2, 3), (3,))
    )
    made: list[int] = []
    pull = autograd._Pull.gradients

    def gradients(self: Any, wanted: Any, leaves: Any) -> Any:
        made.append(len(wanted))
        results = pull(self, wanted, leaves)
        assert len(results) == len(wanted)
        return results

    monkeypatch.setattr(autograd._Pull, "gradients", gradients)
    energy = rg.jit(lambda x, w, v: (np.tanh(x @ w) @ v).sum(axis=1))

    def forces(energy: Any, x: Any) -> Any:
        return torch.autograd.grad(energy.sum(), x, create_graph=True)[0]

    def penalty(energy: Any) -> Any:
        return (forces(energy, x) ** 2).sum()

    def energies() -> Any:
        return energy(rg.from_lengths(x, LENGTHS), w, v)

    found = torch.autograd.grad(penalty(energies()), (w, v))
    assert made == [1, 2]  # by positions, and of these by the weights
    sums = torch.stack([part.sum(0) for part in torch.split(torch.tanh(x @ w) @ v, LENGTHS)])
    for own, expected in zip(found, torch.autograd.grad(penalty(sums), (w, v)), strict=True):
        np.testing.assert_allclose(own.numpy(), expected.numpy(), atol=1e-12)


def test_choices_of_gradients_have_an_end() -> None:
    """Each has a program: those beyond a few are computed with all."""
    torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")
    values, *given = (torch.full((2,), float(k), dtype=torch.float64, requires_grad=True) for k in range(1, 7))
    function = rg.jit(lambda x, a, b, c, d, e: (x * (a + b + c + d + e)).sum(axis=1))
    made = function(rg.from_lengths(values[None], [1]), *given).sum()
    ((recorded, _),) = function._programs.values()
    for w in given:
        (got,) = torch.autograd.grad(made, w, retain_graph=True)
        np.testing.assert_array_equal(got.numpy(), np.ones(2))
    assert recorded._pull.compilations == autograd._CHOICES


class _Read(list[Any]):
    """Arguments, and which of them were looked at."""

    def __init__(self, leaves: list[Any]) -> None:
        super().__init__(leaves)
        self.seen: list[Any] = []

    def __getitem__(self, key: Any) -> Any:
        self.seen.append(key)
        return super().__getitem__(key)


def test_questions_look_at_what_they_ask_about() -> None:
    """Not at all arguments, of which a program with many weights asks as many questions."""
    leaves = _Read([np.zeros((k, 2)) for k in range(20)])
    guard = EqualExtents("op", Origin(3, 0), Origin(5, 0), 0)
    for ask in (guard.prepared(), Elsewhere(guard, tuple(range(20))).prepared()):
        leaves.seen.clear()
        with pytest.raises(RuntimeCheckError, match="op: dim 0: expected extent 5, got 3"):
            ask(leaves)
        assert set(leaves.seen) == {3, 5}
    for one, other in ((Origin(3, 0), 4), (4, Origin(3, 0)), (3, 4)):
        with pytest.raises(RuntimeCheckError, match="expected extent"):
            EqualExtents("op", one, other, 0).prepared()(leaves)
    EqualExtents("op", 3, Origin(3, 0), 0).prepared()(leaves)
    with pytest.raises(RuntimeCheckError, match="expected extent 5, got 4"):
        Elsewhere(guard, (0, 0, 0, 4, Fixed(1.0), 5)).prepared()(leaves)


def test_parameters_by_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are known; a signature is bound where a program is made, and where a call is wrong."""
    x = rg.from_lengths(np.arange(10.0).reshape(5, 2), LENGTHS)
    expected = rg.softmax(x, axis=1).values
    bound: list[str] = []
    bind = inspect.Signature.bind
    monkeypatch.setattr(inspect.Signature, "bind", lambda *given, **named: bound.append("") or bind(*given, **named))
    np.testing.assert_array_equal(rg.softmax(x, 1).values, expected)
    assert not bound
    with pytest.raises(rg.ArgumentError, match="multiple values for argument 'axis'"):
        rg.softmax(x, 1, axis=1)
    with pytest.raises(rg.ArgumentError, match="softmax: expected arguments"):
        rg.softmax(x, 1, *[None] * 5)
