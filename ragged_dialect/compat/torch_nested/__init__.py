"""torch.nested's names on `rg.RaggedArray`: nested tensors of the jagged layout (NJTs).

Constructors, functions and methods have the arguments, their order and the semantics of the
documentation of `torch.nested`. NumPy arrays stand where that has torch tensors; torch tensors are
taken, and given back, without a copy, and `torch.cat`, `torch.sin` and others take nested tensors.

What is different: two tensors are compatible when their lengths are equal, whatever object holds them;
structures are checked when they are made; the ragged extent of `shape` is None; nothing is truncated
in silence; gradients come later.
"""

from __future__ import annotations

from ragged_dialect.compat.torch_nested.compiling import compile
from ragged_dialect.compat.torch_nested.functions import cat, scaled_dot_product_attention, stack
from ragged_dialect.compat.torch_nested.making import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)
from ragged_dialect.compat.torch_nested.nested_tensor import NestedTensor, jagged

__all__ = [
    "NestedTensor",
    "as_nested_tensor",
    "cat",
    "compile",
    "jagged",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "scaled_dot_product_attention",
    "stack",
    "to_padded_tensor",
]
