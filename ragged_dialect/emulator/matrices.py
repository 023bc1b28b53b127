"""Matrix instructions of a warp, `mma.sync` and `ldmatrix`. Compiled, see `native.py`.

Where the elements of a matrix are among the lanes and their registers is said by the PTX ISA manual, 9.7.14.5.8 for
`mma.m16n8k16` and 9.7.14.5.15 for `ldmatrix`. In what order an `mma` adds up is not said there: here it follows the
order of the threads, and is any of several where that is random.
"""

from __future__ import annotations

from ragged_dialect.emulator.fibers import next_random, thread_at
from ragged_dialect.emulator.state import (
    FORWARD,
    MATRICES_TRANSPOSED,
    MULTIPLY_BFLOAT,
    REVERSE,
    State,
    Thread,
)
from ragged_dialect.emulator.words import load32, product32, store64, sum32

RESULT = Thread.offset("result")
A = Thread.offset("a0")
B = Thread.offset("b0")
C = Thread.offset("c0")
HALF_SCALE = 0x7780_0000
"""2^112: the exponents of f16 and f32 start that far apart."""


def widened(bits: int, kind: int) -> int:
    """The f32 that a bf16 or an f16 is."""
    bits &= 0xFFFF
    if kind == MULTIPLY_BFLOAT:
        return bits << 16
    sign = (bits & 0x8000) << 16
    magnitude = (bits & 0x7FFF) << 13
    if bits & 0x7C00 == 0x7C00:
        return sign | 0x7F80_0000 | magnitude
    return sign | product32(magnitude, HALF_SCALE)


def element(state: State, first: int, fragment: int, kind: int, lane: int, register: int, half: int) -> int:
    """One of the two elements in a register of a lane, as f32."""
    word = load32(thread_at(state, first + lane) + fragment + 8 * register)
    return widened(word >> 16 * half, kind)


def dot(state: State, first: int, kind: int, row: int, column: int, total: int, order: int) -> int:
    """A row of A times a column of B, and `total`: the products in one of 16 orders, before `total` or after it."""
    result = 0 if order & 16 else total
    for position in range(16):
        k = position ^ order & 15
        lane = k % 8 // 2
        a = element(state, first, A, kind, row % 8 * 4 + lane, row // 8 + 2 * (k // 8), k % 2)
        b = element(state, first, B, kind, column * 4 + lane, k // 8, k % 2)
        result = sum32(result, product32(a, b))
    return sum32(result, total) if order & 16 else result


def multiply(state: State, first: int, kind: int) -> None:
    """`mma.m16n8k16`: A is 16 x 16, B 16 x 8, C and the result 16 x 8."""
    order = 0
    if state.order == REVERSE:
        order = 31
    elif state.order != FORWARD:
        order = next_random(state) >> 32 & 31
    for lane in range(32):
        thread = thread_at(state, first + lane)
        for i in range(4):
            row = lane // 4 + 8 * (i // 2)
            column = lane % 4 * 2 + i % 2
            total = load32(thread + C + 8 * i)
            store64(thread + RESULT + 8 * i, dot(state, first, kind, row, column, total, order))


def load_matrices(state: State, first: int, kind: int) -> None:
    """`ldmatrix.x4` of 8 x 8 elements of 16 bits: eight lanes have the addresses of the rows of each matrix."""
    for lane in range(32):
        thread = thread_at(state, first + lane)
        for matrix in range(4):
            row = lane // 4
            column = lane % 4 * 2
            rows = first + 8 * matrix
            word = load32(Thread(thread_at(state, rows + row)).a + 2 * column)
            if kind == MATRICES_TRANSPOSED:
                low = load32(Thread(thread_at(state, rows + column)).a + 2 * (row & ~1))
                high = load32(Thread(thread_at(state, rows + column + 1)).a + 2 * (row & ~1))
                shift = 16 * (row & 1)
                word = low >> shift & 0xFFFF | (high >> shift & 0xFFFF) << 16
            store64(thread + RESULT + 8 * matrix, word)
