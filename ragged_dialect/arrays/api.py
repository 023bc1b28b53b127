"""Everything that `ragged_dialect` offers on arrays; importing it registers all operations."""

from __future__ import annotations

from ragged_dialect.arrays.convert.arrow_array import from_arrow
from ragged_dialect.arrays.convert.awkward_array import from_awkward
from ragged_dialect.arrays.convert.dlpack import from_dlpack
from ragged_dialect.arrays.convert.npz import load_npz, save_npz
from ragged_dialect.arrays.convert.padded import from_padded, to_padded
from ragged_dialect.arrays.convert.torch_nested import from_torch_nested
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import (
    assume_valid,
    empty_like,
    from_lengths,
    from_offsets,
    from_row_ids,
    from_starts_lengths,
    like,
    narrow,
    ragged,
)
from ragged_dialect.arrays.index.dims import (
    compact,
    merge,
    partition,
    reshape,
    select,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from ragged_dialect.arrays.index.getitem import take_along as take
from ragged_dialect.arrays.index.select import gather
from ragged_dialect.arrays.index.select import keep as boolean_mask
from ragged_dialect.arrays.ops.argmax import argmax, argmin
from ragged_dialect.arrays.ops.attention import attention
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, clip, erf, rsqrt, where
from ragged_dialect.arrays.ops.join import chunk, concat, stack
from ragged_dialect.arrays.ops.matmul import einsum, matmul, transposed_matmul
from ragged_dialect.arrays.ops.normalise import layer_norm, log_softmax, logsumexp, rms_norm, softmax
from ragged_dialect.arrays.ops.scan import cumsum
from ragged_dialect.arrays.tracing.function import compilations
from ragged_dialect.arrays.tracing.jit import jit

__all__ = [
    "UFUNCS",
    "RaggedArray",
    "argmax",
    "argmin",
    "assume_valid",
    "astype",
    "attention",
    "boolean_mask",
    "chunk",
    "clip",
    "compact",
    "compilations",
    "concat",
    "cumsum",
    "einsum",
    "empty_like",
    "erf",
    "from_arrow",
    "from_awkward",
    "from_dlpack",
    "from_lengths",
    "from_offsets",
    "from_padded",
    "from_row_ids",
    "from_starts_lengths",
    "from_torch_nested",
    "gather",
    "jit",
    "layer_norm",
    "like",
    "load_npz",
    "log_softmax",
    "logsumexp",
    "matmul",
    "merge",
    "narrow",
    "partition",
    "ragged",
    "reshape",
    "rms_norm",
    "rsqrt",
    "save_npz",
    "select",
    "softmax",
    "split",
    "squeeze",
    "stack",
    "take",
    "to_padded",
    "transpose",
    "transposed_matmul",
    "unsqueeze",
    "where",
]
