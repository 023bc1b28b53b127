"""Faults put into the PTX of real programs: each is reported, or shows in the results."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.ptx_faults import built, outcome
from support.ptx_text import kernel

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.errors import EmulatorError, RuntimeCheckError

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
WRONG = "wrong results"
ALIGNED = "expected an address aligned to"
BEYOND = "expected an access (to an|within) argument"
OUTSIDE = "expected an access to shared memory"
UNWRITTEN = "expected shared memory that the block has written"
ORDER = "expected accesses in a certain order"
GONE = "expected all threads of the block at barrier"
MASK = "with a mask that holds its lane"
BARRIER = r"\tbar\.sync \t0;\n"
SUM, CENTER = "segmented_sum", "segment_center"
# a program, what is looked for in its PTX (and replaced wherever it is), what comes in its place, what is found
FAULTS = {
    "alignment of shared memory 1": (SUM, r"\.shared \.align \d+", ".shared .align 1", ALIGNED),
    "alignment of shared memory 4": (SUM, r"\.shared \.align \d+", ".shared .align 4", ALIGNED),
    "no barriers": (SUM, BARRIER, "", f"{UNWRITTEN}|{ORDER}"),
    "barriers of half a block": (CENTER, BARRIER, "@%p1 bar.sync 0;\n", f"{GONE}|{UNWRITTEN}|{ORDER}"),
    "threads that leave early": (SUM, BARRIER, r"mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 5;\n@%p1 ret;\n"
                                "bar.sync 0;\n", GONE),
    "mask of shuffles": (SUM, r"(shfl\.sync.*), -1;", r"\1, 65535;", MASK),
    "mask of votes": (SUM, r"(vote\.sync.*), -1;", r"\1, 1;", MASK),
    "a parameter of 4 bytes": (SUM, r"\.param \.u64 (\w+_param_\d+)([,\n])", r".param .u32 \1\2",
                              "expected 4 bytes for"),
    "a parameter too few": (SUM, r"\t\.param \.u64 \w+_param_1,\n", "", r"expected \d+ arguments, got"),
    "a number for a pointer": (SUM, r"\.u64 \.ptr \.align 16", ".u64", "got ndarray"),
    "two pointers swapped": (CENTER, r"(\.ptr \.align 16) (\w+),(\s+\S+ \S+) (\.ptr \.align 16) (\w+)",
                              r"\1 \5,\3 \4 \2",
                              f"{WRONG}|{BEYOND}"),
    "offsets of half a word": (SUM, r"(shl\.b64 .*), 3;", r"\1, 2;", ALIGNED),
    "rows of another width": (SUM, r"(mad\.lo\.s64 .*), 24,", r"\1, 20,", f"{WRONG}|{ALIGNED}"),
    "loads beyond the end": (SUM, r"(ld\.global\.nc\S+ \t\S+), \[(%rd\d+)\]", r"\1, [\2+1048576]", BEYOND),
    "stores beyond the end": (SUM, r"(st\.global\S+ \t)\[(%rd\d+)\]", r"\1[\2+1048576]", BEYOND),
    "stores before the start": (CENTER, r"(st\.global\S+ \t)\[(%rd\d+)\]", r"\1[\2+-64]", f"{BEYOND}|{WRONG}"),
    "vectors a word off": (SUM, r"(ld\.global\.nc\.v\d\S+ \t\{[^}]*\}), \[(%rd\d+)\]", r"\1, [\2+4]", ALIGNED),
    "device memory never stored": (SUM, r"\t(?:@\S+ )?st\.global\S+ .*\n", "", "expected memory that was written"),
    "shared memory never stored": (SUM, r"\t(?:@\S+ )?st\.shared\S+ .*\n", "", UNWRITTEN),
    "shared memory beyond the end": (SUM, r"(ld\.shared\S+ \t.*)\[(%rd\d+)\]", r"\1[\2+65536]", OUTSIDE),
    "shared memory taken for global": (SUM, r"ld\.shared", "ld.global", BEYOND),
    "global memory taken for shared": (SUM, r"ld\.global\.nc", "ld.shared", OUTSIDE),
    "the number of the block for the thread's": (SUM, r"%tid\.x", "%ctaid.x", f"{ORDER}|{BEYOND}"),
    "blocks of at most 32": (SUM, r"\.maxntid \d+", ".maxntid 32", "expected a block of 1 to 32 threads"),
    "a bound that is one too far": (SUM, r"setp\.ge\.(s64|u64)", r"setp.gt.\1", f"{BEYOND}|{ORDER}|{WRONG}"),
    "differences for sums": (SUM, r"add\.f32", "sub.f32", WRONG),
    "branches the other way": (SUM, r"@(%p\d+) bra", r"@!\1 bra", f"expected|{WRONG}"),
    "a failed check not looked at": (SUM, r"setp\.ne\.b64 (.*), 0;", r"setp.eq.b64 \1, 0;", "expected|wrong"),
    "an instruction from the future": (SUM, BARRIER, "barrier.cluster.arrive;\n", "expected a PTX instruction"),
}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    name, pattern, replacement, expected = FAULTS[fault]
    text, count = re.subn(pattern, replacement, built(name).kernels)
    assert count, f"nothing to change in the PTX of {name}"
    try:
        found = outcome(name, text)
    except (EmulatorError, RuntimeCheckError) as error:
        got = str(error)
    else:
        got = "right results" if np.array_equal(found, outcome(name, built(name).kernels)) else WRONG
    assert re.search(expected, got), got


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [SUM, CENTER])
@pytest.mark.parametrize("strict", [True, False])
def test_without_a_fault_nothing_is_found(name: str, strict: bool) -> None:
    np.testing.assert_array_equal(outcome(name, built(name).kernels, strict), outcome(name, built(name).kernels))


# by hand: what these programs do not do -----------------------------------------------------------------


def refused(instruction: str, expected: str, block: int = 4, grid: int = 1) -> None:
    data = [np.zeros(1024, np.uint32), np.zeros(1024, np.uint32)]
    with pytest.raises(EmulatorError, match=expected):
        PtxExecutor(kernel(instruction, ["b32"], "b32")).launch("k", (grid, 1, 1), (block, 1, 1), data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shfl.sync.down.b32 %d, %a, 4, 31, 15", r"expected shfl.* to read an active lane, got lane [4-7]"),
        ("shfl.sync.idx.b32 %d, %a, 9, 31, 15", "to read an active lane, got lane 9, which is not in the block"),
        ("setp.eq.u32 %p1, %r20, 1;\n@%p1 ret;\nshfl.sync.bfly.b32 %d, %a, 1, 31, -1", "which has exited"),
        ("setp.eq.u32 %p1, %r20, 1;\n@%p1 bar.sync 0;\nbar.sync 0", "expected all threads of the block"),
        ("ld.global.b32 %d, [%rd20+2]", ALIGNED),
        ("ld.global.v2.b32 {%r8, %d}, [%rd20+4]", ALIGNED),
        ("mov.b64 %rd5, 0;\nld.global.b32 %d, [%rd5]", BEYOND),
        ("ld.shared.b32 %d, [%rd20]", OUTSIDE),
        ("ld.param.b32 %d, [k_param_0]", "expected a load of 64 bits of k_param_0"),
        ("st.global.b32 [%rd20], %a;\nld.global.nc.b32 %d, [%rd20]", "expected argument 0 not to change"),
        ("bar.sync 1, 64", "expected bar.sync 0, got bar.sync 1, 64"),
        ("mov.b64 %rd5, %rd20;\nst.global.b32 [%rd5+4], %a;\nmov.b32 %d, 0", ORDER),
    ],
)
def test_by_hand(text: str, expected: str) -> None:
    refused(text, expected)


def test_two_blocks_that_store_to_one_place() -> None:
    refused("mov.b32 %d, %ctaid.x", ORDER, grid=2)


def test_a_register_that_was_never_written_shows() -> None:
    data = [np.zeros(4, np.uint32), np.zeros(4, np.uint32)]
    PtxExecutor(kernel("mov.b32 %d, %r7", ["b32"], "b32")).launch("k", (1, 1, 1), (4, 1, 1), data)
    assert (data[1] == 0xA5A5A5A5).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".version 8.0\n.target sm_90\n.address_size 32\n", "expected PTX with .target and .address_size 64"),
        ("", "expected PTX with .target"),
        (f"{HEADER}.visible .entry k()\n{{\nret;\n", "expected } at the end of k"),
        (f"{HEADER}.func (.param .b64 r[1]) f(.reg .b64 x)\n{{\n", "expected a .param of a known type and size"),
        (f"{HEADER}.visible .func f()\n{{\nret;\n}}\n.func f()\n{{\n", "names of their own, got f twice"),
        (f"{HEADER}.tex .u32 t;\n", "expected PTX that the executor knows"),
        (f"{HEADER}.visible .entry k()\n{{\nret\n}}\n", "expected"),
        (f"{HEADER}.visible .entry k(.param .b8 x[3])\n{{\nret;\n}}\n", "expected a scalar parameter"),
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str, expected: str) -> None:
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        PtxExecutor(text)


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(EmulatorError, match="expected one of the kernels k, got other"):
        PtxExecutor(kernel("mov.b32 %d, %a", ["b32"], "b32")).launch("other", (1, 1, 1), (1, 1, 1), [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, "expected 4 bytes for .u32, got 8 bytes"),
        (7.0, "expected 4 bytes for .u32, got 8 bytes"),
        (True, "expected 4 bytes for .u32, got 1 bytes"),
        (np.int16(7), "expected 4 bytes for .u32, got 2 bytes"),
        ("7", "expected an argument that CuPy can pass, got str"),
        (np.zeros(1), "expected 4 bytes for .u32, got ndarray"),
    ],
)
def test_numbers_are_passed_as_cupy_packs_them(value: object, expected: str) -> None:
    text = f"{HEADER}.visible .entry k(.param .u32 x)\n{{\n.reg .b32 %r<2>;\nld.param.b32 %r1, [x];\nret;\n}}\n"
    PtxExecutor(text).launch("k", (1, 1, 1), (1, 1, 1), [np.int32(7)])
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        PtxExecutor(text).launch("k", (1, 1, 1), (1, 1, 1), [value])
