"""PyTorch's nested tensors of layout `torch.jagged`, both ways; memory is shared."""

from __future__ import annotations

from ragged_dialect.arrays.convert.optional import optional
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_offsets, from_starts_lengths
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.errors import ArgumentError, LayoutError

_FROM, _TO = "from_torch_nested", "to_torch_nested"


def from_torch_nested(tensor: Dense) -> RaggedArray:
    """A ragged array, [B, ~, …], of a nested tensor of layout `torch.jagged`. Contiguous values are
    shared; a nested tensor with lengths, as `torch.nested.narrow` makes, has windows. `values` of the result is a
    tensor.

    ArgumentError for another layout; LayoutError where the ragged
    dim is not the one behind the batch."""
    torch = optional("torch", _FROM)
    if not isinstance(tensor, torch.Tensor) or not tensor.is_nested:
        raise ArgumentError(f"{_FROM}: expected a nested tensor, got {type(tensor).__name__}")
    if tensor.layout != torch.jagged:
        raise ArgumentError(f"{_FROM}: expected layout torch.jagged, got {tensor.layout}")
    ragged: int = getattr(tensor, "_ragged_idx", 1)
    if ragged != 1:
        raise LayoutError(f"{_FROM}: expected the ragged dim to be dim 1, got dim {ragged} (transpose it)")
    values, offsets, lengths = tensor.values(), tensor.offsets(), tensor.lengths()
    if lengths is None:
        return from_offsets(values, offsets)
    return from_starts_lengths(values, offsets[:-1], lengths)


def to_torch_nested(x: RaggedArray) -> Dense:
    """The array, [B, ~, …], as a nested tensor of layout `torch.jagged`, which shares its values. What
    writes into that tensor writes into the array, which nobody expects: clone it to change it. Offsets, and the
    values of windows, are copied.

    LayoutError for other layouts: PyTorch has one ragged dim."""
    torch = optional("torch", _TO)
    first, *rest = x.layout.axes
    if first not in ("dr", "dw") or any(letters != "d" for letters in rest):
        raise LayoutError(f'{_TO}: expected one ragged dim behind the batch, got layout "{x.layout}"')
    x = x.compacted
    offsets = storage.give(x.structure(0).vectors[0].copy(), "torch")
    return torch.nested.nested_tensor_from_jagged(x.buffer.given("torch"), offsets)
