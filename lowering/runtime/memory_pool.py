"""Memory that is used again, as LLVM dialect text: between the hooks of programs and the C library.

A buffer that is given back keeps its pages, and the next one of its size class gets them: the system neither
takes them away nor clears them anew, page by page. There are `_STEPS` classes from a power of two to the next,
so that at most an eighth of a buffer is not used, and `_WAYS` places for buffers of each; a place is emptied
and filled by one atomic operation, so that threads wait for nobody, and a child of `fork` finds the pool as it
may be found. What finds no place goes back to the C library, and so does, place after place, what is beyond
the limit; where there is no memory, the pool is emptied first.

Before every buffer are the bytes it has with that, 0 where it is in no class, and its first place. Large
buffers ask the system for huge pages.
"""

from __future__ import annotations

from ragged_dialect.lowering.runtime.llvm_text import branch, constants, fields, search, swap, zeros

TAKE = "ragged_take"
"""`(i64 size) -> ptr`, as `malloc`."""

GIVE = "ragged_give"
"""`(ptr)`, as `free`."""

SHRINK = "ragged_shrink"
"""`(i64 bytes)`: give memory back to the C library until the pool holds no more than that."""

POOL = "ragged_pool"
"""`() -> ptr` to three i64: the limit in bytes, how many are held for later, how many buffers of a class were made."""

_STEPS, _WAYS = 8, 32
_LEAST, _MOST = 12, 44
"""The logarithms of the bytes that the first class is above of, and that the last has."""

_PLACES = (_MOST - _LEAST) * _STEPS * _WAYS
_HEADER = 16
_HUGE = 1 << 21
_STATE = f"!llvm.struct<(i64, i64, i64, i64, array<{_PLACES} x ptr>)>"
_LOAD_STATE = "%state = llvm.mlir.addressof @ragged_state : !llvm.ptr\n  " + fields(
    "state", _STATE, limitp=0, heldp=1, madep=2, handp=3, places=4
)


def _each_way(empty: str, taken: str, none: str) -> str:
    """Look at the places of a class from %first on: `search`, which goes on by whether there is a buffer."""
    return f"""{search("ways", none)}
  %at = llvm.add %first, %k : i64
  %place = llvm.getelementptr %places[%at] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %there = llvm.load %place atomic monotonic {{alignment = 8 : i64}} : !llvm.ptr -> !llvm.ptr
  {branch("empty = eq %there, %null : !llvm.ptr", empty, taken)}"""


