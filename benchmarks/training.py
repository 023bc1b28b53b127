"""Training steps of transformer blocks beside PyTorch: `python benchmarks/training.py`.

Loss and gradients of two blocks (layer norm, causal attention of 4 heads, a multilayer perceptron of four times the
features) on 64 sequences of lognormal lengths, float32. Ours is one program, `rg.value_and_grad`. PyTorch has the rows
of all sequences in one matrix and calls attention for each (`packed`), or pads all to the longest (`padded`). The least
of some calls in turn, after the losses and gradients were found equal.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Array, compared, describe, lognormal_lengths

HEADS, LAYERS, SEQUENCES, MEAN, SIGMA = 4, 2, 64, 70.0, 0.7

Weights = dict[str, Any]


def weights(features: int) -> dict[str, Array]:
    """Those of all layers, by the number of the layer and a letter."""
    rng = np.random.default_rng(0)
    shapes = {name: (features, features) for name in "qkvo"}
    shapes |= {"u": (features, 4 * features), "d": (4 * features, features), "a": (features,), "b": (features,)}
    made = {f"{layer}{name}": rng.standard_normal(shape) for layer in range(LAYERS) for name, shape in shapes.items()}
    return {name: np.float32(0.05) * w.astype(np.float32) + np.float32(w.ndim == 1) for name, w in made.items()}


def ours(lengths: Array, rows: Array, given: Weights) -> Callable[[], tuple[float, Weights]]:
    """A step of one program, compiled."""
    import ragged_dialect as rg

    features = rows.shape[1]

    def loss(p: Weights, x: Any) -> Any:
        for layer in range(LAYERS):
            h = rg.layer_norm(x) * p[f"{layer}a"]
            q, k, v = ((h @ p[f"{layer}{n}"]).reshape((2,), (HEADS, features // HEADS)) for n in "qkv")
            x = x + rg.attention(q, k, v, causal="top-left").reshape((2, 3), (features,)) @ p[f"{layer}o"]
            h = rg.layer_norm(x) * p[f"{layer}b"]
            x = x + rg.nn.gelu(h @ p[f"{layer}u"]) @ p[f"{layer}d"]
        return (x * x).mean()

    step, x = rg.value_and_grad(loss), rg.from_lengths(rows, lengths)
    start = time.perf_counter()
    step(given, x)
    print(f"compiled in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return lambda: step(given, x)


def theirs(lengths: Array, rows: Array, given: Weights, pads: bool) -> Callable[[], tuple[float, Weights]]:
    """A step of PyTorch's, with a matrix of rows or with padding."""
    import torch

    torch.set_num_threads(int(os.environ["RAGGED_NUM_THREADS"]))
    functional, attend = torch.nn.functional, torch.nn.functional.scaled_dot_product_attention
    features, longest = rows.shape[1], int(lengths.max())
    ends = np.cumsum(lengths)
    spans = list(zip(ends - lengths, ends, strict=True))
    p = {name: torch.tensor(w, requires_grad=True) for name, w in given.items()}
    flat = torch.tensor(rows)
    there = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
    mask = there[:, None, None, :] & torch.ones(longest, longest, dtype=torch.bool).tril()
    whole = torch.zeros(len(lengths), longest, features)
    whole[there] = flat

    def packed(q: Any, k: Any, v: Any) -> Any:
        parts = [[x[low:high].transpose(0, 1) for x in (q, k, v)] for low, high in spans]
        return torch.cat([attend(*part, is_causal=True).transpose(0, 1) for part in parts])

    def padded(q: Any, k: Any, v: Any) -> Any:
        return attend(*(x.transpose(1, 2) for x in (q, k, v)), attn_mask=mask).transpose(1, 2)

    def step() -> tuple[float, Weights]:
        for w in p.values():
            w.grad = None
        x = whole if pads else flat
        for layer in range(LAYERS):
            h = functional.layer_norm(x, (features,)) * p[f"{layer}a"]
            q, k, v = ((h @ p[f"{layer}{n}"]).unflatten(-1, (HEADS, features // HEADS)) for n in "qkv")
            x = x + (padded if pads else packed)(q, k, v).flatten(-2) @ p[f"{layer}o"]
            h = functional.layer_norm(x, (features,)) * p[f"{layer}b"]
            x = x + functional.gelu(h @ p[f"{layer}u"], approximate="tanh") @ p[f"{layer}d"]
        made = (x[there] if pads else x).square().mean()
        made.backward()
        return made.item(), {name: w.grad for name, w in p.items()}

    return step


def main() -> None:
    """Print a row for each number of features."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    os.environ["RAGGED_NUM_THREADS"] = str(options.threads)
    lengths = np.maximum(lognormal_lengths(SEQUENCES, MEAN, SIGMA), 1)
    print(f"{describe(lengths)}; {options.threads} threads\n")
    print("| features | ours, ms | PyTorch packed | padded |\n|---|---|---|---|")
    for features in options.features:
        rows = np.random.default_rng(1).standard_normal((lengths.sum(), features)).astype(np.float32)
        given = weights(features)
        steps = {"ours": ours(lengths, rows, given)}
        try:
            steps |= {name: theirs(lengths, rows, given, pads) for name, pads in (("packed", False), ("padded", True))}
        except ImportError:
            print("PyTorch is not installed", file=sys.stderr)
        (own, gradients), *others = (step() for step in steps.values())
        for value, found in others:
            np.testing.assert_allclose(own, value, rtol=1e-4)
            for name, w in found.items():
                np.testing.assert_allclose(gradients[name], np.asarray(w), atol=1e-2 * float(abs(w).max()))
        print(f"| {features} | {compared(steps, options.repetitions)} |", flush=True)


if __name__ == "__main__":
    main()
