"""Arguments that make no sense, and calls of the arrays API with them.

A call gives a result or a RaggedError. Integers between a hundred and 2**63 are left out: they ask for memory."""

from __future__ import annotations

import inspect
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import ragged_dialect as rg

Call = Callable[[], Any]


class Odd:
    """An object whose `__array__` gives, or raises, what it was made with."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __array__(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.made, BaseException):
            raise self.made
        return self.made


class Endless:
    """A row of a sparse matrix is a sparse matrix of one row."""

    def __iter__(self) -> Iterator[Endless]:
        return iter([Endless()])


def deep(depth: int) -> list[Any]:
    """A list inside lists."""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def inside_itself() -> list[Any]:
    """A list that holds itself."""
    made: list[Any] = [1]
    made.append(made)
    return made


def junk() -> list[Any]:
    """One of each."""
    numbers = [2**70, -(2**70), 10**400, -1, 0, 1, 3, 1.5, float("nan"), float("inf"), True, 1j]
    numpys = [np.int64(1), np.float32(np.nan), np.array(2), np.zeros((2, 0)), np.zeros(3, complex)]
    others = [np.array(["a", "b"]), np.array([None]), np.array(["2020"], "M8[Y]"), np.zeros(2, [("a", int)])]
    lists = [[], [[]], [[1], [1, 2]], [1, None], ["a"], [2**70], [1.0, 2.0], deep(5000), inside_itself(), (1, 2), ()]
    odd = [Odd("text"), Odd(ValueError("no")), Odd(RecursionError("no")), Odd(np.array(["a"])), Endless()]
    text = ["", "text", b"bytes", "float32", "blk,bln->bkn", bytearray(b"12"), memoryview(b"1234")]
    sparse = SimpleNamespace(data=np.ones(2), indptr=np.array([0, 1, 2]), indices=np.array([0, 1]))
    rest = [None, ..., slice(None), slice("a"), {}, {"a": 1}, {1}, object(), int, len, sparse, range(3), iter([1])]
    return [*numbers, *numpys, np.zeros(3, np.uint8), *others, *lists, *odd, *text, *rest]


def arrays() -> list[Any]:
    """Arrays that do make sense, so that the junk beside them is looked at."""
    x = rg.from_lengths(np.arange(12, dtype=np.float32).reshape(6, 2), [2, 0, 4])
    n = rg.from_lengths(np.arange(6), [2, 0, 1], [1, 2, 3])
    dense = [np.arange(3), np.ones((3, 4, 2), np.float32)]
    return [x, x[..., 0], n, x[:, :1], x > 3, rg.split(x, axis=1, factor=2), *dense]


def _positions(function: Any) -> tuple[int, int, list[str]]:
    """Fewest and most arguments by position, and the names of the others."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 1, 2, []
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    fewest = sum(p.default is p.empty for p in places)
    return fewest, len(places) + 2 * several, [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def arguments(function: Any, random_: random.Random, choices: Sequence[Any], first: Sequence[Any]) -> tuple[Any, Any]:
    """Arguments for a function, by position and by name; often one of `first` in front."""
    fewest, most, names = _positions(function)
    given = [random_.choice(choices) for _ in range(random_.randint(fewest, max(fewest, most)))]
    if given and first and random_.random() < 0.7:
        given[0] = random_.choice(first)
    return given, {name: random_.choice(choices) for name in names if random_.random() < 0.6}


_OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.and_, operator.lshift, operator.lt, operator.eq, operator.ne, operator.getitem,
    lambda x, y: y + x, lambda x, y: y @ x, lambda x, y: y in x, lambda x, y: x[:, y], lambda x, y: x[y:],
    lambda x, y: x[:, ::y], lambda x, y: x[y, 0],
]  # fmt: skip
_NUMPYS: list[Any] = [
    np.sum, np.max, np.mean, np.clip, np.where, np.concatenate, np.stack, np.transpose, np.expand_dims, np.full_like,
    np.array_split, np.split, np.isclose, np.count_nonzero, np.einsum, np.add, np.exp, np.add.reduce, np.add.accumulate,
    np.add.outer, np.argmax, np.cumsum, np.squeeze, np.reshape, np.take, np.var,
]  # fmt: skip
# What takes no arrays, or has tests of its own with files and packages.
_LEFT_OUT = {"compile", "Layout", "synchronize", "compilations", "save_npz", "assume_valid", "RaggedArray"}


def call(random_: random.Random, first: Sequence[Any], others: Sequence[Any]) -> tuple[str, Call]:
    """A call of the arrays API, and what it is. The first argument is often one of `first`."""
    choices, own = [*others, *first], [x for x in first if isinstance(x, type(first[0]))]
    kind = random_.choice(("function", "function", "method", "operator", "numpy"))
    if kind == "operator":
        x, y, chosen = random_.choice(own), random_.choice(choices), random_.choice(_OPERATORS)
        return f"operator {_OPERATORS.index(chosen)} {type(x).__name__} {_shown(y)}", lambda: chosen(x, y)
    if kind == "method":
        x = random_.choice(own)
        names = [n for n in dir(rg.RaggedArray) if n not in ("trusted", "of") and not n.startswith("_")]
        name = random_.choice(names)
        if not callable(getattr(rg.RaggedArray, name)):
            return f".{name}", lambda: getattr(x, name)
        given, named = arguments(getattr(rg.RaggedArray, name), random_, choices, ())
        return f".{name}{_shown(given[1:])}{_shown(named)}", lambda: getattr(x, name)(*given[1:], **named)
    if kind == "numpy":
        function = random_.choice(_NUMPYS)
        given = [random_.choice(own), *(random_.choice(choices) for _ in range(random_.randint(0, 2)))]
        return f"np.{function.__name__}{_shown(given)}", lambda: function(*given)
    names = [n for n in rg.__all__ if n not in _LEFT_OUT and not n.endswith("Error")]
    return call_of(random_, {n: getattr(rg, n) for n in names}, first, others)


def call_of(
    random_: random.Random, functions: Mapping[str, Any], first: Sequence[Any], others: Sequence[Any]
) -> tuple[str, Call]:
    """A call of one of some functions."""
    name = random_.choice(list(functions))
    given, named = arguments(functions[name], random_, [*others, *first], first)
    return f"{name}{_shown(given)}{_shown(named)}", lambda: functions[name](*given, **named)


def _shown(value: Any) -> str:
    try:
        return repr(value)[:200].replace("\n", " ")
    except Exception:
        return f"<{type(value).__name__}>"
