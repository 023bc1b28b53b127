"""A text classifier with attention pooling, trained by PyTorch: `python examples/train_classifier.py [STEPS]`.

A model pools the words of every document, ragged, by a query that it learns; another one does the same on padded
documents with a mask, in PyTorch alone. Both start alike, and are trained by PyTorch's optimiser (`training.py`).
Prints the losses, the largest difference, what is kept for the way back, and the time of a step; `--plot FILE` draws
the losses. Exit code 1 when the losses differ too much, and without PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import training
from training import Padded, torch

import ragged_dialect as rg


@rg.jit
def pooled(words: Any, query: Any) -> Any:
    """A vector per document: its words by their likeness to the query."""
    weights = rg.softmax(words @ query, axis=1)
    return (weights[..., None] * words).sum(axis=1)


def pooled_with_a_mask(documents: Padded, query: Any) -> Any:
    """As `pooled`, on padded documents; one without words is 0."""
    scores = (documents.words @ query).masked_fill(~documents.mask, -1e30)
    weights = scores.softmax(1) * documents.mask
    return (weights[..., None] * documents.words).sum(1)


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

    def optimiser(self) -> Any:
        """Of all parameters."""
        return torch.optim.Adam(self.parameters(), lr=0.05)


def models(width: int) -> tuple[Classifier, Classifier]:
    """The ragged and the padded one."""
    return Classifier(width, pooled), Classifier(width, pooled_with_a_mask)


if __name__ == "__main__":
    sys.exit(training.main(models, None, sys.argv[1:]))
