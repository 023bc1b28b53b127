"""How a mixture of experts scales over ranks: `python benchmarks/expert_scaling.py [--ranks 1 2 4] [--chunks 1 4]`.

A model of one layer, forward: tokens go to the ranks of their experts, are computed with and come back. It takes from
measurements on one rank the seconds of the layer for its tokens and of copies, and of the engine the seconds of a
message and of a byte. With these it predicts the layer on several ranks, which are threads of this machine and share
its cores, and is compared with their times. Then come layers that others have published, on devices whose rates are
given, not measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("RAGGED_NUM_THREADS", "1")  # a rank is one thread here

import numpy as np
from common import Array, duration

import ragged_dialect as rg
from ragged_dialect.ranks import Group
from ragged_dialect.ranks.threads import ThreadEngine, engines, run_on

LEVELS = 3
"""Exchanges one way: lengths of experts, lengths of components, elements."""

ROUNDS = 3
"""Messages to every other rank in an exchange: what is sent, whether it is taken, the data."""

COPIES = 4
"""Of all rows, which chunks make and one chunk does not: the tokens of each are gathered, one way more is begun early,
where what is sent is copied and what came, and the results are put together."""


@dataclass(frozen=True)
class Network:
    """What an exchange costs: seconds of a message, bytes a rank sends in a second."""

    latency: float
    bandwidth: float
    rounds: int = ROUNDS * LEVELS

    def seconds(self, others: int, sent: float) -> float:
        """Of the exchanges of one way, with so many other ranks, which are sent so many bytes altogether."""
        return self.rounds * others * self.latency + sent / self.bandwidth


@dataclass(frozen=True)
class Layer:
    """The extents of a layer, and bytes of an element."""

    name: str
    hidden: int
    inner: int
    experts: int
    k: int
    element: int = 2

    def sent(self, tokens: int) -> float:
        """Bytes that so many tokens are, once for each expert they choose."""
        return tokens * self.k * self.hidden * self.element

    def operations(self, tokens: int) -> float:
        """Floating-point operations of three products."""
        return 6.0 * tokens * self.k * self.hidden * self.inner

    def load(self, ranks: int, skew: float) -> float:
        """The tokens of the rank that has most, by those of the mean rank; experts are chosen as 1 / (i + 1) ** skew,
        and those of a rank lie `ranks` apart."""
        shares = 1.0 / np.arange(1, self.experts + 1) ** skew
        of_ranks = [shares[rank::ranks].sum() for rank in range(min(ranks, self.experts))]
        return float(max(of_ranks) / shares.sum() * ranks)


def predicted(way: float, busy: float, chunks: int) -> float:
    """Seconds of the layer: with chunks the ways of one hide behind what a rank does for others, but for the first way
    there and the last way back."""
    if chunks == 1:
        return 2 * way + busy
    return max(2 * way, busy) + min(2 * way, busy) / chunks


# What runs here -----------------------------------------------------------------------------------

HERE = Layer("here", 128, 256, 16, 2, 4)
TOKENS = 2048
SLOW = Network(5e-4, 4e8)
"""What is added to the messages of threads, so that they cost what those of a network do."""


class SlowEngine(ThreadEngine):
    """Threads whose messages take a time of their own."""

    def fetch(self, rank: int, into: Array, deadline: float) -> None:
        super().fetch(rank, into, deadline)
        time.sleep(SLOW.latency + len(into) / SLOW.bandwidth)


def run(ranks: int, work: Callable[[Group], Any]) -> list[Any]:
    """What a function gives on every rank. A rank computes on one core, as on a machine of its own: two that wake at
    once would be put on the same core now and then, and compute there one after the other. What exchanges beside it is
    on no core of its own, where it would wait for the end of the other's slice."""
    ranked = engines(ranks, SlowEngine)
    cores = sorted(os.sched_getaffinity(0))
    for engine in ranked:
        engine.order.begin(lambda: None, "exchanges").result()  # its thread may run wherever this one may

    def pinned(group: Group) -> Any:
        os.sched_setaffinity(threading.get_native_id(), {cores[group.rank % len(cores)]})
        return work(group)

    return run_on(ranked, pinned, 60)


@rg.jit(static=["owned", "chunks"])
def layer(x: Any, scores: Any, gate: Any, up: Any, down: Any, owned: tuple[int, ...], chunks: int = 1) -> Any:
    """The layer that runs here."""
    return rg.nn.moe(x, scores, gate, up, down, k=HERE.k, owned=owned, chunks=chunks)


