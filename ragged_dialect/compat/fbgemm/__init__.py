"""FBGEMM's jagged operators by their names, on `rg.RaggedArray`.

Arguments, their order and what happens to elements out of range are those of `torch.ops.fbgemm` (the
docstrings of `fbgemm_gpu/docs/jagged_tensor_ops.py` and the schemas beside its CPU operators). A
jagged tensor is its values and a list of offsets, outermost first; results are dense arrays, or values
with the offsets that came in. Arrays are NumPy's, CuPy's or PyTorch's, and so are the results.

What is different: offsets are checked, also where FBGEMM reads out of bounds; where it leaves memory
unset there are zeros; float64 and integers work everywhere.
"""

from __future__ import annotations

from ragged_dialect.compat.fbgemm.computing import (
    batched_dense_vec_jagged_2d_mul,
    jagged_dense_bmm,
    jagged_dense_dense_elementwise_add_jagged_output,
    jagged_dense_elementwise_add,
    jagged_dense_elementwise_add_jagged_output,
    jagged_dense_elementwise_mul,
    jagged_jagged_bmm,
    jagged_softmax,
    jagged_unique_indices,
)
from ragged_dialect.compat.fbgemm.converting import (
    dense_to_jagged,
    jagged_1d_to_dense,
    jagged_2d_to_dense,
    jagged_to_padded_dense,
)
from ragged_dialect.compat.fbgemm.selecting import jagged_index_select, jagged_slice

__all__ = [
    "batched_dense_vec_jagged_2d_mul",
    "dense_to_jagged",
    "jagged_1d_to_dense",
    "jagged_2d_to_dense",
    "jagged_dense_bmm",
    "jagged_dense_dense_elementwise_add_jagged_output",
    "jagged_dense_elementwise_add",
    "jagged_dense_elementwise_add_jagged_output",
    "jagged_dense_elementwise_mul",
    "jagged_index_select",
    "jagged_jagged_bmm",
    "jagged_slice",
    "jagged_softmax",
    "jagged_to_padded_dense",
    "jagged_unique_indices",
]
