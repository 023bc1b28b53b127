"""What NVIDIA's assembler makes of PTX: registers, spills, and figures of the machine code."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragged_dialect.errors import CompileError
from ragged_dialect.ptx.sass import Sass, sass_of
from ragged_dialect.ptx.targets import DEFAULT_ARCH, ptx_version
from ragged_dialect.ptx.tools import find_tool, require_tool

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class KernelReport:
    """What ptxas says about a kernel, in bytes except for `registers`, and its machine code's figures
    (None without nvdisasm). `warnings` are those of the whole file."""

    name: str
    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    warnings: tuple[str, ...]
    sass: Sass | None


def check(ptx: str, arch: str = DEFAULT_ARCH) -> list[KernelReport]:
    """Assemble PTX for an architecture and report on every kernel, in the order of ptxas.

    Raises CompileError when ptxas refuses the PTX, when there is no ptxas (the text says what to
    install), or for an unknown `arch`.
    """
    ptx_version(arch)
    ptxas = require_tool("ptxas")
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        done = _run(ptxas, "-v", f"-arch={arch}", source, "-o", cubin)
        if done.returncode:
            raise CompileError(f"expected PTX that ptxas assembles for {arch}: {_complaint(done.stderr, source)}")
        sass = _disassembled(cubin)
    return _reports(done.stderr, sass)


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def _complaint(stderr: str, source: Path) -> str:
    lines = [line.replace(f"{source}, ", "") for line in stderr.splitlines() if line.strip()]
    return "; ".join(lines[:5])


def _disassembled(cubin: Path) -> dict[str, Sass] | None:
    nvdisasm = find_tool("nvdisasm")
    if nvdisasm is None:
        return None
    done = _run(nvdisasm, "-c", cubin)
    if done.returncode:
        raise CompileError(f"expected a cubin that {nvdisasm} reads: {done.stderr.strip()}")
    return sass_of(done.stdout)


def _reports(log: str, sass: dict[str, Sass] | None) -> list[KernelReport]:
    warnings = tuple(line.strip() for line in log.splitlines() if "warning" in line.lower())
    starts = [*_ENTRY.finditer(log)]
    ends = [*(match.start() for match in starts[1:]), len(log)]
    reports: list[KernelReport] = []
    for start, end in zip(starts, ends, strict=True):
        name, part = start[1], log[start.end() : end]
        stack, stores, loads = _numbers(_FRAME, part, 3)
        [registers], [shared] = _numbers(_REGISTERS, part, 1), _numbers(_SHARED, part, 1)
        figures = None if sass is None else sass.get(name)
        reports.append(KernelReport(name, registers, stores, loads, stack, shared, warnings, figures))
    return reports


def _numbers(pattern: re.Pattern[str], text: str, count: int) -> Sequence[int]:
    match = pattern.search(text)
    return [0] * count if match is None else [int(group) for group in match.groups()]


def table(reports: Sequence[KernelReport]) -> str:
    """The reports as aligned text, one kernel a line, then the warnings."""
    header = ("kernel", "registers", "spills", "stack", "shared", "code", "loads", "stores", "local", "inner loops")
    rows = [header, *(_row(report) for report in reports)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    warnings = dict.fromkeys(warning for report in reports for warning in report.warnings)
    return "\n".join([*lines, *warnings]) + "\n"


def _row(report: KernelReport) -> tuple[str, ...]:
    spills = f"{report.spill_stores}/{report.spill_loads}"
    first = (report.name, str(report.registers), spills, str(report.stack), str(report.shared))
    sass = report.sass
    if sass is None:
        return (*first, *["-"] * 5)
    loops = " ".join(f"{loop.instructions}:{loop.loads}x{loop.widest}" for loop in sass.loops)
    widths = (_by_width(sass.loads), _by_width(sass.stores))
    return (*first, str(sass.instructions), *widths, str(sass.local), loops or "-")


def _by_width(counts: dict[int, int]) -> str:
    return " ".join(f"{count}x{width}" for width, count in counts.items()) or "-"
