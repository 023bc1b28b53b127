"""Putting the kernels of two texts of LLVM IR into one."""

from __future__ import annotations


def linked(first: str, second: str) -> str:
    """LLVM IR with the functions of both texts, whose kernels have different names. CompileError when
    LLVM refuses one of them."""
    from ragged_dialect.ptx.backend import LOCK, parse  # llvmlite takes a while to load

    with LOCK:
        module = parse(first)
        module.link_in(parse(second))
        return str(module)
