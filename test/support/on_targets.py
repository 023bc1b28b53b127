"""Programs as text on what runs them."""

from __future__ import annotations

from typing import Any

import numpy as np

import ragged_dialect as rg
from ragged_dialect.reference import run

TARGETS = ("reference", "cpu", "emulator")


def flat(result: Any) -> list[np.ndarray]:
    """The parts of a result, but for extents."""
    parts = result if isinstance(result, (list, tuple)) else [result]
    return [np.asarray(part) for one in parts for part in (one if isinstance(one, tuple) else [one]) if np.ndim(part)]


def called(source: str, entry: str, given: list[Any], target: str) -> list[np.ndarray]:
    """What a program gives on one of `TARGETS`."""
    if target == "reference":
        return flat(run(source, entry, given))
    return flat(rg.compile(source, entry, target=target)(*given))
