"""Cost by the number of ragged ops, stage by stage: `python benchmarks/scaling.py [SIZE…]`.

Modules of functions of twenty ops, as real modules are, and one function with all ops in a chain,
where everything that is worse than linear shows. Milliseconds, and the ratio of the last size to
the first, which should be near the ratio of the sizes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from common import load

from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.passes.pipeline.running import run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline
from ragged_dialect.verify import verify_ragged

SIZES = (1_000, 2_000, 5_000, 10_000)
PASSES = (
    "ragged-infer-layouts",
    "ragged-insert-checks",
    "ragged-canonicalize",
    "ragged-check-conform",
    "ragged-simplify-splits",
    "ragged-fuse",
)
_TYPE = 'tensor<?x?x8xf32, #ragged.layout<"dr|d">>'
_TILED = 'tensor<?x?x4x8xf32, #ragged.layout<"drt|d">>'
_FLAT = "tensor<?x8xf32>"


def function(name: str, ops: int) -> str:
    """A function with about `ops` ragged ops: partitions, merges, splits and elementwise ops."""
    lines = [f"%0 = ragged.partition %x, %o {{dim = 0}} : ({_FLAT}, tensor<?xi64>) -> {_TYPE}"]
    last = (ops - 1) // 5
    for i in range(last):
        lines += [
            f"%s{i} = ragged.split %{i} {{dim = 1, factor = 4}} : ({_TYPE}) -> {_TILED}",
            f"%e{i} = arith.negf %s{i} : {_TILED}",
            f"%m{i} = ragged.merge %e{i} {{dim = 1}} : ({_TILED}) -> {_TYPE}",
            f"%f{i} = ragged.merge %m{i} {{dim = 0}} : ({_TYPE}) -> {_FLAT}",
            f"%{i + 1} = ragged.partition %f{i}, %o {{dim = 0}} : ({_FLAT}, tensor<?xi64>) -> {_TYPE}",
        ]
    body = "".join(f"  {line}\n" for line in lines)
    head = f"func.func @{name}(%x: {_FLAT}, %o: tensor<?xi64>) -> {_TYPE}"
    return f"{head} {{\n{body}  return %{last} : {_TYPE}\n}}\n"


def many_functions(ops: int) -> str:
    """Functions of about twenty ops."""
    return "".join(function(f"f{k}", 21) for k in range(max(1, ops // 21)))


def one_function(ops: int) -> str:
    """All ops in a chain."""
    return function("f", ops)


def stages(text: str) -> dict[str, float]:
    """Seconds of every stage on a program."""
    times: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        times[name] = time.perf_counter() - start
        return result

    made = context()
    module = timed("parse", lambda: parse_module(text, made))
    timed("verify", lambda: verify_ragged(module.operation))
    for name in PASSES:
        pipeline = parse_pipeline(name, made)
        timed(name, lambda pipeline=pipeline: run_pipeline(module, pipeline, False))
    timed("print", lambda: print_module(module))
    return times


def main(argv: list[str] | None = None) -> int:
    """Print one table per kind of module; the exit code."""
    parser = argparse.ArgumentParser(description="Cost by the number of ragged ops, stage by stage.")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help=f"numbers of ops (default: {SIZES})")
    parser.add_argument("--repetitions", type=int, default=3, help="of which the fastest counts (default: 3)")
    options = parser.parse_args(argv)
    sizes: list[int] = list(options.sizes)
    print(f"milliseconds; {load()}")
    for kind in (many_functions, one_function):
        found = [[stages(kind(size)) for _ in range(options.repetitions)] for size in sizes]
        best = [{name: min(run[name] for run in runs) for name in runs[0]} for runs in found]
        print(f"\n{kind.__name__.replace('_', ' '):24}" + "".join(f"{n:>10,}" for n in sizes) + f"{'ratio':>8}")
        for name in best[0]:
            cells = "".join(f"{1e3 * times[name]:10.1f}" for times in best)
            print(f"{name:24}{cells}{best[-1][name] / best[0][name]:8.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
