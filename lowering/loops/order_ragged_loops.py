"""`order-ragged-loops`: the loop order and the flags under which reductions vectorise."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.generic import index_loop, indexing_maps, input_count, iterator_kinds, renumber_loops
from ragged_dialect.ir.fast_math import give_flags
from ragged_dialect.ir.match import combiner_of, made_by, terminator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.iteration import expr_uses
from ragged_dialect.passes.base import RaggedPass

_SUMS = frozenset({"arith.addf", "arith.mulf"})
_SMALL = 1 / 64


class OrderRaggedLoops(RaggedPass):
    """Put the loop that runs along memory innermost, and let sums be added in any order.

    ```mlir
    linalg.generic {(m, n, k) -> (m, k), (k, n), (m, n)} … { %s = arith.addf %acc, %p … }
    // becomes
    linalg.generic {(m, k, n) -> (m, k), (k, n), (m, n)} … { %s = arith.addf %acc, %p fastmath<reassoc,contract> … }
    ```

    linalg leaves the order of a reduction open; the flags tell LLVM so, which then keeps one sum per
    lane. The order is fixed by the code and does not depend on threads. A body that combines in
    another way than one sum or product keeps its order of reduction loops. Precondition: bufferized.
    """

    def run(self, op: ir.Operation) -> None:
        """Order the loops of every linalg.generic of a module."""
        for inner in find_ops(op, "linalg.generic"):
            if inner.results:
                continue
            with inner.location:
                free = _relax(inner)
                _interchange(inner, free)


def _relax(op: ir.Operation) -> bool:
    """Set the flags on sums and products that are reduced; whether all reductions are such."""
    if "reduction" not in iterator_kinds(op):
        return True
    block = op.regions[0].blocks[0]
    arguments = list(block.arguments)[input_count(op) :]
    yielded = list(terminator(block).operands)
    combiners = [combiner_of(a, y, _SUMS) for a, y in zip(arguments, yielded, strict=True)]
    for combiner, so_far, made in zip(combiners, arguments, yielded, strict=True):
        if combiner is None:
            _relax_scan(so_far, made)
        else:
            flags = {"reassoc", "contract"} if _contract(combiner) else {"reassoc"}
            give_flags(combiner, flags)
    return all(c is not None for c in combiners)


def _relax_scan(so_far: ir.Value, made: ir.Value) -> None:
    """Set the flag on a sum that is used in every iteration: grouped otherwise it is in order still. Products are not:
    those of a few factors may have no float where that of all before them is 0."""
    op, uses = made_by(made, "arith.addf"), list(so_far.uses)
    if op is not None and [use.owner.operation for use in uses] == [op]:
        give_flags(op, {"reassoc"})


def _contract(combiner: ir.Operation) -> bool:
    """Let products that only the sum reads be fused with it; whether there is one. Of other terms nothing may be: what
    a library's function ends with would be, or not, as LLVM runs several rows at a time, or one."""
    products = [made_by(x, "arith.mulf") for x in combiner.operands if len(list(x.uses)) == 1]
    found = [product for product in products if product is not None]
    for product in found:
        give_flags(product, {"contract"})
    return bool(found)


def _interchange(op: ir.Operation, free: bool) -> None:
    rank = len(iterator_kinds(op))
    traversals = [*_traversals(op), *_gathers(op)]
    scores = [_score(traversals, loop) for loop in range(rank)]
    if rank < 2 or max(scores) <= scores[-1]:
        return
    inner = scores.index(max(scores))
    order = [k for k in range(rank) if k != inner] + [inner]
    kinds = list(op.attributes["iterator_types"])
    reductions = [k for k in order if "reduction" in str(kinds[k])]
    if not free and reductions != sorted(reductions):
        return
    place = {loop: at for at, loop in enumerate(order)}
    table = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(place[k]) for k in range(rank)])
    maps = indexing_maps(op)
    new = [ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [e.compose(table) for e in m.results])) for m in maps]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(new)
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[k] for k in order])
    renumber_loops(op, place)


@dataclass(frozen=True)
class _Traversal:
    """What an operand, or a load of the body, goes along: the loop that runs through its memory, and how many loops it
    changes with."""

    along: int | None
    loops: int
    weight: float = 1.0


def _traversals(op: ir.Operation) -> list[_Traversal]:
    """Those of the operands; a written one counts more."""
    maps = indexing_maps(op)
    found: list[_Traversal] = []
    for k, map_ in enumerate(maps):
        results = list(map_.results)
        last = results[-1] if results and isinstance(results[-1], ir.AffineDimExpr) else None
        weight = 1.0 if k < input_count(op) else 1.5
        found.append(_Traversal(None if last is None else last.position, len(results), weight))
    return found


def _gathers(op: ir.Operation) -> list[_Traversal]:
    """Those of the rows that the body takes of buffers: along another loop than their last dim, every element is
    somewhere else."""
    block, maps = op.regions[0].blocks[0], indexing_maps(op)
    loops: dict[ir.Value, frozenset[int]] = {
        argument: frozenset(k for expr in map_.results for k in range(map_.n_dims) if expr_uses(expr, k))
        for argument, map_ in zip(block.arguments, maps, strict=True)
    }
    found: list[_Traversal] = []
    for inner in (o.operation for o in block.operations):
        own = frozenset[int]().union(*(loops.get(x, frozenset()) for x in inner.operands))
        if inner.name == "linalg.index":
            own = frozenset({inner.attributes["dim"].value})
        loops.update((result, own) for result in inner.results)
        if inner.name == "memref.load" and len(inner.operands) > 1:
            found.append(_Traversal(index_loop(inner.operands[-1]), len(own)))
    return found


def _score(traversals: list[_Traversal], loop: int) -> float:
    """How many accesses a loop runs along; one of fewer loops than others, which is in cache, only between equals."""
    most = max(one.loops for one in traversals)
    return sum(a.weight * (1.0 if a.loops == most else _SMALL) for a in traversals if a.along == loop)
