"""The math functions of this package for kernels, under libdevice's names; prelude.ll has them."""

from __future__ import annotations

from functools import cache
from importlib import resources

from ragged_dialect.ptx.llvm22 import to_llvm22

# The functions that `fast_math` replaces by their `__nv_fast_` forms, with their number of operands.
_FAST = {"expf": 1, "logf": 1, "log2f": 1, "log10f": 1, "sinf": 1, "cosf": 1, "tanf": 1, "tanhf": 1, "powf": 2}


@cache
def prelude() -> str:
    """LLVM IR of the accurate functions and of the `__nv_fast_` ones."""
    text = resources.files("ragged_dialect.ptx").joinpath("prelude.ll").read_text(encoding="utf-8")
    return to_llvm22(text)


@cache
def fast_prelude() -> str:
    """LLVM IR that makes the accurate names mean the fast functions."""
    return "\n".join(_forward(name, operands) for name, operands in _FAST.items())


def _forward(name: str, operands: int) -> str:
    parameters = ", ".join(f"float %{k}" for k in range(operands))
    types = ", ".join(["float"] * operands)
    return f"""declare float @__nv_fast_{name}({types})
define linkonce_odr float @__nv_{name}({parameters}) alwaysinline {{
  %result = call float @__nv_fast_{name}({parameters})
  ret float %result
}}"""
