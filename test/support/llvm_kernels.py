"""Small GPU kernels as LLVM IR text."""

from __future__ import annotations

KERNEL = """define ptx_kernel void @k(ptr noalias align 16 %x, ptr noalias align 16 %y) {{
  %v = load {type}, ptr %x
  %r = {op}
  store {type} %r, ptr %y
  ret void
}}
{declaration}
"""


def unary(function: str, kind: str = "float", flags: str = "") -> str:
    """A kernel that calls a function of one value."""
    declaration = f"declare {kind} @{function}({kind})"
    return KERNEL.format(type=kind, op=f"call {flags}{kind} @{function}({kind} %v)", declaration=declaration)
