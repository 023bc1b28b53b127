"""What one rank does wrong is an error on every rank."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from support.ranks import Work, errors_of, shuffled

import ragged_dialect as rg
from ragged_dialect.ranks import Group, threads
from ragged_dialect.ranks.engine import Bytes


def fails(group: Group) -> None:
    if group.rank == 1:
        raise ValueError("no tokens")
    shuffled(group)


def leaves(group: Group) -> None:
    shuffled(group)
    if group.rank != 1:
        shuffled(group)


def goes_on(group: Group) -> None:
    shuffled(group)
    if group.rank == 1:
        shuffled(group)


def has_other_rows(group: Group) -> None:
    group.rows(np.zeros((3, 2 + (group.rank == 2))), [1] * 3)


def has_another_type(group: Group) -> None:
    rg.all_to_all(np.ones((3, 2), "int32" if group.rank == 2 else "float32"))


def has_more_rows(group: Group) -> None:
    one, two = ([n * rank for rank in range(group.size + 1)] for n in (2, 2 + (group.rank == 1)))
    group.exchange(np.zeros(9, "int64"), two, np.zeros(9, "int64"), one, 8, 7)


def runs_other_ops(group: Group) -> None:
    one = list(range(group.size + 1))
    group.exchange(np.zeros(3, "int64"), one, np.zeros(3, "int64"), one, 8, 7 + (group.rank == 0))


def sends_lengths(length: int, to: int | None = None) -> Work:
    def work(group: Group) -> None:
        one = list(range(group.size + 1))
        lengths = np.array([length if group.rank == 1 and to in (None, other) else 0 for other in range(group.size)])
        group.exchange(lengths, one, np.empty_like(lengths), one, 8, 7, lengths=True)
        shuffled(group)

    return work


def garbles(message: int) -> Work:
    """A header whose first word, how a rank does, is none: of the first or the second round."""

    def work(group: Group) -> None:
        if group.rank == 1:
            assert group.engine is not None
            post, sent = group.engine.post, list[int]()

            def garbled(rank: int, data: Bytes) -> None:
                sent.append(rank)
                if len(sent) == message:
                    data = data.copy()
                    data.view(np.int64)[0] = 77
                post(rank, data)

            group.engine.post = garbled  # pyright: ignore[reportAttributeAccessIssue]
        shuffled(group)

    return work


SAID = "expected the same program on every rank, got rank "
WRONG: list[tuple[Work, str]] = [
    (fails, "rank 1 failed: ValueError: no tokens"),
    (leaves, f"{SAID}1, which left the group"),
    (goes_on, f"{SAID}2, which left the group"),
    (has_other_rows, "expected rows of one type and shape, by the same op, got others of rank 2"),
    (has_another_type, "expected rows of one type and shape, by the same op, got others of rank 2"),
    (has_more_rows, "expected 16 bytes of rank 1, got 24"),
    (runs_other_ops, "expected rows of one type and shape, by the same op, got others of rank 0"),
    (sends_lengths(-1), "rank 1 sent lengths: component 0: expected one in [0, 2**40), got -1"),
    (sends_lengths(-1, to=0), "rank 1 sent lengths: component 0: expected one in [0, 2**40), got -1"),
    (garbles(1), "expected to hear from rank 1 how it does, got 77"),
    (garbles(3), "expected to hear from rank 1 whether it goes on, got 77"),
    (sends_lengths(2**40), "rank 1 sent lengths: component 0: expected one in [0, 2**40), got 1099511627776"),
]


@pytest.mark.parametrize(("work", "text"), WRONG)
def test_what_one_rank_does_wrong_is_an_error_on_every_rank(work: Work, text: str) -> None:
    for kind in ("int32", "float32"):  # compiled before the time counts
        rg.all_to_all(np.ones((1, 2), kind))
    started = time.monotonic()
    errors = errors_of(3, work)
    assert sorted(errors) in ([0, 1, 2], [0, 2], [1])  # a rank may have left in peace: others raise then
    assert time.monotonic() - started < 10
    assert any(str(error) == text for error in errors.values())
    told = [error for rank, error in errors.items() if not (work is fails and rank == 1)]
    assert all(isinstance(error, rg.RankError) for error in told)


def test_lengths_whose_sum_is_no_number_of_rows() -> None:
    lengths = np.full(2**23, 2**39)
    with pytest.raises(rg.RankError, match=r"rank 0 sent lengths: expected a sum below 2\*\*62, got 4\.61e\+18"):
        Group().exchange(lengths, [0, 2**23], np.empty_like(lengths), [0, 2**23], 8, 7, lengths=True)


def test_a_group_that_failed_is_of_no_use() -> None:
    def work(group: Group) -> None:
        with pytest.raises(rg.RankError):
            group.rows(np.zeros((2, 2)), [1, 1])
        with pytest.raises(
            rg.RankError, match="expected a group that works, got one that failed before: expected rows"
        ):
            group.rows(np.zeros(2), [1, 1])

    errors: list[BaseException] = []

    def watched(group: Group) -> None:
        try:
            if group.rank == 0:
                work(group)
            else:
                with pytest.raises(rg.RankError):
                    group.rows(np.zeros((2, 3)), [1, 1])
        except BaseException as error:
            errors.append(error)

    rg.ranks.run(2, watched)
    assert not errors


def test_what_ends_halfway_ends_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the caller makes of it: what was sent and not taken would be the next exchange's."""
    fetch, calls = threads.ThreadEngine.fetch, [0] * 3

    def interrupted(self: threads.ThreadEngine, rank: int, into: Bytes, deadline: float) -> None:
        calls[self.rank] += 1
        if self.rank == 1 and calls[1] == 3:  # others wait for rows of it then
            raise KeyboardInterrupt
        fetch(self, rank, into, deadline)

    monkeypatch.setattr(threads.ThreadEngine, "fetch", interrupted)
    found: dict[int, str] = {}

    def work(group: Group) -> None:
        one = list(range(group.size + 1))
        with pytest.raises(KeyboardInterrupt if group.rank == 1 else rg.RankError) as caught:
            group.exchange(np.zeros(3), one, np.empty(3), one, 8, 5)
        found[group.rank] = str(caught.value)
        with pytest.raises(rg.RankError, match="got one that failed before: rank 1 failed: KeyboardInterrupt"):
            group.exchange(np.zeros(3), one, np.empty(3), one, 8, 5)

    rg.ranks.run(3, work)
    assert found == {0: "rank 1 failed: KeyboardInterrupt: ", 1: "", 2: "rank 1 failed: KeyboardInterrupt: "}


