"""A text classifier with attention pooling, trained by PyTorch: `python examples/train_classifier.py [STEPS]`.

The documents are those of `attention_pooling.py`; the classes, whether a document speaks of classes. A model pools the
words of every document, ragged, by a query that it learns; another one does the same on padded documents with a mask,
in PyTorch alone. Both start alike, and are trained by PyTorch's optimiser. Prints the losses, the largest difference,
what is kept for the way back, and the time of a step. Exit code 1 when the losses differ too much, 2 without PyTorch.
"""

from __future__ import annotations

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


@rg.jit
def pooled(words: Any, query: Any) -> Any:
    """A vector per document: its words by their likeness to the query."""
    weights = rg.softmax(words @ query, axis=1)
    return (weights[..., None] * words).sum(axis=1)


class Classifier(torch.nn.Module):
    """Pools documents and separates two classes of them."""

    def __init__(self, width: int, pool: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.pool = pool
        self.query = torch.nn.Parameter(torch.linspace(-1, 1, width))
        self.head = torch.nn.Linear(width, 2)
        torch.nn.init.eye_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)

    def forward(self, documents: Any) -> Any:
        return self.head(self.pool(documents, self.query))


class Padded(NamedTuple):
    """Documents with zeros behind their end, and where their words are."""

    words: Any
    mask: Any


def pooled_with_a_mask(documents: Padded, query: Any) -> Any:
    """As `pooled`, on padded documents; one without words is 0."""
    scores = (documents.words @ query).masked_fill(~documents.mask, -1e30)
    weights = scores.softmax(1) * documents.mask
    return (weights[..., None] * documents.words).sum(1)


class Run(NamedTuple):
    """What a training did: losses, bytes that were kept for the way back in the first step, and seconds a step."""

    losses: list[float]
    kept: int
    seconds: float


def train(model: Any, documents: Any, classes: Any, steps: int) -> Run:
    """Train a model on all documents at once."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
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


def compare(words: Any, lengths: Sequence[int], classes: Any, steps: int) -> tuple[Run, Run]:
    """The trainings of the ragged and of the padded model."""
    documents = rg.from_lengths(words, list(lengths))
    mask = torch.arange(max(lengths))[None] < torch.tensor(list(lengths))[:, None]
    padded = Padded(rg.to_padded(documents), mask)
    width = words.shape[1]
    ragged = train(Classifier(width, pooled), documents, classes, steps)
    return ragged, train(Classifier(width, pooled_with_a_mask), padded, classes, steps)


def main(arguments: Sequence[str]) -> int:
    """Train both models on the documents."""
    from attention_pooling import read_corpus

    corpus = read_corpus()
    lengths = np.diff(corpus.offsets).tolist()
    texts = np.split(np.asarray(corpus.words), corpus.offsets[1:-1])
    classes = torch.tensor(["class" in text for text in texts]).long()
    print(
        f"{len(lengths)} documents, {sum(lengths)} words, the longest {max(lengths)}; {int(classes.sum())} of a class"
    )
    steps = int(arguments[0]) if arguments else STEPS
    ragged, padded = compare(torch.from_numpy(corpus.features), lengths, classes, steps)
    for name, run in (("ragged", ragged), ("padded", padded)):
        print(f"{name}: loss {run.losses[0]:.5f} to {run.losses[-1]:.5f}, {run.kept / 2**20:.1f} MiB kept, "
              f"{run.seconds * 1e3:.1f} ms a step")  # fmt: skip
    difference = max(abs(a - b) for a, b in zip(ragged.losses, padded.losses, strict=True))
    print(f"largest difference of the losses: {difference:.1e}")
    if difference > TOLERANCE:
        print(f"expected a difference of at most {TOLERANCE}, got {difference:.1e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
