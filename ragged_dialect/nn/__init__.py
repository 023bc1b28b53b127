"""Layers of neural networks, as functions of arrays and weights: `rg.nn`, or `from ragged_dialect.nn import moe`.
Initialisation, optimisers and parameters are left to the libraries that have them."""

from ragged_dialect.nn.activations import gelu as gelu
from ragged_dialect.nn.activations import relu as relu
from ragged_dialect.nn.activations import silu as silu
from ragged_dialect.nn.experts import moe as moe

__all__ = ["gelu", "moe", "relu", "silu"]
