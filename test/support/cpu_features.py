"""CPUs with fewer instruction sets than this machine: `RAGGED_CPU_FEATURES`."""

from __future__ import annotations

import pytest

MASKS = {"host": "", "no AVX-512": "-avx512f", "no F16C": "-f16c", "SSE2": "-sse3"}
"""What is taken away, by name; an older feature takes the newer ones with it."""

OLDEST = "SSE2"


def mask(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for a level from here on."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", MASKS[level])


def levels(*quick: str) -> list[object]:
    """All levels as parameters; those not named are slow."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in MASKS]
