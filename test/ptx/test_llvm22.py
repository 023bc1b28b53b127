"""Literals of LLVM 24 text as LLVM 22 reads them: bit-exact."""

from __future__ import annotations

import random
import re
from typing import Any

import llvmlite.binding as llvm
import pytest

from ragged_dialect.ptx import backend
from ragged_dialect.ptx.llvm22 import float_bits, to_llvm22

KINDS = {"f16": ("half", 16, 5), "bf16": ("bfloat", 16, 8), "f32": ("float", 32, 8), "f64": ("double", 64, 11)}


def patterns(kind: str, count: int) -> list[int]:
    """Bit patterns of a type: the ends of every range, and random ones."""
    _, width, exponent = KINDS[kind]
    mantissa = width - 1 - exponent
    infinity = ((1 << exponent) - 1) << mantissa
    ends = [
        0,
        1,
        (1 << mantissa) - 1,
        1 << mantissa,
        infinity - 1,
        infinity,
        infinity | 1,
        infinity | 1 << (mantissa - 1),
    ]
    made = random.Random(kind)
    positive = ends + [made.getrandbits(width - 1) for _ in range(count)]
    return positive + [bits | 1 << (width - 1) for bits in positive]


@pytest.mark.parametrize("kind", KINDS)
def test_constants_are_bit_exact(kind: str, mlir_context: Any) -> None:
    """Constants through MLIR's text and LLVM 22: what comes out is what went in."""
    from ragged_dialect._mlir import ir
    from ragged_dialect._mlir import llvm as dialect

    _, width, _ = KINDS[kind]
    wanted = patterns(kind, 400)
    digits = width // 4
    lines = [
        f"llvm.mlir.global external constant @g{k}(0x{bits:0{digits}X} : {kind}) : {kind}"
        for k, bits in enumerate(wanted)
    ]
    text = dialect.translate_module_to_llvmir(ir.Module.parse("\n".join(lines)).operation)
    assert read_back(to_llvm22(text), width) == wanted


def read_back(text: str, width: int) -> list[int]:
    """The bits of the globals g0, g1, … of LLVM IR, from the assembler's directives."""
    with backend.LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_triple("x86_64-linux-gnu").create_target_machine()
        assembly = machine.emit_assembly(backend.parse(text))
    found = re.findall(r"^g\d+:\n\s*\.(\w+)\s+(\S+)", assembly, re.M)
    return [0 if directive == "zero" else int(value, 0) % (1 << width) for directive, value in found]


@pytest.mark.parametrize(
    ("literal", "kind", "bits"),
    [
        ("1.000000e-01", "float", 0x3DCCCCCD),
        ("1.000000e-01", "double", 0x3FB999999999999A),
        ("1.000000e-01", "half", 0x2E66),
        ("1.000000e-01", "bfloat", 0x3DCD),
        ("-0.000000e+00", "float", 0x80000000),
        ("1.0e-45", "float", 1),
        ("-inf", "half", 0xFC00),
        ("+qnan", "bfloat", 0x7FC0),
        ("-nan(0x1)", "float", 0xFFC00001),
        ("+snan(0x1)", "float", 0x7F800001),
        ("f0x3F800000", "float", 0x3F800000),
        ("65520.0", "half", 0x7C00),  # a tie that rounds up to infinity
    ],
)
def test_bits(literal: str, kind: str, bits: int) -> None:
    assert float_bits(literal, kind) == bits


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  %1 = fadd float %0, 1.000000e-01", "  %1 = fadd float %0, 0x3FB99999A0000000"),
        ("  %1 = phi float [ -inf, %a ], [ %x, %b ]", "  %1 = phi float [ 0xFFF0000000000000, %a ], [ %x, %b ]"),
        ("  ret <2 x half> splat (half 1.0)", "  ret <2 x half> splat (half 0xH3C00)"),
        ('@s = constant [4 x i8] c"0.1 "', '@s = constant [4 x i8] c"0.1 "'),
        ("; float 0.1", "; float 0.1"),
        ("  call void @float(i32 1)", "  call void @float(i32 1)"),
        ("  %1 = fadd float %0, 0x3FB99999A0000000", "  %1 = fadd float %0, 0x3FB99999A0000000"),
    ],
)
def test_lines(line: str, expected: str) -> None:
    assert to_llvm22(line) == expected
    assert to_llvm22(expected) == expected


def test_literals_are_refused_without_the_conversion() -> None:
    """Why the conversion is there: LLVM 22 does not read what LLVM 24 prints."""
    with backend.LOCK, pytest.raises(RuntimeError, match="floating point constant invalid for type"):
        llvm.parse_assembly("define float @f() {\n  ret float 1.000000e-01\n}")
