"""Ranks that are threads, and what they raise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.ranks import Group

Work = Callable[[Group], Any]


def errors_of(size: int, work: Work, timeout: float = 60) -> dict[int, BaseException]:
    """What each rank raises."""
    found: dict[int, BaseException] = {}

    def watched(group: Group) -> None:
        try:
            work(group)
        except BaseException as error:
            found[group.rank] = error
            raise

    with pytest.raises(Exception):  # noqa: PT011 (of which kind, the test says)
        rg.ranks.run(size, watched, timeout)
    return found


def together(size: int, serve: Callable[[int], None]) -> None:
    """A thread for each rank."""
    ranks = [threading.Thread(target=serve, args=(rank,), daemon=True) for rank in range(size)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(50)
        assert not rank.is_alive()


def shuffled(group: Group) -> None:
    """Uneven counts, some of them zero."""
    counts = [(3 * group.rank + other) % 4 for other in range(group.size)]
    rows = np.array([(group.rank, other) for other in range(group.size) for _ in range(counts[other])], "int32")
    found, given = group.rows(rows.reshape(-1, 2), counts)
    assert given == [(3 * other + group.rank) % 4 for other in range(group.size)]
    assert found.dtype == "int32"
    assert found.tolist() == [[other, group.rank] for other in range(group.size) for _ in range(given[other])]
