"""Numbers that traced code computes of Python's, as Python computes them: integers of a program would wrap."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.guards import Fits, Guard
from ragged_dialect.arrays.tracing.leaves import Leaves
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.narrowing import is_tuple

Number: TypeAlias = Any
"""An integer or a float: which, an operation's dtypes say."""

Numbers: TypeAlias = Sequence[float | np.generic | np.ndarray]
Exact: TypeAlias = (
    Callable[[Number], Numbers] | Callable[[Number, Number], Numbers] | Callable[[Number, Number, Number], Numbers]
)
"""What Python makes of numbers: one or several."""

Reader: TypeAlias = Callable[[Leaves, list[float]], float]
"""How a number is read in a call."""

_WORD = 64


def _power(a: float, b: float) -> float:
    return a ** min(b, _WORD) if isinstance(a, int) and abs(a) > 1 else a**b  # more bits do not fit either


_PYTHON: dict[str, Callable[[Number], Number] | Callable[[Number, Number], Number]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b, "remainder": operator.mod, "power": _power, "negative": operator.neg,
    "absolute": abs, "square": lambda a: a * a, "left_shift": lambda a, b: a << min(b, _WORD),
}  # fmt: skip
"""Ufuncs whose integers may leave 64 bits; NumPy's do the others."""


def exact(ufunc: str) -> Exact:
    """A ufunc of Python's numbers."""

    def run(*numbers: float) -> Numbers:
        python = None if any(type(n) is bool for n in numbers) else _PYTHON.get(ufunc)
        found = getattr(np, ufunc)(*numbers) if python is None else python(*numbers)
        return found if is_tuple(found) else (found,)

    return run


@dataclass
class _Step:
    """A computed number: who computes it, from which, and what it has to be in; the bounds of a float are None."""

    op: str
    run: Exact
    operands: tuple[Reader, ...]
    result: int
    bounds: tuple[int, int] | None

    def __call__(self, leaves: Leaves, done: list[float]) -> float:
        try:
            found = self.run(*(operand(leaves, done) for operand in self.operands))[self.result]
        except (ArithmeticError, TypeError, ValueError):  # a division by 0 of integers is 0 in a program
            found = 0
        number = found.item() if isinstance(found, (np.generic, np.ndarray)) else found
        if self.bounds is not None:
            Fits(self.op, -1, *self.bounds).check(number)
        return number


class ComputedNumbers(Guard):
    """The guard of all numbers that a function computes: every integer fits 64 bits, and what it is used as."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._now: list[float] = []

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError with the number and the range."""
        done: list[float] = []
        with np.errstate(all="ignore"):
            for step in self._steps:
                done.append(step(leaves, done))

    @property
    def has_integers(self) -> bool:
        """Whether one of them may not fit."""
        return any(step.bounds is not None for step in self._steps)

    def add(self, op: str, run: Exact, operands: Sequence[Tensor], result: int, dtype: DType, leaves: Leaves) -> int:
        """A number computed of tracers of numbers: its place. Tried on the leaves of the call that is traced."""
        bounds = (-(2**63), 2**63 - 1) if dtype.kind == "i" else None
        return self._add(_Step(op, run, tuple(_reader(x) for x in operands), result, bounds), leaves)

    def read(self, op: str, reader: Callable[[Leaves], int], leaves: Leaves) -> int:
        """A number that arguments have, as an extent, which fits 64 bits: its place."""
        return self._add(_Step(op, lambda n: (n,), (lambda leaves, done: reader(leaves),), 0, None), leaves)

    def _add(self, step: _Step, leaves: Leaves) -> int:
        with np.errstate(all="ignore"):
            self._now.append(step(leaves, self._now))
        self._steps.append(step)
        return len(self._steps) - 1

    def narrow(self, number: int, fits: Fits) -> None:
        """A computed number is used where less fits."""
        fits.check(self._now[number])
        step = self._steps[number]
        low, high = step.bounds or (fits.low, fits.high)
        if fits.low >= low and fits.high <= high:
            step.op, step.bounds = fits.op, (fits.low, fits.high)


def _reader(x: Tensor) -> Reader:
    """How a number is read in a call: a constant, an argument, or one computed before."""
    constant, leaf, computed = x.constant, x.leaf, x.computed
    if constant is not None:
        return lambda leaves, done: constant
    if leaf is not None:
        return lambda leaves, done: leaves[leaf]
    assert computed is not None
    return lambda leaves, done: done[computed]
