"""Runs programs on corrupt index vectors next to inaccessible pages: reads [side, seed, count], answers with what is
wrong. With RAGGED_TEST_LIMIT it has so many bytes of address space."""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from support.allocators import GuardedAllocator, install_guards

from ragged_dialect import RaggedError, RuntimeCheckError, compile

D = 3
NUMBERS = (-(2**63), -(2**40), -2, -1, 0, 1, 2, 3, 7, 2**31, 2**32 + 1, 2**40, 2**62, 2**63 - 1)
Vectors = list[np.ndarray[Any, np.dtype[np.int64]]]
Components = list[list[tuple[int, int]]]
"""The rows of every component: from, to."""


class Case(NamedTuple):
    """A program on values and index vectors that sums components: its text, vectors that fit values of so many
    rows, and where the components are; None for vectors that do not fit."""

    text: str
    make: Callable[[random.Random, int], Vectors]
    components: Callable[[int, Vectors], Components | None]


def cuts(rng: random.Random, total: int, count: int) -> list[int]:
    """Offsets of `count` components."""
    return [0, *sorted(rng.randint(0, total) for _ in range(count - 1)), total] if count else [0]


def from_offsets(total: int, offsets: Sequence[int]) -> Components | None:
    """Components of offsets that fit."""
    fits = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == total
    pairs = list(pairwise(offsets))
    return [[pair] for pair in pairs] if fits and all(a <= b for a, b in pairs) else None


def from_lengths(total: int, lengths: Sequence[int]) -> Components | None:
    """Components of lengths that fit."""
    ends = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
    return from_offsets(total, ends) if all(n >= 0 for n in lengths) else None


def from_windows(total: int, starts: Sequence[int], lengths: Sequence[int]) -> Components | None:
    """Components of windows that fit."""
    if len(starts) != len(lengths) or not all(0 <= s <= s + n <= total for s, n in zip(starts, lengths, strict=True)):
        return None
    inside = all(n >= 0 for n in lengths)
    return [[(s, s + n)] for s, n in zip(starts, lengths, strict=True)] if inside else None


def _numbers(vector: Any) -> list[Any]:
    return vector.tolist()


def _offsets(n: int, v: Vectors) -> Components | None:
    return from_offsets(n, _numbers(v[0]))


def _lengths(n: int, v: Vectors) -> Components | None:
    return from_lengths(n, _numbers(v[0]))


def _windows(n: int, v: Vectors) -> Components | None:
    return from_windows(n, _numbers(v[0]), _numbers(v[1]))


def _lists(n: int, v: Vectors) -> Components | None:
    """All elements of a list of lists are one after the other."""
    outer = from_offsets(len(v[1]) - 1, _numbers(v[0])) if len(v[1]) else None
    inner = from_offsets(n, _numbers(v[1]))
    if outer is None or inner is None:
        return None
    return [[(int(v[1][a]), int(v[1][b]))] for ((a, b),) in outer]


def _window_lists(n: int, v: Vectors) -> Components | None:
    """Windows of windows; those that no outer window shows must fit too."""
    inner = from_windows(n, _numbers(v[2]), _numbers(v[3]))
    outer = None if inner is None else from_windows(len(inner), _numbers(v[0]), _numbers(v[1]))
    if inner is None or outer is None:
        return None
    return [[pair for parts in inner[a:b] for pair in parts] for ((a, b),) in outer]


def _vector(numbers: Sequence[int]) -> Any:
    return np.array(numbers, np.int64)


def _window_vectors(rng: random.Random, n: int) -> Vectors:
    pairs = [sorted((rng.randint(0, n), rng.randint(0, n))) for _ in range(rng.randint(0, 5))]
    return [_vector([a for a, _ in pairs]), _vector([b - a for a, b in pairs])]


def _window_list_vectors(rng: random.Random, n: int) -> Vectors:
    inner = _window_vectors(rng, n)
    return [*_window_vectors(rng, len(inner[0])), *inner]


def _list_vectors(rng: random.Random, n: int) -> Vectors:
    inner = cuts(rng, n, rng.randint(1, 6))
    return [_vector(cuts(rng, len(inner) - 1, rng.randint(1, 4))), _vector(inner)]


def _program(inputs: str, body: str, layout: str, dims: str) -> str:
    x = f'tensor<{"?x" * (dims.count(",") + 2)}{D}xf32, #ragged.layout<"{layout}|d">>'
    return f"""func.func @f(%v: tensor<?x{D}xf32>, {inputs}) -> tensor<?x{D}xf32> {{
      %c0 = arith.constant 0 : index
      %z = arith.constant 0.0 : f32
      %x = {body.replace("X", x)}
      %n = tensor.dim %x, %c0 : {x}
      %e = tensor.empty(%n) : tensor<?x{D}xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<?x{D}xf32>) -> tensor<?x{D}xf32>
      %s = linalg.reduce {{ arith.addf }} ins(%x : {x}) outs(%i : tensor<?x{D}xf32>) dimensions = [{dims}]
      return %s : tensor<?x{D}xf32>
    }}"""


