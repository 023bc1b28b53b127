"""Activations."""

from __future__ import annotations

import math

from ragged_dialect.arrays.ops.elementwise import UFUNCS, erf
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor

_ROOT_HALF = math.sqrt(0.5)
_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
_CUBE = 0.044715
"""Of the cube in gelu's approximation: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016."""


@operation("relu")
def relu(x: Tensor) -> Tensor:
    """max(x, 0), element by element; nan stays nan.

    >>> rg.nn.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return UFUNCS["maximum"](x, 0)


@operation("silu")
def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), element by element.

    >>> rg.nn.silu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    return UFUNCS["divide"](x, UFUNCS["add"](1.0, UFUNCS["exp"](UFUNCS["negative"](x))))


@operation("gelu")
def gelu(x: Tensor, *, approximate: bool = False) -> Tensor:
    """x times the share of the standard normal distribution below x, element by element; approximated by tanh on
    request, as models are that were trained so.

    >>> rg.nn.gelu(np.array([0.0, 100.0]))
    array([  0., 100.])
    """
    if approximate:
        cube = UFUNCS["multiply"](UFUNCS["multiply"](UFUNCS["multiply"](x, x), x), _CUBE)
        share = UFUNCS["tanh"](UFUNCS["multiply"](UFUNCS["add"](x, cube), _ROOT_2_OVER_PI))
    else:
        share = erf(UFUNCS["multiply"](x, _ROOT_HALF))
    return UFUNCS["multiply"](UFUNCS["multiply"](x, 0.5), UFUNCS["add"](1.0, share))


ACTIVATIONS = {"gelu": gelu, "relu": relu, "silu": silu}
"""Activations by name."""
