"""What gradients cost beside what they are gradients of: `python benchmarks/gradients.py [OPERATION …]`.

CPU time on one thread, forward and backward in turn, the best of several rounds. The forward is that of `vjp`, which
keeps what the backward needs; `alone` is the function without that. `ratio` is that of the backward to `alone`; `bytes`
is the same of the bytes of arguments and result, and of arguments, cotangent and gradients, each of which is read or
written at least once: what memory allows; `kept` is what is kept beside arguments and results, in their bytes
(`memory(…).saved`). The goal is a ratio of at most 2.5, of attention 3.5, and 5% kept; 1 is returned where one is
above.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAGGED_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from common import Array, duration, lognormal_lengths

import ragged_dialect as rg

COMPONENTS, MEAN, FEATURES = 352, 62.5, 64
ROUNDS, SECONDS = 15, 0.02
LIMIT, KEPT = 2.5, 0.05


class Case(NamedTuple):
    """A function of arrays, its arguments, and how many times its time its gradient may take."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    limit: float = LIMIT


def pooling(x: Any, query: Any) -> Any:
    """Sums of the rows of each component, weighted by a softmax."""
    return (x * rg.softmax(x @ query, axis=1)[:, :, None]).sum(axis=1)


def cases() -> dict[str, Case]:
    """The operations, on 22,000 rows of 64 float32."""
    rng = np.random.default_rng(0)
    lengths = lognormal_lengths(COMPONENTS, MEAN, 0.6)

    def rows(*features: int) -> Any:
        return rg.from_lengths(rng.standard_normal((lengths.sum(), *features)).astype(np.float32), lengths)

    x, y = rows(FEATURES), rows(FEATURES)
    q, k, v = (rows(4, 16) for _ in range(3))
    w = rng.standard_normal((FEATURES, FEATURES)).astype(np.float32)
    heads = rng.standard_normal((COMPONENTS, FEATURES, FEATURES)).astype(np.float32)
    scale, shift = w[0].copy(), w[1].copy()
    return {
        "x * y": Case(lambda x, y: x * y, (x, y)),
        "exp": Case(np.exp, (x,)),
        "sum": Case(lambda x: x.sum(axis=1), (x,)),
        "mean": Case(lambda x: x.mean(axis=1), (x,)),
        "max": Case(lambda x: x.max(axis=1), (x,)),
        "softmax": Case(lambda x: rg.softmax(x, axis=1), (x,)),
        "softmax of features": Case(lambda x: rg.softmax(x, axis=2), (x,)),
        "layer norm": Case(lambda x: rg.layer_norm(x), (x,)),
        "layer norm, weights": Case(lambda x, a, b: rg.layer_norm(x, a, b), (x, scale, shift)),
        "rms norm": Case(lambda x: rg.rms_norm(x), (x,)),
        "rms norm, weights": Case(lambda x, a: rg.rms_norm(x, a), (x, scale)),
        "cumsum": Case(lambda x: rg.cumsum(x, axis=1), (x,)),
        "cumsum of features": Case(lambda x: rg.cumsum(x, axis=2), (x,)),
        "x @ w": Case(lambda x, w: x @ w, (x, w)),
        "x @ vector": Case(lambda x, w: x @ w, (x, scale)),
        "ragged_dot": Case(lambda x, w: rg.ragged_dot(x, w), (x, heads)),
        "pooling": Case(pooling, (x, scale)),
        "attention": Case(lambda q, k, v: rg.attention(q, k, v), (q, k, v), 3.5),
    }


def _values(x: Any) -> Array:
    return x.values if isinstance(x, rg.RaggedArray) else np.asarray(x)


def _size(*arrays: Any) -> int:
    return sum(_values(x).nbytes for x in arrays)


def _times(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """The least CPU time of every call, in seconds; they take turns."""
    repeats: list[int] = []
    for call in calls:
        call()
        repeats.append(max(1, int(SECONDS / duration(call))))
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, (call, count) in enumerate(zip(calls, repeats, strict=True)):
            start = time.process_time()
            for _ in range(count):
                call()
            least[number] = min(least[number], (time.process_time() - start) / count)
    return least


def main() -> int:
    """Print the table; 1 where a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="those to time (all)")
    found = cases()
    names = parser.parse_args().operations or list(found)
    unknown = [name for name in names if name not in found]
    if unknown:
        parser.error(f"expected operations among {', '.join(found)}, got {unknown[0]}")
    missed = 0
    print(
        "| operation | alone, ms | forward, ms | backward, ms | ratio | bytes | kept |\n|---|---|---|---|---|---|---|"
    )
    for name in names:
        case = found[name]
        alone = rg.jit(case.function)
        result, pull = rg.vjp(case.function, *case.arguments)
        cotangent = rg.like(result, np.ones_like(_values(result))) if isinstance(result, rg.RaggedArray) else result
        calls = [
            lambda case=case, alone=alone: alone(*case.arguments),
            lambda case=case: rg.vjp(case.function, *case.arguments),
            lambda pull=pull, cotangent=cotangent: pull(cotangent),
        ]
        first, forward, backward = _times(calls)
        given = _size(*case.arguments, result)
        ideal = _size(*case.arguments, cotangent, *case.arguments) / given
        saved = alone.memory(*case.arguments).saved
        assert saved is not None  # they have derivatives
        missed += backward > case.limit * first or saved > KEPT * given
        times = " | ".join(f"{1e3 * time:.2f}" for time in (first, forward, backward))
        print(
            f"| {name} | {times} | {backward / first:.1f} | {ideal:.1f} | {100 * saved / given:.1f}% |",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
