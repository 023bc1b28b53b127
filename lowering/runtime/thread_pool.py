"""The threads of programs on the CPU, as LLVM dialect text: one pool for a process, which all parallel loops share.

A loop has its iterations done in tiles, by the thread that calls SHARE and by helpers that have nothing else to do.
Each thread has a range of neighbouring tiles where it begins, the same in every loop: what it meets was in its caches
last time, and what is fetched ahead of need is its own. Then it takes tiles that are left of the others' ranges. A loop
takes a place, opens it for so many helpers, and works itself; what it waits for at the end is helpers that came, never
those that may come. So a loop in a loop, loops of many threads at once, and threads that could not be made cost
speed, and cannot wait for each other; where no place is free a loop is run by its thread alone.

The word `gate` of a place says all about it: 0, it is free; else the low half counts who is in it, and the high half
the helpers that may still come. A helper without work looks at the number of loops that were opened for `_SPIN`
nanoseconds and then sleeps until it changes.

A child of `fork` has none of the threads: the pool knows the process that it is of, and is made anew in another.
"""

from __future__ import annotations

import platform

from ragged_dialect.lowering.runtime.llvm_text import branch, constants, fields, loads, search, stores, swap, zeros
from ragged_dialect.lowering.runtime.memory_runtime import CALL, fails

SHARE = "ragged_share"
"""`(ptr function, ptr captures, i64 count, i64 work, i64 tile, i64 threads)`: calls `function(captures, lo, hi)` for
ranges that cover [0, count), on at most so many threads. `work` is the number of elements of all iterations, `tile`
that of what a thread takes at a time, 0 where nobody asked for one."""

THRESHOLD = 131072
"""Elements of work below which a loop runs on the calling thread alone: measured, a helper that sleeps is of use from
about so many."""

MAX_THREADS = 256

_SPIN = 50_000
_PLACES = 16
_RANGES = 64
"""Most ranges of a loop: 4 KB of counters a place. Where there are more threads some share one."""

_TILE = 16384
"""Elements of a tile: a hundred times what handing one out costs, and little where one thread has the last."""

_WAITS = 1 << 30
"""Bit of a gate whose loop sleeps until the last helper has gone."""

_FUTEX = 202 if platform.machine() in ("x86_64", "AMD64") else 98  # on all architectures that are younger
_WAIT, _WAKE = 128, 129  # FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE

# gate, function, captures, count, iterations of a tile, size that was no memory for, ranges; the next iteration of each
# is on a cache line of its own
_NEXT = "!llvm.array<8 x i64>"
_PLACE = f"!llvm.struct<(i64, ptr, ptr, i64, i64, i64, i64, i64, array<{_RANGES} x array<8 x i64>>)>"
_PART = "!llvm.struct<(ptr, i64)>"  # a place, and the range where a thread begins
# process, loops opened, threads that sleep, threads made, whether one makes threads
_STATE = f"!llvm.struct<(i64, i32, i32, i64, i64, array<4 x i64>, array<{_PLACES} x {_PLACE}>)>"


_LOAD_STATE = "%state = llvm.mlir.addressof @ragged_threads_state : !llvm.ptr\n  " + fields(
    "state", _STATE, processp=0, openedp=1, sleepersp=2, madep=3, makingp=4, places=6
)
_LOAD_PLACE = fields("place", _PLACE, fp=1, cp=2, np=3, kp=4, sizep=5, rangesp=6, nextsp=8)
_ATOMIC = "{alignment = 8 : i64}"

