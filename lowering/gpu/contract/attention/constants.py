"""How the kernels of attention are laid out."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.lowering.gpu.contract import fragments

LANES = 4
"""Lanes that have a row of a fragment together: two neighbours of every eight elements each."""

STAGES = 2
"""Tiles in shared memory at once: they are large, and a step between loads is long."""

ROWS = (0, fragments.SIDE)
"""The rows of a thread in a fragment, from its first one on."""


def number(x: float) -> ir.Value:
    """A constant."""
    return build.constant(ir.F32Type.get(), x)
