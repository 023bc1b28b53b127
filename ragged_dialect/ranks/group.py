"""A group of ranks and what its ranks do together: one exchange after the other, in the same order on every rank.

An exchange has three rounds. Every rank tells every other one what it is about to send, and how it does; every rank
tells whether it takes that; then the data goes. So a rank that failed, left, or runs another program is an error on
every rank, and nobody waits for data that will not come. A rank that fails amid an exchange says so by what is no
message of one (`Engine.tell`), and who waits, for whatever it is, looks for that (`Engine.wait`). A rank that is gone
without a word is what the engine notices, or the timeout.
"""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import partial
from types import TracebackType
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragged_dialect.errors import MASKED, ArgumentError, RankError, told
from ragged_dialect.host_memory import copied, room
from ragged_dialect.narrowing import is_boolean
from ragged_dialect.ranks.engine import TEXT, Alone, Bytes, DeviceArray, Engine, Link, Told

Words: TypeAlias = NDArray[np.int64]
Exchange: TypeAlias = (
    "Callable[[NDArray[np.generic], Sequence[int], NDArray[np.generic], Sequence[int], int, int, bool], None]"
)
"""`Group.exchange`."""

TIMEOUT = 600.0
"""Seconds that a rank waits for another one by default. Others may still be compiling the program: seconds, not
more."""

_LONGEST = 1e8
"""Seconds that every clock and lock takes: three years."""

_TRIES = 4
"""How often a rank that fails begins again to tell the others, where a Ctrl-C comes meanwhile."""
_WORKS, _FAILED, _LEFT = range(3)
_HEADER = 4 + TEXT // 8
"""Words of what a rank says before data goes: how it does, how many exchanges it had, what the exchange is, how many
bytes come, and the text of an error."""

_group: ContextVar[Group] = ContextVar("ragged_group")


def current() -> Group:
    """The group that was entered last; without one, this process alone."""
    return _group.get(_ALONE)


