"""All operations, and what traced values have where arrays have the results of calls: importing it makes programs
possible. Arrays know operations by their names, and load this when one has no program yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragged_dialect.arrays.convert import padded_operations as padded_operations
from ragged_dialect.arrays.core.value import put_all
from ragged_dialect.arrays.index import counts as counts
from ragged_dialect.arrays.index import dims as dims
from ragged_dialect.arrays.index import exchange as exchange
from ragged_dialect.arrays.index import gather as gather
from ragged_dialect.arrays.index import getitem as getitem
from ragged_dialect.arrays.index import levels as levels
from ragged_dialect.arrays.index import making as making
from ragged_dialect.arrays.index import parts as parts
from ragged_dialect.arrays.index import repeat as repeat
from ragged_dialect.arrays.index import routing as routing
from ragged_dialect.arrays.index import windows as windows
from ragged_dialect.arrays.numpy import composed_operations as composed_operations
from ragged_dialect.arrays.numpy import masked as masked
from ragged_dialect.arrays.numpy import nan_operations as nan_operations
from ragged_dialect.arrays.ops import along as along
from ragged_dialect.arrays.ops import argmax as argmax
from ragged_dialect.arrays.ops import attention_operations as attention_operations
from ragged_dialect.arrays.ops import elementwise as elementwise
from ragged_dialect.arrays.ops import join_operations as join_operations
from ragged_dialect.arrays.ops import matmul as matmul
from ragged_dialect.arrays.ops import normalise as normalise
from ragged_dialect.arrays.ops import scan as scan
from ragged_dialect.arrays.ops import statistics as statistics
from ragged_dialect.arrays.ops.sorting import quantile as quantile
from ragged_dialect.arrays.ops.sorting import rankdata as rankdata
from ragged_dialect.arrays.ops.sorting import search as search
from ragged_dialect.arrays.ops.sorting import sort as sort
from ragged_dialect.arrays.ops.sorting import topk as topk
from ragged_dialect.arrays.ops.sorting import unique as unique
from ragged_dialect.arrays.tracing.tensor import Tensor

if TYPE_CHECKING:
    _Traced = Tensor
else:
    _Traced = object


class _Methods(_Traced):
    @property
    def values(self) -> Tensor:
        """The elements, one row after the other; of windows a copy."""
        return parts.values(self)

    def _vector(self, part: str, dim: int | None) -> Tensor:
        return parts.vector(self, part, dim)

    @property
    def total(self) -> Tensor:
        """Elements of the first ragged dim: the sum of its lengths, int64."""
        return parts.number(self, "total")

    @property
    def size(self) -> Tensor | int:
        """How many elements there are, int64."""
        return parts.size(self)

    @property
    def max_length(self) -> Tensor:
        """Longest length of the first ragged dim, int64, 0 without components."""
        return parts.number(self, "max_length")


put_all(Tensor, _Methods)
