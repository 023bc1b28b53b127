"""Emitting a loop nest: loops over components around dense linalg on slices.

The last level of an axis under fixed indices is a contiguous range of storage, so what remains
below the explicit loops is one dense `linalg.generic` on slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import affine, ir, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import defining_op, filled_with
from ragged_dialect.iteration import expr_uses
from ragged_dialect.lowering.nests.explicit_loops import (
    batch_loops,
    close_pending_inputs,
    collapse,
    collapse_reduced,
    component_loops,
    dense_extent,
    explicit_loops,
    joined_loops,
    mixed_loops,
)
from ragged_dialect.lowering.nests.expressions import composed, without_constant
from ragged_dialect.lowering.nests.forall import OpenForall
from ragged_dialect.lowering.nests.nest import Nest, Operand
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts, Pending, Range
from ragged_dialect.lowering.structure.views import expand


def lower_nest(ctx: Lowering, nest: Nest, is_read_there: bool = False) -> list[Parts]:
    """Emit a nest; returns the parts of its results, which have the structure of its outs. One that could run flat, but
    `is_read_there` by what runs over components, does so too."""
    structures = [out.parts for out in nest.outs]
    batch = joined_loops(ctx, nest) or (component_loops(nest) if is_read_there else None)
    if batch is None:
        close_pending_inputs(ctx, nest)
        collapse(nest)
        batch = batch_loops(nest)
    collapse_reduced(nest)
    results = _Emitter(ctx, nest, batch, structures).run()
    return [parts.replace(held) for parts, held in zip(structures, results, strict=True)]


class _Emitter:
    """Emits one nest: forall, inner loops, the dense op."""

    def __init__(self, ctx: Lowering, nest: Nest, batch: list[int], structures: list[Parts]) -> None:
        self.ctx = ctx
        self.nest = nest
        self.structures = structures
        self.batch = batch
        explicit = explicit_loops(nest)
        mixed = mixed_loops(nest, {*batch, *explicit})
        self.serial = _ordered(nest, [k for k in nest.kinds if (k in explicit or k in mixed) and k not in batch])
        outer = {*batch, *self.serial}
        self.inner = [loop for loop in nest.kinds if loop not in outer]
        self.ivs: dict[int, Mixed] = {}
        self.slots: list[int] = []
        self.forall: OpenForall | None = None

    def run(self) -> list[ir.Value | Pending]:
        """The results: tensors, or pending ones of the open forall."""
        if not self.batch:
            inits = [out.parts.values for out in self.nest.outs]
            return [*self._loops(inits)]
        counts = [dense_extent(self.nest, loop) for loop in self.batch]
        if self.ctx.forall is None or not self._fits(self.ctx.forall, counts):
            self.ctx.close()
            self.ctx.forall = OpenForall(self.ctx, counts)
        forall = self.forall = self.ctx.forall
        self.ivs = dict(zip(self.batch, forall.ivs, strict=True))
        with ir.InsertionPoint(forall.block), self.ctx.scope(forall.known):
            self.slots = [self._add_out(out) for out in self.nest.outs]
            carried = self._loops([forall.slots[s].current for s in self.slots])
        for slot, current in zip(self.slots, carried, strict=True):
            forall.slots[slot].current = current
        return [
            Pending(forall, slot, forall.slots[slot].init, self._places(out, whole))
            for slot, out, whole in zip(self.slots, self.nest.outs, self.structures, strict=True)
        ]

    def _places(self, out: Operand, whole: Parts) -> tuple[int, ...] | None:
        """Where the forall's indices are among the dims of an out; nowhere where dims were collapsed."""
        return tuple(out.uses(loop)[0] for loop in self.batch) if whole.shape == out.parts.shape else None

    def _fits(self, forall: OpenForall, counts: list[Mixed]) -> bool:
        reads = any(op.pending is not None for op in self.nest.operands)
        return reads or counts == forall.counts

    def _add_out(self, out: Operand) -> int:
        """A shared out of the forall. One that starts filled with a scalar is filled part by part,
        in the iteration that uses the part."""
        assert self.forall is not None
        init = out.parts.values
        made = defining_op(init)
        filled = None if made is None else filled_with(made)
        slot = self.forall.add(init if made is None or filled is None else made.operands[1], self._outer_ranges(out))
        if filled is not None:
            part = self.forall.slots[slot]
            part.current = shapes.fill(filled, part.current)
        return slot

    def _outer_ranges(self, operand: Operand) -> list[Range]:
        """Storage ranges under the forall's indices."""
        ranges: list[Range] = []
        for axis in range(operand.parts.layout.storage_rank):
            fixed: list[Mixed] = []
            for dim in operand.parts.layout.dims(axis):
                if operand.loops[dim] not in self.batch:
                    break
                fixed.append(self.ivs[operand.loops[dim]])  # type: ignore[index]
            ranges.append(operand.parts.axis_range(axis, fixed))
        return ranges

    def _loops(self, carried: list[ir.Value], depth: int = 0) -> list[ir.Value]:
        if depth == len(self.serial):
            return self._dense(carried)
        loop = self.serial[depth]
        count = self._extent(loop)

        def body(i: ir.Value, inner: list[ir.Value]) -> list[ir.Value]:
            self.ivs[loop] = build.sub(build.sub(count, i), 1) if loop in self.nest.backwards else i
            with self.ctx.scope():
                return self._loops(inner, depth + 1)

        return flow.for_loop(count, carried, body)

    def _fixed(self, operand: Operand, dim: int) -> list[Mixed]:
        """Indices of the levels above a dim in its axis."""
        return [self.ivs[operand.loops[d]] for d in operand.parts.layout.above(dim)]  # type: ignore[index]

    def _extent(self, loop: int) -> Mixed:
        """Extent of a loop under the loops around it; ragged uses know it best."""
        best: tuple[int, Operand, int] | None = None
        for operand in self.nest.operands:
            for dim in operand.uses(loop):
                above = operand.parts.layout.above(dim)
                if not operand.parts.has_one_extent(dim) and any(operand.loops[d] not in self.ivs for d in above):
                    continue  # lists of one length, which another operand has
                letter = "r" if dim in operand.parts.windows else operand.parts.layout.letter(dim)
                rank = "twr".find(letter) + 1
                rank = rank or (1 if operand.parts.layout.is_split_outer(dim) else 0)
                if best is None or rank > best[0]:
                    best = (rank, operand, dim)
        assert best is not None
        _, operand, dim = best
        if best[0] == 0:
            return dense_extent(self.nest, loop)
        return operand.parts.loop_extent(dim, self._fixed(operand, dim))

    # The dense op -------------------------------------------------------------------------------

    def _dense(self, carried: list[ir.Value]) -> list[ir.Value]:
        sizes = {loop: self._extent(loop) for loop in self.inner if self._is_ragged(loop)}
        views = [self._view(operand, sizes, None) for operand in self.nest.operands[: self.nest.inputs]]
        targets = [self._view(out, sizes, tensor) for out, tensor in zip(self.nest.outs, carried, strict=True)]
        if not self.inner and not any(view.exprs for view in (*views, *targets)):
            return self._scalars(views, targets, carried)
        results = self._generic([v.tensor for v in views], [t.tensor for t in targets], [*views, *targets])
        flat = [
            result if target.groups is None else shapes.collapse(result, target.groups)
            for target, result in zip(targets, results, strict=True)
        ]
        return [
            result if target.whole else shapes.insert_slice(result, tensor, target.offsets, target.sizes)
            for tensor, target, result in zip(carried, targets, flat, strict=True)
        ]

    def _scalars(self, views: list[_View], targets: list[_View], carried: list[ir.Value]) -> list[ir.Value]:
        """One element of each out, read and written as such: the loop around may become one of vectors."""

        def element(view: _View) -> ir.Value:
            return view.tensor if view.base is None else tensor.extract(view.base, _values(view.offsets))

        made = self.nest.payload([element(view) for view in (*views, *targets)], self._index)
        return [
            tensor.insert(value, into, _values(target.offsets))
            for value, into, target in zip(made, carried, targets, strict=True)
        ]

    def _is_ragged(self, loop: int) -> bool:
        return any(
            operand.parts.layout.letter(dim) in "rwt" for operand in self.nest.operands for dim in operand.uses(loop)
        )

    def _view(self, operand: Operand, sizes: dict[int, Mixed], tensor: ir.Value | None) -> _View:
        """The slice of an operand under the current indices; `tensor` is the part of an out that
        the forall's iteration owns."""
        if not isinstance(operand.value, Parts):
            return _View(operand.value, None, [], [], [], True)
        parts = operand.parts
        if tensor is None and parts.pending is not None:
            slot = parts.pending.forall.slots[parts.pending.slot]
            tensor, bases = slot.current, slot.ranges
        elif tensor is not None and self.forall is not None:
            bases = self.forall.slots[self.slots[self.nest.outs.index(operand)]].ranges
        else:
            tensor = parts.values if tensor is None else tensor
            bases: Sequence[tuple[Mixed, Mixed | None]] = [(0, None)] * parts.layout.storage_rank
        ranges, kept, exprs, matrices = self._axes(operand, sizes)
        offsets = [build.sub(low, base[0]) for (low, _), base in zip(ranges, bases, strict=True)]
        extents = [size for _, size in ranges]
        whole = all(kept) and all(
            isinstance(o, int) and o == 0 and _is_all(size, base[1])
            for o, size, base in zip(offsets, extents, bases, strict=True)
        )
        whole = whole or (
            all(kept) and self.forall is None and not self.serial and self._covers(parts, offsets, extents)
        )
        view = tensor if whole else shapes.extract_slice(tensor, offsets, extents, kept)
        if not matrices:
            return _View(view, tensor, exprs, offsets, extents, whole)
        groups: list[list[int]] = []
        inner: list[Mixed] = []
        for axis in (axis for axis, keep in enumerate(kept) if keep):
            found = matrices.get(axis, [extents[axis]])
            groups.append([*range(len(inner), len(inner) + len(found))])
            inner += found
        return _View(expand(view, groups, inner), tensor, exprs, offsets, extents, whole, groups)

    def _covers(self, parts: Parts, offsets: list[Mixed], sizes: list[Mixed]) -> bool:
        return all(
            isinstance(o, int) and o == 0 and (s is parts.storage_dim(axis) or s == parts.storage_dim(axis))
            for axis, (o, s) in enumerate(zip(offsets, sizes, strict=True))
        )

    def _axes(
        self, operand: Operand, sizes: dict[int, Mixed]
    ) -> tuple[list[Range], list[bool], list[ir.AffineExpr], dict[int, list[Mixed]]]:
        """The range of each axis, whether it stays, what is along it, and the extents of those that are matrices."""
        matrices: dict[int, list[Mixed]] = {}
        parts = operand.parts
        ranges: list[Range] = []
        kept: list[bool] = []
        exprs: list[ir.AffineExpr] = []
        for axis in range(parts.layout.storage_rank):
            dims = parts.layout.dims(axis)
            loop = operand.loops[dims[-1]]
            if len(dims) == 1:
                low, size, keep, expr = self._plain(operand, dims[0], sizes)
            elif loop in self.ivs:
                fixed = [*self._fixed(operand, dims[-1]), self.ivs[loop]]
                low, _ = parts.axis_range(axis, fixed)
                size, keep, expr = 1, False, None
            elif (row := operand.loops[dims[-2]]) in self.inner:
                low, size = parts.axis_range(axis, self._fixed(operand, dims[-2]))
                assert loop is not None
                assert row is not None
                matrices[axis] = [sizes[row] if row in sizes else self._extent(row), sizes[loop]]
                known = build.product(matrices[axis])
                size = known if isinstance(known, int) else size
                exprs.append(ir.AffineDimExpr.get(self.inner.index(row)))
                keep, expr = True, ir.AffineDimExpr.get(self.inner.index(loop))
            else:
                low, size = parts.axis_range(axis, self._fixed(operand, dims[-1]))
                assert loop is not None
                size, keep, expr = sizes.get(loop, size), True, ir.AffineDimExpr.get(self.inner.index(loop))
            ranges.append((low, size))
            kept.append(keep)
            if keep:
                assert expr is not None
                exprs.append(expr)
        return ranges, kept, exprs, matrices

    def _plain(
        self, operand: Operand, dim: int, sizes: dict[int, Mixed]
    ) -> tuple[Mixed, Mixed, bool, ir.AffineExpr | None]:
        """Range of a dense axis: all of it, one index of an outer loop, or the length of a ragged
        loop that it takes part in."""
        loop = operand.loops[dim]
        if loop in self.ivs:
            return self.ivs[loop], 1, False, None
        extent = operand.parts.extent(dim)
        if loop is not None:
            return 0, sizes.get(loop, extent), True, ir.AffineDimExpr.get(self.inner.index(loop))
        expr = operand.exprs[dim]
        outer = [k for k in self.ivs if expr_uses(expr, k)]
        if not outer:
            return 0, extent, True, self._renumber(expr)
        low = self._evaluate(expr)
        rest = without_constant(self._renumber(expr), len(self.inner))
        for k, inner in enumerate(self.inner):
            if rest == ir.AffineDimExpr.get(k):  # the op may take the loop's extent from it
                return low, sizes[inner] if inner in sizes else self._extent(inner), True, rest
        return low, build.sub(extent, low), True, rest

    def _renumber(self, expr: ir.AffineExpr) -> ir.AffineExpr:
        """An expression over the inner loops; outer ones count as 0."""
        count = max([*self.nest.kinds, 0]) + 1
        return composed(expr, count, len(self.inner), lambda k: self.inner.index(k) if k in self.inner else None)

    def _evaluate(self, expr: ir.AffineExpr) -> ir.Value:
        """Value of an expression with the inner loops at 0."""
        count = max([*self.nest.kinds, 0]) + 1
        outer = list(self.ivs)
        made = composed(expr, count, len(outer), lambda k: outer.index(k) if k in self.ivs else None)
        return affine.apply(ir.AffineMap.get(len(outer), 0, [made]), [build.value(self.ivs[k]) for k in outer])

    def _generic(self, ins: list[ir.Value], outs: list[ir.Value], views: list[_View]) -> list[ir.Value]:
        rank = len(self.inner)
        maps = [ir.AffineMap.get(rank, 0, view.exprs) for view in views]
        kinds = [self.nest.kinds[loop] for loop in self.inner]
        op = generic(ins, outs, maps, kinds, lambda elements: self.nest.payload(elements, self._index))
        if self.forall is None:
            for name, value in self.ctx.mapping.items():
                op.attributes[name] = value
        return list(op.results)

    def _index(self, loop: int) -> ir.Value:
        """Index of a loop, inside the payload."""
        return build.value(self.ivs[loop]) if loop in self.ivs else loop_index(self.inner.index(loop))


