"""Constants, arithmetic and comparisons of indices, folded where all is known.

`Mixed` is a Python int or an SSA value of type index; ints fold, so static sizes stay static.
Everything is created at the current insertion point and location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol, TypeAlias, cast, overload

from ragged_dialect._mlir import DYNAMIC, arith, ir, vector
from ragged_dialect.checks import HIGHEST

Mixed: TypeAlias = "int | ir.Value"


def split(items: Sequence[Mixed]) -> tuple[list[ir.Value], list[int]]:
    """What is no number among sizes, strides, …, as operands, and all of them as types and attributes have them."""
    return [x for x in items if not isinstance(x, int)], [x if isinstance(x, int) else DYNAMIC for x in items]


def joined(static: Iterable[int], values: Iterable[ir.Value]) -> list[Mixed]:
    """What `split` takes, of what it gives: sizes, strides, … as types and attributes have them, and operands."""
    left = iter(values)
    return [next(left) if x == DYNAMIC else x for x in static]


def i64() -> ir.Type:
    """The type of vector elements."""
    return ir.IntegerType.get_signless(64)


def index_type() -> ir.Type:
    """The index type."""
    return ir.IndexType.get()


def value(x: Mixed) -> ir.Value:
    """An SSA value of type index."""
    return arith.constant(index_type(), x) if isinstance(x, int) else x


def constant(type_: ir.Type, number: float | int) -> ir.Value:
    """A scalar constant."""
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        return arith.constant(type_, int(number))
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(number))).result


class _OfValues(Protocol):
    """What is a number of numbers alone, and a value where one is given."""

    @overload
    def __call__(self, a: int, b: int) -> int: ...
    @overload
    def __call__(self, a: ir.Value, b: Mixed) -> ir.Value: ...
    @overload
    def __call__(self, a: Mixed, b: ir.Value) -> ir.Value: ...
    @overload
    def __call__(self, a: Mixed, b: Mixed) -> Mixed: ...


def _of_values(function: Callable[[Mixed, Mixed], Mixed]) -> _OfValues:
    return cast("_OfValues", function)


@_of_values
def add(a: Mixed, b: Mixed) -> Mixed:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return arith.addi(value(a), value(b))


def add_unsigned(a: ir.Value, b: ir.Value) -> ir.Value:
    """a + b of unsigned indices, 2**64 - 1 where that is too large; in any grouping the same."""
    total = arith.addi(a, b)
    return arith.select(below(total, a), value(-1), total)


def capped(x: ir.Value) -> ir.Value:
    """An unsigned index, 2**63 - 1 where a signed one does not hold it."""
    return arith.select(less(x, 0), value(HIGHEST), x)


@overload
def sub(a: ir.Value, b: int) -> ir.Value: ...
@overload
def sub(a: int, b: ir.Value) -> ir.Value: ...
@overload
def sub(a: Mixed, b: Mixed) -> Mixed: ...
def sub(a: Mixed, b: Mixed) -> Mixed:
    """a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return 0 if a is b else arith.subi(value(a), value(b))


@overload
def mul(a: ir.Value, b: ir.Value) -> ir.Value: ...
@overload
def mul(a: Mixed, b: Mixed) -> Mixed: ...
def mul(a: Mixed, b: Mixed) -> Mixed:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int) and x == 1:
            return y
        if isinstance(x, int) and x == 0:
            return 0
    return arith.muli(value(a), value(b))


def product(factors: Iterable[Mixed]) -> Mixed:
    """The product of some factors, 1 of none."""
    return reduce(mul, factors, 1)


@_of_values
def minimum(a: Mixed, b: Mixed) -> Mixed:
    """The smaller of two indices."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return arith.minsi(value(a), value(b))


@_of_values
def maximum(a: Mixed, b: Mixed) -> Mixed:
    """The larger of two indices."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return arith.maxsi(value(a), value(b))


@_of_values
def ceildiv(a: Mixed, b: Mixed) -> Mixed:
    """ceil(a / b) for a >= 0 and b >= 1."""
    return divide(add(a, sub(b, 1)) if isinstance(b, int) else sub(add(a, b), 1), b)


