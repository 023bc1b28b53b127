"""What the vector registers of a processor hold: the one place that widths come from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged_dialect.host_cpu import host_family, host_has

CACHE_LINE = 64
"""Bytes."""

_LIGHT = 8
"""Ops of a body up to which it waits for memory, or for its own sums, rather than for arithmetic."""


_MASK = 64
"""Lanes that a mask has bits for: the width of AVX-512's mask registers."""


_AHEAD = 8192
"""Bytes before which memory is asked for by loops that only read, and by what is read with a mask. On a Zen 5 core,
which foresees too little, and of masks nothing, sums of 64 to 256 columns take 0.7 to 0.9 of the time so, those of
lists a third; 4,096 are as good, 2,048 half as good. Loops that write take up to 1.1 times as long with it. Rows that
are kept in memory are asked for too: those of the next component are not in the cache either."""

_ASKING = frozenset({("AuthenticAMD", "26")})
"""Families of processors that this is good for: Zen 5. On a Zen 4 core, of a virtual machine, maxima of 64 to 256
columns take 1.5 to 2.8 times as long with it, and sums 1.2 to 1.9, from memory and from a third cache, whatever the
distance; lists as long."""


@dataclass(frozen=True)
class Registers:
    """Vector registers: their bytes, of which widths in bytes elements can be masked in memory, of which those of a
    mask can be stored side by side, and which are gathered faster than one by one, whether an instruction
    `compresses` lanes, with which all are stored side by side faster than one by one, how many there are, how many
    bytes `ahead` memory is asked for, 0 where it is not, and whether there are `dots`, which add up products of pairs
    of bf16, and `tiles` for them. Where elements cannot be masked, code for that is a branch per
    lane. Lanes that gather do not wait for each other's sums: with AVX-512 folds of numbers that are looked up take
    0.75 of the time on a Zen 5 core, with AVX2 as long as scalars."""

    bytes: int
    masked: tuple[int, ...]
    packed: tuple[int, ...] = ()
    gathered: tuple[int, ...] = ()
    compresses: bool = False
    count: int = 16
    ahead: int = _AHEAD
    dots: bool = False
    tiles: bool = False

    def least(self, widest: int) -> int:
        """Elements of one register, of which the widest type has some bytes."""
        return max(self.bytes // widest, 2)

    def lanes(self, widest: int, ops: int) -> int:
        """Elements to do at a time, of which the widest type has some bytes. A sum has a latency of four cycles
        and a load of more: a light body has four registers in flight. A heavy one keeps its registers busy. More than
        a mask has bits would need several masks: lists of 5 bytes take half the time without (Zen 5)."""
        return min(self.least(widest) * (4 if ops <= _LIGHT else 2), max(self.least(widest), _MASK))


_AVX512 = Registers(64, (1, 2, 4, 8), packed=(4, 8), compresses=True, gathered=(4, 8), count=32)
REGISTERS = {
    "none": None,
    "sse": Registers(16, ()),
    "avx2": Registers(32, (4, 8), packed=(4, 8)),
    "avx512": _AVX512,
    "avx512bf16": replace(_AVX512, dots=True),
    "amxbf16": replace(_AVX512, dots=True, tiles=True),
}
"""By the names that `expand-ragged-math` has for them."""


_WIDEST = (("amx-bf16", "amxbf16"), ("avx512bf16", "avx512bf16"), ("avx512bw", "avx512"), ("avx2", "avx2"))
"""Features of processors, and what is used of those that have them."""


def registers(isa: str, amx: bool = True) -> Registers | None:
    """The registers of an instruction set, or with `auto` of this machine, without tiles if not `amx`; None for no
    vectors."""
    if isa == "auto":
        found = REGISTERS[next((name for feature, name in _WIDEST if host_has(feature)), "sse")]
        found = found if found is None or host_family() in _ASKING else replace(found, ahead=0)
    else:
        found = REGISTERS[isa]
    return found if found is None or amx else replace(found, tiles=False)
