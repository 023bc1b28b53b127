"""NumPy's ufuncs as functions of this package, for code that runs with and without `rg.jit` on PyTorch's arrays: dense
results are tensors outside, of which NumPy's refuse those that require gradients, and traced values inside, which
PyTorch's functions do not take."""

from __future__ import annotations

from ragged_dialect.arrays.ops.elementwise import UFUNCS

absolute = UFUNCS["absolute"]
ceil = UFUNCS["ceil"]
cos = UFUNCS["cos"]
exp = UFUNCS["exp"]
expm1 = UFUNCS["expm1"]
floor = UFUNCS["floor"]
isfinite = UFUNCS["isfinite"]
isnan = UFUNCS["isnan"]
log = UFUNCS["log"]
log1p = UFUNCS["log1p"]
maximum = UFUNCS["maximum"]
minimum = UFUNCS["minimum"]
sign = UFUNCS["sign"]
sin = UFUNCS["sin"]
sqrt = UFUNCS["sqrt"]
square = UFUNCS["square"]
tanh = UFUNCS["tanh"]
