"""Which loops of a nest are explicit, which collapse, which run with the open forall.

Loops that index a level with levels below it in its axis are *explicit*, and so are those that go backwards, with
the loops around them: batch loops become an `scf.forall`, the others `scf.for` inside. Loops that all operands nest
alike are collapsed first (the merge of their levels): an elementwise op runs flat over the values.
"""

from __future__ import annotations

from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.iteration import expr_uses
from ragged_dialect.lowering.nests.expressions import is_separable
from ragged_dialect.lowering.nests.forall import OpenForall
from ragged_dialect.lowering.nests.nest import Nest, Operand
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.structure.merge_views import merge_parts
from ragged_dialect.merging import merge_rule

_COLLAPSIBLE = frozenset({"batch", "components", "untile", "tiles"})
_LEVELS = frozenset({"levels"})


def collapse(nest: Nest) -> None:
    """Merge adjacent loops while every operand nests them alike."""
    while any(_collapse_pair(nest, a, b) for b in reversed(list(nest.kinds)) for a in list(nest.kinds) if a != b):
        pass


def collapse_reduced(nest: Nest) -> None:
    """Merge the loops over lists of lists that are folded together: a fold of all elements below a component."""
    reduced = [loop for loop, kind in nest.kinds.items() if kind == "reduction"]
    while any(
        _collapse_pair(nest, a, b, _LEVELS) for b in reversed(reduced) for a in reduced if {a, b} <= {*nest.kinds}
    ):
        pass


def _collapse_pair(nest: Nest, a: int, b: int, by: frozenset[str] = _COLLAPSIBLE) -> bool:
    if {a, b} & (nest.index_loops | nest.backwards) or not _nested_alike(nest, a, b, by):
        return False
    if by == _LEVELS and any(operand.pending is not None and operand.uses(a) for operand in nest.operands):
        return False
    for operand in nest.operands:
        if operand.uses(a):
            (dim,) = operand.uses(a)
            operand.value = merge_parts(operand.parts, dim)
            del operand.loops[dim + 1], operand.exprs[dim + 1]
    del nest.kinds[b]
    return True


def _nested_alike(nest: Nest, a: int, b: int, by: frozenset[str] = _COLLAPSIBLE) -> bool:
    """Whether two loops are of one kind, and every operand nests them alike."""
    rules = {_pair_rule(operand, a, b) for operand in nest.operands} - {"unused"}
    return nest.kinds[a] == nest.kinds[b] and len(rules) == 1 and rules <= by


def _pair_rule(operand: Operand, a: int, b: int) -> str:
    """Name of the rule that merges the dims of loops a, b; `unused` without them, `none` else."""
    if operand.mentions(a) or operand.mentions(b):
        return "none"
    first, second = operand.uses(a), operand.uses(b)
    if not first and not second:
        return "unused"
    if len(first) != 1 or len(second) != 1 or second[0] != first[0] + 1:
        return "none"
    shape = operand.parts.shape
    dim = first[0]
    if shape.layout.locate(dim)[0] != shape.layout.locate(dim + 1)[0] or shape.layout.letter(dim + 1) == "w":
        return "none"
    return merge_rule(shape, dim).name


def close_pending_inputs(ctx: Lowering, nest: Nest) -> None:
    """Close the open forall when the nest reads a result of it as a whole."""
    if any(op.pending is not None for op in nest.operands):
        ctx.close()
    for operand in nest.operands:
        if operand.pending is not None:
            operand.parts.held = operand.parts.values


def explicit_loops(nest: Nest) -> list[int]:
    """Loops that index a level with levels below it in its axis, or go backwards, or are around one that does."""
    found = {loop for loop in nest.kinds if any(loop <= inner for inner in nest.backwards)}
    before: set[int] | None = None
    while found != before:  # a loop that is explicit leaves no matrix whose rows go along it
        before = {*found}
        for operand in nest.tensors:
            for axis in range(operand.parts.layout.storage_rank):
                found |= _outer_loops(nest, operand, axis, found)
    return [loop for loop in nest.kinds if loop in found]


def _outer_loops(nest: Nest, operand: Operand, axis: int, explicit: set[int]) -> set[int]:
    """The loops above the last level of an axis, or above the last two where they stay in one dense op."""
    *outer, along = (operand.loops[dim] for dim in operand.parts.layout.dims(axis))
    if along not in explicit and _is_matrix(nest, operand, axis):
        outer.pop()
    return {loop for loop in outer if loop is not None}


def _is_matrix(nest: Nest, operand: Operand, axis: int) -> bool:
    """Whether the lists of an axis that are in one list of the levels above have one length: that of another operand,
    which has it without them."""
    layout = operand.parts.layout
    dims = layout.dims(axis)
    if not nest.are_matrices or len(dims) < 2 or "t" in layout.axes[axis] or layout.letter(dims[-1]) != "r":
        return False
    if {dims[-1], dims[-2]} & {*operand.parts.windows}:
        return False
    *above, row, along = (operand.loops[dim] for dim in dims)
    if row is None or along is None or {row, along} & nest.backwards:
        return False

    def has_it_alone(other: Operand, dim: int) -> bool:
        there = other.parts.layout  # a dense dim may be longer than the lists
        return there.letter(dim) == "r" and {other.loops[outer] for outer in there.above(dim)} <= {*above}

    return any(has_it_alone(other, dim) for other in nest.operands for dim in other.uses(along))


