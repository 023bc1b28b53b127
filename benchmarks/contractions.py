"""Attention and products of groups beside peers: `python benchmarks/contractions.py [--only attention]`.

Attention of sequences with the length patterns of FlashAttention's benchmark of varlen schedules
(`benchmarks/benchmark_varlen_sched.py`), and of files of lengths: PyTorch's `scaled_dot_product_attention` for each
component, the same of all, padded, with a mask, and loops over the products of NumPy's or PyTorch's BLAS and PyTorch's
softmax; all of them with a bias, too (`masked`). Products of groups: loops over both, and PyTorch's `_grouped_mm`. On
one thread and on all, interleaved; a peer's result is compared with ours first. `GF/s` are ours, of the products alone;
`sgemm` is NumPy's for 512 x 512.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, interleave, load, lognormal_lengths, measured, read_lengths

import ragged_dialect as rg

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

Call = Callable[[], Any]
ROWS = 8192
HEADS = 4
TOLERANCE = 2e-4


def patterns() -> dict[str, Array]:
    """Lengths of about `ROWS` rows, of mean 128 but for those that are skewed."""
    rng = np.random.default_rng(0)
    skew = np.array([ROWS // 2] + [32] * (ROWS // 64))
    return {
        "constant": np.full(ROWS // 128, 128),
        "uniform": rng.integers(64, 193, ROWS // 128),
        "wide": rng.integers(1, 256, ROWS // 128),
        "long tail": np.maximum(lognormal_lengths(ROWS // 128, 128, 1.0), 1),
        "bimodal": rng.choice([32, 512], ROWS // 128, p=[0.8, 0.2]),
        "skew": skew,
        "shuffled skew": rng.permutation(skew),
    }


@dataclass(frozen=True)
class Problem:
    """What is computed, floating-point operations of its products, and who computes it."""

    name: str
    operations: float
    candidates: dict[str, Call]


def attention(name: str, lengths: Array, dim: int, causal: bool, masked: bool = False) -> Problem:
    """Self-attention of sequences, `HEADS` heads, float32; `masked` has a bias of heads, queries and keys."""
    rows = int(lengths.sum())
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((rows, HEADS, dim), np.float32) for _ in range(3))
    arrays = [rg.from_lengths(x, lengths) for x in (q, k, v)]
    bias = rng.standard_normal((HEADS, lengths.max(), lengths.max()), np.float32) if masked else None
    found: dict[str, Call] = {"ours": lambda: rg.attention(*arrays, causal=causal, mask=bias).values}
    if torch is not None:
        tensors = [torch.from_numpy(x) for x in (q, k, v)]
        found |= _torch_attention(tensors, lengths, causal, None if bias is None else torch.from_numpy(bias))
    scores = float((lengths * (lengths + 1) // 2 if causal else lengths**2).sum())
    kind = ", causal" if causal else ", masked" if masked else ""
    return Problem(f"attention, {dim}{kind}, {name}", 4 * HEADS * dim * scores, found)


def _torch_attention(tensors: list[Any], lengths: Array, causal: bool, bias: Any) -> dict[str, Call]:
    sdpa = torch.nn.functional.scaled_dot_product_attention
    rows, sizes = len(tensors[0]), lengths.tolist()
    parts = [[p.transpose(0, 1)[None] for p in x.split(sizes)] for x in tensors]
    longest = max(sizes)
    inside = torch.arange(longest)[None] < torch.tensor(sizes)[:, None]
    seen, more = inside[:, None, None, :], torch.zeros(1, 1, 1) if bias is None else bias
    if causal:
        seen = seen & torch.ones(longest, longest, dtype=torch.bool).tril()
    with_padding = longest * len(sizes) <= 8 * rows  # of more than that it is no candidate
    mask = torch.where(seen, bias[None], -torch.inf) if bias is not None and with_padding else seen
    own = [more[:, :n, :n] for n in sizes]
    above = [torch.ones(n, n, dtype=torch.bool).triu(1) for n in sizes] if causal else []

    def joined(made: list[Any]) -> Any:
        return torch.cat([one[0].transpose(0, 1) for one in made]).reshape(rows, HEADS, -1).numpy()

    def looped() -> Any:
        masks = own if bias is not None else [None] * len(own)
        return joined([sdpa(*one, is_causal=causal, attn_mask=m) for *one, m in zip(*parts, masks, strict=True)])

    def padded() -> Any:
        wide = [torch.zeros(len(sizes), longest, *x.shape[1:]) for x in tensors]
        for room, x in zip(wide, tensors, strict=True):
            room[inside] = x
        out = sdpa(*(x.transpose(1, 2) for x in wide), attn_mask=mask)
        return out.transpose(1, 2)[inside].numpy()

    def products(times: Callable[[Any, Any], Any]) -> Any:
        made: list[Any] = []
        for at, (q, k, v) in enumerate(zip(*parts, strict=True)):
            scores = times(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5
            if bias is not None:
                scores += own[at]
            if causal:
                scores.masked_fill_(above[at], -torch.inf)
            made.append(times(torch.softmax(scores, -1), v))
        return joined(made)

    def numpy_times(a: Any, b: Any) -> Any:
        return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))

    found: dict[str, Call] = {
        "SDPA loop": looped,
        "PyTorch loop": lambda: products(torch.matmul),
        "NumPy loop": lambda: products(numpy_times),
    }
    if with_padding:
        found["SDPA padded"] = padded
    return found


def grouped(mode: str, rows: int, k: int, n: int) -> Problem:
    """Products of groups of as many rows each; of `ROWS` rows, but of 256 groups at most."""
    groups = min(256, max(4, ROWS // rows))
    rng = np.random.default_rng(1)
    x = rng.standard_normal((groups * rows, k), np.float32)
    lengths, bounds = np.full(groups, rows), range(0, groups * rows + 1, rows)
    other = rng.standard_normal((groups, k, n) if mode == "rows" else (groups * rows, n), np.float32)
    right: Any = other if mode == "rows" else rg.from_lengths(other, lengths)
    ours = rg.from_lengths(x, lengths)
    pairs = [(x[a:b], other[g] if mode == "rows" else other[a:b]) for g, (a, b) in enumerate(pairwise(bounds))]

    def loop(of: list[tuple[Any, Any]], join: Callable[..., Any]) -> Call:
        return lambda: join([a @ b if mode == "rows" else a.T @ b for a, b in of])

    def numpy_join(made: list[Any]) -> Any:
        return np.concatenate(made) if mode == "rows" else np.stack(made)

    def torch_join(made: list[Any]) -> Any:
        return (torch.cat(made) if mode == "rows" else torch.stack(made)).numpy()

    found: dict[str, Call] = {
        "ours": lambda: np.asarray(getattr(made := rg.ragged_dot(ours, right, mode=mode), "values", made)),
        "NumPy loop": loop(pairs, numpy_join),
    }
    if torch is not None:
        tensors = [(torch.from_numpy(a), torch.from_numpy(b)) for a, b in pairs]
        found["PyTorch loop"] = loop(tensors, torch_join)
        whole, ends = [torch.from_numpy(a) for a in (x, other)], torch.tensor(bounds[1:], dtype=torch.int32)
        left = whole[0] if mode == "rows" else whole[0].T
        found["_grouped_mm"] = lambda: torch._grouped_mm(left, whole[1], offs=ends).numpy()
    return Problem(f"ragged_dot, {mode}, {rows} rows, {k}x{n}", 2.0 * groups * rows * k * n, found)


def problems(only: list[str], files: list[Path]) -> Iterator[Problem]:
    """All that is measured."""
    if "attention" in only:
        lengths = patterns() | {path.stem: read_lengths(path)[:512] for path in files}
        for dim, kind, (name, of) in product((16, 64, 128), ("", "causal", "masked"), lengths.items()):
            yield attention(name, of, dim, kind == "causal", kind == "masked")
    if "products" in only:
        for mode, (k, n), rows in product(
            ("rows", "contraction"), ((128, 32), (64, 64), (256, 256)), (1, 4, 16, 32, 64, 512)
        ):
            yield grouped(mode, rows, k, n)


def _agree(problem: Problem) -> dict[str, Call]:
    """Us, and the peers that give the same."""
    expected = np.asarray(problem.candidates["ours"]())
    found: dict[str, Call] = {}
    for name, call in problem.candidates.items():
        try:
            error = np.abs(np.asarray(call()) - expected).max(initial=0) / np.abs(expected).max(initial=1)
        except (RuntimeError, NotImplementedError) as refused:
            print(f"# {problem.name}: {name} left out: {str(refused).splitlines()[0][:80]}", file=sys.stderr)
            continue
        if error > TOLERANCE:
            print(f"# {problem.name}: {name} left out: values that differ by {error:.1e}", file=sys.stderr)
        else:
            found[name] = call
    return found


def _measure(options: argparse.Namespace) -> None:
    """In a process with its number of threads and cores: a line of CSV per problem, on standard output."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.child])
    writer = csv.writer(sys.stdout)
    if torch is not None:
        torch.set_num_threads(options.child)
    a = np.ones((512, 512), np.float32)
    least = interleave({"sgemm": lambda: a @ a}, options.repetitions)["sgemm"].least
    writer.writerow(["sgemm", options.child, 1e3 * least, "", "", 2 * 512**3 / least / 1e9])
    for problem in problems(options.only, options.lengths):
        candidates = _agree(problem)
        slow = problem.operations > 2e10  # of seconds, which need no more to be told apart
        times = interleave(candidates, 1 if slow else options.repetitions)
        ours = times.pop("ours").least
        best = min(times, key=lambda name: times[name].least, default="")
        peer = 1e3 * times[best].least if best else ""
        writer.writerow([problem.name, options.child, 1e3 * ours, peer, best, problem.operations / ours / 1e9])
        sys.stdout.flush()


def main() -> None:
    """Measure in processes of their own, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["attention", "products"], default=["attention", "products"])
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, len(os.sched_getaffinity(0))}))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--lengths", nargs="+", type=Path, default=[], help="files of one length a line, 512 are taken")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        _measure(options)
        return
    print(f"{load()}; minimum of {options.repetitions} interleaved calls\n")
    print("| | threads | ours, ms | best peer, ms | | ratio | GF/s |\n|---|---|---|---|---|---|---|")
    ratios: list[float] = []
    for name, count, ours, peer, best, rate in measured(options.threads):
        ratio = float(peer) / float(ours) if peer else float("nan")
        ratios += [ratio] if peer else []
        shown = f"{float(peer):.3g} | {best} | {ratio:.2f}" if peer else "| |"
        print(f"| {name} | {count} | {float(ours):.3g} | {shown} | {float(rate):.0f} |", flush=True)
    if ratios:
        print(f"\nGeometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}, the least {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