def _values(indices: Sequence[Mixed]) -> list[ir.Value]:
    return [build.value(index) for index in indices]


def _is_all(size: Mixed, storage: Mixed | None) -> bool:
    return storage is size or (isinstance(size, int) and isinstance(storage, int) and storage == size)


@dataclass
class _View:
    """A slice of an operand: the tensor, or the scalar, what it was cut from, its map over the inner loops, where it
    was cut, and which dims of the tensor are one there, None where none are."""

    tensor: ir.Value
    base: ir.Value | None
    exprs: list[ir.AffineExpr]
    offsets: list[Mixed]
    sizes: list[Mixed]
    whole: bool
    groups: list[list[int]] | None = None


def _ordered(nest: Nest, loops: list[int]) -> list[int]:
    """Loops with the parents of ragged levels before them, else in their order."""
    parents: dict[int, set[int]] = {loop: set() for loop in loops}
    for operand in nest.tensors:
        for axis in range(operand.parts.layout.storage_rank):
            dims = operand.parts.layout.dims(axis)
            for at, dim in enumerate(dims):
                loop = operand.loops[dim]
                if loop in parents and not operand.parts.has_one_extent(dim):
                    parents[loop] |= {k for d in dims[:at] if (k := operand.loops[d]) in parents}
    done: list[int] = []
    while len(done) < len(loops):
        ready = [k for k in loops if k not in done and parents[k] <= set(done)]
        done.append(ready[0])
    return done
