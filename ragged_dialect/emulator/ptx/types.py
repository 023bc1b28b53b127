"""The fundamental types of PTX (PTX ISA 5.2) as LLVM types."""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """A PTX type: its name, its bits, and the LLVM type that stands for it."""

    name: str
    bits: int
    llvm: str

    @property
    def signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.name[0] == "s"

    @property
    def untyped(self) -> bool:
        """Whether it is bits, of no sort."""
        return self.name in ("b8", "b16", "b32", "b64")

    @property
    def float(self) -> bool:
        """Whether it is a float, or two packed ones."""
        return self.llvm[0] != "i"

    @property
    def suffix(self) -> str:
        """How LLVM names a float, or two packed ones, in its functions."""
        return f"v2{self.name[:-2]}" if self.llvm[0] == "<" else self.name


_FLOATS = {
    "f16": (16, "half"),
    "bf16": (16, "bfloat"),
    "f32": (32, "float"),
    "f64": (64, "double"),
    "f32x2": (64, "<2 x float>"),
    "f16x2": (32, "<2 x half>"),
    "bf16x2": (32, "<2 x bfloat>"),
}
TYPES = {
    **{f"{k}{n}": Type(f"{k}{n}", n, f"i{n}") for k in "bus" for n in (8, 16, 32, 64)},
    **{name: Type(name, bits, llvm) for name, (bits, llvm) in _FLOATS.items()},
    "pred": Type("pred", 1, "i1"),
}
"""By name."""
