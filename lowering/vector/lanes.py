"""Vectors: their types, what is the same in all lanes, masks, lanes in other places, and vectors in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, vector
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed


def lanes_type(count: int, element: ir.Type) -> ir.VectorType:
    """A vector of elements."""
    return ir.VectorType.get([count], element)


def splat(value: ir.Value, count: int) -> ir.Value:
    """A vector of the same in all lanes."""
    return vector.broadcast(lanes_type(count, value.type), value)


def numbers_from(first: ir.Value, count: int) -> ir.Value:
    """A vector of numbers from one on."""
    return arith.addi(splat(first, count), vector.step(lanes_type(count, build.index_type())))


def first_lanes(left: Mixed, lanes: int) -> ir.Value:
    """A mask of the lanes that there are iterations for."""
    bits = lanes_type(lanes, ir.IntegerType.get_signless(1))
    return vector.create_mask(bits, [build.value(build.minimum(left, lanes))])


def last_lane(lanes: ir.Value) -> ir.Value:
    """The last element of a vector."""
    return vector.extract(lanes, [], [lanes.type.shape[0] - 1])


def moved_up(lanes: ir.Value, first: ir.Value, step: int) -> ir.Value:
    """A vector whose lanes are in places that are `step` higher, behind those of another one."""
    count = lanes.type.shape[0]
    return vector.shuffle(first, lanes, [*range(step), *range(count, 2 * count - step)])


def turned(lanes: ir.Value) -> ir.Value:
    """A vector from its last lane to its first one."""
    return vector.shuffle(lanes, lanes, list(reversed(range(lanes.type.shape[0]))))


def load_lanes(type_: ir.VectorType, buffer: ir.Value, at: Sequence[ir.Value], mask: ir.Value | None) -> ir.Value:
    """A vector from a place on; zeros in lanes that a mask leaves out."""
    if mask is None:
        return vector.load(type_, buffer, at)
    zeros = splat(build.constant(type_.element_type, 0), type_.shape[0])
    return vector.maskedload(type_, buffer, at, mask, zeros)


def store_lanes(value: ir.Value, buffer: ir.Value, at: Sequence[ir.Value], mask: ir.Value | None) -> None:
    """Write a vector from a place on, or the lanes of a mask."""
    if mask is None:
        vector.store(value, buffer, at)
    else:
        vector.maskedstore(buffer, at, mask, value)


def load_pieces(type_: ir.VectorType, buffer: ir.Value, at: Sequence[ir.Value], count: int) -> ir.Value:
    """As many first lanes of a vector as there are, zeros in others, by reads of powers of two."""
    made = splat(build.constant(type_.element_type, 0), type_.shape[0])
    for first, size in _pieces(count):
        place = [*at[:-1], build.add(at[-1], first)]
        made = vector.insert_strided_slice(
            vector.load(lanes_type(size, type_.element_type), buffer, place), made, [first], [1]
        )
    return made


def store_pieces(value: ir.Value, buffer: ir.Value, at: Sequence[ir.Value], count: int) -> None:
    """Write as many first lanes of a vector, by writes of powers of two."""
    for first, size in _pieces(count):
        vector.store(build.lanes_of(value, first, size), buffer, [*at[:-1], build.add(at[-1], first)])


def _pieces(count: int) -> list[tuple[int, int]]:
    sizes = [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]
    return [(sum(sizes[:k]), size) for k, size in enumerate(sizes)]


def number_of(mask: ir.Value) -> ir.Value:
    """How many lanes of a mask are true."""
    ones = arith.extui(lanes_type(mask.type.shape[0], build.i64()), mask)
    return build.to_index(vector.reduction(build.i64(), ir.Attribute.parse("#vector.kind<add>"), ones))
