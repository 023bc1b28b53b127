"""Exchanges that are begun early: their order, who waits for them, and what ends them."""

from __future__ import annotations

import faulthandler
import gc
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.ranks import Work, errors_of, together

import ragged_dialect as rg
from ragged_dialect.ranks import Group, threads
from ragged_dialect.ranks.engine import Bytes
from ragged_dialect.ranks.order import Order
from ragged_dialect.ranks.threads import ThreadEngine


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


def told_to(exchange: Work, stop: Callable[[Group, ThreadEngine], None]) -> str:
    """The error of an exchange of rank 0, after rank 1 was stopped by Ctrl-C in its group: at once."""
    engines = threads.engines(2)
    over, errors = threading.Event(), dict[int, BaseException]()

    def serve(rank: int) -> None:
        try:
            with Group(engines[rank], 30) as group:
                if rank:
                    stop(group, engines[rank])
                else:
                    over.wait(10)
                    exchange(group)
        except BaseException as error:
            errors[rank] = error
        over.set()

    started = time.monotonic()
    together(2, serve)
    assert time.monotonic() - started < 10
    assert isinstance(errors[0], rg.RankError)
    assert isinstance(errors[1], KeyboardInterrupt)
    return str(errors[0])


@pytest.mark.parametrize("fails", [False, True])
def test_ctrl_c_while_what_was_begun_is_waited_for(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group is left, or fails, and once more when the others are about to be told: they are all the same."""
    rows, one = np.zeros(2), [0, 1, 2]

    def stop(group: Group, engine: ThreadEngine) -> None:
        group.begin(lambda exchange: exchange(rows, one, np.zeros(2), one, 8, 5, False))
        settle, own, times = engine.order.settle, threading.current_thread(), [1, 2]

        def interrupted() -> None:
            if threading.current_thread() is own and times:
                times.pop()
                raise KeyboardInterrupt
            settle()

        monkeypatch.setattr(engine.order, "settle", interrupted)
        if fails:
            group.fail("stopped")

    told = told_to(lambda group: group.exchange(rows, one, np.zeros(2), one, 8, 5), stop)
    assert told == "rank 1 failed: KeyboardInterrupt: "


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


@pytest.mark.parametrize("runs", [False, True])
def test_ctrl_c_while_work_is_begun_forgets_nothing_of_what_runs(monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    """Neither what waits for its turn, nor what was begun by the call that is interrupted."""
    order, ends, started, done = Order(), threading.Event(), threading.Event(), list[int]()
    submit = ThreadPoolExecutor.submit

    def work() -> None:
        started.set()
        ends.wait(10)
        done.append(1)

    def interrupted(self: ThreadPoolExecutor, *arguments: Any) -> None:
        submit(self, *arguments)
        if runs:
            started.wait(10)
        raise KeyboardInterrupt

    before = [] if runs else [order.begin(work, "begun") for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            order.begin(work, "begun")
    threading.Timer(0.1, ends.set).start()
    settling = threading.Thread(target=order.settle, daemon=True)
    settling.start()
    settling.join(5)
    assert not settling.is_alive()
    assert len(done) == (1 if runs else len(before))
    assert order.begin(int, "again").result(5) == 0


@pytest.mark.parametrize("amid", ["_all_or_none", "fail", "tell"])
def test_ctrl_c_while_a_group_is_left_is_told(amid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two steps, and as another error is about to be told."""

    def stop(group: Group, engine: ThreadEngine) -> None:
        own = group if amid == "_all_or_none" else engine
        usual, times = getattr(own, amid), [1]

        def interrupted(*arguments: Any) -> Any:
            if times:
                times.pop()
                raise KeyboardInterrupt
            return usual(*arguments)

        monkeypatch.setattr(own, amid, interrupted)
        if own is not group:
            raise ValueError("own")

    told = told_to(lambda group: group.rows(np.zeros(2), [1, 1]), stop)
    assert told.startswith("rank 1 failed: ")


def test_a_forked_process_begins_anew() -> None:
    """It has none of the threads that did what was begun before, and ends."""
    exchange = rg.jit(lambda x, y: (rg.all_to_all(x), (y * 2.0).sum(), rg.all_to_all(y)))
    x = np.ones((1, 2))

    def work(_: Group) -> int:
        assert exchange(x, x)[1] == 4
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(20, exit=True)
            os._exit(0 if exchange(x, x)[1] == 4 else 2)
        return os.waitpid(child, 0)[1]

    assert rg.ranks.run(1, work) == [0]


def test_a_process_forked_of_a_rank_is_none() -> None:
    """What it sent others would take for that rank's; the rank goes on."""

    def work(group: Group) -> tuple[int, list[int]]:
        group.rows(np.zeros(2), [1, 1])
        child = os.fork() if group.rank else -1
        if not child:
            try:
                group.rows(np.zeros(2), [1, 1])
            except rg.RankError as error:
                os._exit(3 if "expected the process that is the rank" in str(error) else 4)
            os._exit(5)
        left = os.waitpid(child, 0)[1] if group.rank else 0
        return os.waitstatus_to_exitcode(left), group.rows(np.arange(2) + group.rank, [1, 1])[0].tolist()

    assert rg.ranks.run(2, work, 10) == [(0, [0, 1]), (3, [1, 2])]


def test_a_forked_process_has_no_rank_in_a_group_of_its_own() -> None:
    """Of the same engine: an MPI communicator has one, a process group of torch too."""

    def work(group: Group) -> int:
        group.rows(np.zeros(2), [1, 1])
        child = os.fork() if group.rank else -1
        if not child:
            try:
                with Group(group.engine, timeout=5) as own:
                    own.rows(np.zeros(2), [1, 1])
            except rg.RankError as error:
                os._exit(3 if "expected the process that is the rank" in str(error) else 4)
            os._exit(5)
        left = os.waitpid(child, 0)[1] if group.rank else 0
        group.rows(np.zeros(2), [1, 1])
        return os.waitstatus_to_exitcode(left)

    assert rg.ranks.run(2, work, 10) == [0, 3]
