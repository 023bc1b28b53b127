"""Ragged arrays: data (`core`), functions on them as programs (`tracing`), operations (`index`, `ops`), NumPy's
protocols and conversions. Arrays, their methods and programs of the cache need nothing that makes programs, which
`operations` loads."""

from ragged_dialect.arrays import methods as methods
