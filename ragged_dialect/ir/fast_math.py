"""What the flags of float ops allow, of `arith` and of `llvm`."""

from __future__ import annotations

from collections.abc import Collection

from ragged_dialect._mlir import Op, ir

_ALL = frozenset({"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"})
"""What `fast` stands for."""


def flags_of(op: Op) -> frozenset[str]:
    """The flags of an op."""
    name = _name(op)
    if name not in op.attributes:
        return frozenset()
    text = str(op.attributes[name])
    found = {flag.strip() for flag in text[text.index("<") + 1 : text.index(">")].split(",")}
    return _ALL if "fast" in found else frozenset(found - {"none"})


def give_flags(op: Op, flags: Collection[str]) -> None:
    """Let an op have these flags and no others."""
    dialect = "llvm" if op.name.startswith("llvm.") else "arith"  # `math` has none of its own
    op.attributes[_name(op)] = ir.Attribute.parse(f"#{dialect}.fastmath<{','.join(sorted(flags)) or 'none'}>")


def _name(op: Op) -> str:
    return "fastmathFlags" if op.name.startswith("llvm.") else "fastmath"