def test_a_rank_that_does_not_answer() -> None:
    def work(group: Group) -> None:
        if group.rank == 0:
            time.sleep(1.5)
        shuffled(group)

    errors = errors_of(2, work, timeout=0.3)
    assert str(errors[1]) == "expected rank 0 to answer within 0.3 s, got nothing"


class Untold(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(("error", "text"), [(OSError("\udcff"), "OSError: ?"), (Untold(), "Untold")])
def test_errors_without_a_text(error: Exception, text: str) -> None:
    def work(group: Group) -> None:
        if group.rank == 1:
            raise error
        shuffled(group)

    errors = errors_of(2, work)
    assert errors[1] is error
    assert str(errors[0]) == f"rank 1 failed: {text}"


def test_a_rank_that_gave_up_tells_the_others() -> None:
    """The one that was late, at its next exchange."""

    def work(group: Group) -> None:
        if group.rank == 0:
            time.sleep(1)
        shuffled(group)

    started = time.monotonic()
    errors = errors_of(2, work, timeout=0.3)
    assert "rank 1" in str(errors[0])
    assert time.monotonic() - started < 10


def test_errors_of_callbacks_have_no_views_of_what_was_freed() -> None:
    def work(group: Group) -> None:
        try:
            rg.all_to_all(np.ones((group.size + 1, 2)))
        except rg.ArgumentError as error:
            chain: list[BaseException | None] = [error]
            while chain:
                one = chain.pop()
                if one is not None:
                    frame = one.__traceback__
                    while frame is not None:
                        assert "ranks" not in frame.tb_frame.f_code.co_filename.split("test")[0]
                        frame = frame.tb_next
                    chain += [one.__cause__, one.__context__]
            raise

    errors_of(2, work)


def test_ctrl_c_of_ranks_that_are_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told so: what one of them began is waited for when the process ends."""
    said: SimpleQueue[str] = SimpleQueue()

    def work(group: Group) -> None:
        if group.rank:
            time.sleep(20)
        try:
            group.rows(np.arange(2), [1, 1])
        except rg.RankError as error:
            said.put(str(error))

    def interrupted(self: threading.Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rg.ranks.run(2, work)
    assert said.get(timeout=10) == "all ranks were stopped: KeyboardInterrupt: "


def test_ranks_for_which_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that run do not wait for them."""
    said: SimpleQueue[str] = SimpleQueue()
    start = threading.Thread.start

    def work(group: Group) -> None:
        try:
            group.rows(np.arange(2), [1, 1])
        except rg.RankError as error:
            said.put(str(error))

    def started(self: threading.Thread) -> None:
        if self.name == "rank 1":
            raise RuntimeError("no more threads")
        start(self)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", started)
        with pytest.raises(RuntimeError, match="no more threads"):
            rg.ranks.run(2, work)
    assert said.get(timeout=10) == "all ranks were stopped: RuntimeError: no more threads"


def test_a_second_ctrl_c_while_others_are_told() -> None:
    def work(group: Group) -> None:
        engine: Any = group.engine
        tell, times = engine.tell, [1]

        def interrupted(rank: int, text: bytes) -> None:
            tell(rank, text)
            if times:
                times.pop()
                raise KeyboardInterrupt

        if group.rank == 0:
            engine.tell = interrupted
            with pytest.raises(KeyboardInterrupt):
                group.fail("stopped")
        else:
            group.rows(np.arange(3), [1, 1, 1])

    errors = errors_of(3, work, 10)
    assert {rank: str(error) for rank, error in errors.items()} == dict.fromkeys([1, 2], "rank 0 failed: stopped")


def test_rows_of_types_with_one_description() -> None:
    """NumPy describes both as one byte; and those with fields in each other's place not at all."""
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def work(group: Group) -> None:
        group.rows(np.zeros(2).astype([ml_dtypes.float8_e4m3fn, ml_dtypes.int4][group.rank]), [1, 1])

    text = "expected rows of one type and shape, by the same op, got others of rank"
    assert all(text in str(error) for error in errors_of(2, work, 10).values())
    swapped = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [2, 0]})
    rows = np.array([(1, 2), (3, 4)], swapped)
    assert Group().rows(rows, [2])[0].tolist() == [(1, 2), (3, 4)]
    nothing = np.zeros(2, [("text", "S0")])["text"]
    assert Group().rows(nothing, [2])[0].dtype == nothing.dtype
