"""The loop nest of a compute op: loops over components around dense linalg on slices.

Loops that index a level with levels below it in its axis are *explicit*: batch loops become an
`scf.forall`, the others `scf.for` inside. The last level of an axis under fixed indices is a
contiguous range of storage, so what remains is one dense `linalg.generic` on slices. Before that,
loops that all operands nest alike are collapsed (the merge of their levels): an elementwise op
runs flat over the values and needs no component index at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ragged_dialect._mlir import affine, ir, linalg
from ragged_dialect.iteration import Iteration, expr_uses
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.forall import OpenForall
from ragged_dialect.lowering.parts import Parts, Pending, Range
from ragged_dialect.lowering.views import merge_parts
from ragged_dialect.merging import merge_rule
from ragged_dialect.types import is_tensor

Payload = Callable[[list[Any], Callable[[int], Any]], list[Any]]

_COLLAPSIBLE = frozenset({"batch", "components", "untile", "tiles"})


@dataclass
class Operand:
    """An operand of a nest: its parts (None for a scalar), and per dim a loop or an expression."""

    parts: Parts | None
    scalar: Any
    loops: list[int | None]
    exprs: list[Any]

    def uses(self, loop: int) -> list[int]:
        """Dims indexed by exactly this loop."""
        return [dim for dim, used in enumerate(self.loops) if used == loop]

    def mentions(self, loop: int) -> bool:
        """Whether another expression contains the loop."""
        return any(used is None and expr_uses(e, loop) for used, e in zip(self.loops, self.exprs, strict=True))


@dataclass
class Nest:
    """A compute op ready to be lowered. `alive` are the loops in order; `index_loops` those whose
    index the payload reads."""

    operands: list[Operand]
    inputs: int
    kinds: dict[int, str]
    payload: Payload
    index_loops: frozenset[int] = frozenset()

    @property
    def outs(self) -> list[Operand]:
        """The operands that are written."""
        return self.operands[self.inputs :]


def make_nest(
    it: Iteration, operands: Sequence[Parts | Any], payload: Payload, index_loops: frozenset[int] = frozenset()
) -> Nest:
    """A nest from an analysed op and its lowered operands (parts, or scalars)."""
    made = [
        Operand(x if isinstance(x, Parts) else None, x, list(access.loops), list(access.exprs))
        for x, access in zip(operands, it.accesses, strict=True)
    ]
    return Nest(made, it.inputs, dict(enumerate(it.kinds)), payload, index_loops)


def lower_nest(ctx: Lowering, nest: Nest) -> list[Parts]:
    """Emit a nest; returns the parts of its results, which have the structure of its outs."""
    structures = [out.parts for out in nest.outs]
    batch = _joined_loops(ctx, nest)
    if batch is None:
        _close_pending_inputs(ctx, nest)
        collapse(nest)
        batch = _batch_loops(nest)
    emitter = _Emitter(ctx, nest, batch)
    results = emitter.run()
    return [parts.replace(held) for parts, held in zip(structures, results, strict=True) if parts is not None]


# Collapsing loops ---------------------------------------------------------------------------------


def collapse(nest: Nest) -> None:
    """Merge adjacent loops while every operand nests them alike."""
    while any(_collapse_pair(nest, a, b) for b in reversed(list(nest.kinds)) for a in list(nest.kinds) if a != b):
        pass


def _collapse_pair(nest: Nest, a: int, b: int) -> bool:
    if nest.kinds[a] != nest.kinds[b] or a in nest.index_loops or b in nest.index_loops:
        return False
    rules = {_pair_rule(operand, a, b) for operand in nest.operands}
    rules.discard("unused")
    if len(rules) != 1 or not rules <= _COLLAPSIBLE:
        return False
    for operand in nest.operands:
        if operand.uses(a):
            (dim,) = operand.uses(a)
            assert operand.parts is not None
            operand.parts = merge_parts(operand.parts, dim)
            del operand.loops[dim + 1], operand.exprs[dim + 1]
    del nest.kinds[b]
    return True


def _pair_rule(operand: Operand, a: int, b: int) -> str:
    """Name of the rule that merges the dims of loops a, b; `unused` without them, `none` else."""
    if operand.mentions(a) or operand.mentions(b):
        return "none"
    first, second = operand.uses(a), operand.uses(b)
    if not first and not second:
        return "unused"
    if len(first) != 1 or len(second) != 1 or second[0] != first[0] + 1 or operand.parts is None:
        return "none"
    shape = operand.parts.shape
    dim = first[0]
    if shape.layout.locate(dim)[0] != shape.layout.locate(dim + 1)[0] or shape.layout.letter(dim + 1) == "w":
        return "none"
    return merge_rule(shape, dim).name


# Choosing loops -----------------------------------------------------------------------------------


def _close_pending_inputs(ctx: Lowering, nest: Nest) -> None:
    if any(op.parts is not None and op.parts.pending is not None for op in nest.operands):
        ctx.close()
    for operand in nest.operands:
        if operand.parts is not None and operand.parts.pending is not None:
            operand.parts.held = operand.parts.values


def explicit_loops(nest: Nest) -> list[int]:
    """Loops that index a level with further levels below it in its axis."""
    found: set[int] = set()
    for operand in nest.operands:
        if operand.parts is None:
            continue
        for axis in range(operand.parts.layout.storage_rank):
            dims = operand.parts.layout.dims(axis)
            found |= {loop for dim in dims[:-1] if (loop := operand.loops[dim]) is not None}
    return [loop for loop in nest.kinds if loop in found]


def _batch_loops(nest: Nest) -> list[int]:
    """Explicit parallel loops over leading dense levels, in every out: the forall."""
    return [
        loop
        for loop in explicit_loops(nest)
        if nest.kinds[loop] == "parallel"
        and all(out.uses(loop) for out in nest.outs)
        and all(_is_leading(operand, dim) for operand in nest.operands for dim in operand.uses(loop))
        and not any(operand.mentions(loop) for operand in nest.operands)
    ]


def _is_leading(operand: Operand, dim: int) -> bool:
    """Whether only dense levels precede a dense level in its axis."""
    assert operand.parts is not None
    layout = operand.parts.layout
    axis, at = layout.locate(dim)
    return set(layout.axes[axis][: at + 1]) == {"d"} and not layout.is_split_outer(dim)


def _joined_loops(ctx: Lowering, nest: Nest) -> list[int] | None:
    """Loops of the nest that run with those of the open forall, if it reads results of it
    iteration by iteration."""
    forall = ctx.forall
    if forall is None:
        return None
    reads = [op for op in nest.operands if op.parts is not None and op.parts.pending is not None]
    if not reads:
        return _same_components(forall, nest)
    loops: list[int] | None = None
    for operand in reads:
        assert operand.parts is not None
        assert operand.parts.pending is not None
        slot = forall.slots[operand.parts.pending.slot]
        found = [operand.loops[place] for place in slot.places]
        if any(loop is None for loop in found) or (loops is not None and found != loops):
            return None
        loops = [loop for loop in found if loop is not None]
    assert loops is not None
    return loops if _can_run(nest, loops) and not _updates_pending(nest) else None


def _updates_pending(nest: Nest) -> bool:
    return any(out.parts is not None and out.parts.pending is not None for out in nest.outs)


def _same_components(forall: OpenForall, nest: Nest) -> list[int] | None:
    batch = _batch_loops(nest)
    if len(batch) != len(forall.counts) or _can_collapse(nest) or not _can_run(nest, batch):
        return None
    counts = [_dense_extent(nest, loop) for loop in batch]
    return batch if counts == forall.counts else None


def _can_collapse(nest: Nest) -> bool:
    """Whether the nest would run flat on its own, which needs no forall."""
    pairs = [(a, b) for a in nest.kinds for b in nest.kinds if a != b]
    for a, b in pairs:
        rules = {_pair_rule(operand, a, b) for operand in nest.operands} - {"unused"}
        if len(rules) == 1 and rules <= _COLLAPSIBLE and nest.kinds[a] == nest.kinds[b]:
            return True
    return False


def _can_run(nest: Nest, loops: list[int]) -> bool:
    """Whether these loops can be the forall of the nest."""
    batch = set(_batch_loops(nest))
    for loop in loops:
        plain = (
            nest.kinds[loop] == "parallel"
            and all(out.uses(loop) for out in nest.outs)
            and all(_is_leading(operand, dim) for operand in nest.operands for dim in operand.uses(loop))
            and not any(operand.mentions(loop) for operand in nest.operands)
        )
        if not plain:
            return False
    return batch <= set(loops) and len(set(loops)) == len(loops)


def _dense_extent(nest: Nest, loop: int) -> Mixed:
    """Extent of a dense loop, from the operand that knows it best."""
    sizes: list[Mixed] = []
    for operand in nest.operands:
        for dim in operand.uses(loop):
            assert operand.parts is not None
            if not operand.parts.layout.letter(dim) in "rwt":
                sizes.append(operand.parts.extent(dim))
    static = [s for s in sizes if isinstance(s, int)]
    return static[0] if static else sizes[0]


def fill_of(tensor: Any) -> tuple[Any, Any] | None:
    """The (scalar, outs) of the fill that makes a tensor, in named or generic form."""
    if isinstance(tensor.owner, ir.Block):
        return None
    op = tensor.owner.operation
    if op.name == "linalg.fill":
        return op.operands[0], op.operands[1]
    if op.name != "linalg.generic" or len(op.operands) != 2 or is_tensor(op.operands[0].type):
        return None
    block = op.regions[0].blocks[0]
    first = next(iter(block.operations)).operation
    if first.name == "linalg.yield" and first.operands[0] == block.arguments[0]:
        return op.operands[0], op.operands[1]
    return None


# Emitting -----------------------------------------------------------------------------------------


class _Emitter:
    """Emits one nest: forall, inner loops, the dense op."""

    def __init__(self, ctx: Lowering, nest: Nest, batch: list[int]) -> None:
        self.ctx = ctx
        self.nest = nest
        self.batch = batch
        self.serial = _ordered(nest, [loop for loop in explicit_loops(nest) if loop not in batch])
        outer = {*batch, *self.serial}
        self.inner = [loop for loop in nest.kinds if loop not in outer]
        self.ivs: dict[int, Mixed] = {}
        self.slots: list[int] = []
        self.forall: OpenForall | None = None

    def run(self) -> list[Any]:
        """The results: tensors, or pending ones of the open forall."""
        if not self.batch:
            inits = [out.parts.values for out in self.nest.outs if out.parts is not None]
            return self._loops(inits)
        counts = [_dense_extent(self.nest, loop) for loop in self.batch]
        if self.ctx.forall is None or not self._fits(self.ctx.forall, counts):
            self.ctx.close()
            self.ctx.forall = OpenForall(self.ctx, counts)
        forall = self.forall = self.ctx.forall
        self.ivs = dict(zip(self.batch, forall.ivs, strict=True))
        with ir.InsertionPoint(forall.block), self.ctx.scope(forall.known):
            self.slots = [self._add_out(out) for out in self.nest.outs]
            carried = self._loops([forall.slots[s].current for s in self.slots])
        for slot, tensor in zip(self.slots, carried, strict=True):
            forall.slots[slot].current = tensor
        return [Pending(forall, slot, forall.slots[slot].init) for slot in self.slots]

    def _fits(self, forall: OpenForall, counts: list[Mixed]) -> bool:
        reads = any(op.parts is not None and op.parts.pending is not None for op in self.nest.operands)
        return reads or counts == forall.counts

    def _add_out(self, out: Operand) -> int:
        """A shared out of the forall. One that starts filled with a scalar is filled part by part,
        in the iteration that uses the part."""
        assert out.parts is not None
        assert self.forall is not None
        places = tuple(out.uses(loop)[0] for loop in self.batch)
        init = out.parts.values
        filled = fill_of(init)
        slot = self.forall.add(init if filled is None else filled[1], self._outer_ranges(out), places)
        if filled is not None:
            part = self.forall.slots[slot]
            part.current = linalg.fill(filled[0], outs=[part.current])
        return slot

    def _outer_ranges(self, operand: Operand) -> list[Range]:
        """Storage ranges under the forall's indices."""
        assert operand.parts is not None
        ranges: list[Range] = []
        for axis in range(operand.parts.layout.storage_rank):
            fixed: list[Mixed] = []
            for dim in operand.parts.layout.dims(axis):
                if operand.loops[dim] not in self.batch:
                    break
                fixed.append(self.ivs[operand.loops[dim]])  # type: ignore[index]
            ranges.append(operand.parts.axis_range(axis, fixed))
        return ranges

    def _loops(self, carried: list[Any], depth: int = 0) -> list[Any]:
        if depth == len(self.serial):
            return self._dense(carried)
        loop = self.serial[depth]
        count = self._extent(loop)

        def body(i: Any, inner: list[Any]) -> list[Any]:
            self.ivs[loop] = i
            with self.ctx.scope():
                return self._loops(inner, depth + 1)

        return emit.for_loop(count, carried, body)

    def _fixed(self, operand: Operand, dim: int) -> list[Mixed]:
        """Indices of the levels above a dim in its axis."""
        assert operand.parts is not None
        axis, at = operand.parts.layout.locate(dim)
        first = operand.parts.layout.dims(axis)[0]
        return [self.ivs[operand.loops[d]] for d in range(first, first + at)]  # type: ignore[index]

    def _extent(self, loop: int) -> Mixed:
        """Extent of a loop under the loops around it; ragged uses know it best."""
        best: tuple[int, Operand, int] | None = None
        for operand in self.nest.operands:
            for dim in operand.uses(loop):
                assert operand.parts is not None
                rank = "twr".find(operand.parts.layout.letter(dim)) + 1
                rank = rank or (1 if operand.parts.layout.is_split_outer(dim) else 0)
                if best is None or rank > best[0]:
                    best = (rank, operand, dim)
        assert best is not None
        _, operand, dim = best
        if best[0] == 0:
            return _dense_extent(self.nest, loop)
        assert operand.parts is not None
        return operand.parts.loop_extent(dim, self._fixed(operand, dim))

    # The dense op -------------------------------------------------------------------------------

    def _dense(self, carried: list[Any]) -> list[Any]:
        sizes = {loop: self._extent(loop) for loop in self.inner if self._is_ragged(loop)}
        views = [self._view(operand, sizes, None) for operand in self.nest.operands[: self.nest.inputs]]
        targets = [self._view(out, sizes, tensor) for out, tensor in zip(self.nest.outs, carried, strict=True)]
        results = self._generic([v.tensor for v in views], [t.tensor for t in targets], [*views, *targets])
        return [
            tensor if target.whole else emit.insert_slice(result, tensor, target.offsets, target.sizes)
            if not target.whole
            else result
            for tensor, target, result in zip(carried, targets, results, strict=True)
        ] if not all(t.whole for t in targets) else results

    def _is_ragged(self, loop: int) -> bool:
        return any(
            operand.parts is not None and operand.parts.layout.letter(dim) in "rwt"
            for operand in self.nest.operands
            for dim in operand.uses(loop)
        )

    def _view(self, operand: Operand, sizes: dict[int, Mixed], tensor: Any) -> _View:
        """The slice of an operand under the current indices; `tensor` is the part of an out that
        the forall's iteration owns."""
        if operand.parts is None:
            return _View(operand.scalar, [], [], [], True)
        parts = operand.parts
        if tensor is None and parts.pending is not None:
            slot = parts.pending.forall.slots[parts.pending.slot]
            tensor, bases = slot.current, slot.ranges
        elif tensor is not None and self.forall is not None:
            bases = self.forall.slots[self.slots[self.nest.outs.index(operand)]].ranges
        else:
            tensor = parts.values if tensor is None else tensor
            bases = [(0, None)] * parts.layout.storage_rank
        ranges, kept, exprs = self._axes(operand, sizes)
        offsets = [emit.sub(low, base[0]) for (low, _), base in zip(ranges, bases, strict=True)]
        extents = [size for _, size in ranges]
        whole = all(kept) and all(
            isinstance(o, int) and o == 0 and (base[1] is size or (isinstance(size, int) and base[1] == size))
            for o, size, base in zip(offsets, extents, bases, strict=True)
        )
        whole = whole or (all(kept) and self.forall is None and not self.serial and self._covers(parts, offsets, extents))
        view = tensor if whole else emit.extract_slice(tensor, offsets, extents, kept)
        return _View(view, exprs, offsets, extents, whole)

    def _covers(self, parts: Parts, offsets: list[Mixed], sizes: list[Mixed]) -> bool:
        return all(
            isinstance(o, int) and o == 0 and (s is parts.storage_dim(axis) or s == parts.storage_dim(axis))
            for axis, (o, s) in enumerate(zip(offsets, sizes, strict=True))
        )

    def _axes(self, operand: Operand, sizes: dict[int, Mixed]) -> tuple[list[Range], list[bool], list[Any]]:
        assert operand.parts is not None
        parts = operand.parts
        ranges: list[Range] = []
        kept: list[bool] = []
        exprs: list[Any] = []
        for axis in range(parts.layout.storage_rank):
            dims = parts.layout.dims(axis)
            loop = operand.loops[dims[-1]]
            if len(dims) == 1:
                low, size, keep, expr = self._plain(operand, dims[0], sizes)
            elif loop in self.ivs:
                fixed = [*self._fixed(operand, dims[-1]), self.ivs[loop]]
                low, _ = parts.axis_range(axis, fixed)
                size, keep, expr = 1, False, None
            else:
                low, size = parts.axis_range(axis, self._fixed(operand, dims[-1]))
                assert loop is not None
                size, keep, expr = sizes.get(loop, size), True, ir.AffineDimExpr.get(self.inner.index(loop))
            ranges.append((low, size))
            kept.append(keep)
            if keep:
                exprs.append(expr)
        return ranges, kept, exprs

    def _plain(self, operand: Operand, dim: int, sizes: dict[int, Mixed]) -> tuple[Mixed, Mixed, bool, Any]:
        """Range of a dense axis: all of it, one index of an outer loop, or the length of a ragged
        loop that it takes part in."""
        assert operand.parts is not None
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
        return low, emit.sub(extent, low), True, self._renumber(expr)

    def _renumber(self, expr: Any) -> Any:
        """An expression over the inner loops; outer ones count as 0."""
        count = max([*self.nest.kinds, 0]) + 1
        table = [
            ir.AffineDimExpr.get(self.inner.index(k)) if k in self.inner else ir.AffineConstantExpr.get(0)
            for k in range(count)
        ]
        return expr.compose(ir.AffineMap.get(len(self.inner), 0, table))

    def _evaluate(self, expr: Any) -> Any:
        """Value of an expression with the inner loops at 0."""
        count = max([*self.nest.kinds, 0]) + 1
        outer = list(self.ivs)
        table = [
            ir.AffineDimExpr.get(outer.index(k)) if k in self.ivs else ir.AffineConstantExpr.get(0) for k in range(count)
        ]
        map_ = ir.AffineMap.get(len(outer), 0, [expr.compose(ir.AffineMap.get(len(outer), 0, table))])
        return affine.apply(map_, [emit.value(self.ivs[k]) for k in outer])

    def _generic(self, ins: list[Any], outs: list[Any], views: list[_View]) -> list[Any]:
        rank = len(self.inner)
        maps = [ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, view.exprs)) for view in views]
        kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{self.nest.kinds[loop]}>") for loop in self.inner]
        op = ir.Operation.create(
            "linalg.generic",
            results=[out.type for out in outs],
            operands=[*ins, *outs],
            attributes={
                "indexing_maps": ir.ArrayAttr.get(maps),
                "iterator_types": ir.ArrayAttr.get(kinds),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(ins), len(outs)]),
            },
            regions=1,
        )
        elements = [getattr(x.type, "element_type", x.type) for x in (*ins, *outs)]
        block = op.regions[0].blocks.append(*elements)
        with ir.InsertionPoint(block):
            results = self.nest.payload(list(block.arguments), self._index)
            ir.Operation.create("linalg.yield", operands=results)
        return list(op.results)

    def _index(self, loop: int) -> Any:
        """Index of a loop, inside the payload."""
        if loop in self.ivs:
            return emit.value(self.ivs[loop])
        i64 = ir.IntegerType.get_signless(64)
        attributes = {"dim": ir.IntegerAttr.get(i64, self.inner.index(loop))}
        return ir.Operation.create("linalg.index", results=[emit.index_type()], attributes=attributes).result


@dataclass
class _View:
    """A slice of an operand: the tensor, its map over the inner loops, where it was cut."""

    tensor: Any
    exprs: list[Any]
    offsets: list[Mixed]
    sizes: list[Mixed]
    whole: bool


def _ordered(nest: Nest, loops: list[int]) -> list[int]:
    """Loops with parents before children, else in their order."""
    parents: dict[int, set[int]] = {loop: set() for loop in loops}
    for operand in nest.operands:
        if operand.parts is None:
            continue
        for axis in range(operand.parts.layout.storage_rank):
            dims = [operand.loops[d] for d in operand.parts.layout.dims(axis)]
            for at, loop in enumerate(dims):
                if loop in parents:
                    parents[loop] |= {k for k in dims[:at] if k in parents}
    done: list[int] = []
    while len(done) < len(loops):
        ready = [k for k in loops if k not in done and parents[k] <= set(done)]
        done.append(ready[0])
    return done
