"""The machine code of every schedule: nothing spilled, registers within limits, wide accesses, and the
length of the main loops."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.schedule_programs import DTYPES, PROGRAMS, assembled, lowered, main_kernels, main_names
from support.softmax_programs import MIXED, softmax_of

from conftest import ROOT
from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.lowering.gpu.schedules import OWN
from ragged_dialect.ptx.assembler import KernelReport, check
from ragged_dialect.ptx.sass import Loop
from ragged_dialect.ptx.targets import PTX_VERSIONS
from ragged_dialect.ptx.tools import find_tool

ARCHS = ("sm_80", "sm_90", "sm_100")
QUICK = ("f32", "sm_90")

ODD = (6, 33)
"""Numbers of features that no access of 16 bytes divides."""

SPILLED = 4
"""Bytes that a softmax of two element types spills at most (docs/ptx.md)."""

REGISTERS = {"segment": 80, "balanced": 80, "general": 80, "serial": 40, "check": 80}
"""The most a kernel of a schedule may take: 1024 threads fit on a multiprocessor, of balanced 768."""

OWN_REGISTERS = {"scale": 64, "row_gather": 64, "row_center": 80}
"""The most for the main kernels of programs on tiles, whatever the elements."""

LONG_REGISTERS = {"segment": 128, "general": 128, "balanced": 128, "check": 128}
"""The most where a reduction has elements of 64 bits: 512 threads fit."""

DIVISIONS = {"balanced": 3}
"""Divisions by an i64 that is not constant, which ptxas has a function for; one per kernel start each."""

WIDE = tuple(name for name in PROGRAMS if name not in ("pairs", "recurrence"))
"""Programs that access 16 bytes at a time where features are static."""

LOOPING = ("row_center", "segment_center", "segmented_sum")
"""Programs whose work is in innermost loops. In maps of rows these search for components."""

SEGMENTED_SUM_ARCHS = [pytest.param(a, marks=() if a == "sm_90" else pytest.mark.slow) for a in ARCHS]

PEERS = {"sm_80": 42 / 4, "sm_90": 118 / 16, "sm_100": 63 / 8}
"""Instructions per 16 bytes loaded in the main loop of a segmented sum of f32 by hand: the less of what
nvcc 13.0 and Triton 3.9 make of it."""

pytestmark = pytest.mark.ptx


def cases(names: list[str]) -> list[Any]:
    """Program, element type, architecture; all but one per program are slow."""
    return [
        pytest.param(name, dtype, arch, marks=() if (dtype, arch) == QUICK else pytest.mark.slow)
        for name in names
        for dtype in DTYPES
        for arch in ARCHS
    ]


def main_loop(report: KernelReport) -> Loop:
    """The innermost loop that loads most."""
    assert report.sass is not None
    return max(report.sass.loops, key=lambda loop: loop.bytes)


@pytest.fixture(autouse=True)
def disassembler() -> None:
    """Most of the figures are of the machine code."""
    if find_tool("nvdisasm") is None:
        pytest.skip("no nvdisasm")


def test_every_schedule_has_a_program() -> None:
    own = {"contract"}  # test/gpu/test_schedule_contract.py: of short floats only
    assert {program.schedule for program in PROGRAMS.values()} | own >= set(OWN)
    assert set(REGISTERS) == {program.schedule for program in PROGRAMS.values()} | {"check"}


@pytest.mark.parametrize(("name", "dtype", "arch"), cases(list(PROGRAMS)))
class TestEveryKernel:
    """What holds for the kernels of every program."""

    @pytest.mark.sampled(24)
    def test_schedule(self, name: str, dtype: str, arch: str) -> None:
        assert PROGRAMS[name].schedule in lowered(name, dtype).schedules.values()
        assert assembled(name, dtype, arch).keys() == lowered(name, dtype).schedules.keys()

    @pytest.mark.sampled(5)
    def test_no_calls_no_fences_no_warnings(self, name: str, dtype: str, arch: str) -> None:
        kinds = lowered(name, dtype).schedules
        for kernel, report in assembled(name, dtype, arch).items():
            assert report.warnings == ()
            assert report.sass is not None
            assert report.sass.calls <= DIVISIONS.get(kinds[kernel], 0), kernel
            assert report.sass.fences == 0, kernel

    @pytest.mark.sampled(6)
    def test_registers(self, name: str, dtype: str, arch: str) -> None:
        kinds = lowered(name, dtype).schedules
        for kernel, report in assembled(name, dtype, arch).items():
            kind = kinds[kernel]
            most = LONG_REGISTERS.get(kind, REGISTERS[kind]) if dtype in ("f64", "i64") else REGISTERS[kind]
            if kernel in main_names(name, dtype):
                most = OWN_REGISTERS.get(name, most)
            assert report.registers <= most, (kernel, kind)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("width", [64, *(pytest.param(width, marks=pytest.mark.slow) for width in ODD)])
@pytest.mark.parametrize(("name", "dtype", "arch"), cases(list(PROGRAMS)))
def test_nothing_is_spilled(name: str, dtype: str, arch: str, width: int) -> None:
    for narrow in (False, True):
        for kernel, report in assembled(name, dtype, arch, width, narrow).items():
            assert (report.spill_stores, report.spill_loads, report.stack) == (0, 0, 0), kernel
            assert report.warnings == (), kernel
            assert report.sass is not None
            assert report.sass.local == 0, kernel


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("width", [6, 64, 100])
@pytest.mark.parametrize(("given", "made"), MIXED)
def test_mixed_types_spill_what_is_listed(given: str, made: str, width: int, arch: str) -> None:
    for narrow in (False, True):
        program = device_program(load_program(softmax_of(given, made, width)), KernelOptions(narrow=narrow, arch=arch))
        for report in check(program.kernels, arch):
            most = SPILLED if (width, arch, narrow) == (64, "sm_100", True) else 0
            assert max(report.spill_stores, report.spill_loads) <= most, report.name
            assert report.warnings == (), report.name


@pytest.mark.slow
@pytest.mark.parametrize("arch", sorted(PTX_VERSIONS))
@pytest.mark.parametrize("path", sorted(ROOT.glob("benchmarks/gpu/*.mlir")), ids=lambda path: path.stem)
def test_no_architecture_spills(path: Path, arch: str) -> None:
    for narrow in (False, True):
        program = device_program(load_program(path), KernelOptions(narrow=narrow, arch=arch))
        for report in check(program.kernels, arch):
            assert (report.spill_stores, report.spill_loads, report.stack) == (0, 0, 0), report.name
            assert report.warnings == (), report.name


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "dtype", "arch"), cases(list(WIDE)))
def test_wide_accesses(name: str, dtype: str, arch: str) -> None:
    """Somewhere in the kernels of the schedule, which of a tile that is whole may be no loop."""
    figures = [report.sass for report in main_kernels(name, dtype, arch)]
    width = widest(name, dtype)
    assert any(sass is not None and sass.loads.get(width) and sass.stores.get(width) for sass in figures)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "dtype", "arch"), cases(list(LOOPING)))
def test_main_loops_are_wide(name: str, dtype: str, arch: str) -> None:
    """They load little else: a scalar that belongs to a row."""
    for report in main_kernels(name, dtype, arch):
        loop = main_loop(report)
        assert loop.widest == widest(name, dtype), report.name
        assert loop.bytes * 8 > loop.loads * loop.widest / 2, report.name


def widest(name: str, dtype: str) -> int:
    """Bits of an access; of i8, whose columns a thread sums each in a register, eight elements."""
    return 64 if dtype == "i8" and name == "segmented_sum" else 128


FEW_FEATURES = [
    ("row_center", "f16", 4, 64),
    ("row_center", "i8", 24, 64),
    ("segment_center", "f32", 6, 64),
    ("segment_center", "f32", 5, 32),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "dtype", "width", "bits"), FEW_FEATURES)
def test_rows_that_16_bytes_do_not_divide(name: str, dtype: str, width: int, bits: int) -> None:
    """Accesses are as wide as divides a row."""
    for report in main_kernels(name, dtype, "sm_90", width):
        assert report.sass is not None
        assert bits in report.sass.stores
        assert (report.spill_stores, report.stack) == (0, 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "width"), [("segment_center", 40), ("segmented_sum", 24)])
def test_rows_of_odd_lanes_do_not_spill(name: str, width: int) -> None:
    """Tens of threads hold parts of the same sums, eight each."""
    for report in main_kernels(name, "f16", "sm_90", width):
        assert (report.spill_stores, report.stack) == (0, 0)


@pytest.mark.parametrize("arch", SEGMENTED_SUM_ARCHS)
def test_segmented_sum_is_as_short_as_by_hand(arch: str) -> None:
    assert per_16_bytes(main_kernels("segmented_sum", "f32", arch)) <= PEERS[arch]


@pytest.mark.parametrize("arch", SEGMENTED_SUM_ARCHS)
def test_segmented_sum_against_nvcc(arch: str, root: Path, tmp_path: Path) -> None:
    """Both through the same ptxas."""
    nvcc = find_tool("nvcc")
    if nvcc is None or shutil.which("c++") is None:
        pytest.skip("no nvcc, or no C++ compiler for it")
    ptx = tmp_path / "by_hand.ptx"
    source = root / "benchmarks" / "gpu" / "segmented_sum.cu"
    command = [nvcc, "-O3", f"-arch={arch.replace('sm', 'compute')}", "-ptx", source, "-o", ptx]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    by_hand = per_16_bytes(check(ptx.read_text(), arch))
    assert per_16_bytes(main_kernels("segmented_sum", "f32", arch)) <= by_hand


def per_16_bytes(reports: list[KernelReport]) -> float:
    """Instructions of the main loops per 16 bytes that they load: of the kernel where it is most."""
    loops = [main_loop(report) for report in reports]
    return max(loop.instructions * 16 / loop.bytes for loop in loops)
