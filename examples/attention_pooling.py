"""Attention pooling over the documents of Python's manual: `python examples/attention_pooling.py [WORD]`.

The documents (`pydoc_data.topics`, in every CPython) have between some ten and some thousand words.
Every word becomes a feature vector, the compiled program `attention_pooling.mlir` weighs the words
of every document by their likeness to a query word and adds them up, and NumPy does the same to
compare with. Prints how ragged the documents are, what padding would cost, times, the error, and
the words with the largest weights. Exit code 1 when the error is too large.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NamedTuple

import numpy as np

import ragged_dialect
from ragged_dialect.lowering import pipelines

WIDTH = 64
SHARPNESS = 6.0
"""Factor on the scores: how much a softmax prefers the best words."""

TOLERANCE = 1e-4
"""Largest error accepted, against float64: values below 1, added up over thousands of words in float32."""

PROGRAM = Path(__file__).with_suffix(".mlir")

Array = np.ndarray[Any, np.dtype[Any]]


class Corpus(NamedTuple):
    """Documents: their names, the words of all one after the other, where each document starts
    (one entry more than documents), and a feature vector per word."""

    names: list[str]
    words: list[str]
    offsets: Array
    features: Array


def feature(word: str) -> Array:
    """A unit vector of WIDTH floats from a word's character trigrams, so that words that share
    them (exception, exceptions) are alike. Hashed: the same on every machine and run."""
    marked = f"<{word}>"
    total = np.zeros(WIDTH, np.float32)
    for start in range(len(marked) - 2):
        digest = hashlib.blake2b(marked[start : start + 3].encode(), digest_size=WIDTH // 8).digest()
        total += 1 - 2 * np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32)
    return total / np.linalg.norm(total)


def read_corpus() -> Corpus:
    """The manual's topics as lower-case words; words that many documents have get short vectors."""
    texts = [re.findall(r"[a-z_][a-z_0-9]*", text.lower()) for text in topics.values()]
    vocabulary = {word: k for k, word in enumerate(sorted({w for text in texts for w in text}))}
    documents_with = np.zeros(len(vocabulary), np.int64)
    for text in texts:
        documents_with[[vocabulary[w] for w in set(text)]] += 1
    rarity = np.minimum(np.log1p(len(texts) / documents_with) / np.log(3), 1).astype(np.float32)
    table = np.stack([feature(w) for w in vocabulary]) * rarity[:, None]
    words = [w for text in texts for w in text]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return Corpus(list(topics), words, offsets, table[[vocabulary[w] for w in words]])


def numpy_pooling(features: Array, offsets: Array, query: Array) -> tuple[Array, Array]:
    """What the program computes, vectorised over all documents; none of them is empty."""
    lengths, starts = np.diff(offsets), offsets[:-1]
    scores = features @ query
    weights = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
    weights /= np.repeat(np.add.reduceat(weights, starts), lengths)
    return np.add.reduceat(features * weights[:, None], starts, axis=0), weights


def maximal_error(results: Sequence[Array], exact: Sequence[Array]) -> float:
    """The largest difference of any element."""
    return max(float(abs(got - want).max()) for got, want in zip(results, exact, strict=True))


def timed(run: Callable[[], Any], repetitions: int = 15) -> tuple[Any, float]:
    """The result, and the median of the times in seconds after one call to warm up."""
    result, times = run(), []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return result, float(np.median(times))


def print_shape(corpus: Corpus) -> None:
    """How ragged the documents are, and what a padded tensor would take."""
    lengths = np.diff(corpus.offsets)
    count, total, longest = len(lengths), int(lengths.sum()), int(lengths.max())
    print(f"{count} documents, {total} words; words a document: "
          f"min {lengths.min()}, median {np.median(lengths):.0f}, max {longest}")  # fmt: skip
    edges = [0, *(2**k for k in range(6, 15) if 2 ** (k - 1) <= longest)]
    for low, high in pairwise(edges):
        inside = int(((lengths >= low) & (lengths < high)).sum())
        print(f"  {low:5} to {high - 1:5} words  {inside:3}  {'#' * inside}")
    ragged, padded = total * WIDTH * 4 + corpus.offsets.nbytes, count * longest * WIDTH * 4
    print(f"ragged {ragged / 2**20:.1f} MiB, padded {padded / 2**20:.1f} MiB: "
          f"padding takes {padded / ragged:.1f} times the memory and work")  # fmt: skip


def print_words(corpus: Corpus, pooled: Array, weights: Array, query: Array) -> None:
    """The words of largest weight, in the three documents whose vectors are closest to the query."""
    for document in np.argsort(-(pooled @ query), kind="stable")[:3]:
        start, stop = corpus.offsets[document : document + 2]
        found: dict[str, float] = {}
        for word, weight in zip(corpus.words[start:stop], weights[start:stop], strict=True):
            found[word] = found.get(word, 0.0) + float(weight)
        best = sorted(found.items(), key=lambda item: -item[1])[:5]
        shown = ", ".join(f"{word} {weight:.2f}" for word, weight in best if weight >= 0.005)
        print(f"  {corpus.names[document]:20} {shown}")


def main(argv: list[str] | None = None) -> int:
    """Run the example; the exit code."""
    parser = argparse.ArgumentParser(description="Attention pooling over the documents of Python's manual.")
    parser.add_argument("word", nargs="?", default="exception", help="the query word (default: exception)")
    word = parser.parse_args(argv).word.lower()
    corpus = read_corpus()
    print_shape(corpus)
    query = SHARPNESS * feature(word)

    start = time.perf_counter()
    program = ragged_dialect.compile(PROGRAM)
    stages = " -> ".join(stage.name for stage in pipelines.cpu_pipeline())
    print(f"\ncompiled in {time.perf_counter() - start:.2f} s: {stages}")
    (pooled, weights), ours = timed(lambda: program(corpus.features, corpus.offsets, query))
    peer, theirs = timed(lambda: numpy_pooling(corpus.features, corpus.offsets, query))
    print(f"run in {ours * 1e3:.2f} ms, NumPy in {theirs * 1e3:.2f} ms: {theirs / ours:.1f} times as fast")
    exact = numpy_pooling(corpus.features.astype(np.float64), corpus.offsets, query.astype(np.float64))
    error, other = maximal_error((pooled, weights), exact), maximal_error(peer, exact)
    print(f"maximal error against float64 {error:.1e} (at most {TOLERANCE:.0e}), NumPy's {other:.1e}")

    print(f"\nwords most like '{word}' in the documents most like it, with their weights:")
    print_words(corpus, pooled, weights, query)
    if not error <= TOLERANCE:
        print(f"expected an error of at most {TOLERANCE}, got {error}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
