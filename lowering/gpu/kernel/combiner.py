"""Reductions whose partial results can be combined in any grouping."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import defining_op
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.nests.combiners import Combiner, find_combiner


def fold_values(
    owners: list[Combiner], lanes: int, values: list[Callable[[ir.Value], ir.Value]], carried: list[ir.Value]
) -> list[ir.Value]:
    """Fold points into accumulators, as a tree where that is allowed. `values` are those of `Payload.at`,
    `lanes` to a point; the accumulators of a combiner are its lanes, and `owners` has the combiner of
    each."""
    folded: list[ir.Value] = []
    for number, (combiner, total) in enumerate(zip(owners, carried, strict=True)):
        tree = [value(combiner.element) for value in values[number % lanes :: lanes]]
        while combiner.takes_pairs and len(tree) > 1:
            pairs = [combiner.apply(tree[k], tree[k + 1]) for k in range(0, len(tree) - 1, 2)]
            tree = pairs + tree[len(tree) & ~1 :]
        for part in tree:
            total = combiner.apply(part, total)
        folded.append(total)
    return folded


def sums_of(owners: list[Combiner]) -> list[int]:
    """The numbers of the accumulators that are sums of floats."""
    return [k for k, combiner in enumerate(owners) if combiner.is_sum]


def combiner_of(generic: GenericOp, out: int) -> Combiner | None:
    """The combiner of an out that a reduction accumulates into, None when there is none known."""
    accumulator = generic.block.arguments[generic.n_inputs + out]
    result = generic.yielded[out]
    op = defining_op(result)
    return find_combiner(accumulator, result) if op is not None and op.block == generic.block else None


def combiners_of(generic: GenericOp) -> dict[int, Combiner]:
    """Outs that a reduction accumulates into by a known combiner."""
    found: dict[int, Combiner] = {}
    for out in range(len(generic.outs)) if generic.reductions else ():
        if generic.loops_of(generic.n_inputs + out) & set(generic.reductions):
            continue
        combiner = combiner_of(generic, out)
        if combiner is not None:
            found[out] = combiner
    return found


def is_split(generic: GenericOp) -> bool:
    """Whether threads share a reduction, and combine their parts: every other out has an element for each iteration."""
    accumulated = combiners_of(generic)
    others = [k for k in range(len(generic.outs)) if k not in accumulated]
    return bool(generic.reductions) and all(generic.is_apart(generic.n_inputs + k) for k in others)
