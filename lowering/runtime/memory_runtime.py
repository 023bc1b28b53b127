"""The memory of programs on the CPU, as LLVM dialect text: what every allocation calls, and calls that
an allocation without memory leaves.

`memref.alloc` and `memref.dealloc` are lowered to a pair of hooks, ALLOCATE and FREE. They take memory
from `malloc` and give it to `free`, and note what the running call holds. Generated code cannot throw:
where there is no memory, FAIL frees what the call holds and jumps back to the CALL that the program
was run with, which returns the size in bytes. Threads have contexts of their own, and contexts nest, so
that each worker of a parallel loop returns to the loop.

What a call returns stays plain memory of `malloc`: whoever has the result frees it.
"""

from __future__ import annotations

from ragged_dialect.lowering.runtime.llvm_text import branch, constants, fields, loads, search, stores
from ragged_dialect.runtime.callbacks import CHECKED, DONE, STOPPED
from ragged_dialect.runtime.status import STATUS_ENTRIES

ALLOCATE, FREE = "_mlir_memref_to_llvm_alloc", "_mlir_memref_to_llvm_free"
"""What MLIR calls the hooks: `(i64 size) -> ptr`, which never is NULL, and `(ptr)`."""

FAIL = "ragged_fail"
"""`(i64 size)`, does not return: the running call fails for lack of so many bytes."""

REQUIRE = "_mlir_ciface_ragged_require"
"""`(i64 code)`: the running call fails, for a reason that whoever gave the code knows, where it is not DONE."""

REPORT = "_mlir_ciface_ragged_report"
"""`(i64 number, i64 case, i64 component, i64 a, i64 b)`, a status record: the running call fails where its number is
not 0, and its caller has the record."""

CALL = "ragged_call"
"""`(ptr function, ptr argument, ptr record) -> i64`: calls the function; 0, or the size there was no memory for, or
CHECKED where a check failed that the record tells of."""

RUN = "ragged_run"
"""`(ptr frame) -> i64`: CALL with the function that the frame's first word holds, a record in those that follow,
and the other words."""

OPEN = "ragged_open"
"""`()`, which comes before all others; a library calls it when it is loaded."""

TOO_LARGE = 2**63 - 1
"""The size of an allocation whose bytes cannot be counted."""

_HELD = 32
"""Allocations that a context notes before it needs memory for that itself."""

_JUMP_WORDS = 128
"""More than a `jmp_buf` has on any platform of glibc's or musl's."""

# where to jump to, what the call holds, how many, for how many there is room, the size that failed, the
# record, the first room
_CONTEXT = f"!llvm.struct<(array<{_JUMP_WORDS} x i64>, ptr, i64, i64, i64, ptr, array<{_HELD} x ptr>)>"

_FIELDS = fields("context", _CONTEXT, jump=0, at=1, countp=2, roomp=3, sizep=4, recordp=5, own=6)
_HERE = f"%context = llvm.call @ragged_context() : () -> !llvm.ptr\n  {_FIELDS}"


def fails(size: str) -> str:
    """Leave the running call for lack of so many bytes."""
    return f"llvm.call @{FAIL}(%{size}) : (i64) -> ()\n  llvm.unreachable"


_ENTRIES = ", ".join(f"%e{k}: i64" for k in range(STATUS_ENTRIES))
_KEEP = "\n  ".join(
    f"%p{k} = llvm.getelementptr %record[{k}] : (!llvm.ptr) -> !llvm.ptr, i64\n"
    f"  llvm.store %e{k}, %p{k} : i64, !llvm.ptr"
    for k in range(STATUS_ENTRIES)
)