MEMORY_POOL = f"""
llvm.func @free(!llvm.ptr)
llvm.func @posix_memalign(!llvm.ptr, i64, i64) -> i32
llvm.func @madvise(!llvm.ptr, i64, i32) -> i32
{zeros("ragged_state", _STATE, 64)}
llvm.func @{POOL}() -> !llvm.ptr {{
  %state = llvm.mlir.addressof @ragged_state : !llvm.ptr
  llvm.return %state : !llvm.ptr
}}
llvm.func @{SHRINK}(%bytes: i64) {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, count=_PLACES)}
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.br ^next(%zero : i64)
^next(%k: i64):
  %held = llvm.load %heldp : !llvm.ptr -> i64
  %much = llvm.icmp "sgt" %held, %bytes : i64
  %more = llvm.icmp "ult" %k, %count : i64
  %go = llvm.and %much, %more : i1
  %after = llvm.add %k, %one : i64
  llvm.cond_br %go, ^look, ^out
^look:
  %hand = llvm.atomicrmw add %handp, %one monotonic : !llvm.ptr, i64
  %at = llvm.urem %hand, %count : i64
  %place = llvm.getelementptr %places[%at] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %old = llvm.atomicrmw xchg %place, %null acq_rel : !llvm.ptr, !llvm.ptr
  {branch("none = eq %old, %null : !llvm.ptr", "next(%after : i64)", "free")}
^free:
  %size = llvm.load %old : !llvm.ptr -> i64
  %was = llvm.atomicrmw sub %heldp, %size monotonic : !llvm.ptr, i64
  llvm.call @free(%old) : (!llvm.ptr) -> ()
  llvm.br ^next(%after : i64)
^out:
  llvm.return
}}
llvm.func internal @ragged_ask(%size: i64) -> !llvm.ptr {{
  {constants(one=1, page=_HUGE, small=_HEADER)}
  %null = llvm.mlir.zero : !llvm.ptr
  %large = llvm.icmp "uge" %size, %page : i64
  %alignment = llvm.select %large, %page, %small : i1, i64
  %made = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %code = llvm.call @posix_memalign(%made, %alignment, %size) : (!llvm.ptr, i64, i64) -> i32
  %good = llvm.mlir.constant(0 : i32) : i32
  {branch("fine = eq %code, %good : i32", "got", "none")}
^none:
  llvm.return %null : !llvm.ptr
^got:
  %base = llvm.load %made : !llvm.ptr -> !llvm.ptr
  llvm.cond_br %large, ^advise, ^out
^advise:
  %pages = llvm.udiv %size, %page : i64
  %whole = llvm.mul %pages, %page : i64
  %huge = llvm.mlir.constant(14 : i32) : i32  // MADV_HUGEPAGE; a system that has none refuses it
  %told = llvm.call @madvise(%base, %whole, %huge) : (!llvm.ptr, i64, i32) -> i32
  llvm.br ^out
^out:
  llvm.return %base : !llvm.ptr
}}
llvm.func internal @ragged_make(%size: i64, %class: i64, %first: i64) -> !llvm.ptr
    attributes {{passthrough = ["noinline"]}} {{
  {constants(zero=0)}
  %null = llvm.mlir.zero : !llvm.ptr
  %made = llvm.call @ragged_ask(%size) : (i64) -> !llvm.ptr
  {branch("none = eq %made, %null : !llvm.ptr", "again", "got(%made : !llvm.ptr)")}
^again:
  llvm.call @{SHRINK}(%zero) : (i64) -> ()
  %second = llvm.call @ragged_ask(%size) : (i64) -> !llvm.ptr
  {branch("never = eq %second, %null : !llvm.ptr", "fail", "got(%second : !llvm.ptr)")}
^fail:
  llvm.return %null : !llvm.ptr
^got(%base: !llvm.ptr):
  llvm.store %class, %base : i64, !llvm.ptr
  %firstp = llvm.getelementptr %base[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %first, %firstp : i64, !llvm.ptr
  %buffer = llvm.getelementptr %base[{_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.return %buffer : !llvm.ptr
}}
llvm.func @{TAKE}(%wanted: i64) -> !llvm.ptr {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, header=_HEADER, least=1 << _LEAST, most=1 << _MOST, ways=_WAYS, steps=_STEPS)}
  {constants(low=_LEAST, top=63, bits=_STEPS.bit_length() - 1, mask=_STEPS - 1, above=_STEPS + 1)}
  %null = llvm.mlir.zero : !llvm.ptr
  %size = llvm.intr.uadd.sat(%wanted, %header) : (i64, i64) -> i64
  %limit = llvm.load %limitp : !llvm.ptr -> i64
  %bound = llvm.intr.umin(%limit, %most) : (i64, i64) -> i64
  %small = llvm.icmp "ule" %size, %least : i64
  %large = llvm.icmp "ugt" %size, %bound : i64
  %plain = llvm.or %small, %large : i1
  llvm.cond_br %plain, ^plain, ^class
^plain:
  %exact = llvm.call @ragged_make(%size, %zero, %zero) : (i64, i64, i64) -> !llvm.ptr
  llvm.return %exact : !llvm.ptr
^class:
  %last = llvm.sub %size, %one : i64
  %zeros = "llvm.intr.ctlz"(%last) <{{is_zero_poison = true}}> : (i64) -> i64
  %log = llvm.sub %top, %zeros : i64
  %shift = llvm.sub %log, %bits : i64
  %digits = llvm.lshr %last, %shift : i64
  %step = llvm.and %digits, %mask : i64
  %many = llvm.add %step, %above : i64
  %class = llvm.shl %many, %shift : i64
  %power = llvm.sub %log, %low : i64
  %powers = llvm.mul %power, %steps : i64
  %number = llvm.add %powers, %step : i64
  %first = llvm.mul %number, %ways : i64
  {_each_way("next(%after : i64)", "take", "new")}
^take:
  %old = llvm.atomicrmw xchg %place, %null acq_rel : !llvm.ptr, !llvm.ptr
  {branch("gone = eq %old, %null : !llvm.ptr", "next(%after : i64)", "got")}
^got:
  %was = llvm.atomicrmw sub %heldp, %class monotonic : !llvm.ptr, i64
  %buffer = llvm.getelementptr %old[{_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.return %buffer : !llvm.ptr
^new:
  %were = llvm.atomicrmw add %madep, %one monotonic : !llvm.ptr, i64
  %fresh = llvm.call @ragged_make(%class, %class, %first) : (i64, i64, i64) -> !llvm.ptr
  llvm.return %fresh : !llvm.ptr
}}
llvm.func @{GIVE}(%buffer: !llvm.ptr) {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, ways=_WAYS)}
  %null = llvm.mlir.zero : !llvm.ptr
  {branch("none = eq %buffer, %null : !llvm.ptr", "out", "some")}
^some:
  %base = llvm.getelementptr %buffer[-{_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
  %class = llvm.load %base : !llvm.ptr -> i64
  {branch("plain = eq %class, %zero : i64", "free", "count")}
^count:
  %firstp = llvm.getelementptr %base[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %first = llvm.load %firstp : !llvm.ptr -> i64
  %held = llvm.atomicrmw add %heldp, %class monotonic : !llvm.ptr, i64
  {_each_way("put", "next(%after : i64)", "full")}
^put:
  {swap("place", "null", "base", "bound", "next(%after : i64)", "!llvm.ptr")}
^bound:
  %limit = llvm.load %limitp : !llvm.ptr -> i64
  %now = llvm.add %held, %class : i64
  {branch("over = sgt %now, %limit : i64", "shrink", "out")}
^shrink:
  llvm.call @{SHRINK}(%limit) : (i64) -> ()
  llvm.br ^out
^full:
  %was = llvm.atomicrmw sub %heldp, %class monotonic : !llvm.ptr, i64
  llvm.br ^free
^free:
  llvm.call @free(%base) : (!llvm.ptr) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
"""
