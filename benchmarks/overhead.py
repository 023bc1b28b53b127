"""What a call costs beside its work: operations on tiny arrays, the first compile of a softmax, and a new process's
first softmax, which the cache on disk has a program of.

    python benchmarks/overhead.py

Every number is the best of many repeats, which other work on the machine disturbs least. Expected: an
eager operation at most 15 us, a jitted call at most 8 us, a softmax compiled in at most 150 ms, and one from the cache
at most 100 ms after `import numpy`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from common import duration, microseconds

import ragged_dialect as rg

EAGER, JITTED, COMPILE, START = 15.0, 8.0, 150.0, 100.0

_FIRST = """
import time
import numpy as np
import ragged_dialect as rg
x = rg.from_offsets(np.ones((8, 4), np.float32), [0, 3, 3, 8])
x + x
start = time.perf_counter()
rg.softmax(x, axis=1)
print(1e3 * (time.perf_counter() - start))
"""


_NUMPY = "import numpy as np"
_CACHED = (
    _NUMPY
    + """
import ragged_dialect as rg
rg.softmax(rg.from_offsets(np.ones((8, 4), np.float32), [0, 3, 3, 8]), axis=1)
"""
)


def first_softmax() -> float:
    """Milliseconds from the first call of a softmax to its result, in a process that has imported
    everything; the best of a few processes."""
    environment = {**os.environ, "RAGGED_CACHE": "0"}
    command = [sys.executable, "-c", _FIRST]
    runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def first_cached_softmax() -> float:
    """Milliseconds that a process takes from `import numpy` to the result of a softmax in the cache: the best of some
    less the best of as many that import NumPy alone."""
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "RAGGED_CACHE": "1", "RAGGED_CACHE_DIR": place, "PYTHONPYCACHEPREFIX": place}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed modules are bytecode
        took: dict[str, list[float]] = {_NUMPY: [], _CACHED: []}
        for _ in range(11):
            for code, times in took.items():
                times.append(duration(subprocess.run, [sys.executable, "-c", code], env=environment, check=True))
    return 1e3 * (min(took[_CACHED]) - min(took[_NUMPY]))


def main() -> int:
    """Print the table; 1 where a number is above what is expected."""
    values = np.random.default_rng(0).standard_normal((14, 8)).astype(np.float32)
    x = rg.from_lengths(values, [2, 5, 3, 4])
    y = x + 1
    bias = np.ones(8, np.float32)
    sin = rg.jit(lambda a: np.sin(a) + 1)
    pool = rg.jit(lambda a, b: (a * b).sum(1))
    rows: list[tuple[str, Callable[[], Any], float]] = [
        ("eager x + y", lambda: x + y, EAGER),
        ("eager x * 2.0", lambda: x * 2.0, EAGER),
        ("eager np.sin(x)", lambda: np.sin(x), EAGER),
        ("eager x + bias", lambda: x + bias, EAGER),
        ("eager x.sum(1)", lambda: x.sum(1), EAGER),
        ("eager softmax", lambda: rg.softmax(x, axis=1), EAGER),
        ("jit sin(x) + 1", lambda: sin(x), JITTED),
        ("jit (x * y).sum(1)", lambda: pool(x, y), JITTED),
    ]
    missed = 0
    for name, call, limit in rows:
        took = microseconds(call)
        missed += took > limit
        print(f"{name:24} {took:8.1f} us   expected at most {limit:g}")
    for name, took, limit in (
        ("first softmax", first_softmax(), COMPILE),
        ("the same, cached", first_cached_softmax(), START),
    ):
        missed += took > limit
        print(f"{name:24} {took:8.1f} ms   expected at most {limit:g}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
