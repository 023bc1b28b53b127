"""`ragged-decompose-attention`: attention and its derivatives as products and a softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir, math, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import copy_attributes, copy_regions, inlined
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import bit_width, is_read, view_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.layout import Layout
from ragged_dialect.ops.attention import (
    Attention,
    AttentionDerivative,
    AttentionJvpOp,
    AttentionOp,
    AttentionVjp,
    AttentionVjpKvOp,
    AttentionVjpQOp,
    groups,
    wide,
)
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import dense_type, shape_of, tensor_type

_LOW = {32: -1e38, 64: -1e307}
"""By the bits of scores one that is far below all others, and less the largest of them still a number."""

_FRAGMENT = 16
"""Elements that `mma.sync` multiplies at once, PTX ISA manual 9.7.14.5.8."""

Body = Callable[[list[ir.Value]], ir.Value]


@dataclass(frozen=True)
class RaggedDecomposeAttention(RaggedPass):
    """Replace `ragged.attention`, and its derivatives, by the ops that say what they mean.

    ```mlir
    %o, %lse = ragged.attention %q, %k, %v {scale = 1.0} : …
    // becomes
    %s = linalg.generic ins(%q, %k) outs(%zero) …      // sums of products: [batch, queries, heads, keys]
    %w = linalg.softmax dimension(3) ins(%s) …
    %o = linalg.generic ins(%w, %v) outs(%zero) …
    ```

    The scores are in memory. Options: `head-dims`, ops stay whose head dims are static and at most this (but no
    `ragged.attention_jvp`); `tensor-cores`, of these stay those of f16 or bf16 with head dims that are
    multiples of 16, and of f32, where they are three quarters of `head-dims` at most, in derivatives half of it;
    `keys-last`, whether the scores have keys in their last dim, as vectors want, or heads, as threads of a GPU do.
    """

    anchor = "any"
    head_dims: int = 0
    tensor_cores: bool = False
    keys_last: bool = True

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        if self.head_dims < 0:
            raise PassFailure(op, f"expected head-dims of at least 0, got {self.head_dims}")
        for found in map(settled, find_ops(op, *MEANINGS)):
            if not self._stays(found):
                decompose_attention(found, self.keys_last)

    def _stays(self, op: ir.Operation) -> bool:
        known = view_of(op, Attention)
        dims = [x.type.shape[3] for x in (known.q, known.v)]
        kernel = op.name != AttentionJvpOp.OPERATION_NAME
        if self.tensor_cores:
            element, derived = known.q.type.element_type, op.name != AttentionOp.OPERATION_NAME
            # Three parts of a number take three times the room: with 96, and in derivatives, which have two rows for
            # one, with 64, a thread has all of its 255 registers; with 128 none in shared memory is left for 16 keys.
            quarters = (2 if derived else 3) if isinstance(element, ir.F32Type) else 4
            most = self.head_dims * quarters // 4
            kernel &= not isinstance(element, ir.F64Type) and all(0 < d <= most and d % _FRAGMENT == 0 for d in dims)
            kernel &= 0 not in (known.q.type.shape[2], known.k.type.shape[2])
        return kernel and DYNAMIC not in dims and max(dims) <= self.head_dims


def settled(op: ir.Operation) -> ir.Operation:
    """An op in the place of another, whose operands and results have the extents that any of them has: they are
    equal, or a check of the op fails."""
    extents = view_of(op, Attention).extents()
    fields = [field.name for field in getattr(type(op.opview), "_fields") if field.name in extents]
    values = {name: getattr(op.opview, name) for name in fields}
    types = {
        name: tensor_type(RaggedShape(shape_of(x.type).layout, tuple(extents[name].values())), x.type.element_type)
        for name, x in values.items()
    }
    if all(x.type == types[name] for name, x in values.items()):
        return op
    results = [name for name in fields if values[name] in list(op.results)]
    with ir.InsertionPoint(op), op.location:
        operands = [shapes.cast(values[name], types[name]) for name in fields if name not in results]
        kinds = [types[name] for name in results]
        made = ir.Operation.create(op.name, kinds, operands, copy_attributes(op), regions=1)
        copy_regions(op, made)
        found = [shapes.cast(new, old.type) for old, new in zip(op.results, made.results, strict=True)]
    replace(op, *found)
    return made


def decompose_attention(op: ir.Operation, keys_last: bool) -> None:
    """Replace one op."""
    with ir.InsertionPoint(op), op.location:
        made = decomposed(op, [is_read(r) for r in op.results], keys_last)
    replace(op, *made)


def decomposed(op: ir.Operation, wanted: Sequence[bool], keys_last: bool = True) -> list[ir.Value | None]:
    """The results of an op that are wanted, of other ops at the insertion point."""
    made = MEANINGS[op.name](op, keys_last).made()
    return [
        shapes.cast(make(), result.type) if want else None
        for make, want, result in zip(made, wanted, op.results, strict=True)
    ]


Made = tuple[Callable[[], ir.Value], ...]


class _Named(NamedTuple):
    """A tensor, and letters for its dims."""

    value: ir.Value
    dims: str


class _Attention:
    """Dims by letters: b batch, i queries, j keys, h heads of keys, g heads of queries for each, d and e head dims."""

    nested = "ij"
    """The ragged dims of scores: sums are over the inner one."""

    def __init__(self, op: ir.Operation, keys_last: bool) -> None:
        self.op = op
        attention = view_of(op, Attention)
        self.visible, self.cap, self.scale = attention.visible, attention.cap, attention.scale.value
        self.scored = attention.scored
        q, k, v = attention.q, attention.k, attention.v
        self.element = q.type.element_type
        self.wide = wide(self.element)
        self.groups = groups(shape_of(q.type), shape_of(k.type))
        self.heads = "hg" if self.groups > 1 else "h"
        self.lengths = [builders.lengths(x, 1) for x in (k, q)] if self.visible.end else []
        k = without_gaps(k)  # the scores have its levels
        self.rows = f"bi{self.heads}"
        self.q = _Named(self._queries(q), f"{self.rows}d")
        self.k, self.v = _Named(converted(k, self.wide), "bjhd"), _Named(converted(v, self.wide), "bjhe")
        outer, inner = self.nested
        self.order = f"b{outer}{self.heads}{inner}" if keys_last else f"b{outer}{inner}{self.heads}"
        self.unmasked = self._unmasked()
        scores = self.unmasked if self.scored is None else self._of_score(self.unmasked, 0)
        self.scores = self._masked(scores, float("-inf"))

    # What is made -------------------------------------------------------------------------------------

    def made(self) -> Made:
        """What makes the results."""
        return self.output, self.log_sum

    def output(self) -> ir.Value:
        """The weighted sums of values."""
        empty = self._empty(self.order)
        number, scores = f"{self.order.index('j')} : i64", self._finite_scores().value
        weights = build.made("linalg.softmax", empty.type, scores, empty, dimension=number)
        weights = self._seen(_Named(weights, self.order))
        return self._narrowed(self._sum([weights, self.v], f"{self.rows}e", _product))

    def _finite_scores(self) -> _Named:
        """The scores, of keys that are not seen far below all others: of no key at all weights are numbers then, and
        so are their derivatives."""
        if self.scored is None:
            return self.scores
        low = build.constant(self.wide, _LOW[bit_width(self.wide)])
        return self._map([self.scores], lambda a: self._unless_hidden(a[0], a[0], low))

    def _seen(self, weights: _Named) -> _Named:
        """Weights, 0 where a score is -inf."""
        if self.scored is None:
            return self._masked(weights, 0.0)
        return self._map([weights, self.scores], lambda a: self._zero_for_none(a[1], a[0]))

    def _of_score(self, products: _Named, number: int) -> _Named:
        """What the region yields as a number, of products."""
        assert self.scored is not None
        block = self.scored

        def body(a: list[ir.Value]) -> ir.Value:
            component, *heads, query, key = (loop_index(self.order.index(c)) for c in f"b{self.heads}ij")
            head = heads[0] if len(heads) == 1 else build.value(build.add(build.mul(heads[0], self.groups), heads[1]))
            return inlined(block, [a[0], component, head, query, key])[number]

        return self._map([products], body)

    def log_sum(self) -> ir.Value:
        """The log of the sum of exponentials."""
        low = build.constant(self.wide, float("-inf"))

        def larger(a: list[ir.Value]) -> ir.Value:
            return arith.maximumf(a[0], a[1])

        top = self._map([self._fold([self.scores], self.rows, low, larger)], lambda a: self._finite(a[0]))
        ins = [self.scores, top]
        total = self._sum(ins, self.rows, lambda a: arith.addf(a[2], math.exp(arith.subf(a[0], a[1]))))
        return self._joined(self._map([top, total], lambda a: arith.addf(a[0], math.log(a[1]))))

    def _finite(self, top: ir.Value) -> ir.Value:
        return self._zero_for_none(top, top)

    def _zero_for_none(self, score: ir.Value, other: ir.Value) -> ir.Value:
        """0 where a score is -inf, else another number."""
        return self._unless_hidden(score, other, build.constant(self.wide, 0.0))

    def _unless_hidden(self, score: ir.Value, other: ir.Value, hidden: ir.Value) -> ir.Value:
        none = arith.cmpf(arith.CmpFPredicate.OEQ, score, build.constant(self.wide, float("-inf")))
        return arith.select(none, hidden, other)

    def _scaled(self, x: _Named) -> _Named:
        factor = build.constant(self.wide, self.scale)
        return self._map([x], lambda a: arith.mulf(a[0], factor))

    def _unmasked(self) -> _Named:
        """The scores, of keys that a query does not see too."""
        made = self._sum([self._scaled(self.q), self.k], self.order, _product)
        if self.cap is None:
            return made
        cap = build.constant(self.wide, self.cap)
        return self._map([made], lambda a: arith.mulf(cap, math.tanh(arith.divf(a[0], cap))))

    def _masked(self, scores: _Named, other: float) -> _Named:
        """`other` where a query does not see a key."""
        if self.visible.is_all:
            return scores
        left, right = self.visible.left, self.visible.right

        def body(a: list[ir.Value]) -> ir.Value:
            query, key = (loop_index(self.order.index(c)) for c in "ij")
            if self.lengths:
                query = build.add(query, build.sub(build.to_index(a[1]), build.to_index(a[2])))
            seen = [] if right is None else [build.at_most(key, build.add(query, right))]
            seen += [] if left is None else [build.at_least(key, build.sub(query, left))]
            both = seen[0] if len(seen) == 1 else arith.andi(*seen)
            return arith.select(both, a[0], build.constant(self.wide, other))

        return self._map([scores, *(_Named(x, "b") for x in self.lengths)], body)

    # How ----------------------------------------------------------------------------------------------

    def _sum(self, ins: Sequence[_Named], result: str, body: Body) -> _Named:
        return self._fold(ins, result, build.constant(self.wide, 0.0), body)

    def _fold(self, ins: Sequence[_Named], result: str, init: ir.Value, body: Body) -> _Named:
        return _generic(ins, _Named(shapes.fill(init, self._empty(result)), result), body)

    def _map(self, ins: Sequence[_Named], body: Body) -> _Named:
        """What the body makes of each element of the first tensor, and of those of others there."""
        return _generic(ins, _Named(self._empty(ins[0].dims), ins[0].dims), body)

    def _empty(self, dims: str) -> ir.Value:
        """An uninitialised tensor of such dims."""
        places = {c: Source(0, at) for at, c in enumerate(f"bi{self.heads}d")} | {"j": Source(1, 1), "e": Source(2, 3)}
        likes = [x.value for x in (self.q, self.k, self.v)]
        nested = max(dims.find(c) for c in "ij") + 1
        sources = [places[c] if at < nested else None for at, c in enumerate(dims)]
        extents = [likes[places[c].like].type.shape[places[c].level] for c in dims]
        letters = "".join("r" if c in "ij" else "d" for c in dims)
        layout = Layout.parse("|".join((letters[:nested], *letters[nested:])))
        shape = tuple(None if c in "ij" or n == DYNAMIC else n for c, n in zip(dims, extents, strict=True))
        own = [
            build.value(shapes.dim(likes[places[c].like], places[c].level))
            for at, c in enumerate(dims)
            if at >= nested and shape[at] is None
        ]
        used = likes[: 2 if "j" in dims else 1]
        return builders.empty(used, tensor_type(RaggedShape(layout, shape), self.wide), sources, own)

    def _narrowed(self, x: _Named) -> ir.Value:
        """What has heads of queries as a result has them, in the type of the queries."""
        return converted(self._joined(x), self.element)

    def _queries(self, x: ir.Value) -> ir.Value:
        """What has heads of queries, these in groups: a view."""
        x = converted(x, self.wide)
        if self.groups == 1:
            return x
        groups = shapes.grouped(len(x.type.shape), 1, 3)
        return reshaped(x, groups, lambda s: (s[0] // self.groups, self.groups, *s[1:]))

    def _joined(self, x: _Named) -> ir.Value:
        """The groups of heads as heads again."""
        if self.groups == 1:
            return x.value
        return reshaped(x.value, shapes.grouped(len(x.dims) - 1, 1, 3), lambda s: (s[0] * s[1], *s[2:]))


class _Derivative(_Attention):
    """The derivatives: `weights` are the softmax, made again of the saved sums."""

    def __init__(self, op: ir.Operation, keys_last: bool) -> None:
        super().__init__(op, keys_last)
        given = view_of(op, AttentionDerivative)
        ins = [self.scores, _Named(self._queries(given.lse), self.rows)]
        weights = self._map(ins, lambda a: math.exp(arith.subf(a[0], self._finite(a[1]))))
        self.weights = self._seen(weights)
        self.slopes = None if self.scored is None else self._of_score(self.unmasked, 1)

    def _of_scores(self, ins: Sequence[_Named], body: Body) -> _Named:
        """Weights times what the body makes of them and of `ins`, and times the derivative of the score; 0 where a
        query does not see a key: its own score is finite, so that derivatives of this are none of infinities."""

        def whole(a: list[ir.Value]) -> ir.Value:
            made = arith.mulf(a[1], body(a[2:]))
            if self.slopes is not None:
                return arith.mulf(made, a[0])
            if self.cap is None:
                return made
            part = arith.divf(a[0], build.constant(self.wide, self.cap))
            return arith.mulf(made, arith.subf(build.constant(self.wide, 1.0), arith.mulf(part, part)))

        first = self.unmasked if self.slopes is None else self.slopes
        return self._masked(self._map([first, self.weights, *ins], whole), 0.0)


class _Jvp(_Derivative):
    def made(self) -> Made:
        given = view_of(self.op, AttentionJvpOp)
        tq = self._scaled(_Named(self._queries(given.tq), self.q.dims))
        tk = _Named(converted(given.tk, self.wide), self.k.dims)
        first = self._sum([tq, self.k], self.order, _product)
        second = self._sum([self._scaled(self.q), tk], self.order, _product)
        parts = self._of_scores([first, second], lambda a: arith.addf(a[0], a[1]))
        totals = self._sum([parts], self.rows, lambda a: arith.addf(a[1], a[0]))

        def output() -> ir.Value:
            outs = f"{self.rows}e"
            of_scores = self._sum([parts, self.v], outs, _product)
            of_values = self._sum([self.weights, _Named(converted(given.tv, self.wide), self.v.dims)], outs, _product)
            ins = [of_scores, of_values, totals, _Named(self._queries(given.o), outs)]
            return self._narrowed(self._map(ins, lambda a: arith.subf(arith.addf(a[0], a[1]), arith.mulf(a[2], a[3]))))

        return output, lambda: self._joined(totals)


class _Vjp(_Derivative):
    def __init__(self, op: ir.Operation, keys_last: bool) -> None:
        super().__init__(op, keys_last)
        given = view_of(op, AttentionVjp)
        self.upstream = _Named(self._queries(given.upstream), f"{self.rows}e")
        products = self._sum([self.upstream, self.v], self.order, _product)
        delta = _Named(self._queries(given.delta), self.rows)
        self.parts = self._of_scores([products, delta], lambda a: arith.subf(a[0], a[1]))


class _VjpQ(_Vjp):
    def made(self) -> Made:
        return (lambda: self._narrowed(self._scaled(self._sum([self.parts, self.k], self.q.dims, _product))),)


class _VjpKv(_Vjp):
    nested = "ji"

    def made(self) -> Made:
        def keys() -> ir.Value:
            return converted(self._scaled(self._sum([self.parts, self.q], self.k.dims, _product)).value, self.element)

        def values() -> ir.Value:
            return converted(self._sum([self.weights, self.upstream], self.v.dims, _product).value, self.element)

        return keys, values


MEANINGS: dict[str, type[_Attention]] = {
    AttentionOp.OPERATION_NAME: _Attention,
    AttentionJvpOp.OPERATION_NAME: _Jvp,
    AttentionVjpQOp.OPERATION_NAME: _VjpQ,
    AttentionVjpKvOp.OPERATION_NAME: _VjpKv,
}


def reshaped(x: ir.Value, reassociation: list[list[int]], new: Callable[[list[int]], tuple[int, ...]]) -> ir.Value:
    """The dense dims after the first two as others."""
    values, shape = builders.values(x), shape_of(x.type)
    static = new(list(values.type.shape)[1:])
    wanted = [values.type.shape[0], *static]
    type_ = dense_type(tuple(None if n == DYNAMIC else n for n in wanted), values.type.element_type)
    if len(wanted) > len(values.type.shape):
        last = len(values.type.shape) - 1
        sizes = {0: shapes.dim(values, 0), len(wanted) - 1: shapes.dim(values, last)}
        dynamic = [build.value(sizes[k]) for k, n in enumerate(wanted) if n == DYNAMIC]
        made = tensor.expand_shape(type_, values, reassociation, dynamic, wanted)
    else:
        made = tensor.collapse_shape(type_, values, reassociation)
    dims = (shape.shape[0], None, *(None if n == DYNAMIC else n for n in static))
    return builders.assemble([made, builders.offsets(x, 1)], "|".join(("dr", *"d" * len(static))), dims)


def _product(a: list[ir.Value]) -> ir.Value:
    return arith.addf(a[2], arith.mulf(a[0], a[1]))


def _generic(ins: Sequence[_Named], out: _Named, body: Body) -> _Named:
    loops = "".join(dict.fromkeys(out.dims + "".join(x.dims for x in ins)))
    maps = [
        ir.AffineMap.get(len(loops), 0, [ir.AffineDimExpr.get(loops.index(c)) for c in x.dims]) for x in (*ins, out)
    ]
    kinds = ["parallel" if c in out.dims else "reduction" for c in loops]
    return _Named(generic([x.value for x in ins], [out.value], maps, kinds, lambda a: [body(a)]).result, out.dims)
