"""The recipes' table of other libraries' names: every row beside a loop over the components."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, chain, groupby
from math import nan
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT

List = list[Any]
X: list[List] = [[3.0, 1.0, 3.0, -2.0], [], [5.0], [-1.0, -1.0]]
Y: list[List] = [[1.0, 9.0, 0.0, 9.0], [], [2.0], [4.0, 3.0]]
Z: list[List] = [[1.0, 7.0], [2.0], [], [-1.0]]
C: list[list[List]] = [[[1.0], []], [], [[2.0, 3.0]], [[], [4.0]]]
S, K = [3.0, 1.0, 5.0, 8.0], [2, 0, 1, 3]
COUNTS: list[List] = [[0, 2, 2], [], [1], [0]]

PAGE = (ROOT / "docs" / "recipes.md").read_text().partition("## Names of other libraries")[2]
ROWS = re.findall(r"^\| (`.*) \| (.*) \|$", PAGE, re.MULTILINE)


def each(function: Callable[..., Any], *of: List) -> List:
    """A function of the components of arrays, of each by itself."""
    return [function(*given) for given in zip(*of, strict=True)]


def moving(x: List, a: float = 0.5) -> List:
    """An exponential mean."""
    return [*accumulate(x, lambda old, new: (1 - a) * old + a * new)]


def folded(x: List) -> float:
    """Half of what was, and the next one."""
    total = 0.0
    for number in x:
        total = total * 0.5 + number
    return total


EXPECTED: dict[str, List] = {
    "shift(n)": each(lambda x: [nan, *x[:-1]] if x else [], X),
    "shift(-n)": each(lambda x: [*x[1:], nan] if x else [], X),
    "first": each(lambda x: x[0] if x else nan, X),
    "last": each(lambda x: x[-1] if x else nan, X),
    "list.get(k)": each(lambda x, k: x[k] if k < len(x) else nan, X, K),
    "max_by(x, y)": each(lambda x, y: x[y.index(max(y))] if x else nan, X, Y),
    "list.head(k)": each(lambda x, k: x[:k], X, K),
    "list_position(x, s)": each(lambda x, s: x.index(s) + 1 if s in x else 0, X, S),
    "list_contains": each(lambda x, s: s in x, X, S),
    "list_has_any": each(lambda x, z: bool({*x} & {*z}), X, Z),
    "list_has_all": each(lambda x, z: {*z} <= {*x}, X, Z),
    "set_difference": each(lambda x, z: sorted({*x} - {*z}), X, Z),
    "unique(maintain_order=True)": each(lambda x: [*dict.fromkeys(x)], X),
    "nunique": each(lambda x: len({*x}), X),
    "array_remove": each(lambda x, s: [a for a in x if a != s], X, S),
    "list_append": each(lambda x, s: [*x, s], X, S),
    "array_insert(x, k, s)": each(lambda x, k, s: [*x[:k], s, *x[k:]], X, K, S),
    "list_resize(x, n, fill)": each(lambda x: [*x, nan][:1], X),
    "list_zip": each(lambda x, y: [[a, b] for a, b in zip(x, y, strict=True)], X, Y),
    "list_reduce": each(folded, X),
    "list_dot_product": each(lambda x, y: sum((a * b for a, b in zip(x, y, strict=True)), 0.0), X, Y),
    "list_grade_up": each(lambda x: sorted(range(len(x)), key=x.__getitem__), X),
    "sort_by": each(lambda x: sorted(x, key=abs), X),
    "rank(method)": each(lambda x: [sum(b < a for b in x) + 1 for a in x], X),
    "rolling(n)": each(lambda x: [[a] for a in x], X),
    "expanding().mean()": each(lambda x: [a / (n + 1) for n, a in enumerate(accumulate(x))], X),
    "ewm_mean(alpha=a, adjust=False)": each(moving, X),
    "nlargest": [each(lambda x: sorted(x)[::-1][:2], X), each(lambda x: np.argsort([-a for a in x])[:2].tolist(), X)],
    "value_counts": each(lambda x: [x.count(n) for n in range(3)], COUNTS),
    "groupby(key)": [[8.0, 1.0], [5.0], [3.0]],
    "cumcount": each(lambda x: [*range(len(x))], X),
    "range(k)": each(lambda k: [*range(k)], K),
    "array_repeat(s, k)": each(lambda s, k: [s] * k, S, K),
    "rle": each(lambda x: [[*own] for _, own in groupby(x)], X),
    "explode": [*chain(*X)],
    "explode, of another column": [*chain(*each(lambda s, x: [s] * len(x), S, X))],
    "ak.num(c, axis=2)": each(lambda c: [len(own) for own in c], C),
    "ak.unflatten": X,
    "ak.pad_none": each(lambda x: [*x, *[nan] * 4][:4], X),
    "ak.cartesian": each(lambda x: [[a] * len(x) for a in x], X),
    "ak.argmax(keepdims=True)": each(lambda x: [max(x)] if x else [], X),
}
GIVEN: dict[str, dict[str, Any]] = {
    "value_counts": {"x": rg.ragged(COUNTS, np.int64), "n": 3},
    "groupby(key)": {"x": np.array([8.0, 5.0, 1.0, 3.0]), "n": 3},
    "nlargest": {"k": 2},
}


def test_every_row_has_what_it_is_compared_with() -> None:
    assert [*EXPECTED] == [name(there) for there, _ in ROWS]


def name(there: str) -> str:
    """The first name of a row, and what is said behind it."""
    first = there.split("`")[1]
    return f"{first}, of another column" if "another column" in there else first


@pytest.mark.sampled(6)
@pytest.mark.parametrize("compiled", [False, True], ids=["alone", "jit"])
@pytest.mark.parametrize(("there", "here"), ROWS, ids=[name(there) for there, _ in ROWS])
def test_a_row(there: str, here: str, compiled: bool) -> None:
    lists = {key: rg.ragged(given, np.float64) for key, given in {"x": X, "y": Y, "z": Z, "c": C}.items()}
    arrays: dict[str, Any] = {**lists, "s": np.array(S), "k": np.array(K), "key": np.array([0, 1, 0, 2])}
    arrays |= {"values": lists["x"].values, "lengths": lists["x"].lengths}
    numbers: dict[str, Any] = {"n": 1, "a": 0.5, "fill": nan}
    for key, value in GIVEN.get(name(there), {}).items():
        (numbers if isinstance(value, int) else arrays)[key] = value
    code = next(code for code in here.split("`")[1::2])
    code += " + 0 * y[:, None, :]" if name(there) == "ak.cartesian" else ""
    if "k" in numbers:
        del arrays["k"]

    def row(arrays: dict[str, Any]) -> Any:
        return eval(code, {"np": np, "rg": rg, **numbers, **arrays})

    found = (rg.jit(row) if compiled else row)(arrays)
    got = [part.tolist() for part in found] if isinstance(found, tuple) else found.tolist()
    assert repr(got) == repr(EXPECTED[name(there)])
