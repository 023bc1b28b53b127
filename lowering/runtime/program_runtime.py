"""What programs on the CPU call: the hooks of their memory and the pool of threads, one module of LLVM dialect text.

A process links it once, and programs know it by address; a C library has a copy of its own.
"""

from __future__ import annotations

from ragged_dialect.lowering.runtime.memory_runtime import (
    ALLOCATE,
    CALL,
    FAIL,
    FREE,
    MEMORY_RUNTIME,
    REPORT,
    REQUIRE,
)
from ragged_dialect.lowering.runtime.thread_pool import SHARE, THREAD_POOL
from ragged_dialect.lowering.skew.runtime import REFUSE, SKEW

SHARE_DECLARATION = f"llvm.func @{SHARE}(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64)\n"
DECLARATIONS = f"""
llvm.func @{ALLOCATE}(i64) -> (!llvm.ptr {{llvm.noalias}}) attributes {{passthrough = ["nounwind"]}}
llvm.func @{FREE}(!llvm.ptr) attributes {{passthrough = ["nounwind"]}}
llvm.func @{FAIL}(i64) attributes {{passthrough = ["cold", "noreturn", "nounwind"]}}
llvm.func @{CALL}(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i64
llvm.func @{REFUSE}(i64, i64, i64, i64) attributes {{passthrough = ["nounwind"]}}
{SHARE_DECLARATION}
"""
DECLARED = (ALLOCATE, FREE, FAIL, REPORT, REQUIRE, CALL, SHARE, REFUSE)

EXCHANGES = tuple(f"_mlir_ciface_ragged_exchange{step}" for step in ("", "_start", "_wait", "_take"))
"""What runs a program exchanges rows with other ranks; programs that have `ragged.all_to_all` need them.
`(rows, sent, room, received, ranks, row bytes, what, is lengths) -> code`, all i64, does it at once. The others
take the address of some i64, `(address) -> code`, and leave their answer there (`ranks/calls.py`)."""

RUNTIME = MEMORY_RUNTIME + THREAD_POOL + SKEW
