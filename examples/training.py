"""What the trainings have in common: the documents, the loop, and the comparison of a ragged model with a padded one.

The documents are those of `attention_pooling.py`; the classes, whether a document speaks of classes.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ragged_dialect as rg

try:
    import torch
except ImportError:
    sys.exit("expected PyTorch, got none (pip install torch)")

STEPS = 50
TOLERANCE = 1e-5
"""Largest difference of the losses that is accepted."""


class Documents(NamedTuple):
    """The features of all words one after the other, how many words each document has, and the documents' classes."""

    words: Any
    lengths: Sequence[int]
    classes: Any


class Padded(NamedTuple):
    """Documents with zeros behind their end, and where their words are."""

    words: Any
    mask: Any


class Run(NamedTuple):
    """What a training did: losses, bytes that were kept for the way back in the first step, and seconds a step."""

    losses: list[float]
    kept: int
    seconds: float


Models = Callable[[int], tuple[Any, Any]]
"""For a number of features two models that start alike: of a ragged array of documents, and of `Padded`."""


def train(model: Any, documents: Any, classes: Any, steps: int) -> Run:
    """Train a model on all documents at once."""
    optimiser = model.optimiser()
    kept: dict[int, int] = {}

    def note(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    losses: list[float] = []
    times: list[float] = []
    for _ in range(steps):
        start = time.perf_counter()
        optimiser.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(note if not losses else lambda t: t, lambda t: t):
            loss = torch.nn.functional.cross_entropy(model(documents), classes)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    return Run(losses, sum(kept.values()), min(times))


def compare(models: Models, documents: Documents, steps: int) -> tuple[Run, Run]:
    """The trainings of the ragged and of the padded model."""
    words, lengths, classes = documents
    ragged, padded = models(words.shape[1])
    x = rg.from_lengths(words, list(lengths))
    mask = torch.arange(max(lengths))[None] < torch.tensor(list(lengths))[:, None]
    return train(ragged, x, classes, steps), train(padded, Padded(rg.to_padded(x), mask), classes, steps)


def read_documents(longest: int | None) -> Documents:
    """The documents, of each at most so many words."""
    from attention_pooling import read_corpus

    corpus = read_corpus()
    starts, lengths = corpus.offsets[:-1], np.minimum(np.diff(corpus.offsets), longest or sys.maxsize)
    kept = np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)])
    texts = (corpus.words[a : a + n] for a, n in zip(starts, lengths, strict=True))
    classes = torch.tensor(["class" in text for text in texts]).long()
    return Documents(torch.from_numpy(corpus.features[kept]), lengths.tolist(), classes)


def plot(ragged: Run, padded: Run, file: str) -> None:
    """Both losses, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(padded.losses, label="padded", linewidth=4, alpha=0.4)
    axes.plot(ragged.losses, label="ragged")
    axes.set(xlabel="step", ylabel="loss")
    axes.legend()
    figure.savefig(file)


def main(models: Models, longest: int | None, arguments: Sequence[str]) -> int:
    """Train both models on the documents, and say how they differ."""
    parser = argparse.ArgumentParser(description="Train a ragged model and a padded one.")
    parser.add_argument("steps", nargs="?", type=int, default=STEPS)
    parser.add_argument("--plot", metavar="FILE", help="a picture of the losses (needs matplotlib)")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("expected matplotlib for --plot, got none (pip install matplotlib)")
    documents = read_documents(longest)
    lengths, classes = documents.lengths, int(documents.classes.sum())
    print(f"{len(lengths)} documents, {sum(lengths)} words, the longest {max(lengths)}; {classes} of a class")
    ragged, padded = compare(models, documents, options.steps)
    for name, run in (("ragged", ragged), ("padded", padded)):
        print(f"{name}: loss {run.losses[0]:.5f} to {run.losses[-1]:.5f}, {run.kept / 2**20:.1f} MiB kept, "
              f"{run.seconds * 1e3:.1f} ms a step")  # fmt: skip
    if options.plot:
        plot(ragged, padded, options.plot)
    difference = max(abs(a - b) for a, b in zip(ragged.losses, padded.losses, strict=True))
    print(f"largest difference of the losses: {difference:.1e}")
    if difference > TOLERANCE:
        print(f"expected a difference of at most {TOLERANCE}, got {difference:.1e}")
        return 1
    return 0