_I, _V = "tensor<?xi64>", f"tensor<?x{D}xf32>"
_PARTITION = f"ragged.partition %v, %a {{dim = 0 : i64}} : ({_V}, {_I}) -> X"
_TWO = f"%a: {_I}, %b: {_I}"
CASES = {
    "offsets": Case(
        _program(f"%a: {_I}", _PARTITION, "dr", "1"),
        lambda rng, n: [_vector(cuts(rng, n, rng.randint(1, 6)))],
        _offsets,
    ),
    "lengths": Case(
        _program(f"%a: {_I}", _PARTITION.replace("{dim", "{lengths, dim"), "dr", "1"),
        lambda rng, n: [np.diff(_vector(cuts(rng, n, rng.randint(1, 6))))],
        _lengths,
    ),
    "windows": Case(
        _program(_TWO, f"ragged.assemble %v, %a, %b : ({_V}, {_I}, {_I}) -> X", "dw", "1"), _window_vectors, _windows
    ),
    "lists of lists": Case(
        _program(_TWO, f"ragged.assemble %v, %a, %b : ({_V}, {_I}, {_I}) -> X", "drr", "1, 2"), _list_vectors, _lists
    ),
    "windows of windows": Case(
        _program(
            f"{_TWO}, %c: {_I}, %d: {_I}",
            f"ragged.assemble %v, %a, %b, %c, %d : ({_V}, {_I}, {_I}, {_I}, {_I}) -> X",
            "dww",
            "1, 2",
        ),
        _window_list_vectors,
        _window_lists,
    ),
}


def corrupt(rng: random.Random, vectors: Vectors) -> Vectors:
    """Vectors after up to two changes of entries or of their size."""
    made = [vector.copy() for vector in vectors]
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        at = rng.randrange(len(made))
        vector = made[at].reshape(-1)
        kind = rng.choice(("set", "set", "set", "add", "swap", "cut", "grow"))
        if kind == "grow":
            made[at] = np.append(vector, np.int64(rng.choice(NUMBERS)))
        elif not vector.size:
            continue
        elif kind == "cut":
            made[at] = vector[: rng.randrange(vector.size)].copy()
        elif kind == "swap":
            i, k = rng.randrange(vector.size), rng.randrange(vector.size)
            vector[[i, k]] = vector[[k, i]]
        else:
            i = rng.randrange(vector.size)
            vector[i] = rng.choice(NUMBERS) if kind == "set" else min(int(vector[i]), 2**62) + rng.choice((-1, 1, 2))
    return made


def wrong(case: Case, function: Any, allocator: GuardedAllocator, rng: random.Random) -> str | None:
    """What is wrong with one call; None when it is right."""
    n = rng.choice((0, 1, 2, 7, 40))
    values = np.arange(n * D, dtype=np.float32).reshape(n, D)
    vectors = corrupt(rng, case.make(rng, n))
    expected = case.components(n, vectors)
    given = allocator.placed((values, *vectors))
    try:
        found = function(*given)
    except RuntimeCheckError as error:
        return None if expected is None else f"{n} {vectors}: refused: {error}"
    except (RaggedError, MemoryError) as error:
        return f"{n} {vectors}: {type(error).__name__}: {error}"
    if expected is None:
        return f"{n} {vectors}: accepted"
    zero = np.zeros(D, np.float32)
    sums = np.array([sum((values[a:b].sum(0) for a, b in parts), zero) for parts in expected], np.float32)
    sums = sums.reshape(-1, D)
    return None if np.array_equal(found, sums) else f"{n} {vectors}: got {found}, expected {sums}"


def main() -> None:
    """Answer tasks until there are none; the side is the same for all of them."""
    side = sys.argv[1] if len(sys.argv) > 1 else "after"
    allocator = install_guards(os.environ.get("RAGGED_TEST_SIDE", side))
    functions = {name: compile(case.text) for name, case in CASES.items()}
    limit = os.environ.get("RAGGED_TEST_LIMIT")
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), resource.RLIM_INFINITY))
    for line in sys.stdin:
        seed, count = json.loads(line)
        rng = random.Random(seed)
        names = list(CASES)
        found = None
        for _ in range(count):
            name = rng.choice(names)
            found = wrong(CASES[name], functions[name], allocator, rng)
            if found is not None:
                found = f"{name}: {found}"
                break
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
