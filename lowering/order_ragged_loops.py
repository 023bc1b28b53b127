"""`order-ragged-loops`: the loop order and the flags under which reductions vectorise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, iterator_kinds, renumber_loops
from ragged_dialect.ir.match import combiner_of, made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass

_SUMS = frozenset({"arith.addf", "arith.mulf"})
_SMALL = 1 / 64


@dataclass(frozen=True)
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

    name: ClassVar[str] = "order-ragged-loops"

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
    outs = list(op.attributes["operandSegmentSizes"])[1]
    arguments = list(block.arguments)[-outs:]
    yielded = list(list(block.operations)[-1].operands)
    combiners = [combiner_of(a, y, _SUMS) for a, y in zip(arguments, yielded, strict=True)]
    for combiner in combiners:
        if combiner is not None:
            flags = "reassoc,contract" if _contract(combiner) else "reassoc"
            combiner.attributes["fastmath"] = ir.Attribute.parse(f"#arith.fastmath<{flags}>")
    return all(c is not None for c in combiners)


def _contract(combiner: ir.Operation) -> bool:
    """Let products that only the sum reads be fused with it; whether there is one. Of other terms nothing may be: what
    a library's function ends with would be, or not, as LLVM runs several rows at a time, or one."""
    products = [made_by(x, "arith.mulf") for x in combiner.operands if len(list(x.uses)) == 1]
    found = [product for product in products if product is not None]
    for product in found:
        product.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
    return bool(found)


def _interchange(op: ir.Operation, free: bool) -> None:
    maps = indexing_maps(op)
    rank = maps[0].n_dims
    outs = list(op.attributes["operandSegmentSizes"])[1]
    scores = [_score(maps, len(maps) - outs, loop) for loop in range(rank)]
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
    new = [ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [e.compose(table) for e in m.results])) for m in maps]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(new)
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[k] for k in order])
    renumber_loops(op, place)


def _score(maps: list[ir.AffineMap], inputs: int, loop: int) -> float:
    """How many operands a loop runs through along memory; a written one counts more, one of fewer dims than
    others, which is in cache, only between equals."""
    rank = max(len(map_.results) for map_ in maps)
    total = 0.0
    for k, map_ in enumerate(maps):
        results = list(map_.results)
        if results and isinstance(results[-1], ir.AffineDimExpr) and results[-1].position == loop:
            total += (1.0 if k < inputs else 1.5) * (1.0 if len(results) == rank else _SMALL)
    return total
