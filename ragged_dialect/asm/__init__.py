"""The short text form of the dialect's ops, and MLIR's generic form (needs no MLIR).

`asm.module` parses and prints modules with it.
"""

from __future__ import annotations

from ragged_dialect.asm.short import to_generic, to_short

__all__ = ["to_generic", "to_short"]
