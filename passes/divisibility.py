"""What is known to divide the lengths and extents of a value's dims.

The divisor of a dense dim divides its extent, that of a ragged level every logical length, that of
a tile every part: it is the factor of the split exactly where the split leaves no holes. Facts come
from static extents, `ragged.assume`, argument attributes and constant vectors, and go through the
ops; a divisor of 1 says nothing, 0 (of an extent 0) is divided by everything.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, lcm

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import view_of
from ragged_dialect.iteration import ELEMENTWISE_DIALECTS
from ragged_dialect.layout import RAGGED
from ragged_dialect.merging import merge_rule
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.matching import dim_of, shape
from ragged_dialect.passes.patterns.access import constant_lengths
from ragged_dialect.passes.rewriting import Rewriter
from ragged_dialect.traits import int_attr, optional_int
from ragged_dialect.types import is_tensor

Known = tuple[int, ...]
"""A divisor per dim."""

ARGUMENT_FACT = "ragged.divisible_by"


def unknown(value: ir.Value) -> Known:
    """What the type alone says."""
    letters = shape(value).layout.letters
    return tuple(
        1 if extent is None or letter == "t" else extent
        for letter, extent in zip(letters, shape(value).shape, strict=True)
    )


class Divisors:
    """Divisors of all values, computed in program order: ask for operands before results."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, Known] = {}

    def of(self, value: ir.Value) -> Known:
        """The divisors of a tensor value's dims."""
        if value not in self._known:
            known = self._result(value) if isinstance(value, ir.OpResult) else _argument(value)
            self._known[value] = tuple(_meet(a, b) for a, b in zip(known, unknown(value), strict=True))
        return self._known[value]

    def exact_tiles(self, value: ir.Value) -> frozenset[int]:
        """The tile dims of a ragged value that have no holes."""
        x = shape(value)
        columns = zip(x.layout.letters, x.shape, self.of(value), strict=True)
        return frozenset(dim for dim, (letter, size, known) in enumerate(columns) if letter == "t" and known == size)

    def visit(self, op: ir.Operation) -> None:
        """Note what is known of an op's results while its operands are known."""
        for result in op.results:
            if is_tensor(result.type):
                self.of(result)

    def _result(self, value: ir.OpResult) -> Known:
        op = value.owner.operation
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(op, self)
        same = _same_structure(op, value)
        return unknown(value) if same is None else self.of(same)


def _meet(a: int, b: int) -> int:
    """The divisor that follows from two."""
    return 0 if a == 0 or b == 0 else lcm(a, b)


def _argument(value: ir.Value) -> Known:
    assert isinstance(value, ir.BlockArgument)
    op = value.owner.owner.operation
    if op.name != "func.func" or "arg_attrs" not in op.attributes:
        return unknown(value)
    facts = op.attributes["arg_attrs"][value.arg_number]
    if ARGUMENT_FACT not in facts:
        return unknown(value)
    divisor = facts[ARGUMENT_FACT].value
    layout = shape(value).layout
    return tuple(
        divisor if letter in RAGGED and not layout.is_split_outer(dim) else known
        for dim, (letter, known) in enumerate(zip(layout.letters, unknown(value), strict=True))
    )


def _same_structure(op: ir.Operation, value: ir.OpResult) -> ir.Value | None:
    """The operand whose lengths and tiles a computing op's result has."""
    if op.name.startswith("linalg."):
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    if op.name == "arith.select" and not is_tensor(op.operands[0].type):
        return None
    if op.name.split(".")[0] in ELEMENTWISE_DIALECTS or op.name in ("tensor.cast", "ragged.compact", "ragged.guard"):
        return next((v for v in op.operands if is_tensor(v.type) and shape(v).rank == shape(value).rank), None)
    return None


def _assume(op: ir.Operation, known: Divisors) -> Known:
    level = int_attr(op, "level")
    low, high = optional_int(op, "min"), optional_int(op, "max")
    fixed = low if low is not None and low == high else 1
    out = list(known.of(op.operands[0]))
    out[level] = _meet(_meet(out[level], optional_int(op, "divisible_by") or 1), fixed)
    return tuple(out)


def _split(op: ir.Operation, known: Divisors) -> Known:
    x, dim, factor = known.of(op.operands[0]), dim_of(op), int_attr(op, "factor")
    if x[dim] % factor == 0:
        parts = (x[dim] // factor, factor)
    else:
        parts = (1, factor if shape(op.operands[0]).layout.is_batch(dim) else 1)
    return (*x[:dim], *parts, *x[dim + 1 :])


def _merge(op: ir.Operation, known: Divisors) -> Known:
    x, dim = known.of(op.operands[0]), dim_of(op)
    outer, inner = x[dim], x[dim + 1]
    rule = merge_rule(shape(op.operands[0]), dim).name
    if rule == "tile_parts":
        return (*x[:dim], 1, 1, *x[dim + 3 :])
    tile = shape(op.operands[0]).shape[dim + 1]
    if rule in ("components", "rows", "levels"):
        merged = inner
    elif rule in ("untile", "tiles") and inner != tile:
        merged = 1
    else:
        merged = outer * inner
    return (*x[:dim], merged, *x[dim + 2 :])


def _partition(op: ir.Operation, known: Divisors) -> Known:
    x, dim = known.of(op.operands[0]), dim_of(op)
    lengths = constant_lengths(op.results[0], dim + 1, Rewriter())
    return (*x[:dim], 1, gcd(*lengths) if lengths else 1, *x[dim + 1 :])


def _select(op: ir.Operation, known: Divisors) -> Known:
    x, dim = known.of(op.operands[0]), dim_of(op)
    return (*x[:dim], *x[dim + 1 :])


def _slice(op: ir.Operation, known: Divisors) -> Known:
    x, dim = known.of(op.operands[0]), dim_of(op)
    return (*x[:dim], 1, *x[dim + 1 :])


def _concat(op: ir.Operation, known: Divisors) -> Known:
    columns = zip(*(known.of(x) for x in op.operands), strict=True)
    return tuple(gcd(*column) for column in columns)


def _empty(op: ir.Operation, known: Divisors) -> Known:
    likes = [v for v in op.operands if is_tensor(v.type)]
    sources = view_of(op, EmptyOp).sources()
    return tuple(
        k if s is None else known.of(likes[s.like])[s.level]
        for s, k in zip(sources, unknown(op.results[0]), strict=True)
    )


_RULES: dict[str, Callable[[ir.Operation, Divisors], Known]] = {
    "ragged.assume": _assume,
    "ragged.split": _split,
    "ragged.merge": _merge,
    "ragged.partition": _partition,
    "ragged.select": _select,
    "ragged.slice": _slice,
    "ragged.concat": _concat,
    "ragged.empty": _empty,
}
