"""Activations."""

from __future__ import annotations

import math

from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, erf, where
from ragged_dialect.arrays.ops.statistics import float_dtype, wide
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor

_ROOT_HALF = math.sqrt(0.5)
_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
_CUBE = 0.044715
"""Of the cube in gelu's approximation: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016."""

_FAR = 30.0
"""From where on tanh is 1 in any dtype; a cube far beyond is infinite, and its gradient nan."""


@operation("relu")
def relu(x: Tensor) -> Tensor:
    """max(x, 0), element by element; nan stays nan. The derivative at 0 is 0.

    >>> rg.nn.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return UFUNCS["maximum"](0, x)


@operation("silu")
def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), element by element. No exp overflows, whose gradient would be nan. Short floats are
    computed in float32.

    >>> rg.nn.silu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    dtype = float_dtype(x.dtype)
    x = astype(x, dtype=wide(dtype))
    positive = UFUNCS["greater_equal"](x, 0)
    small = UFUNCS["exp"](where(positive, UFUNCS["negative"](x), x))
    share = UFUNCS["divide"](where(positive, 1, small), UFUNCS["add"](small, 1))
    return astype(UFUNCS["multiply"](x, share), dtype=dtype)


@operation("gelu")
def gelu(x: Tensor, *, approximate: bool = False) -> Tensor:
    """x times the share of the standard normal distribution below x, element by element; approximated by tanh on
    request, as models are that were trained so. Short floats are computed in float32.

    >>> rg.nn.gelu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    dtype = float_dtype(x.dtype)
    x = astype(x, dtype=wide(dtype))
    if approximate:
        near = UFUNCS["minimum"](UFUNCS["maximum"](x, -_FAR), _FAR)
        cube = UFUNCS["multiply"](UFUNCS["multiply"](UFUNCS["multiply"](near, near), near), _CUBE)
        share = UFUNCS["tanh"](UFUNCS["multiply"](UFUNCS["add"](near, cube), _ROOT_2_OVER_PI))
    else:
        share = erf(UFUNCS["multiply"](x, _ROOT_HALF))
    return astype(UFUNCS["multiply"](UFUNCS["multiply"](x, 0.5), UFUNCS["add"](1.0, share)), dtype=dtype)


ACTIVATIONS = {"gelu": gelu, "relu": relu, "silu": silu}
"""Activations by name."""