def mixed_loops(nest: Nest, outer: set[int]) -> set[int]:
    """Loops of index expressions that mix outer and inner loops in a way no slice can follow."""
    found: set[int] = set()
    for operand in nest.operands:
        for used, expr in zip(operand.loops, operand.exprs, strict=True):
            if used is None and not is_separable(expr, outer, list(nest.kinds)):
                found |= {loop for loop in nest.kinds if expr_uses(expr, loop)}
    return found - outer


def batch_loops(nest: Nest) -> list[int]:
    """Explicit parallel loops over leading dense levels, in every out: the forall. Together they cut
    every out into ranges of its own: the levels above one of them are among them too."""
    found = [loop for loop in explicit_loops(nest) if _is_independent(nest, loop)]
    while not _cuts_outs(nest, found):
        found = [loop for loop in found if _cuts_outs(nest, found, loop)]
    return found


def _is_independent(nest: Nest, loop: int) -> bool:
    """Whether a loop is parallel, over leading dense levels, and in every out."""
    return (
        nest.kinds[loop] == "parallel"
        and all(out.uses(loop) for out in nest.outs)
        and all(_is_leading(operand, dim) for operand in nest.operands for dim in operand.uses(loop))
        and not any(operand.mentions(loop) for operand in nest.operands)
    )


def _cuts_outs(nest: Nest, loops: list[int], only: int | None = None) -> bool:
    """Whether the levels of the outs above those of some loops (or of one) are indexed by them too."""
    for out in nest.outs:
        for loop in loops if only is None else (only,):
            for dim in out.uses(loop):
                _, at = out.parts.layout.locate(dim)
                if any(out.loops[above] not in loops for above in range(dim - at, dim)):
                    return False
    return True


def _is_leading(operand: Operand, dim: int) -> bool:
    """Whether only dense levels precede a dense level in its axis."""
    layout = operand.parts.layout
    axis, at = layout.locate(dim)
    return set(layout.axes[axis][: at + 1]) == {"d"} and not layout.is_split_outer(dim)


def component_loops(nest: Nest) -> list[int] | None:
    """The loop over components of a nest that could run flat, if there is one level of lists, and it reads nothing of
    an open forall."""
    if any(operand.pending is not None for operand in nest.operands):
        return None
    loops = [operand.loops[dim] for operand in nest.outs for dim in _parents(operand)]
    outer = [loop for loop in dict.fromkeys(loops) if loop is not None]
    return outer if len(outer) == 1 and _can_run(nest, outer) else None


def _parents(operand: Operand) -> list[int]:
    """The dims whose lists are the only level below them in their axis."""
    assert operand.parts is not None
    layout = operand.parts.layout
    return [layout.dims(axis)[0] for axis in range(layout.storage_rank) if len(layout.dims(axis)) == 2]


def joined_loops(ctx: Lowering, nest: Nest) -> list[int] | None:
    """Loops of the nest that run with those of the open forall, if it reads results of it
    iteration by iteration."""
    forall = ctx.forall
    if forall is None or (_can_collapse(nest) and _reduces_rows(nest, ctx.rows)):
        return None
    reads = [op for op in nest.operands if op.pending is not None]
    if not reads:
        return _same_components(forall, nest)
    loops: list[int] | None = None
    for operand in reads:
        assert operand.pending is not None
        places = operand.pending.places
        if places is None:
            return None
        found = [operand.loops[place] for place in places]
        if any(loop is None for loop in found) or (loops is not None and found != loops):
            return None
        loops = [loop for loop in found if loop is not None]
    assert loops is not None
    return loops if _can_run(nest, loops) and all(out.pending is None for out in nest.outs) else None


def _same_components(forall: OpenForall, nest: Nest) -> list[int] | None:
    batch = batch_loops(nest)
    if len(batch) != len(forall.counts) or _can_collapse(nest) or not _can_run(nest, batch):
        return None
    counts = [dense_extent(nest, loop) for loop in batch]
    return batch if counts == forall.counts else None


def _can_collapse(nest: Nest) -> bool:
    """Whether the nest would run flat on its own, which needs no forall."""
    return any(_nested_alike(nest, a, b) for a in nest.kinds for b in nest.kinds if a != b)


def _reduces_rows(nest: Nest, most: int) -> bool:
    """Whether the nest reduces dense dims, of so many elements at most."""
    reduced = [loop for loop, kind in nest.kinds.items() if kind == "reduction"]
    uses = [(x.parts, dim) for x in nest.operands for loop in reduced for dim in x.uses(loop)]
    if not reduced or any(parts.layout.letter(dim) in "rwt" for parts, dim in uses):
        return False
    size = build.product(dense_extent(nest, loop) for loop in reduced)
    return isinstance(size, int) and size <= most


def _can_run(nest: Nest, loops: list[int]) -> bool:
    """Whether these loops can be the forall of the nest."""
    if not all(_is_independent(nest, loop) for loop in loops) or len(set(loops)) != len(loops):
        return False
    return set(batch_loops(nest)) <= set(loops) and _cuts_outs(nest, loops)


def dense_extent(nest: Nest, loop: int) -> Mixed:
    """Extent of a dense loop, from the operand that knows it best."""
    uses = [(operand.parts, dim) for operand in nest.operands for dim in operand.uses(loop)]
    sizes = [parts.extent(dim) for parts, dim in uses if parts.layout.letter(dim) not in "rwt"]
    static = [s for s in sizes if isinstance(s, int)]
    return static[0] if static else sizes[0]
