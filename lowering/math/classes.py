"""Tests of floats, and what moves one into bounds, by plain ops on every target."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.lowering.math.emitter import Emitter, Number

_SMALLEST = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
"""Normal numbers."""


def _size(x: Number) -> Number:
    return x.emitter.number(x.emitter.plain(math.absf, x.value))


CLASSES: dict[str, Callable[[Number], ir.Value]] = {
    "math.isnan": lambda x: x.emitter.plain(arith.cmpf, arith.CmpFPredicate.UNO, x.value, x.value),
    "math.isinf": lambda x: _size(x).compare("==", inf),
    "math.isfinite": lambda x: _size(x).compare("<", inf),
    "math.isnormal": lambda x: x.emitter.plain(
        arith.andi, _size(x).compare("<", inf), _size(x).compare(">=", _SMALLEST[str(x.value.type)])
    ),
}


def clamped(emitter: Emitter, value: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    """The meaning of `math.clampf`."""
    return emitter.plain(arith.minimumf, emitter.plain(arith.maximumf, value, low), high)
