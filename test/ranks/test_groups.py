"""Groups of ranks: what they exchange, and how they nest."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
from support.ranks import shuffled

import ragged_dialect as rg
from ragged_dialect.ranks import Group


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_rows_go_where_they_belong(size: int) -> None:
    def work(group: Group) -> int:
        for _ in range(3):
            shuffled(group)
        return group.rank

    assert rg.ranks.run(size, work) == list(range(size))


def test_a_process_without_a_group_is_one_rank() -> None:
    group = rg.ranks.current()
    assert (group.rank, group.size) == (0, 1)
    assert group.rows(np.arange(3), [3])[0].tolist() == [0, 1, 2]


def test_groups_nest_and_belong_to_their_context() -> None:
    outer, inner = Group(), Group()
    with outer, inner:
        assert rg.ranks.current() is inner
        found: list[Group] = []
        other = threading.Thread(target=lambda: found.append(rg.ranks.current()))
        other.start()
        other.join()
        assert found[0] not in (outer, inner)
        assert copy_context().run(rg.ranks.current) is inner
    assert rg.ranks.current() not in (outer, inner)


def test_a_group_can_be_entered_again() -> None:
    def work(group: Group) -> None:  # which is entered already
        with group:
            shuffled(group)
        shuffled(group)

    rg.ranks.run(2, work)


class Untaken:
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __array__(self, *_: object, **__: object) -> Any:
        raise self.error("of no array")


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: rg.ranks.run(0, shuffled), "expected 1 to 1024 ranks, got 0"),
    (lambda: rg.ranks.run(2, shuffled, timeout=0), "expected a timeout in (0, 1e+08] seconds, got 0"),
    (lambda: rg.ranks.run(2, shuffled, timeout=float("inf")), "expected a timeout in (0, 1e+08] seconds, got inf"),
    (lambda: rg.ranks.run(2.0, shuffled), "expected 1 to 1024 ranks, got 2.0"),
    (lambda: rg.ranks.run(2**70, shuffled), f"expected 1 to 1024 ranks, got {2**70}"),
    (lambda: rg.ranks.run(2, shuffled, timeout=True), "expected seconds for timeout, got bool"),
    (lambda: rg.ranks.run(True, shuffled), "expected 1 to 1024 ranks, got True"),
    (lambda: rg.ranks.run(2, 3), "expected a function of a group, got int"),
    (lambda: Group().rows(np.arange(3), [1.5, 1.5]), "expected integers as counts, got [1.5, 1.5]"),
    (lambda: Group().rows(np.array(3), [1]), "expected rows of numbers, got int64 of rank 0"),
    (lambda: Group().rows(np.array([None]), [1]), "expected rows of numbers, got object of rank 1"),
    (lambda: Group().rows(Untaken(ValueError), [1]), "expected rows, got: of no array"),
    (lambda: Group().rows(Untaken(TypeError), [1]), "expected rows, got: of no array"),  # as CuPy
    (lambda: Group().rows(np.arange(3), [2]), "expected 1 counts with sum 3, got [2]"),
    (lambda: Group().rows(np.arange(3), [4, -1]), "expected 1 counts with sum 3, got [4, -1]"),
    (lambda: Group().rows(np.ma.masked_array([1, 2], [0, 1]), [2]), "expected an array without a mask, got a masked"),
    (lambda: Group(5), "expected an engine or None, got int"),  # pyright: ignore[reportArgumentType]
    (lambda: pickle.dumps(Group()), "expected a group to stay in its process, got one to be pickled or copied"),
    (lambda: rg.ranks.mpi(3), "expected a communicator of mpi4py, got int"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], object], text: str) -> None:
    if "mpi4py" in text:
        pytest.importorskip("mpi4py", reason="no mpi4py (pip install mpi4py mpich)")
    with pytest.raises(rg.ArgumentError) as caught:
        call()
    assert text in str(caught.value)


def test_the_group_of_no_ranks_does_not_fail() -> None:
    """It is the process's, and there is nobody to tell."""
    with pytest.raises(ValueError, match="no tokens"), rg.ranks.current():
        raise ValueError("no tokens")
    assert rg.ranks.current().rows(np.arange(3), [3])[0].tolist() == [0, 1, 2]
