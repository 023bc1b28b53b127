"""Polars: columns of lists of numbers, and groups of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from cases import Case

VERSION = pl.__version__


def _series(case: Case) -> Any:
    if case.values.ndim > 1 or case.values.dtype == "float16":
        raise NotImplementedError
    flat = pl.DataFrame({"row": case.row_ids, "x": case.values})
    return flat.group_by("row", maintain_order=True).agg("x")["x"]


def _of_lists(function: Callable[[Any], Any]) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        x = _series(case)
        return lambda: function(x).to_numpy()

    return prepare


def _each(expression: Any) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        frame = pl.DataFrame({"x": _series(case)})
        return lambda: frame.select(pl.col("x").list.eval(expression))["x"].explode(empty_as_null=False).to_numpy()

    return prepare


def _take(case: Case) -> Callable[[], Any]:
    x = _series(case)
    return lambda: x.gather(case.picked).explode(empty_as_null=False).to_numpy()


OPERATIONS = {
    "sum": _of_lists(lambda x: x.list.sum()),
    "max": _of_lists(lambda x: x.list.max()),
    "mean": _of_lists(lambda x: x.list.mean()),
    "argmax": _of_lists(lambda x: x.list.arg_max()),
    "var": _of_lists(lambda x: x.list.var(ddof=0)),
    "median": _of_lists(lambda x: x.list.median()),
    "sort": _of_lists(lambda x: x.list.sort().explode(empty_as_null=False)),
    "reverse": _of_lists(lambda x: x.list.reverse().explode(empty_as_null=False)),
    "unique": _of_lists(lambda x: x.list.unique().list.sort().explode(empty_as_null=False)),
    "diff": _of_lists(lambda x: x.list.diff(null_behavior="drop").explode(empty_as_null=False)),
    "running max": _each(pl.element().cum_max()),
    "cumsum": _each(pl.element().cum_sum()),
    "x * 2 + 1": _each(pl.element() * 2 + 1),
    "take": _take,
}
