"""The transpose of a linear `linalg.generic`: one nest per input, over the same loops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from ragged_dialect import builders, iteration
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.expressions import affine_value
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import definer, element_of, loop_of
from ragged_dialect.iteration import AT_LOOPS, Use, expr_uses
from ragged_dialect.ops.attention import wide
from ragged_dialect.passes.differentiate.flow import Cotangents
from ragged_dialect.passes.differentiate.nests import Access, Nest, computed, mapped
from ragged_dialect.passes.differentiate.scatter import Place, added, flat
from ragged_dialect.passes.differentiate.tables import DerivativeFailure
from ragged_dialect.passes.differentiate.values import (
    before_widening,
    empty_like,
    empty_without,
    or_zeros,
    unrounded,
    zeros_like,
)
from ragged_dialect.passes.differentiate.views import storage_of, without_gaps
from ragged_dialect.types import is_ragged, is_tensor, shape_of

Element = Callable[[list[ir.Value]], ir.Value]
"""A cotangent, of the elements of the inputs and of the result's cotangent."""


class Adjoint:
    """Cotangents of what a nest reads, given that of its result."""

    def __init__(self, ctx: Cotangents, nest: Nest, cotangent: ir.Value) -> None:
        self.ctx, self.nest = ctx, nest
        self.given = Access(before_widening(cotangent), nest.outs[0].map)
        self.likes = [Access(ctx.like(access.value), access.map) for access in nest.ins]
        self.rank = len(nest.kinds)

    # Inputs ----------------------------------------------------------------------------------------

    def of_input(self, number: int) -> ir.Value:
        """The cotangent of an input."""
        like = self.likes[number]
        element = self._of_element(number)
        if not is_tensor(like.value.type):
            return self._total(like.value.type, element)
        dims = range(len(like.map.results))
        kept = _own_dims(like)
        if len(kept) < len(dims):
            return self._placed(number, kept)
        if any(self._is_padded(like, dim) for dim in dims):
            return self._aligned(number)
        return self._swapped(element, like)

    def _total(self, type_: ir.Type, element: Element) -> ir.Value:
        """That of a scalar, which all elements read."""
        out = Access(shapes.empty([], type_), ir.AffineMap.get(self.rank, 0, []))
        return tensor.extract(self._swapped(element, out), [])

    def _swapped(self, element: Element, out: Access) -> ir.Value:
        """Over all loops, with an input's map for the result; what has more parents is read by index."""
        parted = self._parted(out)
        kept = set(out.loops)
        kinds = ["parallel" if loop in kept else "reduction" for loop in range(self.rank)]
        everything = [*self.likes, self.given]
        ins = [self._shown(a, parted[k]) if k in parted else a for k, a in enumerate(everything)]

        def body(elements: list[ir.Value]) -> ir.Value:
            given = [_at_loops(everything[k]) if k in parted else e for k, e in enumerate(elements)]
            return element(given)

        if "reduction" not in kinds:
            return mapped(ins, out, kinds, body)
        short = element_of(out.value.type)
        total = Access(empty_like(out.value, wide(short)), out.map)
        use = self._interleaved(out, parted)
        if use is not None:
            order = self._levels(use)
            rest = [loop for loop in out.loops if loop is not None and loop not in order]
            over = self._terms(total, use, order, rest)
            return converted(_summed(self._swapped(element, over), over.loops, total), short)
        summed = computed(
            ins, total, kinds, lambda e: arith.addf(e[-1], unrounded(body(e[:-1]), wide(short))), zeros_like
        )
        return converted(summed, short)

    def _interleaved(self, out: Access, parted: Mapping[int, Sequence[int]]) -> Use | None:
        """A dense level that a dense result keeps, the last of an axis, of which it loses ragged ones above and below:
        an operand that one loop nest cannot sum."""
        kept = () if is_ragged(out.value.type) else out.loops
        for k, access in enumerate([*self.nest.iteration.accesses[: len(self.nest.ins)], self.nest.iteration.outs[0]]):
            layout = access.shape.layout
            for dims in map(layout.dims, range(len(layout.axes))):
                last = max((d for d in dims if layout.letter(d) == "d" and access.loops[d] in kept), default=dims[0])
                if k not in parted and any(access.is_partial(d) for d in dims if d < last):
                    return Use(k, last)
        return None

    def _of_element(self, number: int) -> Element:
        """What gives the cotangent of an element of an input."""

        def element(given: list[ir.Value]) -> ir.Value:
            scope, found = self._scope(given)
            own = found[self.nest.elements[number]]
            return or_zeros(scope.of(own), own)

        return element

    def of_captured(self, value: ir.Value) -> ir.Value:
        """The cotangent of a scalar that the body captures."""

        def element(given: list[ir.Value]) -> ir.Value:
            return or_zeros(self._scope(given)[0].of(value), value)

        return self._total(value.type, element)

    def gathered(self, number: int, given: list[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
        """The cotangent of what op `number` of the body takes from a tensor, and the indices where."""
        nest = self.nest
        scope, known = self._scope(given)
        op = nest.body.operations[number].operation
        indices = [known.get(v, v) for v in list(op.operands)[1:]]
        return or_zeros(scope.of(known[op.result]), known[op.result]), indices

    def of_operand_at(self, number: int, like: ir.Value) -> ir.Value:
        """The cotangent of a tensor that op `number` of the body takes the element of its loops from."""
        indices = list(self.nest.body.operations[number].operands)[1:]
        loops = [ir.AffineDimExpr.get(definer(index).attributes["dim"].value) for index in indices]
        out = Access(like, ir.AffineMap.get(self.rank, 0, loops))
        return self._swapped(lambda given: self.gathered(number, given)[0], out)

    def _scope(self, given: list[ir.Value]) -> tuple[Cotangents, dict[ir.Value, ir.Value]]:
        """The body with its cotangents, and what stands for its values."""
        nest, ctx = self.nest, self.ctx
        known: dict[ir.Value, ir.Value] = {}
        linear: list[ir.Value] = []
        for access, element, value in zip(nest.ins, nest.elements, given, strict=False):
            known[element] = value
            if ctx.is_linear(access.value):
                known[element] = zeros_like(element)  # stands for what there is no value of
                linear.append(known[element])
        if nest.reads_out(0):
            known[nest.accumulator(0)] = zeros_like(nest.accumulator(0))
        scope = ctx.inside(linear)
        steps = nest.steps(known)
        scope.spread(steps)
        result = nest.yielded(0)
        scope.add(known.get(result, result), converted(given[len(nest.ins)], result.type))
        scope.run([s for s in steps if not (s.name == "tensor.extract" and ctx.is_linear(s.operands[0]))])
        return scope, known

    # Results that have not all of a loop's parents ---------------------------------------------------

    def _parted(self, out: Access) -> dict[int, list[int]]:
        """Operands with more parents on a ragged loop than a result, which cannot have them, and the dims that have
        these."""
        own = iteration.Access(shape_of(out.value.type), out.loops, tuple(out.map.results))
        everything = [*self.nest.iteration.accesses[: len(self.nest.ins)], self.nest.iteration.outs[0]]
        found: dict[int, list[int]] = {}
        for k, access in enumerate(everything):
            for dim, loop in enumerate(access.loops):
                at = [d for d, o in enumerate(own.loops) if o == loop and own.is_partial(d) and access.is_partial(dim)]
                if any(access.parents(dim) - own.parents(d) for d in at):
                    found.setdefault(k, []).append(dim)
        return found

    def _shown(self, access: Access, parted: Sequence[int]) -> Access:
        """Nothing but the loops of an operand that has too many parents, without the ragged ones that have these."""
        layout = shape_of(access.value.type).layout
        gone = frozenset(d for dim in parted for d in layout.dims(layout.locate(dim)[0]) if d >= dim)
        dense = [dim for dim in sorted(gone) if layout.letter(dim) == "d"]
        sizes = [shapes.dim(access.value, dim) for dim in dense]
        value = empty_without(access.value, gone, ir.IntegerType.get_signless(1), sizes)
        shown = [*(dim for dim in range(layout.rank) if dim not in gone), *dense]
        return Access(value, ir.AffineMap.get(self.rank, 0, [access.map.results[dim] for dim in shown]))

    # Inputs whose dense dims are read along ragged loops ----------------------------------------------

    def _is_padded(self, access: Access, dim: int) -> bool:
        loop = access.loops[dim]
        if loop is None or not self.nest.iteration.ragged[loop]:
            return False
        return shape_of(access.value.type).layout.letter(dim) not in "rwt"

    def _aligned(self, number: int) -> ir.Value:
        """Of a dense input that every component reads from its first row on, or that has the components padded: the
        elements' cotangents, ragged, then over the components or padded."""
        like = self.likes[number]
        loops = [loop for loop in like.loops if loop is not None]
        ragged = [loop for loop in loops if self.nest.iteration.ragged[loop]]
        innermost = max(ragged, key=lambda loop: len(self.nest.iteration.parents(loop)))
        use = self.nest.iteration.ragged[innermost][0]
        order = self._levels(use)
        across = not set(order[:-1]) & set(loops)
        some = not across and not set(order) <= set(loops)
        rest = [loop for loop in loops if loop not in order]
        several = any(self.nest.iteration.ragged[loop] for loop in rest)
        out = self.nest.outs[0]
        if (some or several) and not self.nest.reduces and out.map.is_permutation:
            return self._added(number, out)
        if several:
            raise DerivativeFailure(
                self.nest.op, "expected a dense operand of a reduction along ragged loops of one axis, got several"
            )
        over = self._terms(like, use, order, rest)
        if some or is_ragged(like.value.type):
            return self._added(number, over)
        terms = self._swapped(self._of_element(number), over)
        sizes = {loop: shapes.dim(like.value, dim) for dim, loop in enumerate(loops)}
        if across:
            made = builders.reduce_across(terms, build.value(sizes[innermost]), len(order) - 1, "sum")
            shown = [innermost, *rest]
        else:
            maxima = [build.value(sizes[loop]) for loop in order if self.nest.iteration.ragged[loop]]
            made = builders.to_padded(terms, build.constant(element_of(terms.type), 0), maxima)
            shown = [*order, *rest]
        return _permuted(made, [shown.index(loop) for loop in loops], like.value)

    def _added(self, number: int, over: Access) -> ir.Value:
        """Of an input on some parents of a ragged loop, whose elements are of no structure, or with a structure of its
        own: one by one, as cotangents of their own structure."""
        like, shown = self.likes[number], over.loops
        place = Place(without_gaps(like.value))
        terms = self._swapped(self._of_element(number), over)
        return _added_at(terms, place, lambda: [loop_index(shown.index(loop)) for loop in like.loops], like.value)

    def _levels(self, use: Use) -> list[int]:
        """The loops of the levels of an axis, down to a ragged one."""
        access = self.nest.iteration.accesses[use.operand]
        found = [access.loops[d] for d in (*access.shape.layout.above(use.dim), use.dim)]
        return [loop for loop in found if loop is not None]

    def _terms(self, like: Access, use: Use, order: list[int], rest: list[int]) -> Access:
        """An uninitialised ragged tensor over the levels of an axis and other loops of an input."""
        source = [*self.likes, self.given][min(use.operand, len(self.likes))].value
        shape = shape_of(source.type)
        dims = [*shape.layout.above(use.dim), use.dim]
        dense = [loop for d, loop in zip(dims, order, strict=True) if shape.layout.letter(d) == "d"]
        if any(self.nest.iteration.ragged[loop] for loop in dense):
            raise DerivativeFailure(
                self.nest.op,
                "expected dims above a ragged one that are ragged in every operand or in none, "
                f'got layout "{shape.layout}" with a dense one that is ragged in another operand',
            )
        own = like.loops
        sizes = [shapes.dim(like.value, own.index(loop)) for loop in rest]
        others = frozenset(range(shape.rank)) - frozenset(dims)
        value = empty_without(source, others, element_of(like.value.type), sizes)
        exprs = [ir.AffineDimExpr.get(loop) for loop in (*order, *rest)]
        return Access(value, ir.AffineMap.get(self.rank, 0, exprs))

    # Inputs with dims that no loop of their own goes through -------------------------------------------

    def _placed(self, number: int, kept: Sequence[int]) -> ir.Value:
        """Of an input that is read at computed indices, or by one loop in several dims: over the loops that it is read
        by, and then each element where it was read. Several may have been read at one place if loops are added up."""
        like = self.likes[number]
        exprs = list(like.map.results)
        own = [loop_of(exprs[dim]) for dim in kept]
        rest = [k for k in range(self.rank) if k not in own and any(expr_uses(expr, k) for expr in exprs)]
        gone = frozenset(range(len(exprs))) - frozenset(kept)
        loops = [*own, *rest]
        self.likes[number] = Access(
            empty_without(like.value, gone, more=[self._extent(loop) for loop in rest]),
            ir.AffineMap.get(self.rank, 0, [ir.AffineDimExpr.get(loop) for loop in loops]),
        )
        made = self.of_input(number)
        self.likes[number] = like
        if all(isinstance(exprs[dim], ir.AffineConstantExpr) for dim in gone):
            return _expanded(made, like, kept)
        place = Place(without_gaps(like.value))

        def indices() -> list[ir.Value]:
            point = [loop_index(loops.index(k)) if k in loops else 0 for k in range(self.rank)]
            return [build.value(affine_value(expr, point)) for expr in exprs]

        return _added_at(made, place, indices, like.value)

    def _extent(self, loop: int) -> build.Mixed:
        """How far all dense dims go that a loop indexes."""
        everything = [*self.likes, self.given]
        uses = self.nest.iteration.dense_uses(loop)
        dims = [shapes.dim(everything[min(use.operand, len(self.likes))].value, use.dim) for use in uses]
        return functools.reduce(build.minimum, dims)


def _summed(x: ir.Value, loops: Sequence[int | None], out: Access) -> ir.Value:
    """The sums of a tensor over loops that a result does not have, those of the levels below its own first: what is
    below dense levels has to go before what is above."""
    kept = out.loops
    while len(loops) > len(kept):
        layout, rank = shape_of(x.type).layout, len(loops)
        last = [max((d for d in layout.dims(k) if loops[d] in kept), default=-1) for k in range(len(layout.axes))]
        gone = frozenset(d for d in range(rank) if d > last[layout.locate(d)[0]])
        shown = [d for d in range(rank) if d not in gone]
        total = Access(empty_without(x, gone), ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in shown]))
        kinds = ["reduction" if d in gone else "parallel" for d in range(rank)]
        whole = Access(x, ir.AffineMap.get_identity(rank))
        x = computed([whole], total, kinds, lambda e: arith.addf(e[1], e[0]), zeros_like)
        loops = [loops[d] for d in shown]
    return _permuted(x, [list(loops).index(loop) for loop in kept], out.value)


