"""The reshuffle of an expert-parallel layer: `python examples/expert_reshuffle.py`.

Two GPUs with 100 tokens each, sorted by expert, become the tokens of every expert, two experts on a
device. Runs `expert_reshuffle.mlir` on one process, prints the lengths after every step, and
compares the tokens with a loop in NumPy. Exit code 1 when they differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ragged_dialect

PROGRAM = Path(__file__).with_suffix(".mlir")
GPUS, TOKENS, EXPERTS, DEVICES, WIDTH = 2, 100, 4, 2, 8
OFFSETS = np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]])

Array = np.ndarray[Any, np.dtype[Any]]


def make_tokens() -> Array:
    """[gpu, token, H]; every number says where it is: gpu * 1000 + token + feature / 10."""
    gpu, token, feature = np.ogrid[:GPUS, :TOKENS, :WIDTH]
    return (gpu * 1000 + token + feature / 10).astype(np.float32)


def expected_tokens(tokens: Array) -> list[Array]:
    """The tokens of every expert, of the first GPU and then of the second."""
    starts, stops = OFFSETS[:, :-1], OFFSETS[:, 1:]
    return [
        np.concatenate([tokens[gpu, starts[gpu, expert] : stops[gpu, expert]] for gpu in range(GPUS)])
        for expert in range(EXPERTS)
    ]


def main() -> int:
    """Run the example; the exit code."""
    tokens = make_tokens()
    sent, received, merged, placed, (values, offsets) = ragged_dialect.compile(PROGRAM)(tokens, OFFSETS)

    print(f"{GPUS} GPUs with {TOKENS} tokens each; where each of {EXPERTS} experts starts: {OFFSETS.tolist()}")
    print(f"partition  [gpu, expert]    tokens {sent.reshape(GPUS, EXPERTS).tolist()}")
    print(f"transpose  [expert, gpu]    tokens {received.reshape(EXPERTS, GPUS).tolist()}")
    print(f"merge      [expert]         tokens {merged.tolist()}")
    print(f"split      [device, expert] tokens {placed.reshape(DEVICES, EXPERTS // DEVICES).tolist()}")

    same = True
    for expert, wanted in enumerate(expected_tokens(tokens)):
        got = values[offsets[expert] : offsets[expert + 1]]
        same = same and np.array_equal(got, wanted)
        first = ", ".join(f"{number:.0f}" for number in got[:: max(1, len(got) // 4), 0])
        print(f"expert {expert} on device {expert * DEVICES // EXPERTS}: {len(got)} tokens {first}, ...")
    print("equal to the loop over experts and GPUs" if same else "expected the tokens of the loop, got others")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
