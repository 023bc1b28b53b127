"""JAX: operations on segments with row ids, compiled for the shapes at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case

VERSION = jax.__version__
jax.config.update("jax_enable_x64", True)


def _compiled(function: Callable[[Any, Any, int], Any]) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        x, ids = jnp.asarray(case.values), jnp.asarray(case.row_ids)
        count = case.lengths.size
        compiled = jax.jit(lambda x, ids: function(x, ids, count))
        return lambda: np.asarray(compiled(x, ids))

    return prepare


_SORTED = {"indices_are_sorted": True}


def _softmax(x: Any, ids: Any, count: int) -> Any:
    top = jax.ops.segment_max(x, ids, count, **_SORTED)
    exponentials = jnp.exp(x - top[ids])
    return exponentials / jax.ops.segment_sum(exponentials, ids, count, **_SORTED)[ids]


def _layer_norm(x: Any, ids: Any, count: int) -> Any:
    del ids, count
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


OPERATIONS = {
    "sum": _compiled(lambda x, ids, count: jax.ops.segment_sum(x, ids, count, **_SORTED)),
    "max": _compiled(lambda x, ids, count: jax.ops.segment_max(x, ids, count, **_SORTED)),
    "softmax": _compiled(_softmax),
    "layer_norm": _compiled(_layer_norm),
    "x * 2 + 1": _compiled(lambda x, ids, count: x * 2 + 1),
    "exp": _compiled(lambda x, ids, count: jnp.exp(x)),
    "tanh": _compiled(lambda x, ids, count: jnp.tanh(x)),
    "where": _compiled(lambda x, ids, count: jnp.where(x > 0, x, 0)),
}