def _own_dims(access: Access) -> list[int]:
    """Dims of an operand that a loop goes through which indexes no other one; of several those that are ragged."""
    loops, layout = access.loops, shape_of(access.value.type).layout
    ragged = [not layout.is_plain(dim) for dim in range(len(loops))]
    return [dim for dim, loop in enumerate(loops) if loop is not None and (ragged[dim] or loops.count(loop) == 1)]


def _at_loops(access: Access) -> ir.Value:
    """The element of an operand, by the indices of the loops."""
    point = [loop_index(loop) for loop in range(access.map.n_dims)]
    made = tensor.extract(access.value, [build.value(affine_value(expr, point)) for expr in access.map.results])
    if None not in access.loops:
        definer(made).attributes[AT_LOOPS] = ir.UnitAttr.get()
    return made


def _permuted(x: ir.Value, order: list[int], like: ir.Value) -> ir.Value:
    """Dims of a dense tensor in another order, and its type that of another."""
    if order == list(range(len(order))):
        return shapes.cast(x, like.type)
    rank = len(order)
    source = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(order.index(d)) for d in range(rank)])
    access = Access(empty_like(like), ir.AffineMap.get_identity(rank))
    return mapped([Access(x, source)], access, ["parallel"] * rank, lambda e: e[0])


