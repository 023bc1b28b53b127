"""nvFuser's iteration domains with ragged extents, and its nested tensors over `RaggedArray`.

The semantics are those of nvFuser's design document of `RaggedIterDomain` and of its note on the divisibility
of splits. Domains are plain objects with numbers as extents; tensors are arrays. `TensorDomain.of` says which
domains an array has, and what an op makes of the array it makes of the domains. `docs/parity.md` lists every name.
"""

from __future__ import annotations

from ragged_dialect.compat.nvfuser.domains import (
    IterDomain,
    IterType,
    ParallelType,
    RaggedIterDomain,
    as_flattened,
    as_nested,
)
from ragged_dialect.compat.nvfuser.tensor_domain import TensorDomain

__all__ = [
    "IterDomain",
    "IterType",
    "ParallelType",
    "RaggedIterDomain",
    "TensorDomain",
    "as_flattened",
    "as_nested",
]
