"""Which LLVM intrinsics the code generator for NVIDIA GPUs has instructions for.

It aborts the process on others (`llvm.exp`, `llvm.pow`, …), so they are refused before.
"""

from __future__ import annotations

from collections.abc import Iterable

from ragged_dialect.errors import CompileError

_FLOAT = ("sqrt", "fma", "fmuladd", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round", "fabs",
          "copysign", "maxnum", "minnum", "maximum", "minimum", "is.fpclass", "canonicalize")  # fmt: skip
_INTEGER = ("smax", "smin", "umax", "umin", "abs", "ctlz", "cttz", "ctpop", "bswap", "bitreverse", "fshl", "fshr",
            "sadd.with.overflow", "uadd.with.overflow", "ssub.with.overflow", "usub.with.overflow",
            "smul.with.overflow", "umul.with.overflow", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat",
            "fptosi.sat", "fptoui.sat", "scmp", "ucmp")  # fmt: skip
_OTHER = ("nvvm", "memcpy", "memmove", "memset", "lifetime.start", "lifetime.end", "assume", "expect", "dbg",
          "experimental.noalias.scope.decl", "invariant.start", "invariant.end", "vector.reduce",
          "trap", "donothing", "sideeffect")  # fmt: skip
_KNOWN = tuple(f"llvm.{name}." for name in (*_FLOAT, *_INTEGER, *_OTHER))
# With the afn flag tanh is one instruction, which only the prelude's fast functions ask for.
_PRELUDE = frozenset({"llvm.tanh.f32"})


def check_intrinsics(names: Iterable[str]) -> None:
    """Refuse intrinsics without instructions: CompileError that names them."""
    unknown = sorted(n for n in names if not f"{n}.".startswith(_KNOWN) and n not in _PRELUDE)
    if unknown:
        raise CompileError(f"expected intrinsics that PTX has instructions for, got {', '.join(unknown)}")