@_of_values
def divide(a: Mixed, b: Mixed) -> Mixed:
    """a / b where it divides; b above 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if isinstance(b, int) and b == 1 else arith.divui(value(a), value(b))


def remainder(a: ir.Value, b: Mixed) -> Mixed:
    """What a division of unsigned indices leaves; b above 0."""
    return 0 if isinstance(b, int) and b == 1 else arith.remui(a, value(b))


def digits(number: ir.Value, sizes: Sequence[Mixed]) -> list[Mixed]:
    """The index tuple of a place among all tuples of some sizes above 0, of which the first one does not count."""
    rest: Mixed = number
    found: list[Mixed] = []
    for size in reversed(sizes[1:]):
        outer = divide(rest, size)
        found.insert(0, sub(rest, mul(outer, size)))
        rest = outer
    return [rest, *found]


def to_index(x: ir.Value) -> ir.Value:
    """An integer of any width as index."""
    return x if isinstance(x.type, ir.IndexType) else arith.index_cast(index_type(), x)


def to_i64(x: Mixed) -> ir.Value:
    """An index as i64; what is one stays."""
    made = value(x)
    return made if made.type == i64() else arith.index_cast(i64(), made)


def _comparison(predicate: Any) -> Callable[[Mixed, Mixed], ir.Value]:
    def compare(a: Mixed, b: Mixed) -> ir.Value:
        type_ = next((x.type for x in (a, b) if not isinstance(x, int)), index_type())
        return arith.cmpi(predicate, *(constant(type_, x) if isinstance(x, int) else x for x in (a, b)))

    return compare


equal = _comparison(arith.CmpIPredicate.eq)
"""a == b, of integers of one type or vectors of such, as i1; Python ints are of the other's."""

unequal = _comparison(arith.CmpIPredicate.ne)
"""a != b."""

less = _comparison(arith.CmpIPredicate.slt)
"""a < b, signed."""

at_most = _comparison(arith.CmpIPredicate.sle)
"""a <= b, signed."""

more = _comparison(arith.CmpIPredicate.sgt)
"""a > b, signed."""

at_least = _comparison(arith.CmpIPredicate.sge)
"""a >= b, signed."""

below = _comparison(arith.CmpIPredicate.ult)
"""a < b, unsigned."""

not_below = _comparison(arith.CmpIPredicate.uge)
"""a >= b, unsigned."""

above = _comparison(arith.CmpIPredicate.ugt)
"""a > b, unsigned."""


def made(name: str, type_: ir.Type, *operands: ir.Value, **attributes: str) -> ir.Value:
    """The result of an op of a name, of attributes as text."""
    parsed = {key: ir.Attribute.parse(text) for key, text in attributes.items()}
    return ir.Operation.create(name, results=[type_], operands=operands, attributes=parsed).result


def lanes_of(value: ir.Value, start: int, size: int) -> ir.Value:
    """So many lanes of a vector from one on."""
    type_ = ir.VectorType.get([size], value.type.element_type)
    return vector.extract_strided_slice(type_, value, [start], [size], [1])


def stand_in(type_: ir.Type, *operands: ir.Value) -> ir.Value:
    """What stands for a value of a type, maybe one made of others, until that is there: its op is erased then."""
    return made("builtin.unrealized_conversion_cast", type_, *operands)


def folded(value: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """The lanes of a vector, of which there are a power of two, folded as a tree: halves with each other."""
    count = value.type.shape[0]
    while count > 1:
        count //= 2
        value = combine(lanes_of(value, 0, count), lanes_of(value, count, count))
    return vector.extract(value, [], [0])


def intrinsic(name: str, *operands: ir.Value) -> ir.Value:
    """The result of an intrinsic of LLVM, of the type of its first operand."""
    sizes = {"operandSegmentSizes": f"array<i32: {len(operands)}, 0>", "op_bundle_sizes": "array<i32>"}
    return made("llvm.call_intrinsic", operands[0].type, *operands, intrin=f'"{name}"', **sizes)
