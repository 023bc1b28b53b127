"""Everything that `ragged_dialect` offers on arrays; importing it registers all operations."""

from __future__ import annotations

from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.function import compilations
from ragged_dialect.arrays.jit import jit
from ragged_dialect.arrays.making import (
    empty_like,
    from_lengths,
    from_offsets,
    from_row_ids,
    from_starts_lengths,
    narrow,
    ragged,
)
from ragged_dialect.arrays.normalizing import layer_norm, log_softmax, logsumexp, rms_norm, softmax
from ragged_dialect.arrays import reductions as _reductions
from ragged_dialect.arrays.shaping import compact, merge, partition, reshape, select, split, squeeze, transpose, unsqueeze
from ragged_dialect.arrays.ufuncs import UFUNCS, astype, clip, erf, rsqrt, where
from ragged_dialect.arrays.indexing import gather, keep as boolean_mask, _take as take
