"""The order of short components: how many elements come before each one, all pairs of a component compared.

Loops over vectors without branches or memory of their own, for which a component of a few elements is a register.
"""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import TypeAlias

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.rows import component_lengths
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.ops.named_loops import NamedLoops
from ragged_dialect.arrays.ops.sorting.keys import KEYS
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, select
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes

_Term: TypeAlias = "Callable[[ir.Value, ir.Value, list[ir.Value]], ir.Value]"

PAIRS = 128
"""Pairs for each element up to which comparing them takes less time than sorting by digits. On one thread of a Zen 5
100 pairs take 8 ns in lists of float32, 13 of float64 and 8 among features, 200 pairs 14, 25 and 17, and digits 12, 18
and 8; without AVX-512 both take as long at 80, 64 and 60."""


def are_few(x: Tensor, dim: int, most: int = PAIRS) -> bool | ir.Value:
    """Whether there are so few pairs for each element along a dim, of all components together."""
    if x.layout.is_plain(dim):
        extent = x.extent(dim)
        return extent <= most if isinstance(extent, int) else build.at_most(extent, most)
    lengths = component_lengths(x, dim)

    def add(at: ir.Value, total: list[ir.Value]) -> list[ir.Value]:
        length = shapes.load(lengths, at)
        return [arith.addi(total[0], arith.muli(length, length))]

    pairs = flow.for_loop(shapes.dim(lengths, 0), [build.value(0)], add, "addi")[0]
    return build.at_most(pairs, build.mul(x.storage_sizes()[x.place(dim)[0]], most))


def by_ranks(keys: Tensor, dim: int) -> Tensor:
    """The indices along a dim that sort keys, int64; equal ones stay in order."""
    own = ascii_letters[: keys.ndim]
    other = own[:dim] + ascii_letters[keys.ndim] + own[dim + 1 :]
    loops = NamedLoops.of(keys.trace, [keys, keys], [own, other], own)
    dtype = KEYS[max(4, keys.dtype.itemsize)]  # counts in lanes as wide as the keys', or wide enough
    type_, zero = element_type(dtype), constant(dtype, 0)

    def total(given: list[tuple[Tensor, str]], term: _Term) -> Tensor:
        """Sums over the other elements of a component, as counts."""
        init = shapes.fill(zero, empty(loops.axes, loops.levels, dtype))
        out = (init, dtype, loops.axes, loops.numbers(own))

        def body(elements: list[ir.Value]) -> list[ir.Value]:
            at, there = (arith.index_cast(type_, loop_index(n)) for n in loops.numbers(own[dim] + other[dim]))
            return [arith.addi(elements[-1], term(at, there, elements[:-1]))]

        operands = [(one, loops.numbers(names)) for one, names in given]
        return compute(keys.trace, operands, [out], len(loops.loops), frozenset({len(loops.loops) - 1}), body)[0]

    def sooner(at: ir.Value, there: ir.Value, given: list[ir.Value]) -> ir.Value:
        own, other = given
        tied = arith.andi(compare("eq", other, own), compare("lt", there, at))
        return arith.extui(type_, arith.ori(compare("lt", other, own), tied))

    def place(at: ir.Value, there: ir.Value, given: list[ir.Value]) -> ir.Value:
        return select(compare("eq", given[0], at), there, zero)

    ranks = total([(keys, own), (keys, other)], sooner)
    return astype(total([(ranks, other)], place), dtype=INT64)