def _added_at(terms: ir.Value, place: Place, indices: Callable[[], list[ir.Value]], like: ir.Value) -> ir.Value:
    """Terms added up where some indices, which are made in a body over them, are in a tensor."""
    whole = Access(empty_like(terms, build.i64()), ir.AffineMap.get_identity(terms.type.rank))
    kinds = ["parallel"] * terms.type.rank
    positions = mapped([Access(terms, whole.map)], whole, kinds, lambda _: build.to_i64(place.of(indices())))
    return added(flat(storage_of(terms)), flat(storage_of(positions)), like)


def _expanded(x: ir.Value, like: Access, kept: Sequence[int]) -> ir.Value:
    """The elements of a tensor at constant indices of the other dims of one that has more, zeros around them."""
    rank = len(like.map.results)
    source = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(dim) for dim in kept])
    whole = Access(like.value, ir.AffineMap.get_identity(rank))

    def body(given: list[ir.Value]) -> ir.Value:
        (made,) = given
        for dim, expr in enumerate(like.map.results):
            if dim not in kept and like.value.type.shape[dim] != 1:
                here = build.equal(loop_index(dim), build.value(affine_value(expr, [])))
                made = arith.select(here, made, zeros_like(made))
        return made

    return mapped([Access(x, source)], whole, ["parallel"] * rank, body)
