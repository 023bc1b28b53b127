"""`mma`, `ldmatrix` and asynchronous copies, on LLVM IR and on PTX text, against tables of the PTX ISA manual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fragments import copying, launched, multiplied, place_in_a, place_in_b, place_in_c

from ragged_dialect.emulator import Emulator
from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx import emit

ENGINES = ["llvm", "ptx"]


def one_hot(shape: tuple[int, int]) -> np.ndarray:
    """For every element a matrix where it is 1 and the others are 0."""
    return np.eye(shape[0] * shape[1], dtype=np.float32).reshape(-1, *shape)


def numbered(shape: tuple[int, int], count: int) -> np.ndarray:
    """Matrices of different small numbers, which f16 and bf16 have."""
    numbers = np.arange(1, 1 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    return np.broadcast_to(numbers, (count, *shape))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_element_of_a_fragment_by_itself(engine: str, dtype: str) -> None:
    a, b, c = one_hot((16, 16)), one_hot((16, 8)), one_hot((16, 8))
    for left, right, added in (
        (a, numbered((16, 8), 256), np.zeros((256, 16, 8))),
        (numbered((16, 16), 128), b, np.zeros((128, 16, 8))),
        (np.zeros((128, 16, 16)), numbered((16, 8), 128), c),
    ):
        found = multiplied(engine, dtype, left, right, added)
        assert (found == left @ right + added).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("engine", ENGINES)
def test_sums_of_products_in_several_orders(engine: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-4, 5, (20, *shape)) for shape in ((16, 16), (16, 8), (16, 8)))
    x, y, z = (rng.standard_normal(whole.shape).astype(np.float32) / 3 for whole in (a, b, c))
    for order in ("forward", "reverse", "random"):
        assert (multiplied(engine, dtype, a, b, c, order) == a @ b + c).all()
    bits = {multiplied(engine, dtype, x, y, z, order).tobytes() for order in ("forward", "reverse", "random")}
    assert len(bits) == 3


def strided(number: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """An offset: the digits of a number, the first fastest, by strides."""
    offset = 0
    for extent, stride in zip(extents, strides, strict=True):
        offset += number % extent * stride
        number //= extent
    return offset


# By lane and element, the offset in a matrix whose columns lie one after the other: the same layouts as those of
# `support.fragments`, in the spelling of libraries of tiles. B is as its transpose, n x k.
STRIDES = {
    "a": (16, ((4, 8), (32, 1)), ((2, 2, 2), (16, 8, 128))),
    "b": (8, ((4, 8), (16, 1)), ((2, 2), (8, 64))),
    "c": (16, ((4, 8), (32, 1)), ((2, 2), (16, 8))),
}


def strided_place(name: str, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of a lane."""
    rows, lanes, elements = STRIDES[name]
    column, row = divmod(strided(lane, *lanes) + strided(i, *elements), rows)
    return (column, row) if name == "b" else (row, column)


@pytest.mark.parametrize(("name", "place", "count"), [("a", place_in_a, 8), ("b", place_in_b, 4), ("c", place_in_c, 4)])
def test_both_spellings_of_the_layouts_agree(name: str, place: Any, count: int) -> None:
    for lane in range(32):
        for i in range(count):
            assert strided_place(name, lane, i) == place(lane, i)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_product_lane_by_lane(engine: str, dtype: str) -> None:
    """Registers are filled, and results looked up, element by element: no layout of the emulator is used."""
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((16, 16), (16, 8), (16, 8)))
    registers = [np.zeros((1, 32, count), np.float32) for count in (8, 4, 4)]
    for name, matrix, held in zip("abc", (a, b, c), registers, strict=True):
        for lane in range(32):
            for i in range(held.shape[2]):
                held[0, lane, i] = matrix[strided_place(name, lane, i)]
    found = launched(engine, dtype, registers[0], registers[1], registers[2])
    for lane in range(32):
        for i in range(4):
            row, column = strided_place("c", lane, i)
            assert found[0, lane, i] == sum(a[row, k] * b[k, column] for k in range(16)) + c[row, column]


@pytest.mark.parametrize("engine", ENGINES)
def test_loads_of_matrices_are_fragments(engine: str) -> None:
    """What `ldmatrix` gives of the four quarters of A, rows first, is the fragment of A; turned, of those of B."""
    tiles = run(engine, copying("copy", "wait", "warp", "matrices", "store"))
    turned = run(engine, copying("copy", "wait", "warp", "transposed", "store"))
    numbers = np.arange(256).reshape(4, 8, 8)
    a = np.block([[numbers[0], numbers[2]], [numbers[1], numbers[3]]])
    b = np.concatenate([numbers[0], numbers[1]])
    for lane in range(32):
        assert tiles[lane].tolist() == [a[strided_place("a", lane, i)] for i in range(8)]
        assert turned[lane, :4].tolist() == [b[strided_place("b", lane, i)] for i in range(4)]


