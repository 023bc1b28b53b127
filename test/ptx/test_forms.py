"""The forms of instructions that the executor knows, against ptxas: it takes nothing that ptxas does not assemble."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.ptx_spellings import module, refused, register, spellings

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.emulator.ptx.forms import Form, Found
from ragged_dialect.emulator.ptx.instructions import FORMS
from ragged_dialect.emulator.ptx.syntax import Instruction, Label, parse
from ragged_dialect.emulator.ptx.translation import translate_kernel
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.targets import PTX_VERSIONS

NEWEST = "9.0"
ALL = list({id(form): form for forms in FORMS.values() for form in forms}.values())


def taken(statements: list[str], target: str, version: str) -> list[str]:
    """The statements that the executor translates."""
    read = parse(module(statements, target, version))
    kernel = read.kernels[0]
    instructions = [found for found in kernel.body if isinstance(found, Instruction)][: len(statements)]
    found = list[str]()
    for statement, instruction in zip(statements, instructions, strict=True):
        try:
            translate_kernel(read, replace(kernel, body=[Label("L0"), instruction]))
        except EmulatorError:
            continue
        found.append(statement)
    return found


def first_version(target: str) -> str:
    return str(PTX_VERSIONS[target] / 10)


def statements_of(form: Form, names: Iterable[str]) -> Iterator[str]:
    """Instructions of a form, with registers of the types that it says."""
    for name in names:
        found = Found(Instruction(0, "", name, ()), form)
        yield f"{name} {', '.join(operand_of(found, position) for position in range(len(form.operands)))};"


def operand_of(found: Found, position: int) -> str:
    operand = found.form.operands[position]
    fixed = {"sreg": "%tid.y", "avar": "variable", "label": "L0", "n": "3"}.get(operand.name)
    fixed = operand.name if operand.name.isdigit() else fixed
    if operand.bracket == "[":
        return f"[k_param_{found.type.bits}]" if found.has("param") else "[%rd9]"
    if fixed:
        return fixed
    registers = [register(found.kind(position).name, 8 * position % 7 + k) for k in range(found.elements(position))]
    return f"{{{', '.join(registers)}}}" if operand.bracket else registers[0] + ("|%p7" if operand.pair else "")


TARGETS = [(target, version) for target in ("sm_80", "sm_90", "sm_100", "sm_120") for version in ("", NEWEST)]


@pytest.mark.ptx
@pytest.mark.parametrize(
    ("target", "version", "every"),
    [("sm_100", "", 97), *(pytest.param(*row, 1, marks=pytest.mark.slow) for row in TARGETS)],
)
def test_nothing_is_taken_that_ptxas_refuses(target: str, version: str, every: int, tmp_path: Path) -> None:
    version = version or first_version(target)
    found = taken(spellings()[::every], target, version)
    assert len(found) * every > 4000
    assert refused(found, target, version, tmp_path) == {}


@pytest.mark.ptx
@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_every_form_is_there_from_its_target_and_version_on(every: int, tmp_path: Path) -> None:
    for target, version in sorted({(form.target, form.version) for form in ALL}):
        forms = [form for form in ALL if (form.target, form.version) == (target, version)]
        made = [line for form in forms for line in statements_of(form, form.names()[::every])]
        least = max(str(version / 10), first_version(f"sm_{target}"))
        assert refused(made, f"sm_{target}", least, tmp_path) == {}
        assert taken(made, f"sm_{target}", least) == made


@pytest.mark.ptx
def test_no_form_is_there_before(tmp_path: Path) -> None:
    for target, before in ((90, "sm_89"), (100, "sm_90")):
        made = [line for form in ALL if form.target == target for line in statements_of(form, form.names())]
        assert taken(made, before, NEWEST) == []
        assert sorted(refused(made, before, NEWEST, tmp_path)) == sorted(made)


@pytest.mark.parametrize(
    ("header", "text", "expected"),
    [
        ("8.7 sm_100", "add.sat.f32x2 %rd1, %rd2, %rd3;", "line 26: expected a PTX instruction that the exec"),
        ("7.8 sm_90", "add.f32x2 %rd1, %rd2, %rd3;", "expected .target sm_100 or newer for add.f32x2, got sm_90"),
        ("7.0 sm_80", "cvt.f32.bf16 %r1, %rs2;", "expected .version 7.1 or newer for cvt.f32.bf16, got 7.0"),
        ("7.0 sm_80", "add.s32 %r1, %r2;", r"expected add\|sub\.\S+ d, a, b, got add.s32 %r1, %r2"),
        ("7.0 sm_80", "add.s32 %r1, %r2, %rd3;", "expected %rd3 to be a register for .s32, got one of .b64"),
        ("7.0 sm_80", "add.s32 %r1, %f2, 1;", "expected %f2 to be a register for .s32, got one of .f32"),
        ("7.0 sm_80", "add.f32 %r1, %r2, 1;", "expected a number for .f32, got 1"),
        ("7.0 sm_80", "mov.b64 %rd1, other;", "expected the name of a variable, got other"),
        ("7.0 sm_90", "ret;", "expected .version 7.8 or newer for sm_90, got 7.0"),
        ("9.0 sm_75", "ret;", "expected a .target among sm_80, .*, got sm_75"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(header: str, text: str, expected: str) -> None:
    version, target = header.split()
    parameters = [np.dtype(f"i{size}").type(0) for size in (1, 2, 4, 8)]
    with pytest.raises(EmulatorError, match=expected):
        PtxExecutor(module([text], target, version)).launch("k", (1, 1, 1), (1, 1, 1), parameters)
