"""One small program per schedule of GPU kernels, for every element type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from support.schedules import schedules_in

from ragged_dialect.ptx import emit
from ragged_dialect.ptx.assembler import KernelReport, check

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
DTYPES = (*FLOATS, *INTEGERS)

_PARTITIONED = """
#l = #ragged.layout<"dr|d">
!flat = tensor<?x{width}x{t}>
!ragged = tensor<?x?x{width}x{t}, #l>
func.func @f(%values: !flat, %offsets: tensor<?xi64>{more}) -> {result} {{
  %zero = arith.constant {zero} : {t}
  %c0 = arith.constant 0 : index
  %x = ragged.partition %values, %offsets {{dim = 0}} : (!flat, tensor<?xi64>) -> !ragged
  %n = tensor.dim %x, %c0 : !ragged
{body}
}}
"""

_SCALE = """  %e = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x : !ragged) outs(%e : !ragged) {{
  ^bb0(%a: {t}, %b: {t}):
    %m = arith.mul{k} %a, %s : {t}
    %r = arith.add{k} %m, %a : {t}
    linalg.yield %r : {t}
  }} -> !ragged
  return %y : !ragged"""

_ROW_CENTER = """  %e = ragged.empty %x {{from = [[0, 0], [0, 1]]}} : (!ragged) -> !rows
  %i = linalg.fill ins(%zero : {t}) outs(%e : !rows) -> !rows
  %sum = linalg.reduce {{ arith.add{k} }} ins(%x : !ragged) outs(%i : !rows) dimensions = [2]
  %o = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {{indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x, %sum : !ragged, !rows) outs(%o : !ragged) {{
  ^bb0(%a: {t}, %b: {t}, %c: {t}):
    %r = arith.sub{k} %a, %b : {t}
    linalg.yield %r : {t}
  }} -> !ragged
  return %y : !ragged"""

_SEGMENT_CENTER = """  %e = tensor.empty(%n) : !flat
  %i = linalg.fill ins(%zero : {t}) outs(%e : !flat) -> !flat
  %sum = linalg.reduce {{ arith.add{k} }} ins(%x : !ragged) outs(%i : !flat) dimensions = [1]
  %o = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.generic {{indexing_maps = [#all, #features, #all], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x, %sum : !ragged, !flat) outs(%o : !ragged) {{
  ^bb0(%a: {t}, %b: {t}, %c: {t}):
    %r = arith.sub{k} %a, %b : {t}
    linalg.yield %r : {t}
  }} -> !ragged
  return %y : !ragged"""

_SEGMENTED_SUM = """  %e = tensor.empty(%n) : !flat
  %i = linalg.fill ins(%zero : {t}) outs(%e : !flat) -> !flat
  %sum = linalg.reduce {{ arith.add{k} }} ins(%x : !ragged) outs(%i : !flat) dimensions = [1]
  return %sum : !flat"""

_ROW_GATHER = """  %rows = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%rows) : !flat
  %y = linalg.generic {{indexing_maps = [#ids, #out], iterator_types = ["parallel", "parallel"]}}
      ins(%ids : tensor<?xi64>) outs(%e : !flat) {{
  ^bb0(%id: i64, %b: {t}):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %r = tensor.extract %values[%row, %column] : !flat
    linalg.yield %r : {t}
  }} -> !flat
  return %y : !flat"""

_FROM_PADDED = """
func.func @f(%padded: tensor<?x?x{width}x{t}>, %offsets: tensor<?xi64>)
    -> tensor<?x?x{width}x{t}, #ragged.layout<"dr|d">> {{
  %x = ragged.from_padded %padded, %offsets
      : (tensor<?x?x{width}x{t}>, tensor<?xi64>) -> tensor<?x?x{width}x{t}, #ragged.layout<"dr|d">>
  return %x : tensor<?x?x{width}x{t}, #ragged.layout<"dr|d">>
}}
"""

_PAIRS = """  %e = ragged.empty %x, %x {{from = [[0, 0], [0, 1], [1, 1]]}} : (!ragged, !ragged) -> !pairs
  %i = linalg.fill ins(%zero : {t}) outs(%e : !pairs) -> !pairs
  %y = linalg.generic {{indexing_maps = [#left, #right, #pair],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %x : !ragged, !ragged) outs(%i : !pairs) {{
  ^bb0(%a: {t}, %b: {t}, %c: {t}):
    %m = arith.mul{k} %a, %b : {t}
    %r = arith.add{k} %c, %m : {t}
    linalg.yield %r : {t}
  }} -> !pairs
  return %y : !pairs"""

_RECURRENCE = """
func.func @f(%x: tensor<?x{t}>, %s: {t}) -> tensor<?x{t}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant {zero} : {t}
  %n = tensor.dim %x, %c0 : tensor<?x{t}>
  %e = tensor.empty(%n) : tensor<?x{t}>
  %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %e, %last = %zero) -> (tensor<?x{t}>, {t}) {{
    %a = tensor.extract %x[%i] : tensor<?x{t}>
    %m = arith.mul{k} %last, %s : {t}
    %r = arith.add{k} %m, %a : {t}
    %next = tensor.insert %r into %out[%i] : tensor<?x{t}>
    scf.yield %next, %r : tensor<?x{t}>, {t}
  }}
  return %y#0 : tensor<?x{t}>
}}
"""

_NAMES = """
#all = affine_map<(b, i, d) -> (b, i, d)>
#rows = affine_map<(b, i, d) -> (b, i)>
#features = affine_map<(b, i, d) -> (b, d)>
#ids = affine_map<(i, d) -> (i)>
#out = affine_map<(i, d) -> (i, d)>
#left = affine_map<(b, i, j, d) -> (b, i, d)>
#right = affine_map<(b, i, j, d) -> (b, j, d)>
#pair = affine_map<(b, i, j, d) -> (b, i, j)>
!rows = tensor<?x?x{t}, #ragged.layout<"dr">>
!pairs = tensor<?x?x?x{t}, #ragged.layout<"drr">>
"""


@dataclass(frozen=True)
class ScheduleProgram:
    """A function `f` whose main kernel has a schedule. `body` stands in a function of values and
    offsets with the result `result` and the arguments `more`, or is the whole text without these."""

    schedule: str
    body: str
    result: str = ""
    more: str = ""

    def text(self, dtype: str, width: int = 64) -> str:
        """The program for an element type and a number of features."""
        kind, zero = ("f", "0.0") if dtype in FLOATS else ("i", "0")
        names = {"t": dtype, "k": kind, "zero": zero, "width": width}
        body = self.body.format(**names)
        if self.result:
            more = self.more.format(**names)
            body = _PARTITIONED.format(body=body, result=self.result, more=more, **names)
        return _NAMES.format(**names) + body


PROGRAMS = {
    "scale": ScheduleProgram("general", _SCALE, "!ragged", ", %s: {t}"),
    "row_center": ScheduleProgram("general", _ROW_CENTER, "!ragged"),
    "segment_center": ScheduleProgram("segment", _SEGMENT_CENTER, "!ragged"),
    "segmented_sum": ScheduleProgram("balanced", _SEGMENTED_SUM, "!flat"),
    "row_gather": ScheduleProgram("general", _ROW_GATHER, "!flat", ", %ids: tensor<?xi64>"),
    "from_padded": ScheduleProgram("balanced", _FROM_PADDED),
    "pairs": ScheduleProgram("general", _PAIRS, "!pairs"),
    "recurrence": ScheduleProgram("serial", _RECURRENCE),
}
"""Programs by name."""


@dataclass(frozen=True)
class Lowered:
    """Kernels as LLVM IR, and the schedule of every kernel by its name: `check` for those that compute no elements."""

    llvm_ir: str
    schedules: dict[str, str]


@cache
def lowered(name: str, dtype: str, width: int = 64, narrow: bool = False) -> Lowered:
    """A program's kernels, with 64-bit indices or (`narrow`) with 32-bit ones where they may have them."""
    from ragged_dialect.asm.module import load_module
    from ragged_dialect.dialect import context
    from ragged_dialect.ir.walk import find_ops, outermost
    from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, narrow_kernels_to_llvm
    from ragged_dialect.lowering.pipelines import gpu_pipeline

    module: Any = load_module(PROGRAMS[name].text(dtype, width), context(), name)
    named: list[str] = []
    for stage in gpu_pipeline():
        stage.run(module)
        if stage.name == "map":
            foralls = [f for op in module.body.operations for f in outermost(op, "scf.forall")]
            computes = [bool(find_ops(forall, "linalg.generic")) for forall in foralls]
            kinds = zip(schedules_in(str(module)), computes, strict=True)
            named = ["check" if kind == "general" and not some else kind for kind, some in kinds]
    llvm_ir = (narrow_kernels_to_llvm if narrow else kernels_to_llvm)(module)
    kernels = re.findall(r"^define ptx_kernel void @(\w+)\(", llvm_ir, re.M)
    return Lowered(llvm_ir, {kernel: named[int(kernel.split("_")[1])] for kernel in kernels})


@cache
def assembled(name: str, dtype: str, arch: str, width: int = 64, narrow: bool = False) -> dict[str, KernelReport]:
    """What ptxas makes of a program's kernels, by their names."""
    reports = check(emit(lowered(name, dtype, width, narrow).llvm_ir, arch), arch)
    return {report.name: report for report in reports}


def main_names(name: str, dtype: str, width: int = 64) -> set[str]:
    """The kernels of the last loop that has the program's schedule."""
    kinds, wanted = lowered(name, dtype, width).schedules, PROGRAMS[name].schedule
    last = max(int(kernel.split("_")[1]) for kernel, kind in kinds.items() if kind == wanted)
    return {kernel for kernel in kinds if int(kernel.split("_")[1]) == last}


def main_kernels(name: str, dtype: str, arch: str, width: int = 64) -> list[KernelReport]:
    """What ptxas makes of the main kernels of a program."""
    main = main_names(name, dtype, width)
    return [report for kernel, report in assembled(name, dtype, arch, width).items() if kernel in main]
