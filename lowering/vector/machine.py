"""What the vector registers of a processor hold: the one place that widths come from."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect.host_cpu import host_has

CACHE_LINE = 64
"""Bytes."""

_LIGHT = 8
"""Ops of a body up to which it waits for memory, or for its own sums, rather than for arithmetic."""


_MASK = 64
"""Lanes that a mask has bits for: the width of AVX-512's mask registers."""


@dataclass(frozen=True)
class Registers:
    """Vector registers: their bytes, of which widths in bytes elements can be masked in memory, of which those of a
    mask can be stored side by side, and which are gathered faster than one by one, and how many there are. Where
    elements cannot, code for that is a branch per lane. Lanes that gather do not wait for each other's sums: with
    AVX-512 folds of numbers that are looked up take 0.75 of the time on a Zen 5 core, with AVX2 as long as scalars."""

    bytes: int
    masked: tuple[int, ...]
    packed: tuple[int, ...] = ()
    gathered: tuple[int, ...] = ()
    count: int = 16

    def least(self, widest: int) -> int:
        """Elements of one register, of which the widest type has some bytes."""
        return max(self.bytes // widest, 2)

    def lanes(self, widest: int, ops: int) -> int:
        """Elements to do at a time, of which the widest type has some bytes. A sum has a latency of four cycles
        and a load of more: a light body has four registers in flight. A heavy one keeps its registers busy. More than
        a mask has bits would need several masks: lists of 5 bytes take half the time without (Zen 5)."""
        return min(self.least(widest) * (4 if ops <= _LIGHT else 2), max(self.least(widest), _MASK))


REGISTERS = {
    "none": None,
    "sse": Registers(16, ()),
    "avx2": Registers(32, (4, 8), packed=(4, 8)),
    "avx512": Registers(64, (1, 2, 4, 8), packed=(4, 8), gathered=(4, 8), count=32),
}
"""By the names that `expand-ragged-math` has for them."""


def registers(isa: str) -> Registers | None:
    """The registers of an instruction set, or with `auto` of this machine; None for no vectors."""
    if isa != "auto":
        return REGISTERS[isa]
    return REGISTERS["avx512" if host_has("avx512dq") else "avx2" if host_has("avx2") else "sse"]