# The key is stored in 64 bits, whatever the platform's `pthread_key_t` is.
MEMORY_RUNTIME = f"""
llvm.func @malloc(i64) -> (!llvm.ptr {{llvm.noalias}})
llvm.func @free(!llvm.ptr)
llvm.func @_setjmp(!llvm.ptr) -> i32 attributes {{passthrough = ["returns_twice", "nounwind"]}}
llvm.func @longjmp(!llvm.ptr, i32) attributes {{passthrough = ["noreturn"]}}
llvm.func @pthread_key_create(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_getspecific(i64) -> !llvm.ptr
llvm.func @pthread_setspecific(i64, !llvm.ptr) -> i32
llvm.mlir.global internal @ragged_key(0 : i64) : i64
llvm.func @{OPEN}() {{
  %key = llvm.mlir.addressof @ragged_key : !llvm.ptr
  %none = llvm.mlir.zero : !llvm.ptr
  %code = llvm.call @pthread_key_create(%key, %none) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}}
llvm.func internal @ragged_context() -> !llvm.ptr {{
  %keyp = llvm.mlir.addressof @ragged_key : !llvm.ptr
  %key = llvm.load %keyp : !llvm.ptr -> i64
  %context = llvm.call @pthread_getspecific(%key) : (i64) -> !llvm.ptr
  llvm.return %context : !llvm.ptr
}}
llvm.func internal @ragged_enter(%context: !llvm.ptr) {{
  %keyp = llvm.mlir.addressof @ragged_key : !llvm.ptr
  %key = llvm.load %keyp : !llvm.ptr -> i64
  %code = llvm.call @pthread_setspecific(%key, %context) : (i64, !llvm.ptr) -> i32
  llvm.return
}}
llvm.func @{FAIL}(%size: i64) attributes {{passthrough = ["cold", "noreturn"]}} {{
  {_HERE}
  llvm.store %size, %sizep : i64, !llvm.ptr
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.call @longjmp(%jump, %one) : (!llvm.ptr, i32) -> ()
  llvm.unreachable
}}
llvm.func @{REQUIRE}(%code: i64) attributes {{passthrough = ["nounwind"]}} {{
  %done = llvm.mlir.constant({DONE} : i64) : i64
  {branch("bad = ne %code, %done : i64", "fail", "out")}
^fail:
  %size = llvm.mlir.constant({STOPPED} : i64) : i64
  {fails("size")}
^out:
  llvm.return
}}
llvm.func @{REPORT}({_ENTRIES}) attributes {{passthrough = ["nounwind"]}} {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  {branch("good = eq %e0, %zero : i64", "out", "fail")}
^fail:
  {_HERE}
  %record = llvm.load %recordp : !llvm.ptr -> !llvm.ptr
  {_KEEP}
  %size = llvm.mlir.constant({CHECKED} : i64) : i64
  {fails("size")}
^out:
  llvm.return
}}
llvm.func internal @ragged_grow(%context: !llvm.ptr, %room: i64) attributes {{passthrough = ["cold", "noinline"]}} {{
  {_FIELDS}
  {constants(two=2, eight=8)}
  %bytes = llvm.mul %room, %eight : i64
  %more = llvm.mul %room, %two : i64
  %size = llvm.mul %more, %eight : i64
  %new = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  {branch("none = eq %new, %null : !llvm.ptr", "fail", "move")}
^fail:
  {fails("size")}
^move:
  %held = llvm.load %at : !llvm.ptr -> !llvm.ptr
  "llvm.intr.memcpy"(%new, %held, %bytes) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.store %new, %at : !llvm.ptr, !llvm.ptr
  llvm.store %more, %roomp : i64, !llvm.ptr
  {branch("first = eq %held, %own : !llvm.ptr", "out", "old")}
^old:
  llvm.call @free(%held) : (!llvm.ptr) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
llvm.func @{ALLOCATE}(%size: i64) -> !llvm.ptr {{
  {_HERE}
  %one = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  {loads(count="countp", room="roomp")}
  {branch("full = eq %count, %room : i64", "grow", "take")}
^grow:
  llvm.call @ragged_grow(%context, %room) : (!llvm.ptr, i64) -> ()
  llvm.br ^take
^take:
  %least = llvm.intr.umax(%size, %one) : (i64, i64) -> i64
  %made = llvm.call @malloc(%least) : (i64) -> !llvm.ptr
  {branch("none = eq %made, %null : !llvm.ptr", "fail", "note")}
^fail:
  {fails("least")}
^note:
  %held = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %held[%count] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %made, %slot : !llvm.ptr, !llvm.ptr
  %next = llvm.add %count, %one : i64
  llvm.store %next, %countp : i64, !llvm.ptr
  llvm.return %made : !llvm.ptr
}}
llvm.func @{FREE}(%memory: !llvm.ptr) {{
  {_HERE}
  {constants(zero=0, one=1)}
  %held = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %count = llvm.load %countp : !llvm.ptr -> i64
  llvm.br ^look(%count : i64)
^look(%left: i64):
  {branch("none = eq %left, %zero : i64", "free", "compare")}
^compare:
  %k = llvm.sub %left, %one : i64
  %slot = llvm.getelementptr %held[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %other = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  {branch("found = eq %other, %memory : !llvm.ptr", "drop", "look(%k : i64)")}
^drop:
  %top = llvm.sub %count, %one : i64
  %last = llvm.getelementptr %held[%top] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %moved = llvm.load %last : !llvm.ptr -> !llvm.ptr
  llvm.store %moved, %slot : !llvm.ptr, !llvm.ptr
  llvm.store %top, %countp : i64, !llvm.ptr
  llvm.br ^free
^free:
  llvm.call @free(%memory) : (!llvm.ptr) -> ()
  llvm.return
}}
llvm.func @{CALL}(%function: !llvm.ptr, %argument: !llvm.ptr, %record: !llvm.ptr) -> i64 {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %good = llvm.mlir.constant(0 : i32) : i32
  {constants(one=1, few=_HELD)}
  %outer = llvm.call @ragged_context() : () -> !llvm.ptr
  %context = llvm.alloca %one x {_CONTEXT} {{alignment = 16 : i64}} : (i64) -> !llvm.ptr
  {_FIELDS}
  llvm.store %own, %at : !llvm.ptr, !llvm.ptr
  llvm.store %record, %recordp : !llvm.ptr, !llvm.ptr
  {stores(countp="zero", roomp="few", sizep="zero")}
  llvm.call @ragged_enter(%context) : (!llvm.ptr) -> ()
  %code = llvm.call @_setjmp(%jump) : (!llvm.ptr) -> i32
  {branch("first = eq %code, %good : i32", "run", "failed")}
^run:
  llvm.call %function(%argument) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.br ^out
^failed:
  %count = llvm.load %countp : !llvm.ptr -> i64
  %lost = llvm.load %at : !llvm.ptr -> !llvm.ptr
  {search("count", "out")}
  %slot = llvm.getelementptr %lost[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %memory = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%memory) : (!llvm.ptr) -> ()
  llvm.br ^next(%after : i64)
^out:
  llvm.call @ragged_enter(%outer) : (!llvm.ptr) -> ()
  %held = llvm.load %at : !llvm.ptr -> !llvm.ptr
  {branch("small = eq %held, %own : !llvm.ptr", "done", "large")}
^large:
  llvm.call @free(%held) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  %size = llvm.load %sizep : !llvm.ptr -> i64
  llvm.return %size : i64
}}
llvm.func @{RUN}(%frame: !llvm.ptr) -> i64 {{
  %function = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %record = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %slots = llvm.getelementptr %frame[{1 + STATUS_ENTRIES}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %size = llvm.call @{CALL}(%function, %slots, %record) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i64
  llvm.return %size : i64
}}
"""

LIBRARY_MEMORY = f"""
llvm.mlir.global_ctors ctors = [@{OPEN}], priorities = [0 : i32], data = [#llvm.zero]
"""
