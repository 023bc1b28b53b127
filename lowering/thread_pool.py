"""The threads of programs on the CPU, as LLVM dialect text: one pool for a process, which all parallel loops share.

A loop has its iterations done in tiles, by the thread that calls SHARE and by helpers that have nothing else to do. It
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

from ragged_dialect.lowering.memory_runtime import CALL, FAIL

SHARE = "ragged_share"
"""`(ptr function, ptr captures, i64 count, i64 work, i64 threads)`: calls `function(captures, lo, hi)` for ranges that
cover [0, count), on at most so many threads. `work` is the number of elements of all iterations."""

MAX_THREADS = 256

_SPIN = 50_000
_PLACES = 16
_TILE = 16384
"""Elements of a tile: a hundred times what handing one out costs, and little where one thread has the last."""

_WAITS = 1 << 30
"""Bit of a gate whose loop sleeps until the last helper has gone."""

_FUTEX = 202 if platform.machine() in ("x86_64", "AMD64") else 98  # on all architectures that are younger
_WAIT, _WAKE = 128, 129  # FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE

# gate, function, captures, count, iterations of a tile, size that was no memory for; the next iteration is on a cache
# line of its own
_PLACE = "!llvm.struct<(i64, ptr, ptr, i64, i64, i64, array<2 x i64>, i64, array<7 x i64>)>"
# process, loops opened, threads that sleep, threads made, whether one makes threads
_STATE = f"!llvm.struct<(i64, i32, i32, i64, i64, array<4 x i64>, array<{_PLACES} x {_PLACE}>)>"


def _fields(base: str, struct: str, **numbers: int) -> str:
    return "\n  ".join(
        f"%{name} = llvm.getelementptr %{base}[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {struct}"
        for name, number in numbers.items()
    )


def _constants(kind: str = "i64", **named: int) -> str:
    return "\n  ".join(f"%{name} = llvm.mlir.constant({value} : {kind}) : {kind}" for name, value in named.items())


_LOAD_STATE = "%state = llvm.mlir.addressof @ragged_threads_state : !llvm.ptr\n  " + _fields(
    "state", _STATE, processp=0, openedp=1, sleepersp=2, madep=3, makingp=4, places=6
)
_LOAD_PLACE = _fields("place", _PLACE, fp=1, cp=2, np=3, kp=4, sizep=5, nextp=7)
_ATOMIC = "{alignment = 8 : i64}"

THREAD_POOL = f"""
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @getpid() -> i32
llvm.func @syscall(i64, ...) -> i64
llvm.func @pthread_create(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_detach(i64) -> i32
llvm.mlir.global internal @ragged_threads_state() {{alignment = 128 : i64}} : {_STATE} {{
  %0 = llvm.mlir.zero : {_STATE}
  llvm.return %0 : {_STATE}
}}
llvm.func internal @ragged_now() -> i64 {{
  {_constants(one=1, second=10**9)}
  {_constants("i32", monotonic=1)}
  %time = llvm.alloca %one x !llvm.struct<(i64, i64)> : (i64) -> !llvm.ptr
  %code = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %fractionp = llvm.getelementptr %time[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %fraction = llvm.load %fractionp : !llvm.ptr -> i64
  %scaled = llvm.mul %seconds, %second : i64
  %now = llvm.add %scaled, %fraction : i64
  llvm.return %now : i64
}}
llvm.func internal @ragged_sleep(%word: !llvm.ptr, %seen: i32) {{
  {_constants(number=_FUTEX, wait=_WAIT)}
  %never = llvm.mlir.zero : !llvm.ptr
  %code = llvm.call @syscall(%number, %word, %wait, %seen, %never) vararg(!llvm.func<i64 (i64, ...)>)
    : (i64, !llvm.ptr, i64, i32, !llvm.ptr) -> i64
  llvm.return
}}
llvm.func internal @ragged_wake(%word: !llvm.ptr, %count: i64) {{
  {_constants(number=_FUTEX, wake=_WAKE)}
  %code = llvm.call @syscall(%number, %word, %wake, %count) vararg(!llvm.func<i64 (i64, ...)>)
    : (i64, !llvm.ptr, i64, i64) -> i64
  llvm.return
}}
llvm.func internal @ragged_tiles(%place: !llvm.ptr) {{
  {_LOAD_PLACE}
  %f = llvm.load %fp : !llvm.ptr -> !llvm.ptr
  %c = llvm.load %cp : !llvm.ptr -> !llvm.ptr
  %n = llvm.load %np : !llvm.ptr -> i64
  %k = llvm.load %kp : !llvm.ptr -> i64
  llvm.br ^take
^take:
  %lo = llvm.atomicrmw add %nextp, %k monotonic : !llvm.ptr, i64
  %more = llvm.icmp "slt" %lo, %n : i64
  llvm.cond_br %more, ^run, ^done
^run:
  %end = llvm.add %lo, %k : i64
  %hi = llvm.intr.smin(%end, %n) : (i64, i64) -> i64
  llvm.call %f(%c, %lo, %hi) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.br ^take
^done:
  llvm.return
}}
// In a context of its own, the calling thread too: a failure must not leave the loop before the others are done.
llvm.func internal @ragged_part(%place: !llvm.ptr) {{
  {_LOAD_PLACE}
  {_constants(zero=0)}
  %tiles = llvm.mlir.addressof @ragged_tiles : !llvm.ptr
  %size = llvm.call @{CALL}(%tiles, %place) : (!llvm.ptr, !llvm.ptr) -> i64
  %good = llvm.icmp "eq" %size, %zero : i64
  llvm.cond_br %good, ^out, ^failed
^failed:
  %n = llvm.load %np : !llvm.ptr -> i64
  %stopped = llvm.atomicrmw xchg %nextp, %n monotonic : !llvm.ptr, i64
  %noted = llvm.atomicrmw xchg %sizep, %size monotonic : !llvm.ptr, i64
  llvm.br ^out
^out:
  llvm.return
}}
llvm.func internal @ragged_join(%gate: !llvm.ptr) -> i1 {{
  {_constants(zero=0, half=32, moved=2**32 - 1)}
  %first = llvm.load %gate atomic monotonic {_ATOMIC} : !llvm.ptr -> i64
  llvm.br ^try(%first : i64)
^try(%seen: i64):
  %seats = llvm.lshr %seen, %half : i64
  %closed = llvm.icmp "eq" %seats, %zero : i64
  llvm.cond_br %closed, ^none, ^sit
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
  {_constants(one=1, low=2**32 - 1, last=_WAITS | 2)}
  %old = llvm.atomicrmw sub %gate, %one acq_rel : !llvm.ptr, i64
  %count = llvm.and %old, %low : i64
  %waits = llvm.icmp "eq" %count, %last : i64
  llvm.cond_br %waits, ^wake, ^out
^wake:  // who has the place by now looks again
  llvm.call @ragged_wake(%gate, %one) : (!llvm.ptr, i64) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
llvm.func internal @ragged_help() -> i1 {{
  {_LOAD_STATE}
  {_constants(zero=0, one=1, count=_PLACES)}
  llvm.br ^next(%zero : i64)
^next(%k: i64):
  %more = llvm.icmp "ult" %k, %count : i64
  llvm.cond_br %more, ^look, ^none
^look:
  %place = llvm.getelementptr %places[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {_PLACE}
  %after = llvm.add %k, %one : i64
  %joined = llvm.call @ragged_join(%place) : (!llvm.ptr) -> i1
  llvm.cond_br %joined, ^work, ^next(%after : i64)
^work:
  llvm.call @ragged_part(%place) : (!llvm.ptr) -> ()
  llvm.call @ragged_leave(%place) : (!llvm.ptr) -> ()
  llvm.return %joined : i1
^none:
  %no = llvm.mlir.constant(false) : i1
  llvm.return %no : i1
}}
llvm.func internal @ragged_helper(%unused: !llvm.ptr) -> !llvm.ptr {{
  {_LOAD_STATE}
  {_constants(spin=_SPIN)}
  {_constants("i32", good=1)}
  llvm.br ^look
^look:
  %seen = llvm.load %openedp atomic seq_cst {{alignment = 4 : i64}} : !llvm.ptr -> i32
  %helped = llvm.call @ragged_help() : () -> i1
  llvm.cond_br %helped, ^look, ^idle
^idle:
  %since = llvm.call @ragged_now() : () -> i64
  llvm.br ^spin
^spin:
  %now = llvm.call @ragged_now() : () -> i64
  %opened = llvm.load %openedp atomic monotonic {{alignment = 4 : i64}} : !llvm.ptr -> i32
  %same = llvm.icmp "eq" %opened, %seen : i32
  llvm.cond_br %same, ^long, ^look
^long:
  %waited = llvm.sub %now, %since : i64
  %short = llvm.icmp "slt" %waited, %spin : i64
  llvm.cond_br %short, ^spin, ^sleep
^sleep:  // counted first: who opens a loop afterwards wakes it, and the system does not let it sleep on an older number
  %more = llvm.atomicrmw add %sleepersp, %good seq_cst : !llvm.ptr, i32
  llvm.call @ragged_sleep(%openedp, %seen) : (!llvm.ptr, i32) -> ()
  %less = llvm.atomicrmw sub %sleepersp, %good seq_cst : !llvm.ptr, i32
  llvm.br ^look
}}
llvm.func internal @ragged_start(%threads: i64) attributes {{passthrough = ["cold", "noinline"]}} {{
  {_LOAD_STATE}
  {_constants(zero=0, one=1)}
  {_constants("i32", good=0)}
  %null = llvm.mlir.zero : !llvm.ptr
  %helper = llvm.mlir.addressof @ragged_helper : !llvm.ptr
  %id = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %busy = llvm.atomicrmw xchg %makingp, %one acq_rel : !llvm.ptr, i64
  %mine = llvm.icmp "eq" %busy, %zero : i64
  llvm.cond_br %mine, ^next, ^out
^next:
  %made = llvm.load %madep : !llvm.ptr -> i64
  %more = llvm.icmp "slt" %made, %threads : i64
  llvm.cond_br %more, ^make, ^done
^make:
  %code = llvm.call @pthread_create(%id, %null, %helper, %null) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %fine = llvm.icmp "eq" %code, %good : i32
  llvm.cond_br %fine, ^count, ^done
^count:
  %thread = llvm.load %id : !llvm.ptr -> i64
  %detached = llvm.call @pthread_detach(%thread) : (i64) -> i32
  %next = llvm.add %made, %one : i64
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
  {_constants(nobody=-1)}
  %number = llvm.call @getpid() : () -> i32
  %process = llvm.sext %number : i32 to i64
  %owner = llvm.load %processp atomic acquire {_ATOMIC} : !llvm.ptr -> i64
  %yes = llvm.icmp "eq" %owner, %process : i64
  llvm.cond_br %yes, ^out(%yes : i1), ^other
^other:
  %no = llvm.mlir.constant(false) : i1
  %making = llvm.icmp "eq" %owner, %nobody : i64
  llvm.cond_br %making, ^out(%no : i1), ^claim
^claim:
  %swapped = llvm.cmpxchg %processp, %owner, %nobody acq_rel monotonic : !llvm.ptr, i64
  %done = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %done, ^clear, ^out(%no : i1)
^clear:
  %end = llvm.getelementptr %state[1] : (!llvm.ptr) -> !llvm.ptr, {_STATE}
  %from = llvm.ptrtoint %openedp : !llvm.ptr to i64
  %to = llvm.ptrtoint %end : !llvm.ptr to i64
  %size = llvm.sub %to, %from : i64
  %zero = llvm.mlir.constant(0 : i8) : i8
  "llvm.intr.memset"(%openedp, %zero, %size) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()
  llvm.store %process, %processp atomic release {_ATOMIC} : i64, !llvm.ptr
  llvm.br ^out(%done : i1)
^out(%owned: i1):
  llvm.return %owned : i1
}}
llvm.func internal @ragged_take_place() -> !llvm.ptr {{
  {_LOAD_STATE}
  {_constants(zero=0, one=1, count=_PLACES)}
  llvm.br ^next(%zero : i64)
^next(%k: i64):
  %more = llvm.icmp "ult" %k, %count : i64
  llvm.cond_br %more, ^look, ^none
^look:
  %place = llvm.getelementptr %places[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {_PLACE}
  %after = llvm.add %k, %one : i64
  %swapped = llvm.cmpxchg %place, %zero, %one acq_rel monotonic : !llvm.ptr, i64
  %done = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %done, ^got, ^next(%after : i64)
^got:
  llvm.return %place : !llvm.ptr
^none:
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.func internal @ragged_open_place(%place: !llvm.ptr, %helpers: i64) {{
  {_LOAD_STATE}
  {_constants(one=1, half=32)}
  {_constants("i32", again=1, none=0)}
  %seats = llvm.shl %helpers, %half : i64
  %gate = llvm.add %seats, %one : i64
  llvm.store %gate, %place atomic release {_ATOMIC} : i64, !llvm.ptr
  %before = llvm.atomicrmw add %openedp, %again seq_cst : !llvm.ptr, i32
  %sleepers = llvm.load %sleepersp atomic seq_cst {{alignment = 4 : i64}} : !llvm.ptr -> i32
  %some = llvm.icmp "sgt" %sleepers, %none : i32
  llvm.cond_br %some, ^wake, ^out
^wake:
  llvm.call @ragged_wake(%openedp, %helpers) : (!llvm.ptr, i64) -> ()
  llvm.br ^out
^out:
  llvm.return
}}
// Lets nobody in any more, and waits until all have gone.
llvm.func internal @ragged_close_place(%gate: !llvm.ptr) {{
  {_constants(one=1, low=2**32 - 1, count=_WAITS - 1, waits=_WAITS, spin=_SPIN)}
  %closed = llvm.atomicrmw _and %gate, %low acq_rel : !llvm.ptr, i64
  %inside = llvm.and %closed, %low : i64
  %alone = llvm.icmp "eq" %inside, %one : i64
  llvm.cond_br %alone, ^out, ^wait
^wait:
  %since = llvm.call @ragged_now() : () -> i64
  llvm.br ^look
^look:
  %now = llvm.call @ragged_now() : () -> i64
  %seen = llvm.load %gate atomic acquire {_ATOMIC} : !llvm.ptr -> i64
  %left = llvm.and %seen, %count : i64
  %done = llvm.icmp "eq" %left, %one : i64
  llvm.cond_br %done, ^out, ^long
^long:
  %waited = llvm.sub %now, %since : i64
  %short = llvm.icmp "slt" %waited, %spin : i64
  llvm.cond_br %short, ^look, ^say
^say:
  %said = llvm.or %seen, %waits : i64
  %swapped = llvm.cmpxchg %gate, %seen, %said acq_rel monotonic : !llvm.ptr, i64
  %still = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %still, ^sleep, ^look
^sleep:
  %word = llvm.trunc %said : i64 to i32
  llvm.call @ragged_sleep(%gate, %word) : (!llvm.ptr, i32) -> ()
  llvm.br ^look
^out:
  llvm.return
}}
llvm.func @{SHARE}(%f: !llvm.ptr, %c: !llvm.ptr, %n: i64, %work: i64, %threads: i64) {{
  {_LOAD_STATE}
  {_constants(zero=0, one=1, eight=8, tile=_TILE, most=MAX_THREADS)}
  %null = llvm.mlir.zero : !llvm.ptr
  %owned = llvm.call @ragged_own() : () -> i1
  llvm.cond_br %owned, ^choose, ^serial
^choose:
  %place = llvm.call @ragged_take_place() : () -> !llvm.ptr
  %none = llvm.icmp "eq" %place, %null : !llvm.ptr
  llvm.cond_br %none, ^serial, ^fill
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
  %full = llvm.sdiv %tile, %each : i64
  %least = llvm.intr.smin(%full, %piece) : (i64, i64) -> i64
  %k = llvm.intr.smax(%least, %one) : (i64, i64) -> i64
  llvm.store %f, %fp : !llvm.ptr, !llvm.ptr
  llvm.store %c, %cp : !llvm.ptr, !llvm.ptr
  llvm.store %n, %np : i64, !llvm.ptr
  llvm.store %k, %kp : i64, !llvm.ptr
  llvm.store %zero, %sizep : i64, !llvm.ptr
  llvm.store %zero, %nextp : i64, !llvm.ptr
  %made = llvm.load %madep atomic monotonic {_ATOMIC} : !llvm.ptr -> i64
  %lacking = llvm.icmp "slt" %made, %helpers : i64
  llvm.cond_br %lacking, ^start, ^open
^start:
  llvm.call @ragged_start(%helpers) : (i64) -> ()
  llvm.br ^open
^open:
  llvm.call @ragged_open_place(%place, %helpers) : (!llvm.ptr, i64) -> ()
  llvm.call @ragged_part(%place) : (!llvm.ptr) -> ()
  llvm.call @ragged_close_place(%place) : (!llvm.ptr) -> ()
  %size = llvm.load %sizep : !llvm.ptr -> i64
  llvm.store %zero, %place atomic release {_ATOMIC} : i64, !llvm.ptr
  %fine = llvm.icmp "eq" %size, %zero : i64
  llvm.cond_br %fine, ^return, ^failed
^failed:
  llvm.call @{FAIL}(%size) : (i64) -> ()
  llvm.unreachable
^return:
  llvm.return
}}
"""
