"""What a program that shares no long components asks before it runs components, as LLVM dialect text."""

from __future__ import annotations

from ragged_dialect.lowering.runtime.llvm_text import branch, constants
from ragged_dialect.lowering.runtime.memory_runtime import fails
from ragged_dialect.runtime.callbacks import SKEWED

REFUSE = "ragged_refuse_skew"
"""`(i64 address, i64 stride, i64 count, i64 least)`: the running call fails with SKEWED where one of so many
components, whose i64 offsets begin at an address, has more than `least` rows and more than one in SHARES of all."""

SHARES = 16
"""A component of less than this part of all rows keeps no thread waiting for long: few machines have more cores."""

_AT = """%{name}_at = llvm.mul %{index}, %stride : i64
  %{name}_p = llvm.getelementptr %offsets[%{name}_at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %{name} = llvm.load %{name}_p : !llvm.ptr -> i64"""


def _at(name: str, index: str) -> str:
    return _AT.format(name=name, index=index)


SKEW = f"""
llvm.func @{REFUSE}(%address: i64, %stride: i64, %count: i64, %least: i64) attributes {{passthrough = ["nounwind"]}} {{
  {constants(zero=0, one=1, shares=SHARES, skewed=SKEWED)}
  %offsets = llvm.inttoptr %address : i64 to !llvm.ptr
  {_at("first", "zero")}
  {_at("end", "count")}
  %total = llvm.sub %end, %first : i64
  %share = llvm.udiv %total, %shares : i64
  %most = llvm.intr.smax(%least, %share) : (i64, i64) -> i64
  llvm.br ^place(%first : i64)
^place(%row: i64):  // a component of more rows than `most` has one of the rows that are so far apart
  {branch("looks = slt %row, %end : i64", "search", "out")}
^search:
  llvm.br ^halve(%zero, %count : i64, i64)
^halve(%low: i64, %high: i64):  // offsets[low] <= row < offsets[high]
  %size = llvm.sub %high, %low : i64
  {branch("more = sgt %size, %one : i64", "look", "found")}
^look:
  %half = llvm.lshr %size, %one : i64
  %middle = llvm.add %low, %half : i64
  {_at("start", "middle")}
  %before = llvm.icmp "sle" %start, %row : i64
  %lower = llvm.select %before, %middle, %low : i1, i64
  %upper = llvm.select %before, %high, %middle : i1, i64
  llvm.br ^halve(%lower, %upper : i64, i64)
^found:
  {_at("from", "low")}
  {_at("to", "high")}
  %length = llvm.sub %to, %from : i64
  %next = llvm.add %row, %most : i64
  %long = llvm.icmp "sgt" %length, %most : i64
  llvm.cond_br %long, ^refuse, ^place(%next : i64)
^refuse:
  {fails("skewed")}
^out:
  llvm.return
}}
"""
