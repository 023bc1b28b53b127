"""Groups of threads: rows go where they belong, and what one rank does wrong is an error on every rank."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.ranks import Group, threads
from ragged_dialect.ranks.engine import Bytes
from ragged_dialect.ranks.order import Order

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


class Untaken:
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __array__(self, *_: object, **__: object) -> Any:
        raise self.error("of no array")


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: rg.ranks.run(0, shuffled), "expected at least 1 rank, got 0"),
    (lambda: rg.ranks.run(2, shuffled, timeout=0), "expected a timeout in (0, 1e+08] seconds, got 0"),
    (lambda: rg.ranks.run(2, shuffled, timeout=float("inf")), "expected a timeout in (0, 1e+08] seconds, got inf"),
    (lambda: rg.ranks.run(2.0, shuffled), "expected at least 1 rank, got 2.0"),
    (lambda: Group().rows(np.arange(3), [1.5, 1.5]), "expected integers as counts, got [1.5, 1.5]"),
    (lambda: Group().rows(np.array(3), [1]), "expected rows of numbers, got int64 of rank 0"),
    (lambda: Group().rows(np.array([None]), [1]), "expected rows of numbers, got object of rank 1"),
    (lambda: Group().rows(Untaken(ValueError), [1]), "expected rows, got: of no array"),
    (lambda: Group().rows(Untaken(TypeError), [1]), "expected rows, got: of no array"),  # as CuPy
    (lambda: Group().rows(np.arange(3), [2]), "expected 1 counts with sum 3, got [2]"),
    (lambda: Group().rows(np.arange(3), [4, -1]), "expected 1 counts with sum 3, got [4, -1]"),
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


def test_a_rank_that_fails_ends_what_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others get what was begun, and its failure with the next exchange."""
    fetch = threads.ThreadEngine.fetch

    def slow(self: threads.ThreadEngine, rank: int, into: Bytes, deadline: float) -> None:
        time.sleep(0.02)
        fetch(self, rank, into, deadline)

    monkeypatch.setattr(threads.ThreadEngine, "fetch", slow)
    got: dict[int, Any] = {}

    def work(group: Group) -> None:
        room = np.zeros(2, np.int64)
        begun = group.begin(lambda exchange: exchange(np.arange(2), [0, 1, 2], room, [0, 1, 2], 8, 5, False))
        if group.rank:
            raise ValueError("no more")
        group.begun[begun].result()
        got[group.rank] = room.tolist()
        group.rows(np.arange(2), [1, 1])

    assert "rank 1 failed: ValueError: no more" in str(errors_of(2, work)[0])
    assert got == {0: [0, 0]}


def test_ctrl_c_does_not_wait_for_what_was_begun() -> None:
    """The other rank is busy until it is told."""
    stopped = threading.Event()

    def work(group: Group) -> None:
        one = [0, 1, 2]
        if group.rank:
            group.begin(lambda exchange: exchange(np.arange(2), one, np.zeros(2, np.int64), one, 8, 5, False))
            raise KeyboardInterrupt
        assert stopped.wait(30)
        group.rows(np.arange(2), [1, 1])

    errors: dict[int, BaseException] = {}
    engines = threads.engines(2)

    def serve(rank: int) -> None:
        try:
            with Group(engines[rank]) as group:
                work(group)
        except BaseException as error:
            errors[rank] = error
        if rank:
            stopped.set()

    together(2, serve)
    assert isinstance(errors[1], KeyboardInterrupt)
    assert str(errors[0]) == "rank 1 failed: KeyboardInterrupt: "


def test_two_groups_of_one_engine_have_one_order() -> None:
    """What one began comes before what the other one exchanges, on every rank."""
    one = [0, 1, 2]

    def work(group: Group) -> None:
        other = Group(group.engine)
        for turn in range(20):
            begun, room = np.zeros(2, np.int64), np.zeros(2, np.int64)

            def late(exchange: Any, turn: int = turn, begun: Any = begun) -> None:
                time.sleep(0.002 * ((group.rank + turn) % 2))
                exchange(np.full(2, -turn), one, begun, one, 8, 5, False)

            number = group.begin(late)
            other.exchange(np.full(2, turn), one, room, one, 8, 5)
            group.begun.pop(number).result()
            assert (begun.tolist(), room.tolist()) == ([-turn] * 2, [turn] * 2)

    rg.ranks.run(2, work)


