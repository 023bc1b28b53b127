"""The domains of nvFuser's examples: tokens by expert, by rank, by GPU."""

from __future__ import annotations

import numpy as np

from ragged_dialect.compat.nvfuser import IterDomain, RaggedIterDomain

EXPERT_OFFSETS = np.array([0, 127, 127, 325])
RANK_OFFSETS = np.array([[0, 50, 127], [0, 0, 0], [0, 100, 198]])
"""Of the tokens of each expert."""
GPU_OFFSETS = np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]])
"""By expert, of the tokens of each GPU."""


def ragged(*extents: int) -> RaggedIterDomain:
    """A ragged domain of extents."""
    return RaggedIterDomain([IterDomain(0, extent) for extent in extents])
