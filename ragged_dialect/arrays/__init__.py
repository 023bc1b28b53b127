"""Ragged arrays: data (`core`), functions on them as programs (`tracing`), operations (`index`, `ops`), NumPy's
protocols and conversions. Methods are put on arrays last, when all that they call is there."""

from ragged_dialect.arrays import methods as methods