def run(engine: str, text: str, threads: int = 32, given: int = 16) -> np.ndarray:
    """The results of a kernel on 16 bytes a thread: as LLVM IR, or as the PTX that LLVM makes of it."""
    x = np.arange(threads * 8, dtype=np.uint16)
    made = np.zeros(threads * 8, np.uint16)
    launcher: Any = Emulator(text) if engine == "llvm" else PtxExecutor(emit(text, "sm_80"), strict=True)
    launcher.launch("k", (1, 1, 1), (threads, 1, 1), [x, made, np.int32(given)])
    return made.reshape(threads, 8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["matrices", "transposed"])
def test_loads_of_matrices(engine: str, name: str) -> None:
    """Element i of lane l is in row l / 4 and column 2 (l % 4) + i % 2 of matrix i / 2, or the other way round."""
    found = run(engine, copying("copy", "wait", "warp", name, "store"))
    rows = np.arange(256).reshape(4, 8, 8)
    matrices = rows if name == "matrices" else rows.transpose(0, 2, 1)
    for lane in range(32):
        assert found[lane].tolist() == [matrices[i // 2, lane // 4, 2 * (lane % 4) + i % 2] for i in range(8)]


@pytest.mark.parametrize("engine", ENGINES)
def test_copies(engine: str) -> None:
    sources = np.arange(256).reshape(32, 8)
    assert (run(engine, copying("copy", "commit", "wait 0", "read %to")) == sources).all()
    half = run(engine, copying("copy", "wait", "barrier", "read %there"), given=6)
    assert (half == np.where(np.arange(8) < 3, sources.reshape(16, 2, 8)[:, ::-1].reshape(32, 8), 0)).all()
    later = copying("copy", "commit", "commit", "wait 1", "read %to")
    assert (run(engine, later) == sources).all()
    assert (run(engine, copying("write %to", "copy", "commit")) == 0).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["copy", "commit", "read %to"], "asynchronous copy of thread .* was not waited for"),
        (["copy", "wait 0", "read %to"], "asynchronous copy of thread .* was not waited for"),
        (["copy", "commit", "wait 1", "read %to"], "asynchronous copy of thread .* was not waited for"),
        (["copy", "commit", "barrier", "read %there"], "asynchronous copy of thread .* was not waited for"),
        (["copy", "commit", "write %to", "wait 0"], "a store of 16 bytes .* asynchronous copy"),
        (["copy", "copy", "wait"], "a store of 16 bytes .* races with a store by an asynchronous copy"),
        (["copy", "wait", "read %there"], "races with a|shared memory that the block has written"),
        (["copy", "warp", "matrices", "store"], "asynchronous copy of thread .* was not waited for"),
        (["copy4", "wait", "warp", "matrices", "store"], "expected shared memory that the block has written"),
    ],
)
def test_what_is_missing_is_found(engine: str, lines: list[str], expected: str) -> None:
    with pytest.raises(EmulatorError, match=expected):
        run(engine, copying(*lines))


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_addresses_of_copies_and_matrices(engine: str) -> None:
    over = "%to2 = getelementptr i8, ptr addrspace(3) %to, i32 4092"
    odd = "%from2 = getelementptr i8, ptr addrspace(1) %from, i32 8"
    text = copying("copy", "wait", "warp", over, "matrices", "store")
    with pytest.raises(EmulatorError, match="expected an access"):
        run(engine, text.replace("b16.p3(ptr addrspace(3) %to)", "b16.p3(ptr addrspace(3) %to2)"))
    text = copying(odd, "copy", "wait")
    with pytest.raises(EmulatorError, match="expected an address aligned to 16 bytes, got a load of 8 bytes"):
        run(engine, text.replace("%from, i32 %given", "%from2, i32 %given"), given=8)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_lane_takes_part(engine: str) -> None:
    with pytest.raises(EmulatorError, match="lane 20, which is not in the block"):
        run(engine, copying("copy", "wait", "matrices", "store"), threads=20)
    branch = ["%some = icmp slt i32 %t, 8", "br i1 %some, label %in, label %end", "in:", "matrices", "store"]
    with pytest.raises(EmulatorError, match="lane 8, which has exited"):
        run(engine, copying("copy", "wait", "warp", *branch, "br label %end", "end:"))
    both = [*branch, "br label %end", "end:", "barrier"]
    with pytest.raises(EmulatorError, match="expected all threads"):
        run(engine, copying("copy", "wait", "warp", *both))


def test_too_many_copies_in_flight() -> None:
    start = "%to{0} = getelementptr i8, ptr addrspace(3) %to, i32 {1}"
    call = "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to{0}, ptr addrspace(1) %from)"
    lines = [text.format(k, 16 * k) for k in range(65) for text in (start, call)]
    with pytest.raises(EmulatorError, match="expected at most 64 asynchronous copies of a thread in flight"):
        run("llvm", copying(*lines), threads=1)