THREAD_POOL = f"""
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @getpid() -> i32
llvm.func @syscall(i64, ...) -> i64
llvm.func @pthread_create(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_detach(i64) -> i32
{zeros("ragged_threads_state", _STATE, 128)}
llvm.func internal @ragged_now() -> i64 {{
  {constants(one=1, second=10**9)}
  {constants("i32", monotonic=1)}
  %time = llvm.alloca %one x !llvm.struct<(i64, i64)> : (i64) -> !llvm.ptr
  %code = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %fractionp = llvm.getelementptr %time[1] : (!llvm.ptr) -> !llvm.ptr, i64
  {loads(seconds="time", fraction="fractionp")}
  %scaled = llvm.mul %seconds, %second : i64
  %now = llvm.add %scaled, %fraction : i64
  llvm.return %now : i64
}}
llvm.func internal @ragged_sleep(%word: !llvm.ptr, %seen: i32) {{
  {constants(number=_FUTEX, wait=_WAIT)}
  %never = llvm.mlir.zero : !llvm.ptr
  %code = llvm.call @syscall(%number, %word, %wait, %seen, %never) vararg(!llvm.func<i64 (i64, ...)>)
    : (i64, !llvm.ptr, i64, i32, !llvm.ptr) -> i64
  llvm.return
}}
llvm.func internal @ragged_wake(%word: !llvm.ptr, %count: i64) {{
  {constants(number=_FUTEX, wake=_WAKE)}
  %code = llvm.call @syscall(%number, %word, %wake, %count) vararg(!llvm.func<i64 (i64, ...)>)
    : (i64, !llvm.ptr, i64, i64) -> i64
  llvm.return
}}
llvm.func internal @ragged_tiles(%part: !llvm.ptr) {{
  {fields("part", _PART, placep=0, firstp=1)}
  %place = llvm.load %placep : !llvm.ptr -> !llvm.ptr
  {_LOAD_PLACE}
  {constants(zero=0, one=1)}
  {loads(first="firstp", ranges="rangesp")}
  {loads("!llvm.ptr", f="fp", c="cp")}
  {loads(n="np", k="kp")}
  llvm.br ^range(%zero : i64)
^range(%turn: i64):
  {branch("left = slt %turn, %ranges : i64", "look", "done")}
^look:
  %after = llvm.add %turn, %one : i64
  %at = llvm.add %first, %turn : i64
  %own = llvm.urem %at, %ranges : i64
  %nextp = llvm.getelementptr %nextsp[%own] : (!llvm.ptr, i64) -> !llvm.ptr, {_NEXT}
  %last = llvm.add %own, %one : i64
  %end = llvm.call @ragged_start_of(%place, %last) : (!llvm.ptr, i64) -> i64
  %seen = llvm.load %nextp atomic monotonic {_ATOMIC} : !llvm.ptr -> i64
  {branch("some = slt %seen, %end : i64", "take", "range(%after : i64)")}
^take:
  %lo = llvm.atomicrmw add %nextp, %k monotonic : !llvm.ptr, i64
  {branch("more = slt %lo, %end : i64", "run", "range(%after : i64)")}
^run:
  %stop = llvm.add %lo, %k : i64
  %hi = llvm.intr.smin(%stop, %end) : (i64, i64) -> i64
  llvm.call %f(%c, %lo, %hi) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.br ^take
^done:
  llvm.return
}}
// The first iteration of a range.
llvm.func internal @ragged_start_of(%place: !llvm.ptr, %range: i64) -> i64 {{
  {_LOAD_PLACE}
  {loads(n="np", ranges="rangesp")}
  %each = llvm.sdiv %n, %ranges : i64
  %rest = llvm.srem %n, %ranges : i64
  %before = llvm.mul %each, %range : i64
  %longer = llvm.intr.smin(%rest, %range) : (i64, i64) -> i64
  %start = llvm.add %before, %longer : i64
  llvm.return %start : i64
}}
// Gives all ranges their first iterations, or (`stopped`) none at all.
llvm.func internal @ragged_set_ranges(%place: !llvm.ptr, %stopped: i1) {{
  {_LOAD_PLACE}
  {constants(zero=0, one=1)}
  {loads(n="np", count="rangesp")}
  {search("count", "out")}
  %start = llvm.call @ragged_start_of(%place, %k) : (!llvm.ptr, i64) -> i64
  %next = llvm.select %stopped, %n, %start : i1, i64
  %nextp = llvm.getelementptr %nextsp[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {_NEXT}
  llvm.store %next, %nextp atomic monotonic {_ATOMIC} : i64, !llvm.ptr
  llvm.br ^next(%after : i64)
^out:
  llvm.return
}}
// In a context of its own, the calling thread too: a failure must not leave the loop before the others are done. The
// first range is the calling thread's; more helpers than there are others share them.
llvm.func internal @ragged_part(%place: !llvm.ptr, %number: i64) {{
  {_LOAD_PLACE}
  {constants(zero=0, one=1)}
  %ranges = llvm.load %rangesp : !llvm.ptr -> i64
  %more = llvm.sub %ranges, %one : i64
  %others = llvm.intr.smax(%more, %one) : (i64, i64) -> i64
  %before = llvm.sub %number, %one : i64
  %shared = llvm.urem %before, %others : i64
  %later = llvm.add %shared, %one : i64
  %calls = llvm.icmp "eq" %number, %zero : i64
  %first = llvm.select %calls, %zero, %later : i1, i64
  %part = llvm.alloca %one x {_PART} : (i64) -> !llvm.ptr
  {fields("part", _PART, firstp=1)}
  llvm.store %place, %part : !llvm.ptr, !llvm.ptr
  llvm.store %first, %firstp : i64, !llvm.ptr
  %tiles = llvm.mlir.addressof @ragged_tiles : !llvm.ptr
  %unchecked = llvm.mlir.zero : !llvm.ptr
  %size = llvm.call @{CALL}(%tiles, %part, %unchecked) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i64
  {branch("good = eq %size, %zero : i64", "out", "failed")}
^failed:
  %yes = llvm.mlir.constant(true) : i1
  llvm.call @ragged_set_ranges(%place, %yes) : (!llvm.ptr, i1) -> ()
  %noted = llvm.atomicrmw xchg %sizep, %size monotonic : !llvm.ptr, i64
  llvm.br ^out
^out:
  llvm.return
}}
llvm.func internal @ragged_join(%gate: !llvm.ptr) -> i1 {{
  {constants(zero=0, half=32, moved=2**32 - 1)}
  %first = llvm.load %gate atomic monotonic {_ATOMIC} : !llvm.ptr -> i64
  llvm.br ^try(%first : i64)
^try(%seen: i64):
  %seats = llvm.lshr %seen, %half : i64
  {branch("closed = eq %seats, %zero : i64", "none", "sit")}
^sit:
  %inside = llvm.sub %seen, %moved : i64
  %swapped = llvm.cmpxchg %gate, %seen, %inside acq_rel monotonic : !llvm.ptr, i64
  %other = llvm.extractvalue %swapped[0] : !llvm.struct<(i64, i1)>
  %done = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %done, ^got, ^try(%other : i64)
^got:
  %yes = llvm.mlir.constant(true) : i1
  llvm.return %yes : i1
^none:
  %no = llvm.mlir.constant(false) : i1
  llvm.return %no : i1
}}
llvm.func internal @ragged_leave(%gate: !llvm.ptr) {{
  {constants(one=1, low=2**32 - 1, last=_WAITS | 2)}
  %old = llvm.atomicrmw sub %gate, %one acq_rel : !llvm.ptr, i64
  %count = llvm.and %old, %low : i64
  {branch("waits = eq %count, %last : i64", "wake", "out")}
^wake:  // who has the place by now looks again
  llvm.call @ragged_wake(%gate, %one) : (!llvm.ptr, i64) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
llvm.func internal @ragged_help(%number: i64) -> i1 {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, count=_PLACES)}
  {search("count", "none")}
  %place = llvm.getelementptr %places[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {_PLACE}
  %joined = llvm.call @ragged_join(%place) : (!llvm.ptr) -> i1
  llvm.cond_br %joined, ^work, ^next(%after : i64)
^work:
  llvm.call @ragged_part(%place, %number) : (!llvm.ptr, i64) -> ()
  llvm.call @ragged_leave(%place) : (!llvm.ptr) -> ()
  llvm.return %joined : i1
^none:
  %no = llvm.mlir.constant(false) : i1
  llvm.return %no : i1
}}
llvm.func internal @ragged_helper(%own: !llvm.ptr) -> !llvm.ptr {{
  {_LOAD_STATE}
  %number = llvm.ptrtoint %own : !llvm.ptr to i64
  {constants(spin=_SPIN)}
  {constants("i32", good=1)}
  llvm.br ^look
^look:
  %seen = llvm.load %openedp atomic seq_cst {{alignment = 4 : i64}} : !llvm.ptr -> i32
  %helped = llvm.call @ragged_help(%number) : (i64) -> i1
  llvm.cond_br %helped, ^look, ^idle
^idle:
  %since = llvm.call @ragged_now() : () -> i64
  llvm.br ^spin
^spin:
  %now = llvm.call @ragged_now() : () -> i64
  %opened = llvm.load %openedp atomic monotonic {{alignment = 4 : i64}} : !llvm.ptr -> i32
  {branch("same = eq %opened, %seen : i32", "long", "look")}
^long:
  %waited = llvm.sub %now, %since : i64
  {branch("short = slt %waited, %spin : i64", "spin", "sleep")}
^sleep:  // counted first: who opens a loop afterwards wakes it, and the system does not let it sleep on an older number
  %more = llvm.atomicrmw add %sleepersp, %good seq_cst : !llvm.ptr, i32
  llvm.call @ragged_sleep(%openedp, %seen) : (!llvm.ptr, i32) -> ()
  %less = llvm.atomicrmw sub %sleepersp, %good seq_cst : !llvm.ptr, i32
  llvm.br ^look
}}
llvm.func internal @ragged_start(%threads: i64) attributes {{passthrough = ["cold", "noinline"]}} {{
  {_LOAD_STATE}
  {constants(zero=0, one=1)}
  {constants("i32", good=0)}
  %null = llvm.mlir.zero : !llvm.ptr
  %helper = llvm.mlir.addressof @ragged_helper : !llvm.ptr
  %id = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %busy = llvm.atomicrmw xchg %makingp, %one acq_rel : !llvm.ptr, i64
  {branch("mine = eq %busy, %zero : i64", "next", "out")}
^next:
  %made = llvm.load %madep : !llvm.ptr -> i64
  {branch("more = slt %made, %threads : i64", "make", "done")}
^make:
  %next = llvm.add %made, %one : i64
  %number = llvm.inttoptr %next : i64 to !llvm.ptr
  %code = llvm.call @pthread_create(%id, %null, %helper, %number) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  {branch("fine = eq %code, %good : i32", "count", "done")}
^count:
  %thread = llvm.load %id : !llvm.ptr -> i64
  %detached = llvm.call @pthread_detach(%thread) : (i64) -> i32
  llvm.store %next, %madep atomic monotonic {_ATOMIC} : i64, !llvm.ptr
  llvm.br ^next
^done:
  llvm.store %zero, %makingp atomic release {_ATOMIC} : i64, !llvm.ptr
  llvm.br ^out
^out:
  llvm.return
}}
// Whether the pool is this process's. The first thread of a child that asks makes it anew, others do without meanwhile.
llvm.func internal @ragged_own() -> i1 {{
  {_LOAD_STATE}
  {constants(nobody=-1)}
  %number = llvm.call @getpid() : () -> i32
  %process = llvm.sext %number : i32 to i64
  %owner = llvm.load %processp atomic acquire {_ATOMIC} : !llvm.ptr -> i64
  {branch("yes = eq %owner, %process : i64", "out(%yes : i1)", "other")}
^other:
  %no = llvm.mlir.constant(false) : i1
  {branch("making = eq %owner, %nobody : i64", "out(%no : i1)", "claim")}
^claim:
  {swap("processp", "owner", "nobody", "clear", "out(%no : i1)")}
^clear:
  %end = llvm.getelementptr %state[1] : (!llvm.ptr) -> !llvm.ptr, {_STATE}
  %from = llvm.ptrtoint %openedp : !llvm.ptr to i64
  %to = llvm.ptrtoint %end : !llvm.ptr to i64
  %size = llvm.sub %to, %from : i64
  %zero = llvm.mlir.constant(0 : i8) : i8
  "llvm.intr.memset"(%openedp, %zero, %size) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()
  llvm.store %process, %processp atomic release {_ATOMIC} : i64, !llvm.ptr
  llvm.br ^out(%won : i1)
^out(%owned: i1):
  llvm.return %owned : i1
}}
llvm.func internal @ragged_take_place() -> !llvm.ptr {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, count=_PLACES)}
  {search("count", "none")}
  %place = llvm.getelementptr %places[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {_PLACE}
  {swap("place", "zero", "one", "got", "next(%after : i64)")}
^got:
  llvm.return %place : !llvm.ptr
^none:
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.func internal @ragged_open_place(%place: !llvm.ptr, %helpers: i64) {{
  {_LOAD_STATE}
  {constants(one=1, half=32)}
  {constants("i32", again=1, none=0)}
  %seats = llvm.shl %helpers, %half : i64
  %gate = llvm.add %seats, %one : i64
  llvm.store %gate, %place atomic release {_ATOMIC} : i64, !llvm.ptr
  %before = llvm.atomicrmw add %openedp, %again seq_cst : !llvm.ptr, i32
  %sleepers = llvm.load %sleepersp atomic seq_cst {{alignment = 4 : i64}} : !llvm.ptr -> i32
  {branch("some = sgt %sleepers, %none : i32", "wake", "out")}
^wake:
  llvm.call @ragged_wake(%openedp, %helpers) : (!llvm.ptr, i64) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
// Lets nobody in any more, and waits until all have gone.
llvm.func internal @ragged_close_place(%gate: !llvm.ptr) {{
  {constants(one=1, low=2**32 - 1, count=_WAITS - 1, waits=_WAITS, spin=_SPIN)}
  %closed = llvm.atomicrmw _and %gate, %low acq_rel : !llvm.ptr, i64
  %inside = llvm.and %closed, %low : i64
  {branch("alone = eq %inside, %one : i64", "out", "wait")}
^wait:
  %since = llvm.call @ragged_now() : () -> i64
  llvm.br ^look
^look:
  %now = llvm.call @ragged_now() : () -> i64
  %seen = llvm.load %gate atomic acquire {_ATOMIC} : !llvm.ptr -> i64
  %left = llvm.and %seen, %count : i64
  {branch("done = eq %left, %one : i64", "out", "long")}
^long:
  %waited = llvm.sub %now, %since : i64
  {branch("short = slt %waited, %spin : i64", "look", "say")}
^say:
  %said = llvm.or %seen, %waits : i64
  {swap("gate", "seen", "said", "sleep", "look")}
^sleep:
  %word = llvm.trunc %said : i64 to i32
  llvm.call @ragged_sleep(%gate, %word) : (!llvm.ptr, i32) -> ()
  llvm.br ^look
^out:
  llvm.return
}}
llvm.func @{SHARE}(%f: !llvm.ptr, %c: !llvm.ptr, %n: i64, %work: i64, %tile: i64, %allowed: i64) {{
  {_LOAD_STATE}
  {constants(zero=0, one=1, eight=8, enough=THRESHOLD, usual=_TILE, most=MAX_THREADS, counters=_RANGES)}
  %null = llvm.mlir.zero : !llvm.ptr
  %threads = llvm.intr.smin(%allowed, %n) : (i64, i64) -> i64
  %single = llvm.icmp "sle" %threads, %one : i64
  %small = llvm.icmp "slt" %work, %enough : i64
  %alone = llvm.or %small, %single : i1
  llvm.cond_br %alone, ^serial, ^ask
^ask:
  %owned = llvm.call @ragged_own() : () -> i1
  llvm.cond_br %owned, ^choose, ^serial
^choose:
  %place = llvm.call @ragged_take_place() : () -> !llvm.ptr
  {branch("none = eq %place, %null : !llvm.ptr", "serial", "fill")}
^serial:
  llvm.call %f(%c, %zero, %n) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
^fill:
  {_LOAD_PLACE}
  %few = llvm.intr.smin(%threads, %most) : (i64, i64) -> i64
  %helpers = llvm.sub %few, %one : i64
  %pieces = llvm.mul %few, %eight : i64
  %piece = llvm.sdiv %n, %pieces : i64
  %average = llvm.sdiv %work, %n : i64
  %each = llvm.intr.smax(%average, %one) : (i64, i64) -> i64
  %full = llvm.sdiv %usual, %each : i64
  %fair = llvm.intr.smin(%full, %piece) : (i64, i64) -> i64
  %wanted = llvm.sdiv %tile, %each : i64
  %free = llvm.icmp "eq" %tile, %zero : i64
  %bounded = llvm.intr.smin(%wanted, %n) : (i64, i64) -> i64
  %least = llvm.select %free, %fair, %bounded : i1, i64
  %k = llvm.intr.smax(%least, %one) : (i64, i64) -> i64
  {stores("!llvm.ptr", fp="f", cp="c")}
  {stores(np="n", kp="k", sizep="zero")}
  %ranges = llvm.intr.smin(%few, %counters) : (i64, i64) -> i64
  llvm.store %ranges, %rangesp : i64, !llvm.ptr
  %no = llvm.mlir.constant(false) : i1
  llvm.call @ragged_set_ranges(%place, %no) : (!llvm.ptr, i1) -> ()
  %made = llvm.load %madep atomic monotonic {_ATOMIC} : !llvm.ptr -> i64
  {branch("lacking = slt %made, %helpers : i64", "start", "open")}
^start:
  llvm.call @ragged_start(%helpers) : (i64) -> ()
  llvm.br ^open
^open:
  llvm.call @ragged_open_place(%place, %helpers) : (!llvm.ptr, i64) -> ()
  llvm.call @ragged_part(%place, %zero) : (!llvm.ptr, i64) -> ()
  llvm.call @ragged_close_place(%place) : (!llvm.ptr) -> ()
  %size = llvm.load %sizep : !llvm.ptr -> i64
  llvm.store %zero, %place atomic release {_ATOMIC} : i64, !llvm.ptr
  {branch("fine = eq %size, %zero : i64", "return", "failed")}
^failed:
  {fails("size")}
^return:
  llvm.return
}}
"""
