"""Questions that patterns ask: who defines a value, what shape it has, which constant it is.

Casts that only change static extents are looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import TypeVar

from ragged_dialect._mlir import arith, ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.match import constant_int, defining_op, made_by
from ragged_dialect.layout import Extent
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import int_attr
from ragged_dialect.types import compatible, shape_of

T = TypeVar("T")
_SHAPES: ContextVar[dict[ir.Type, RaggedShape] | None] = ContextVar("shapes", default=None)
"""Shapes by type while patterns run; not longer, because a type keeps its context alive."""

_MOST_SUMMANDS = 16


@contextmanager
def shapes_kept() -> Generator[None, None, None]:
    """While this lasts, `shape` reads every type once."""
    token = _SHAPES.set({})
    try:
        yield
    finally:
        _SHAPES.reset(token)


def source(value: ir.Value) -> ir.Value:
    """The value behind casts that only change static extents."""
    while (cast := made_by(value, "tensor.cast")) is not None:
        value = cast.operands[0]
    return value


def producer(value: ir.Value, name: str) -> ir.Operation | None:
    """The op called `name` that defines a value, casts aside; None for any other."""
    op = defining_op(value)
    while op is not None and op.name != name:
        op = defining_op(op.operands[0]) if op.name == "tensor.cast" else None
    return op


def defining(value: ir.Value) -> ir.Operation | None:
    """The op that defines a value, casts aside; None for a block argument."""
    return defining_op(source(value))


def dim_of(op: ir.Operation) -> int:
    """The attribute `dim` of a verified op."""
    return int_attr(op, "dim")


def factor_of(op: ir.Operation) -> int:
    """The attribute `factor` of a verified split."""
    return int_attr(op, "factor")


def shape(value: ir.Value) -> RaggedShape:
    """Shape and layout of a tensor value."""
    type_, known = value.type, _SHAPES.get()
    if known is None:
        return shape_of(type_)
    found = known.get(type_)
    if found is None:
        found = known[type_] = shape_of(type_)
    return found


def attempt(rule: Callable[[], T]) -> T | None:
    """What a rule yields, None where it raises a LayoutError: the layout algebra refuses it."""
    try:
        return rule()
    except LayoutError:
        return None


def same_meaning(a: RaggedShape | None, b: RaggedShape) -> bool:
    """Whether two shapes have one layout and static extents that do not contradict each other."""
    return a is not None and a.layout == b.layout and compatible(a.shape, b.shape)


def add(a: ir.Value, b: ir.Value) -> ir.Value:
    """Sum of two scalar integers of one type: summands in order, constants last, none that is zero. So
    the result does not tell which of three were added first."""
    terms = _summands([a, b])
    terms.sort(key=lambda term: constant_int(term) is not None)
    kept = [term for term in terms if constant_int(term) != 0] or [a]
    return reduce(lambda total, term: arith.AddIOp(total, term).result, kept)


def _summands(values: list[ir.Value]) -> list[ir.Value]:
    """What sums are made of. A sum that is read twice has its summands twice, hence the limit."""
    terms: list[ir.Value] = []
    rest = values[::-1]
    while rest:
        value = rest.pop()
        inner = producer(value, "arith.addi")
        if inner is None:
            terms.append(value)
        else:
            rest.extend(reversed(inner.operands))
        if len(terms) + len(rest) > _MOST_SUMMANDS:
            return values
    return terms


def is_value_of_dim(value: ir.Value, tensor_value: ir.Value, dim: int, extent: Extent) -> bool:
    """Whether a scalar is the extent of a tensor's dim: its static extent, or its `tensor.dim`."""
    known = constant_int(value)
    if known is not None or extent is not None:
        return known is not None and known == extent
    dim_op = made_by(value, "tensor.dim")
    if dim_op is None:
        return False
    of, index = dim_op.operands
    return source(of) == source(tensor_value) and constant_int(index) == dim
