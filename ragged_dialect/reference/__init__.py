"""The reference interpreter: the whole dialect on nested lists, slow and obviously right.

It runs modules before any lowering and is what every numeric test compares with. Ragged values
are storage and trees of positions (`axis`), structure ops are list surgery (`structure`, `merge`),
compute ops run their region for every index tuple (`loops`).
"""

from __future__ import annotations

from ragged_dialect.reference.interpreter import run
from ragged_dialect.reference.value import RaggedValue

__all__ = ["RaggedValue", "run"]
