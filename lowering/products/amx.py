"""AMX's tiles: registers of 16 rows of 64 bytes, 16 pairs of bf16 or 16 sums in f32."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, llvm, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock
from ragged_dialect.lowering.products.pairs import integer, vector_of

SQUARE = 16
"""Rows of a tile, and pairs of a row."""
ROW = 4 * SQUARE
"""Bytes of a row of a tile."""
BLOCK = 2
"""Tiles of rows, and of columns, of a block of sums: four sums wait for each other's latency of 52 cycles, of which an
instruction takes 16 (Intel's optimization manual, on Sapphire Rapids), and each tile that is loaded is used twice."""
_FREE = "tilerelease"


@dataclass(frozen=True)
class Tiles:
    """Where tiles are in memory: the first one's address, and bytes from a row to the next, from a tile of a block to
    the next, and from a step of sums to the next."""

    address: Mixed
    row: int
    tile: int
    step: int = 0


def words(rows: int) -> ir.Value:
    """Room for rows of tiles."""
    return RegisterBlock(SQUARE, SQUARE, SQUARE, integer(32)).scratch(rows)


def address(buffer: ir.Value) -> ir.Value:
    """Where a buffer without an offset is."""
    return memref.extract_aligned_pointer_as_index(buffer)


def shape() -> None:
    """What comes before all that uses tiles, which have one shape: `ldtilecfg` has that of each in 64 bytes."""
    memory = words(1)
    numbers = [1, 0, 0, 0, *[ROW << 16 | ROW] * 4, 0, 0, 0, 0, *[SQUARE * 0x01010101] * 2, 0, 0]
    type_ = vector_of(SQUARE, 32)
    elements = ir.DenseElementsAttr.get([ir.IntegerAttr.get(integer(32), x) for x in numbers], type_)
    vector.store(arith.constant(type_, elements), memory, [build.value(0)] * 2)
    _run(["ldtilecfg ($0)"], address(memory))


def free() -> None:
    """What comes behind it: a processor keeps tiles that are in use whenever it changes from one thread to another."""
    _run([_FREE])


def are_kept(op: ir.Operation) -> bool:
    """Whether tiles keep their shape all over an op: nothing in it is called, nor frees them."""
    freeing = [x for x in find_ops(op, "llvm.inline_asm") if x.attributes["asm_string"].value == _FREE]
    return not freeing and not find_ops(op, "func.call")


def multiply(left: Tiles, right: Tiles, steps: Mixed, sums: Tiles, rows: int, columns: int) -> None:
    """A block of sums, of so many tiles each way and of some steps of 16 pairs, to memory. Rows of the left side are
    those of sums, and pairs of the right side are along columns."""
    blocks = [(i, j, i * BLOCK + j) for i in range(rows) for j in range(columns)]
    places = [(i * sums.tile + j * ROW, number) for i, j, number in blocks]
    _run([f"tilezero %tmm{number}" for *_, number in blocks])
    loads = [f"tileloadd {i * left.tile}($0,$2,1), %tmm{4 + i}" for i in range(rows)]
    loads += [f"tileloadd {j * right.tile}($1,$3,1), %tmm{6 + j}" for j in range(columns)]
    dots = [f"tdpbf16ps %tmm{6 + j}, %tmm{4 + i}, %tmm{number}" for i, j, number in blocks]

    def step(k: ir.Value, _: list[ir.Value]) -> None:
        at = [build.add(x.address, build.mul(k, x.step)) for x in (left, right)]
        _run(loads + dots, *at, left.row, right.row)

    flow.for_loop(steps, [], step)
    _run([f"tilestored %tmm{number}, {at}($0,$1,1)" for at, number in places], sums.address, sums.row)


def _run(instructions: list[str], *operands: Mixed) -> None:
    """Instructions that read and write memory and tiles, which nothing else uses."""
    constraints = ",".join([*["r"] * len(operands), "~{memory}"])
    given = [build.to_i64(x) for x in operands]
    llvm.inline_asm(None, given, "\n".join(instructions), constraints, has_side_effects=True)