def test_exchanges_of_several_threads_are_refused() -> None:
    """Their order is not that of another rank, which would take the rows of one for those of another one."""
    inside, over = threading.Event(), threading.Event()

    def work(group: Group) -> None:
        found: list[BaseException] = []

        def first() -> None:
            try:
                group.rows(np.arange(2), [1, 1])
            except BaseException as error:
                found.append(error)

        other = threading.Thread(target=first)
        if group.rank == 0:
            engine: Any = group.engine
            fetch = engine.fetch

            def fetched(*arguments: Any) -> None:
                inside.set()
                fetch(*arguments)

            engine.fetch = fetched
            other.start()
            assert inside.wait(30)
            try:
                group.rows(np.arange(2), [1, 1])
            finally:
                other.join(30)
                over.set()
                assert [str(error).split(":")[0] for error in found] == ["rank 0 failed"]
        assert over.wait(30)
        group.rows(np.arange(2), [1, 1])

    errors = errors_of(2, work)
    text = "expected exchanges of one thread after the other, got one amid that of another thread"
    assert isinstance(errors[0], rg.ArgumentError)
    assert str(errors[0]) == text
    assert str(errors[1]) == f"rank 0 failed: ArgumentError: {text}"


def test_a_rank_that_does_not_answer_what_was_begun() -> None:
    leave = threading.Event()

    def work(group: Group) -> None:
        if group.rank:
            leave.wait(20)
            return
        room = np.zeros(2, np.int64)
        begun = group.begin(lambda exchange: exchange(np.arange(2), [0, 1, 2], room, [0, 1, 2], 8, 5, False))
        try:
            group.begun[begun].result(10)
        finally:
            leave.set()

    assert "expected rank 1 to answer within 0.2 s, got nothing" in str(errors_of(2, work, 0.2)[0])


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
        tell, others = engine.tell, [1, 2]

        def interrupted(rank: int, text: bytes) -> None:
            tell(rank, text)
            if others.pop() == 2:
                raise KeyboardInterrupt

        if group.rank == 0:
            engine.tell = interrupted
            with pytest.raises(KeyboardInterrupt):
                group.fail("stopped")
        else:
            group.rows(np.arange(3), [1, 1, 1])

    errors = errors_of(3, work, 10)
    assert {rank: str(error) for rank, error in errors.items()} == dict.fromkeys([1, 2], "rank 0 failed: stopped")


def test_what_was_begun_leaves_no_thread_behind_its_group() -> None:
    def work(group: Group) -> None:
        one = [0, 1, 2]
        number = group.begin(lambda exchange: exchange(np.arange(2), one, np.zeros(2, np.int64), one, 8, 5, False))
        group.begun.pop(number).result()

    rg.ranks.run(2, work)
    deadline = time.monotonic() + 10
    while left := [thread.name for thread in threading.enumerate() if thread.name.startswith("exchanges of rank")]:
        gc.collect()
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


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


@pytest.mark.parametrize("fails", [False, True])
def test_ctrl_c_while_what_was_begun_is_waited_for(fails: bool) -> None:
    """Where a group is left, or fails, and once more when the others are about to be told: they are all the same."""
    engines: list[Any] = [*threads.engines(2)]
    over, errors = threading.Event(), dict[int, BaseException]()
    rows, one = np.zeros(2), [0, 1, 2]

    def begin(group: Group, order: Any) -> None:
        group.begin(lambda exchange: exchange(rows, one, np.zeros(2), one, 8, 5, False))
        settle, own, times = order.settle, threading.current_thread(), [1, 2]

        def interrupted() -> None:
            if threading.current_thread() is own and times:
                times.pop()
                raise KeyboardInterrupt
            settle()

        order.settle = interrupted

    def serve(rank: int) -> None:
        try:
            with Group(engines[rank], 30) as group:
                if rank:
                    begin(group, engines[rank].order)
                    if fails:
                        group.fail("stopped")
                else:
                    over.wait(10)
                    group.exchange(rows, one, np.zeros(2), one, 8, 5)
        except (KeyboardInterrupt, rg.RankError) as error:
            errors[rank] = error
        over.set()

    started = time.monotonic()
    together(2, serve)
    assert time.monotonic() - started < 10
    assert isinstance(errors[1], KeyboardInterrupt)
    assert str(errors[0]) == "rank 1 failed: KeyboardInterrupt: "


def test_what_is_begun_while_another_thread_waits_is_waited_for() -> None:
    order, first, second, done = Order(), threading.Event(), threading.Event(), list[int]()
    order.begin(lambda: first.wait(10), "begun")
    other = threading.Thread(target=order.settle)
    other.start()
    time.sleep(0.1)  # for it to wait
    order.begin(lambda: done.append(second.wait(10)), "begun")
    first.set()
    other.join()
    threading.Timer(0.1, second.set).start()
    order.settle()
    assert done == [True]


def test_ctrl_c_while_a_thread_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """For which the process would wait when it ends."""
    order, start = Order(), threading.Thread.start

    def interrupted(self: threading.Thread) -> None:
        start(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            order.begin(int, "interrupted")
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("interrupted") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert order.begin(int, "again").result(5) == 0
