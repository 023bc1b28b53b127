"""Awkward Array: lists of numbers, and lists of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import awkward as ak
import numpy as np
from cases import Case

VERSION = ak.__version__


def _array(case: Case, values: Any = None) -> Any:
    content = ak.contents.NumpyArray(case.values if values is None else values)
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(case.offsets), content))


def _of_lists(function: Callable[[Any], Any]) -> Callable[[Case], Callable[[], Any]]:
    """Lists of numbers alone: over lists of rows Awkward reduces the innermost axis."""

    def prepare(case: Case) -> Callable[[], Any]:
        if case.values.ndim > 1:
            raise NotImplementedError
        x = _array(case)
        return lambda: np.asarray(function(x))

    return prepare


def _values(array: Any) -> Any:
    return np.asarray(ak.flatten(array, axis=1))


def _take(case: Case) -> Callable[[], Any]:
    x = _array(case)
    return lambda: _values(ak.to_packed(x[case.picked]))


def _filter(case: Case) -> Callable[[], Any]:
    x, mask = _array(case), _array(case, case.mask)
    return lambda: _values(x[mask])


def _affine(case: Case) -> Callable[[], Any]:
    x = _array(case)
    return lambda: _values(x * 2 + 1)


OPERATIONS = {
    "sum": _of_lists(lambda x: ak.sum(x, axis=1)),
    "max": _of_lists(lambda x: ak.max(x, axis=1, mask_identity=False)),
    "mean": _of_lists(lambda x: ak.mean(x, axis=1, mask_identity=False)),
    "argmax": _of_lists(lambda x: ak.argmax(x, axis=1, mask_identity=False)),
    "softmax": _of_lists(lambda x: _values(ak.softmax(x, axis=1))),
    "var": _of_lists(lambda x: ak.var(x, axis=1, mask_identity=False)),
    "sort": _of_lists(lambda x: _values(ak.sort(x, axis=1))),
    "argsort": _of_lists(lambda x: _values(ak.argsort(x, axis=1))),
    "any": _of_lists(lambda x: ak.any(x > 2, axis=1)),
    "take": _take,
    "filter": _filter,
    "x * 2 + 1": _affine,
}
