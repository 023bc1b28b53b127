"""PTX that ptxas refuses, that the manual leaves undefined or that hardware traps on."""

from __future__ import annotations

import numpy as np
import pytest

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.errors import EmulatorError

HEAD = """.version 8.7
.target sm_90
.address_size 64
.shared .align 16 .b8 sm[{shared}];
.visible .entry k(.param .u64 .ptr .align 16 x0) {{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
ld.param.b64 %rd1,[x0]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r1,%tid.x;
mul.wide.u32 %rd3,%r1,4; add.s64 %rd4,%rd2,%rd3; mov.b64 %rd5,sm; add.s64 %rd6,%rd5,%rd3;
"""
UPPER = "st.shared.b32 [%rd6],%r1; setp.ge.u32 %p1,%r1,16;\n"
COPY = "cp.async.ca.shared.global [%rd6],[%rd4],4; cp.async.commit_group;"
DONE = "cp.async.wait_group 0; ld.shared.b32 %r3,[%rd6]; st.global.b32 [%rd4+2048],%r3;"


def launch(
    body: str, threads: int = 32, grid: tuple[int, int, int] = (1, 1, 1), end: str = "ret;", shared: int = 1024
) -> np.ndarray:
    """What a kernel of one argument, 4096 bytes, leaves there."""
    found = np.zeros(1024, np.uint32)
    text = f"{HEAD.format(shared=shared)}{body}\n{end}\n}}\n"
    PtxExecutor(text).launch("k", grid, (threads, 1, 1), [found])
    return found


FAULTS = {
    "a copy that reads more than it writes": (
        "mov.b32 %r9,20; cp.async.cg.shared.global [%rd5],[%rd2],16,%r9; cp.async.wait_all;",
        {"threads": 1},
        "expected an asynchronous copy of 16 bytes to read at most as many, got 20",
    ),
    "a copy of nothing from an address that is not aligned": (
        "cp.async.cg.shared.global [%rd5],[%rd2+4],16,0; cp.async.wait_all;",
        {"threads": 1},
        "expected an address aligned to 16 bytes, got a load of 0 bytes",
    ),
    "the source of a copy stored to before the wait": (
        f"{COPY} add.u32 %r4,%r1,7; st.global.b32 [%rd4],%r4; {DONE}",
        {},
        "expected what an asynchronous copy reads to stay as it is until its thread waits for it",
    ),
    "a label twice": (
        "A:\nst.global.b32 [%rd4],%r1;\nA:",
        {},
        "line 11: expected labels of different names, got A twice",
    ),
    "half of a warp": (
        f"{UPPER}@%p1 bra H;\nbar.warp.sync 0xffff; bra J;\nH:\nbar.warp.sync 0xffff0000;\nJ:\n",
        {},
        "of all lanes of the warp, got mask 0xffff",
    ),
    "lanes that are left of a warp": (f"{UPPER}@%p1 ret;\nbar.warp.sync 0xffff;", {}, "got mask 0xffff"),
    "the scope of a block for memory of all": (
        "atom.cta.global.add.u32 %r6,[%rd2],1;",
        {"grid": (2, 1, 1)},
        "expected a PTX instruction that the executor knows, got atom.cta.global.add.u32",
    ),
    "an address of shared memory as a generic one": (
        "st.b32 [%rd5],%r1;",
        {"threads": 1},
        "expected an access to an argument or to shared memory, got a store of 4 bytes at address",
    ),
    "a generic address as one of shared memory": (
        "cvta.shared.u64 %rd7,%rd5; st.shared.b32 [%rd7],%r1;",
        {"threads": 1},
        "expected an access to shared memory, got a store of 4 bytes at address",
    ),
    "more shared memory than there is": (
        "st.shared.b32 [%rd5],%r1;",
        {"threads": 1, "shared": 49156},
        "k: expected shared variables of at most 49152 bytes, got 49156",
    ),
    "no block": ("st.global.b32 [%rd4],%r1;", {"grid": (0, 1, 1)}, "kernel k: expected a grid of 1 block or more, got"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    body, options, text = FAULTS[name]
    with pytest.raises(EmulatorError) as error:
        launch(body, **options)
    assert text in str(error.value)


def test_names_are_given_once() -> None:
    text = HEAD.format(shared=16) + "ret;\n}\n"
    for name, twice in {
        "k": text + text.split("[16];")[1],
        "sm": text.replace(".shared", ".shared .align 4 .b8 sm[4];\n.shared", 1),
        "x0": text.replace("x0)", "x0, .param .u64 x0)"),
        "t": text.replace("ret;", "{.reg .b32 t; .reg .b64 t;}\nret;"),
    }.items():
        with pytest.raises(EmulatorError, match=f"of their own.*, got {name} twice"):
            PtxExecutor(twice)


def test_the_end_of_a_kernel_returns() -> None:
    np.testing.assert_array_equal(launch("st.global.b32 [%rd4],%r1;", end="")[:32], np.arange(32))
    launch("bra E;\nE:", end="")


def test_copies_and_addresses_of_shared_memory() -> None:
    """What the rules above let pass: sources that stay, or get the same numbers, and addresses that are converted."""
    found = launch(f"st.global.b32 [%rd4],%r1; {COPY} st.global.b32 [%rd4],%r1; {DONE}")
    np.testing.assert_array_equal(found[512:544], np.arange(32))
    generic = "cvta.shared.u64 %rd7,%rd6; st.b32 [%rd7],%r1; cvta.to.shared.u64 %rd8,%rd7; ld.shared.b32 %r3,[%rd8];"
    np.testing.assert_array_equal(launch(f"{generic} st.global.b32 [%rd4],%r3;")[:32], np.arange(32))
    order = "st.shared.b32 [%rd6],%r1; bar.warp.sync -1; xor.b32 %r2,%r1,1; mul.wide.u32 %rd7,%r2,4;"
    found = launch(f"{order} add.s64 %rd8,%rd5,%rd7; ld.shared.b32 %r3,[%rd8]; st.global.b32 [%rd4],%r3;")
    np.testing.assert_array_equal(found[:32], np.arange(32) ^ 1)


@pytest.mark.parametrize("threads", [7, 40])
def test_warps_that_are_not_full(threads: int) -> None:
    """All lanes that there are: of the last warp fewer."""
    mask = (1 << (threads % 32)) - 1
    last = f"setp.ge.u32 %p1,%r1,{threads // 32 * 32};\n@%p1 bra L;"
    launch(f"{last}\nbar.warp.sync -1; bra D;\nL:\nbar.warp.sync {mask};\nD:", threads=threads)