def seconds(ranks: int, chunks: int, repetitions: int, tokens: int = TOKENS) -> float:
    """Of the layer, of so many tokens on every rank: the median over rounds of the slowest rank."""
    rng = np.random.default_rng(0)
    h, f, e = HERE.hidden, HERE.inner, HERE.experts
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((e, h, f), (e, h, f), (e, f, h))]
    owned = tuple(e // ranks for _ in range(ranks))

    def work(group: Group) -> list[float]:
        mine = np.random.default_rng(group.rank)
        x = mine.standard_normal((tokens, h)).astype(np.float32)
        scores = mine.standard_normal((tokens, e)).astype(np.float32)
        own = slice(group.rank * owned[0], (group.rank + 1) * owned[0])
        times: list[float] = []
        for _ in range(repetitions + 1):
            group.rows(np.zeros(ranks), [1] * ranks)  # all begin together
            times.append(duration(layer, x, scores, *(w[own] for w in weights), owned=owned, chunks=chunks))
        return times[1:]

    return statistics.median(map(max, zip(*run(ranks, work), strict=True)))


def network(repetitions: int) -> Network:
    """What messages cost here, of two ranks: of little, and of much more."""

    def work(group: Group) -> list[float]:
        best: list[float] = []
        for size in (1, 1 << 22):
            rows = np.zeros((2, size), np.uint8)
            best.append(statistics.median(duration(group.rows, rows, [1, 1]) for _ in range(repetitions)))
        return best

    small, large = run(2, work)[0]
    return Network(small / (2 * ROUNDS), (1 << 22) / (large - small))


def copies(repetitions: int) -> float:
    """Seconds that what a rank sends takes to be copied, when it is in no cache that is near: many arrays in turn."""
    arrays = np.ones((2, 16, int(HERE.sent(TOKENS))), np.uint8)
    pairs = [pair for _ in range(repetitions) for pair in zip(*arrays, strict=True)]
    return statistics.median(duration(np.copyto, room, rows) for rows, room in pairs)


def turn(repetitions: int) -> float:
    """Seconds of a chunk that has next to nothing to do: exchanges that are handed to another thread, and loops."""
    many = 4
    one, several = (seconds(1, chunks, repetitions, HERE.experts) for chunks in (1, many))
    return (several - one) / (many - 1)


def compare(ranks: Sequence[int], chunks: Sequence[int], repetitions: int) -> str:
    """Times of several ranks beside those that the model has."""
    cores = len(os.sched_getaffinity(0))
    often = 4 * repetitions  # of one rank, which takes a tenth of the time of several
    alone, here, copy = seconds(1, 1, often), network(repetitions), copies(repetitions)
    idle = turn(8 * repetitions)  # of little, which one look at the clock more or less is much of
    lines = [
        f"one rank: {alone * 1e3:.1f} ms for {TOKENS} tokens; a message {here.latency * 1e3:.2f} ms, "
        f"{here.bandwidth / 1e6:.0f} MB/s, copies {HERE.sent(TOKENS) / copy / 1e9:.1f} GB/s, "
        f"a chunk {idle * 1e3:.2f} ms; {cores} cores",
        "",
        "| ranks | chunks | ms | predicted | ratio |",
        "|---|---|---|---|---|",
    ]
    for size in ranks:
        for pieces in chunks:
            more = COPIES * copy + (pieces - 1) * idle if pieces > 1 else 0
            busy = (alone + more) * max(1, size / cores)
            sent = HERE.sent(TOKENS) * (size - 1) / size
            way = here.seconds(size - 1, sent) + (pieces - 1) * here.seconds(size - 1, 0)
            wanted = predicted(way, busy, pieces)
            found = seconds(size, pieces, repetitions if size > 1 else often)
            lines.append(f"| {size} | {pieces} | {found * 1e3:.1f} | {wanted * 1e3:.1f} | {found / wanted:.2f} |")
    return "\n".join(lines)


# What others have ---------------------------------------------------------------------------------

PUBLISHED = (
    Layer("DeepSeek-V3", 7168, 2048, 256, 8),
    Layer("Mixtral 8x7B", 4096, 14336, 8, 2),
    Layer("Qwen3-MoE 235B", 4096, 1536, 128, 8),
)
"""Extents from the configurations that were published with the models; bfloat16."""

DEVICE = 4e14
"""Operations a second of grouped products: 40% of the dense bfloat16 rate in the data sheet of an H100 SXM."""

NODE = 8
"""Devices that have faster links among them."""

NEAR = Network(3e-6, 3.6e11, rounds=2)
"""NVLink of an H100, 450 GB/s one way in its data sheet, at 80%; counts and elements are one round each."""

FAR = Network(1e-5, 4.5e10, rounds=2)
"""A link of 400 Gb/s for each device at 90%, a message in 10 us."""

DEVICES = (8, 32, 128, 512, 2048, 4096)


def between(devices: int, sent: float) -> float:
    """Seconds of one way of as many bytes to all devices alike: near and far links work at once."""
    near = min(devices, NODE) - 1
    far = devices - 1 - near
    return max(NEAR.seconds(near, sent * near / devices), FAR.seconds(far, sent * far / devices))


def curves(tokens: int, skew: float, chunks: int) -> str:
    """The share of its time that a device computes, by the number of devices, for as many tokens of each."""
    lines = [f"| layer | {' | '.join(map(str, DEVICES))} |", f"|---|{'---|' * len(DEVICES)}"]
    for shape in PUBLISHED:
        cells: list[str] = []
        for devices in DEVICES:
            busy = shape.operations(tokens) / DEVICE
            groups = min(devices, shape.experts)  # beyond one expert a device, groups of devices have all experts
            load = shape.load(groups, skew)
            way = between(groups, shape.sent(tokens)) + (chunks - 1) * between(groups, 0)
            cells.append(f"{busy / predicted(way * max(1.0, load), busy * load, chunks):.2f}")
        lines.append(f"| {shape.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print what was measured, and the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--chunks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=4096, help="of every device, in the curves")
    options = parser.parse_args()
    print(compare(options.ranks, options.chunks, options.repetitions))
    for skew in (0.0, 0.5):
        for chunks in (1, 4):
            print(f"\n{options.tokens} tokens a device, experts as 1 / i ** {skew}, {chunks} chunks\n")
            print(curves(options.tokens, skew, chunks))


if __name__ == "__main__":
    main()
