"""Cost of `ragged-canonicalize` by the number of ragged ops: `python benchmarks/canonicalize.py`.

Three kinds of modules: chains where everything cancels, chains where nothing matches, and facts
read far below the root of their structure. Prints milliseconds for 1,000 and 10,000 ragged ops and
the ratio, which is near 10 where the cost grows linearly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.passes.pipeline.running import Stage, run_pipeline
from ragged_dialect.passes.ragged_canonicalize import RaggedCanonicalize

RAGGED = 'tensor<3x?xf32, #ragged.layout<"dr">>'
TILED = 'tensor<3x?x4xf32, #ragged.layout<"drt">>'
SIZES = (1_000, 10_000)


def cancelling(n: int) -> str:
    """Merges and partitions by the same offsets, one after the other."""
    lines = [f"%0 = ragged.partition %x, %o {{dim = 0}} : (tensor<?xf32>, tensor<4xi64>) -> {RAGGED}"]
    for i in range(n // 2):
        lines.append(f"%m{i} = ragged.merge %{i} {{dim = 0}} : ({RAGGED}) -> tensor<?xf32>")
        lines.append(f"%{i + 1} = ragged.partition %m{i}, %o {{dim = 0}} : (tensor<?xf32>, tensor<4xi64>) -> {RAGGED}")
    return _function("%x: tensor<?xf32>, %o: tensor<4xi64>", lines, f"%{n // 2}")


def irreducible(n: int) -> str:
    """Splits, exponentials of the tiles, merges: nothing to do."""
    lines: list[str] = []
    for i in range(n // 2):
        lines.append(f"%s{i} = ragged.split %{i} {{dim = 1, factor = 4}} : ({RAGGED}) -> {TILED}")
        lines.append(f"%e{i} = math.exp %s{i} : {TILED}")
        lines.append(f"%{i + 1} = ragged.merge %e{i} {{dim = 1}} : ({TILED}) -> {RAGGED}")
    return _function(f"%0: {RAGGED}", lines, f"%{n // 2}")


def deep_facts(n: int) -> str:
    """Empties like every link of a chain of elementwise ops."""
    lines: list[str] = []
    for i in range(n):
        lines.append(f"%e{i} = ragged.empty %{i} : ({RAGGED}) -> {RAGGED}")
        lines.append(f"%{i + 1} = linalg.exp ins(%{i} : {RAGGED}) outs(%e{i} : {RAGGED}) -> {RAGGED}")
    return _function(f"%0: {RAGGED}", lines, f"%{n}")


def _function(arguments: str, lines: list[str], result: str) -> str:
    body = "\n".join(lines)
    return f"func.func @f({arguments}) -> {RAGGED} {{\n{body}\nreturn {result} : {RAGGED}\n}}"


def seconds(text: str, made: Any) -> float:
    """Time of the pass on a module, without parsing and verifying."""
    module = parse_module(text, made)
    own = RaggedCanonicalize()
    start = time.perf_counter()
    run_pipeline(module, (Stage(own.name, own.name, (), own),), verify=False)
    return time.perf_counter() - start


def main() -> None:
    """Print one row per kind of module."""
    made = context()
    kinds: tuple[Callable[[int], str], ...] = (cancelling, irreducible, deep_facts)
    print(f"{'module':<14}" + "".join(f"{n:>10,} ops" for n in SIZES) + f"{'ratio':>8}")
    for kind in kinds:
        times = [min(seconds(kind(n), made) for _ in range(3)) for n in SIZES]
        cells = "".join(f"{t * 1e3:>11.0f} ms" for t in times)
        print(f"{kind.__name__:<14}{cells}{times[-1] / times[0]:>8.1f}")


if __name__ == "__main__":
    main()
