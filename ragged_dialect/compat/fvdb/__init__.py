"""fvdb's `JaggedTensor` over `RaggedArray`: lists, or lists of lists, of tensors [n, …].

The semantics are those of the reference page of `fvdb.JaggedTensor` and, where it is silent, of fvdb-core's
source. `docs/parity.md` lists every name with what differs. NumPy arrays stand where fvdb has torch tensors;
torch tensors are taken, and given back, without a copy.
"""

from __future__ import annotations

from ragged_dialect.compat.fvdb.jagged_tensor import JaggedTensor

__all__ = ["JaggedTensor"]
