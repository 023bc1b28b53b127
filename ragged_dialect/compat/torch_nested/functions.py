"""torch's functions of several nested tensors, and the way from torch to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import ragged_dialect as rg
from ragged_dialect.arrays.core.arguments import bind
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.compat.torch_nested.dims import axis_of, dim_of, slot
from ragged_dialect.compat.torch_nested.elementwise import Elementwise, apply, ufunc_name
from ragged_dialect.compat.torch_nested.nested_tensor import NestedTensor
from ragged_dialect.errors import ArgumentError, LayoutError


def cat(tensors: Sequence[NestedTensor], dim: int = 0) -> NestedTensor:
    """Nested tensors joined along a dim: batches, component by component along the ragged dim, or dense
    dims. RuntimeCheckError where what is not joined differs."""
    first = _first("cat", tensors)
    axis = axis_of(dim_of("cat", dim, first.ndim), first.ragged_dim)
    return NestedTensor(rg.concat([x.array for x in tensors], axis=axis), first.ragged_dim)


def stack(tensors: Sequence[NestedTensor], dim: int = 0) -> NestedTensor:
    """Nested tensors of one structure along a new dim. LayoutError for dim 0, in front of the batch."""
    first = _first("stack", tensors)
    axis, ragged_dim = slot("stack", dim, first.ndim + 1, first.ragged_dim)
    return NestedTensor(rg.stack([x.array for x in tensors], axis=axis), ragged_dim)


def _first(op: str, tensors: Sequence[Dense]) -> NestedTensor:
    for x in tensors:
        if not isinstance(x, NestedTensor):
            raise ArgumentError(f"{op}: expected nested tensors, got {type(x).__name__}")
    if not tensors:
        raise ArgumentError(f"{op}: expected at least one tensor, got none")
    places = sorted({x.ragged_dim for x in tensors})
    if len(places) > 1:
        raise LayoutError(f"{op}: expected ragged dims at one place, got dims {places[0]} and {places[1]}")
    return tensors[0]


def scaled_dot_product_attention(
    query: NestedTensor,
    key: NestedTensor,
    value: NestedTensor,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> NestedTensor:
    """softmax(q k^T * scale) v within each component, of [B, H, ragged, E] or [B, ragged, E]; `scale` is
    1 / sqrt(E) by default. Keys and values have one structure, which may differ from that of queries; with
    `enable_gqa` fewer heads, each for a group of adjacent ones of queries.

    `attn_mask` tells which keys are seen, or, of floats, what is added to the scores: a dense one that broadcasts
    to [B, H, Lq, Lk] and reaches the longest components, or a ragged array [B, Lq, Lk] or [B, Lq, Lk, H]. Where
    no key is seen the result is 0.

    ArgumentError for dropout, and for a mask with `is_causal`; LayoutError for the ragged dim elsewhere, and for
    heads that differ without `enable_gqa`."""
    op = "scaled_dot_product_attention"
    if dropout_p:
        raise ArgumentError(f"{op}: expected no dropout_p, got {dropout_p}")
    if attn_mask is not None and is_causal:
        raise ArgumentError(f"{op}: expected attn_mask or is_causal, got both")
    place = _first(op, (query, key, value)).ragged_dim
    if query.ndim != place + 2:
        raise LayoutError(f"{op}: expected the ragged dim second last, got dim {place} of {query.ndim}")
    if place == 2 and not enable_gqa and query.shape[1] != key.shape[1]:
        raise LayoutError(f"{op}: expected {query.shape[1]} heads without enable_gqa, got {key.shape[1]}")
    found = rg.attention(query.array, key.array, value.array, causal=is_causal, mask=attn_mask, scale=scale)
    return NestedTensor(found, place)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cat": cat,
    "concat": cat,
    "stack": stack,
    "scaled_dot_product_attention": scaled_dot_product_attention,
}


def torch_function(name: str, args: Sequence[Any], kwargs: Any) -> Any:
    """What a function of torch does with nested tensors. ArgumentError for those that they do not have, and for
    options that these do not have."""
    options = {key: value for key, value in kwargs.items() if value is not None and key != "_stacklevel"}
    method = vars(NestedTensor).get(name) or vars(Elementwise).get(name)
    function = _FUNCTIONS.get(name) or (method if args and isinstance(args[0], Elementwise) else None)
    ufunc = ufunc_name(name)
    if function is None and ufunc is not None and not options:  # torch.equal is not NumPy's equal
        return apply(ufunc, args)
    if function is None or name.startswith("_"):
        raise ArgumentError(f"torch.{name}: expected a function that nested tensors have, got another")
    bound = bind(f"torch.{name}", inspect.signature(function), args, options)
    return function(*bound.args, **bound.kwargs)