class Group:
    """Ranks 0 to `size - 1` of one program, of which this is `rank`; without an engine, one process alone.

    As a context it is the group of the calls inside, and leaving it is a barrier: it waits for the other ranks. A rank
    that leaves it by an exception tells the others, whose next exchange is a RankError with that text."""

    def __init__(self, engine: Engine | None = None, timeout: float = TIMEOUT, link: Link | None = None) -> None:
        numbers = (int, float, np.integer, np.floating)
        if is_boolean(timeout) or not isinstance(timeout, numbers):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"expected seconds for timeout, got {type(timeout).__name__}")
        if not 0 < timeout <= _LONGEST:
            raise ArgumentError(f"expected a timeout in (0, {_LONGEST:g}] seconds, got {timeout!r}")
        if engine is not None and not isinstance(engine, Engine):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"expected an engine or None, got {type(engine).__name__}")
        self.engine = Alone() if engine is None else engine
        self.engine.process = self.engine.process or os.getpid()
        self.rank, self.size = self.engine.rank, self.engine.size
        self.link = link
        """What carries rows between devices, where there is such."""
        self._timeout = float(timeout)
        self._count = 0
        self._entered: list[Token[Group]] = []
        self.begun: dict[int, Future[object]] = {}
        """What was begun and not taken yet, by number."""
        self._turns = 0

    def __reduce__(self) -> tuple[object, ...]:
        """ArgumentError: another process is another rank, or none."""
        raise ArgumentError("expected a group to stay in its process, got one to be pickled or copied")

    def __enter__(self) -> Group:
        self._entered.append(_group.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        token = self._entered.pop()
        try:
            if self._entered or self._is_forked:
                return
            if error is None or isinstance(error, Exception):  # Ctrl-C does not wait for other ranks
                self.engine.order.settle()
            if self.engine.failure:
                return
            if error is not None:
                self._tell(told(error))
                return
            with self._all_or_none():
                self._agree(_LEFT, 0, [0] * self.size, [0] * self.size)
                self._flush()
            self._count = 0
        except BaseException as stopped:  # Ctrl-C between two steps: nobody else tells of that
            if not self.engine.failure:
                self._tell(told(stopped))
            raise
        finally:
            with suppress(ValueError):  # a generator is closed in whatever context
                _group.reset(token)

    def fail(self, text: str) -> None:
        """Tell the other ranks that this one failed, once what was begun has ended. The group is of no use then."""
        try:
            self.engine.order.settle()
        except BaseException as error:  # Ctrl-C
            self._tell(told(error))
            raise
        self._tell(text)

    @property
    def _is_forked(self) -> bool:
        """Whether this process is no rank, but was forked of one: what it sent others would take for that one's."""
        return self.size > 1 and self.engine.process != os.getpid()

    def _tell(self, text: str) -> None:
        if self._is_forked:
            return
        text = f"rank {self.rank} failed: {text}"
        notice = text.encode(errors="replace")[:TEXT]
        tells = [partial(self.engine.tell, other, notice) for other in self._others()]
        left = [partial(self.engine.fail, text), self.engine.order.settle, *tells]  # what was begun ends at once then
        stopped: BaseException | None = None
        for _ in range(_TRIES):
            try:
                while left:
                    try:
                        left[0]()
                    except (RankError, Told):  # of a rank that is gone already
                        pass
                    except Exception as error:
                        stopped = error
                    left.pop(0)
            except BaseException as error:  # Ctrl-C: the others are told first, by what it came amid, too
                stopped = error
        if stopped is not None:
            raise stopped

    @contextmanager
    def _all_or_none(self) -> Generator[None]:
        """An exchange that ends halfway, by whatever exception, has failed on every rank: of the next one nobody could
        tell what is still under way."""
        try:
            with self.engine.turn():
                yield
        except Told as error:
            raise self._failed(str(error)) from None
        except BaseException as error:
            if not self.engine.failure:
                self._tell(str(error) if isinstance(error, RankError) else told(error))
            raise

    def rows(self, rows: NDArray[np.generic], counts: Sequence[int]) -> tuple[NDArray[np.generic], list[int]]:
        """The first `counts[0]` rows to rank 0, the next `counts[1]` to rank 1, and so on: those that came, by rank,
        and how many came from each. Rows are of one size on all ranks. ArgumentError for counts that are not those of
        all rows; RankError."""
        if isinstance(rows, np.ma.MaskedArray):
            raise ArgumentError(MASKED)
        try:
            rows = np.asarray(rows)
        except (ValueError, TypeError, RuntimeError) as error:  # of CuPy and torch, and ours
            raise error if isinstance(error, ArgumentError) else ArgumentError(f"expected rows, got: {error}") from None
        if rows.ndim == 0 or rows.dtype.hasobject or rows.dtype.kind == "T":
            raise ArgumentError(f"expected rows of numbers, got {rows.dtype} of rank {rows.ndim}")
        try:
            counts = [operator.index(count) for count in counts]
        except TypeError as error:
            raise ArgumentError(f"expected integers as counts, got {counts!r}") from error
        if len(counts) != self.size or sum(counts) != len(rows) or min(counts, default=0) < 0:
            raise ArgumentError(f"expected {self.size} counts with sum {len(rows)}, got {counts}")
        given, taken = np.array(counts, np.int64), np.empty(self.size, np.int64)
        one = list(range(self.size + 1))
        # With the name: others than NumPy's have one `str` for several types, as float8_e4m3fn and int4.
        what = crc32(f"{rows.dtype.str} {rows.dtype} {rows.shape[1:]}".encode())
        self.exchange(given, one, taken, one, 8, what << 1, lengths=True)
        out = room((int(taken.sum()), *rows.shape[1:]), rows.dtype)
        sent, received = ([0, *np.cumsum(n).tolist()] for n in (given, taken))
        size = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
        self.exchange(np.ascontiguousarray(rows), sent, out, received, size, what << 1 | 1)
        return out, taken.tolist()

    def exchange(
        self,
        send: NDArray[np.generic],
        sends: Sequence[int],
        receive: NDArray[np.generic],
        receives: Sequence[int],
        row_bytes: int,
        what: int,
        lengths: bool = False,
    ) -> None:
        """Rows `sends[r]` to `sends[r + 1]` go to rank r, and what comes from rank r is written to rows `receives[r]`
        to `receives[r + 1]`. `what` says what the exchange is for, the same on every rank; `lengths` are not negative,
        and their sum is an int64. What was begun before comes first. RankError."""
        self._begin(len(sends) - 1)
        with self._all_or_none():
            out, own = self._agreed(sends, receives, row_bytes, what)
            here, there = (a.reshape(-1).view(np.uint8) for a in (send, receive))
            rank = self.rank
            there[own[rank] : own[rank + 1]] = here[out[rank] : out[rank + 1]]
            for other in self._others():
                if out[other + 1] > out[other]:
                    self.engine.post(other, copied(here[out[other] : out[other + 1]]))  # which stays as it is
            for other in self._others():
                if own[other + 1] > own[other]:
                    self._fetch(other, there[own[other] : own[other + 1]])
            self._flush()
            if lengths:
                self._check_lengths(there.view(np.int64), receives)

    def exchange_on_device(
        self,
        send: DeviceArray,
        sends: Sequence[int],
        receive: DeviceArray,
        receives: Sequence[int],
        row_bytes: int,
        what: int,
    ) -> None:
        """As `exchange`, of contiguous arrays on the device, by the link of the group."""
        assert self.link is not None
        self._begin(len(sends) - 1)
        with self._all_or_none():
            out, own = self._agreed(sends, receives, row_bytes, what)
            self._flush()
            try:
                self.link.carry(send, out, receive, own, partial(self.engine.wait, deadline=self._deadline()))
            except TimeoutError:
                text = f"expected all ranks to send and take rows within {self._timeout:g} s"
                raise RankError(text) from None

    def _begin(self, ranks: int) -> None:
        """Of an exchange, what no other rank needs to know."""
        if self._is_forked:
            raise RankError("expected the process that is the rank, got one that was forked of it")
        self.engine.order.settle()
        if self.engine.failure:
            raise RankError(f"expected a group that works, got one that failed before: {self.engine.failure}")
        self.require_ranks(ranks)

    def _agreed(
        self, sends: Sequence[int], receives: Sequence[int], row_bytes: int, what: int
    ) -> tuple[list[int], list[int]]:
        """Where the bytes for every rank begin, and those of every rank, once all agree that they go."""
        out, own = ([n * row_bytes for n in bounds] for bounds in (sends, receives))
        self._agree(_WORKS, what, np.diff(out).tolist(), np.diff(own).tolist())
        return out, own

    def begin(self, work: Callable[[Exchange], object]) -> int:
        """Do some exchanges while the caller goes on, after those that were begun before; the number is that of their
        outcome in `begun`. Where an engine takes calls of one thread only, the caller does them."""
        self._turns += 1
        if not self.engine.background:
            done = Future[object]()
            done.set_result(work(self.exchange))
            self.begun[self._turns] = done
        else:
            begun = self.engine.order.begin(partial(work, self.exchange), f"exchanges of rank {self.rank}")
            self.begun[self._turns] = begun
        return self._turns

    def require_ranks(self, count: int) -> None:
        """ArgumentError for a number that is not that of the ranks."""
        if count != self.size:
            raise ArgumentError(
                f"all_to_all: expected a leading extent of {self.size}, the number of ranks, got {count}"
            )

    def _check_lengths(self, lengths: Words, receives: Sequence[int]) -> None:
        """Lengths of other ranks are data like any other, which may be right on those."""
        for other in range(self.size):
            own = lengths[receives[other] : receives[other + 1]]
            wrong = (own < 0) | (own >= 2**40)
            if wrong.any():
                at = int(wrong.argmax())
                raise RankError(f"rank {other} sent lengths: component {at}: expected one in [0, 2**40), got {own[at]}")
            total = float(own.sum(dtype=np.float64))
            if total >= 2**62:
                raise RankError(f"rank {other} sent lengths: expected a sum below 2**62, got {total:.3g}")

    def _agree(self, state: int, what: int, sends: Sequence[int], receives: Sequence[int]) -> None:
        """The first two rounds. RankError, on every rank, where one of them does not go on."""
        self._count += 1
        headers = self._round([self._header(state, what, "", n) for n in sends])
        states = {rank: int(header[0]) for rank, header in headers.items()}
        for rank, other in states.items():
            if other not in (_WORKS, _LEFT):
                raise RankError(f"expected to hear from rank {rank} how it does, got {other}")
            if other != state:
                at = "left the group" if other == _LEFT else "goes on"
                raise self._failed(f"expected the same program on every rank, got rank {rank}, which {at}")
        problems = (self._problem(rank, header, what, receives[rank]) for rank, header in headers.items())
        problem = next(filter(None, problems), "")
        verdicts = self._round([self._header(_FAILED if problem else _WORKS, what, problem)] * self.size)
        if problem:
            raise self._failed(problem)
        for rank, header in verdicts.items():
            if header[0] not in (_WORKS, _FAILED):
                raise RankError(f"expected to hear from rank {rank} whether it goes on, got {int(header[0])}")
            if header[0] != _WORKS:
                raise self._failed(f"rank {rank} refused: {_text_of(header)}")

    def _problem(self, rank: int, header: Words, what: int, wanted: int) -> str:
        """What keeps this rank from taking what another one is about to send, or nothing."""
        _, count, other, size, *_ = header.tolist()
        if count != self._count:
            return f"expected exchange {self._count} of rank {rank}, got exchange {count}"
        if other != what:
            return f"expected rows of one type and shape, by the same op, got others of rank {rank}"
        return f"expected {wanted} bytes of rank {rank}, got {size}" if size != wanted else ""

    def _failed(self, text: str) -> RankError:
        """Of what the others know, or find out by themselves."""
        self.engine.fail(text)
        return RankError(text)

    def _round(self, headers: Sequence[Words]) -> dict[int, Words]:
        """A header to every other rank, and those of the others."""
        found = {other: np.empty(_HEADER, np.int64) for other in self._others()}
        for other in found:
            self.engine.post(other, headers[other].view(np.uint8))
        for other, header in found.items():
            self._fetch(other, header.view(np.uint8))
        return found

    def _flush(self) -> None:
        """Wait until what was sent is under way."""
        try:
            self.engine.flush(self._deadline())
        except TimeoutError:
            raise RankError(f"expected all ranks to take what they are sent within {self._timeout:g} s") from None

    def _fetch(self, other: int, into: Bytes) -> None:
        try:
            self.engine.fetch(other, into, self._deadline())
        except TimeoutError:
            raise RankError(f"expected rank {other} to answer within {self._timeout:g} s, got nothing") from None

    def _header(self, state: int, what: int, text: str, size: int = 0) -> Words:
        header = np.zeros(_HEADER, np.int64)
        header[:4] = state, self._count, what, size
        short = text.encode(errors="replace")[:TEXT]
        header[4:].view(np.uint8)[: len(short)] = np.frombuffer(short, np.uint8)
        return header

    def _others(self) -> list[int]:
        """The other ranks, each rank's in an order of its own, so that not all send to rank 0 first."""
        return [(self.rank + step) % self.size for step in range(1, self.size)]

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout


def _text_of(header: Words) -> str:
    return header[4:].tobytes().rstrip(b"\0").decode(errors="replace")


_ALONE = Group()
