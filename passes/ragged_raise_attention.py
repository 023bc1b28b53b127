"""`ragged-raise-attention`: products around a softmax as attention."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import shapes
from ragged_dialect.ir.match import defining_op, is_sum_of_products, is_zeros, loop_of, made_by
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.layout import Layout
from ragged_dialect.ops.attention import result_shapes
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.ragged_decompose_attention import reshaped
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import int_attr
from ragged_dialect.types import shape_of


@dataclass(frozen=True)
class RaggedRaiseAttention(RaggedPass):
    """Replace softmax(scale * q k^T) v by `ragged.attention`, which stores no scores.

    ```mlir
    %s = linalg.generic ins(%q, %k) outs(%zeros) …     // sums of products: [batch, queries, heads, keys]
    %t = linalg.generic ins(%s) { arith.mulf %in, %scale } …
    %w = linalg.softmax dimension(3) ins(%t) …
    %o = linalg.generic ins(%w, %v) outs(%zeros) …
    // becomes
    %o, %lse = ragged.attention %q, %k, %v {scale = …} : …
    ```

    Scores have their dims in any order, and heads or none; nothing else reads them. Where all scores of an element are
    -inf its result is 0, as of no keys. Options: `head-dims`, what is replaced has static head dims of at most this.
    """

    anchor = "any"
    head_dims: int = 0

    def run(self, op: ir.Operation) -> None:
        """Replace what is attention in a module."""
        if self.head_dims < 0:
            raise PassFailure(op, f"expected head-dims of at least 0, got {self.head_dims}")
        for found in find_ops(op, "linalg.generic"):
            match = _matched(found)
            if match is not None and all(n != DYNAMIC and n <= self.head_dims for n in match.head_dims):
                with ir.InsertionPoint(found), found.location:
                    replace(found, match.attention(found.results[0].type))


class _Match(NamedTuple):
    """The operands of an attention."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    scale: float

    @property
    def head_dims(self) -> list[int]:
        return [self.q.type.shape[-1], self.v.type.shape[-1]]

    def attention(self, type_: ir.RankedTensorType) -> ir.Value:
        """Its result, of a type."""
        q, k, v = (x if x.type.rank == 4 else reshaped(x, [[0], [1, 2]], lambda s: (1, s[0])) for x in self[:3])
        made, _ = builders.attention(q, k, v, self.scale)
        if made.type.rank > type_.rank:
            made = reshaped(made, [[0], [1, 2]], lambda s: (s[1],))
        return shapes.cast(made, type_)

    def fits(self) -> bool:
        """Whether the op takes such operands."""
        try:
            result_shapes(*(_headed(shape_of(x.type)) for x in self[:3]))
        except LayoutError:
            return False
        return self.q.type.rank == 4 or all(str(shape_of(x.type).layout) == "dr|d" for x in self[:3])


def _headed(shape: RaggedShape) -> RaggedShape:
    """The shape with one head where there is none."""
    if shape.rank != 3:
        return shape
    return RaggedShape(Layout.parse(f"{shape.layout}|d"), (*shape.shape[:2], 1, shape.shape[2]))


class _Product(NamedTuple):
    """A sum of products over one loop: its inputs and result by the loops of their dims."""

    ins: tuple[tuple[ir.Value, tuple[int, ...]], ...]
    out: tuple[int, ...]
    reduced: int


def _product(op: ir.Operation | None) -> _Product | None:
    """A product of two ragged tensors that starts from 0."""
    if op is None or op.name != "linalg.generic" or len(op.operands) != 3 or not is_sum_of_products(op):
        return None
    kinds = iterator_kinds(op)
    init = defining_op(op.operands[2])
    if kinds.count("reduction") != 1 or init is None or not is_zeros(init):
        return None
    loops = [_dims(m) for m in indexing_maps(op)]
    if None in loops:
        return None
    first, second, out = (tuple(x or ()) for x in loops)
    return _Product(((op.operands[0], first), (op.operands[1], second)), out, kinds.index("reduction"))


def _dims(map_: ir.AffineMap) -> list[int] | None:
    """The loop of each dim, None where one is another expression."""
    exprs = list(map_.results)
    return [loop_of(e) for e in exprs] if all(isinstance(e, ir.AffineDimExpr) for e in exprs) else None


def _matched(op: ir.Operation) -> _Match | None:
    """What a product multiplies with values, where it is weights."""
    outer = _product(op)
    for weights, values in () if outer is None else (outer.ins, outer.ins[::-1]):
        softmax = _only_for(weights[0], op, "linalg.softmax")
        scaled = None if softmax is None else _scaled(softmax.operands[0], softmax)
        inner = None if scaled is None else _product(scaled[0])
        if outer is None or softmax is None or scaled is None or inner is None:
            continue
        names = _names(inner, inner.out[int_attr(softmax, "dimension")])
        if names is None:
            continue
        q, k, letters = names
        known = dict(zip(weights[1], (letters[loop] for loop in inner.out), strict=True))
        heads = "h" if len(inner.out) == 4 else ""
        found = ["".join(known.get(loop, "e") for loop in loops) for loops in (values[1], outer.out)]
        match = _Match(q, k, values[0], scaled[1])
        if found == [f"bj{heads}e", f"bi{heads}e"] and known.get(outer.reduced) == "j" and match.fits():
            return match
    return None


def _names(inner: _Product, keys: int) -> tuple[ir.Value, ir.Value, dict[int, str]] | None:
    """Queries, keys and the letters of the loops of scores, if these are [batch, queries or keys, heads, features]."""
    (q, own), (k, other) = inner.ins if keys in inner.ins[1][1] else inner.ins[::-1]
    letters = dict(zip(own, "bid" if len(own) == 3 else "bihd", strict=False))
    letters |= {keys: "j"}
    found = ["".join(letters.get(loop, "?") for loop in loops) for loops in (own, other)]
    heads = "h" if len(own) == 4 else ""
    fits = found == [f"bi{heads}d", f"bj{heads}d"] and letters[inner.reduced] == "d"
    return (q, k, letters) if fits else None


def _only_for(value: ir.Value, user: ir.Operation, name: str) -> ir.Operation | None:
    """The op of a name that makes a value for another op alone."""
    op = made_by(value, name)
    uses = list(value.uses)
    return op if op is not None and len(uses) == 1 and uses[0].owner.operation == user else None


def _scaled(value: ir.Value, user: ir.Operation) -> tuple[ir.Operation, float] | None:
    """The product that makes a value for another op alone, through factors, and these as one."""
    op = _only_for(value, user, "linalg.generic")
    if op is None or len(op.operands) == 3:
        return None if op is None else (op, 1.0)
    factor = _factor(op)
    before = None if factor is None else _scaled(op.operands[0], op)
    if before is None or factor is None or not math.isfinite(before[1] * factor):
        return None
    return before[0], before[1] * factor


def _factor(op: ir.Operation) -> float | None:
    """The constant that a generic op multiplies every element of its one input with."""
    maps, block = indexing_maps(op), op.regions[0].blocks[0]
    ops = [x.operation for x in block.operations if x.operation.name != "arith.constant"]
    if [x.name for x in ops] != ["arith.mulf", "linalg.yield"] or len(op.operands) != 2 or maps[0] != maps[1]:
        return None
    if not maps[0].is_permutation or ops[1].operands[0] != ops[0].results[0]:
        return None
    sides = list(ops[0].operands)
    other = next((x for x in sides if x != block.arguments[0]), None)
    constant = None if other is None or block.arguments[0] not in sides else made_by(other, "arith.constant")
    return None if constant is None else constant.attributes["value"].value
