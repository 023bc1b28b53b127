"""A transformer encoder, trained by PyTorch: `python examples/train_encoder.py [STEPS]`.

Documents go through two layers of PyTorch's `TransformerEncoderLayer`, are pooled and classified as in
`train_classifier.py`. The ragged model takes the parameters of the layers and computes with ragged arrays, attention
within each document; the padded one calls the layers with a mask. Prints the losses, the largest difference, what is
kept for the way back, and the time of a step; `--plot FILE` draws the losses. Exit code 1 when the losses differ too
much, and without PyTorch.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import training
from train_classifier import Classifier, pooled, pooled_with_a_mask
from training import Padded, torch

import ragged_dialect as rg

HEAD = 16
"""Features of a head."""

LONGEST = 256
"""Words of a document: what is padded grows with the square of it."""


@rg.jit
def encoded(x: Any, parameters: Any) -> Any:
    """What a layer makes of ragged documents."""
    attention, norms, (first, second) = parameters
    (w_in, b_in), (w_out, b_out) = attention
    parts = rg.reshape(rg.layer_norm(x, *norms[0]) @ w_in.T + b_in, (2,), (3, -1, HEAD))
    mixed = rg.attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2])
    x = x + rg.reshape(mixed, (2, 3), (-1,)) @ w_out.T + b_out
    hidden = rg.layer_norm(x, *norms[1]) @ first[0].T + first[1]
    hidden = hidden * (1 + rg.erf(hidden * 0.5**0.5)) / 2  # GELU
    return x + hidden @ second[0].T + second[1]


def parameters(layer: Any) -> Any:
    """Those of a layer of PyTorch's, as `encoded` takes them."""
    own = layer.self_attn
    attention = ((own.in_proj_weight, own.in_proj_bias), (own.out_proj.weight, own.out_proj.bias))
    norms, linear = (layer.norm1, layer.norm2), (layer.linear1, layer.linear2)
    return attention, *([(part.weight, part.bias) for part in parts] for parts in (norms, linear))


class Encoder(torch.nn.Module):
    """Layers, and a classifier on what comes out."""

    def __init__(self, layers: Any, pool: Any, width: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)
        self.classifier = Classifier(width, pool)

    def optimiser(self) -> Any:
        """Of all parameters; none that divides gradients by their size, which makes large ones of rounding errors."""
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Ragged(Encoder):
    """Of ragged documents."""

    def forward(self, documents: Any) -> Any:
        for layer in self.layers:
            documents = encoded(documents, parameters(layer))
        return self.classifier(documents)


class WithAMask(Encoder):
    """Of padded ones."""

    def forward(self, documents: Padded) -> Any:
        words = documents.words
        for layer in self.layers:
            words = layer(words, src_key_padding_mask=~documents.mask)
        return self.classifier(Padded(words, documents.mask))


def models(width: int) -> tuple[Encoder, Encoder]:
    """The ragged and the padded one."""
    torch.manual_seed(0)
    options: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": True, "activation": "gelu"}
    layers = [torch.nn.TransformerEncoderLayer(width, width // HEAD, 2 * width, **options) for _ in range(2)]
    return Ragged(layers, pooled, width), WithAMask(copy.deepcopy(layers), pooled_with_a_mask, width)


if __name__ == "__main__":
    sys.exit(training.main(models, LONGEST, sys.argv[1:]))
