"""Functions that make nested tensors, and the one that makes them dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.compat.fvdb.placing import numpy_dtype
from ragged_dialect.compat.torch_nested.dims import dim_of, moved
from ragged_dialect.compat.torch_nested.nested_tensor import NestedTensor
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.narrowing import is_list


def nested_tensor(
    tensor_list: Sequence[Dense],
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A nested tensor of copies of tensors, or of what makes one, that differ along one dim. `dtype` is the
    first one's by default. Gradients of the tensors are not recorded (see `as_nested_tensor`).

    ArgumentError for tensors of several ranks or that differ along several dims, for no tensor at all, for pinned
    memory, and for `requires_grad` of integers or what is no tensor of PyTorch."""
    op = "nested_tensor"
    _check_layout(op, layout)
    if pin_memory:
        raise ArgumentError(f"{op}: expected pin_memory=False, got True")
    made = _packed(op, tensor_list, dtype, device).detach()
    return made.requires_grad_() if requires_grad else made


def _packed(op: str, tensor_list: object, dtype: object, device: object) -> NestedTensor:
    """A nested tensor of tensors, with their gradients."""
    if not is_list(tensor_list):
        raise ArgumentError(f"{op}: expected a list of tensors, got {type(tensor_list).__name__}")
    parts = [t if storage.library(t) else np.asarray(t) for t in tensor_list]
    dim = _ragged_dim(op, parts)
    wanted = dtype if dtype is not None or not parts else storage.peek(parts[0]).dtype
    array = rg.ragged([moved(part, dim, 0) for part in parts], None if wanted is None else numpy_dtype(wanted))
    return NestedTensor(array if device is None else array.to(device), dim + 1)


def _ragged_dim(op: str, parts: Sequence[Dense]) -> int:
    """The dim along which tensors differ; the first where they do not."""
    ranks = sorted({part.ndim for part in parts})
    if len(ranks) > 1:
        raise ArgumentError(f"{op}: expected tensors of one rank, got ranks {ranks[0]} and {ranks[1]}")
    shapes = {tuple(part.shape) for part in parts}
    found = [dim for dim in range(ranks[0] if ranks else 0) if len({shape[dim] for shape in shapes}) > 1]
    if len(found) > 1:
        raise ArgumentError(f"{op}: expected tensors that differ along one dim, got dims {found[0]} and {found[1]}")
    return found[0] if found else 0


def as_nested_tensor(
    ts: Sequence[Dense], dtype: object = None, device: object = None, layout: object = None
) -> NestedTensor:
    """A nested tensor of copies of a list of tensors; of a dense tensor, as a batch of equal components, a
    view; a nested tensor itself, but for its dtype and device.

    ArgumentError for a tensor of rank below 2, and as `nested_tensor`."""
    _check_layout("as_nested_tensor", layout)
    if isinstance(ts, (list, tuple)):
        return _packed("nested_tensor", ts, dtype, device)
    made = ts if isinstance(ts, NestedTensor) else NestedTensor(_batch(ts))
    if dtype is not None and numpy_dtype(dtype) != made.array.dtype:
        made = NestedTensor(made.array.astype(numpy_dtype(dtype)), made.ragged_dim)
    return made if device is None else NestedTensor(made.contiguous().array.to(device), made.ragged_dim)


def _batch(tensor: Dense) -> rg.RaggedArray:
    dense = tensor if storage.library(tensor) else np.asarray(tensor)
    if dense.ndim < 2:
        raise ArgumentError(f"as_nested_tensor: expected a tensor of rank 2 or more, got rank {dense.ndim}")
    batch, extent, *rest = dense.shape
    xp = storage.namespace(storage.peek(dense))
    return rg.from_lengths(dense.reshape((batch * extent, *rest)), xp.full(batch, extent, "int64"))


def nested_tensor_from_jagged(
    values: Dense, offsets: Dense = None, lengths: Dense = None, jagged_dim: int | None = None
) -> NestedTensor:
    """A nested tensor of packed values and offsets (B + 1), or lengths (B), or both: then components start at
    offsets and have lengths, with holes between. The packed dim of values is `jagged_dim - 1`, by
    default the first, for which the tensor is a view.

    RuntimeCheckError for a structure that does not fit, ArgumentError without any."""
    op = "nested_tensor_from_jagged"
    if offsets is None and lengths is None:
        raise ArgumentError(f"{op}: expected offsets or lengths, got neither")
    place = 1 if jagged_dim is None else jagged_dim
    if place != 1:
        dense = values if isinstance(values, Tensor) or storage.library(values) else np.asarray(values)
        values = moved(dense, dim_of(op, place - 1, dense.ndim), 0)
    if isinstance(values, Tensor):
        if offsets is not None and lengths is not None:
            raise ArgumentError(f"{op}: expected offsets or lengths in a compiled function, got both")
        return NestedTensor(
            rg.partition(values, lengths if offsets is None else offsets, lengths=offsets is None), place
        )
    if offsets is None:
        return NestedTensor(rg.from_lengths(values, lengths), place)
    if lengths is None:
        return NestedTensor(rg.from_offsets(values, offsets), place)
    return NestedTensor(rg.from_starts_lengths(values, offsets[:-1], lengths), place)


def narrow(tensor: Dense, dim: int, start: Dense = 0, length: Dense = None, layout: object = None) -> NestedTensor:
    """A view of a padded tensor [B, L, ...]: component b has `length[b]` rows from `start[b]` on. Both may be
    one number for all.

    LayoutError for another dim than 1, RuntimeCheckError for rows outside."""
    _check_layout("narrow", layout)
    if dim != 1:
        raise LayoutError(f"narrow: expected dim 1, got {dim}")
    if length is None:
        raise ArgumentError("narrow: expected a length, got none")
    return NestedTensor(rg.narrow(tensor, start, length))


def masked_select(tensor: Dense, mask: Dense) -> NestedTensor:
    """The elements of a matrix where a mask, which broadcasts to it, is true: a component per row.
    ArgumentError for a tensor that is no matrix, and a mask that does not fit."""
    taken, chosen = storage.peek(tensor), storage.take(mask)
    if taken.ndim != 2:
        raise ArgumentError(f"masked_select: expected a tensor of rank 2, got rank {taken.ndim}")
    try:
        whole = storage.namespace(chosen).broadcast_to(chosen, taken.shape)
    except ValueError:
        text = f"expected a mask that broadcasts to {taken.shape}, got {tuple(chosen.shape)}"
        raise ArgumentError(f"masked_select: {text}") from None
    return NestedTensor(rg.from_padded(tensor, mask=whole))


def to_padded_tensor(input: Any, padding: float, output_size: Sequence[int] | None = None, out: Dense = None) -> Dense:
    """A dense array with `padding` behind the components, whose ragged dim has the longest length, or that
    of `output_size`; also written to `out`.

    RuntimeCheckError where that is too short, ArgumentError where other extents differ."""
    if not isinstance(input, NestedTensor):
        raise ArgumentError(f"to_padded_tensor: expected a nested tensor, got {type(input).__name__}")
    made = input.to_padded_tensor(padding, output_size)
    if out is None:
        return made
    if tuple(out.shape) != tuple(made.shape):
        raise ArgumentError(f"to_padded_tensor: expected out of shape {tuple(made.shape)}, got {tuple(out.shape)}")
    out[...] = made
    return out


def _check_layout(op: str, layout: object) -> None:
    if layout is not None and str(layout).removeprefix("torch.") != "jagged":
        raise LayoutError(f"{op}: expected the jagged layout, got {layout}")
