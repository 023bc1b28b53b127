"""`inline-index-vectors`: an index vector that others are computed of is no buffer of its own."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.flow import FOLD
from ragged_dialect.ir.match import enclosing, is_read, made_by
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass

_DIVISIONS = frozenset(f"arith.{name}{kind}" for name in ("div", "rem", "floordiv", "ceildiv") for kind in ("si", "ui"))
_LOADS = 2
"""Loads of an element that is computed again: two offsets make a length, and an index with the offset there a start."""
_OPS = 4
"""Other ops of an element that a loop over components computes: loops that make vectors do several elements at a time.
Sums of `x[:, 1:-1]`, whose starts and lengths take 7, take 1.17 times as long with them in the loop (lists of 5)."""


class InlineIndexVectors(RaggedPass):
    """Compute the elements of an index vector where other index vectors, folds of them, loops through them and flat ops
    read them.

    ```mlir
    %lengths = linalg.generic … outs(%e : tensor<?xi64>) {
      %i = linalg.index 0 … %high = tensor.extract %offsets[%i + 1] … linalg.yield %high - %low }
    %taken = linalg.generic … outs(%f : tensor<?xi64>) {
      %j = linalg.index 0 … %k = tensor.extract %ids[%j] … %n = tensor.extract %lengths[%k] : tensor<?xi64> … }
    // becomes
    %taken = linalg.generic … outs(%f : tensor<?xi64>) {
      %j = linalg.index 0 … %k = tensor.extract %ids[%j] … %high = tensor.extract %offsets[%k + 1] … %n = %high - %low }
    ```

    Each vector is a loop, or a kernel of a GPU, with a buffer. Only what nothing else reads is inlined, so that it need
    not be there, and what takes two loads at most. Loops over components, one after the other, take four ops besides,
    and no division. Flat ops over values compute it as often as there are features: they take what is one load and no
    division, and more where they have one dim and read one element of it for each place. Precondition: structure
    ops are lowered, tensors are not bufferized.
    """

    def run(self, op: ir.Operation) -> None:
        """Inline the vectors of a module, each with those that it is computed of."""
        for made in find_ops(op, "linalg.generic"):
            if is_index_vector(made):
                _inline(made)


def is_index_vector(op: ir.Operation) -> bool:
    """Whether an op computes a vector of integers, element by element, of their places and what it captures alone."""
    if len(op.results) != 1 or len(op.operands) != 1 or not isinstance(op.results[0].type.element_type, ir.IntegerType):
        return False
    if iterator_kinds(op) != ("parallel",) or indexing_maps(op)[0] != ir.AffineMap.get_identity(1):
        return False
    return not is_read(op.regions[0].blocks[0].arguments[0])


def _inline(made: ir.Operation) -> None:
    *body, end = [op.operation for op in made.regions[0].blocks[0].operations]
    loads = len({tuple(op.operands) for op in body if op.name == "tensor.extract"})
    if not all(map(_is_cheap, body)) or loads > _LOADS:
        return
    uses = [use.owner.operation for use in made.results[0].uses]
    anywhere = loads <= 1
    divides = any(op.name in _DIVISIONS for op in body)
    works = divides or sum(op.name.startswith("arith.") and op.name != "arith.index_cast" for op in body) > _OPS

    def fits(use: ir.Operation) -> bool:
        if use.name == "tensor.dim" or _is_of_vectors(use, works):
            return True
        if not _is_of_values(use, divides or not anywhere):
            return False
        return anywhere or made_by(use.operands[1], "linalg.index") is not None

    if not all(map(fits, uses)):
        return
    for use in uses:
        with ir.InsertionPoint(use), use.location:
            if use.name == "tensor.dim":
                value = build.value(shapes.dim(made.operands[0], 0))
            else:
                known: ValueMap = {}
                for op in body:
                    if op.name == "linalg.index":
                        known[op.results[0]] = use.operands[1]
                    else:
                        clone(op, known)
                (end_value,) = end.operands
                value = known.get(end_value, end_value)
        replace(use, value)
    made.erase()


def _is_cheap(op: ir.Operation) -> bool:
    return op.name in ("linalg.index", "tensor.extract", "tensor.dim") or op.name.startswith("arith.")


def _is_of_values(op: ir.Operation, once: bool) -> bool:
    """Whether an op reads an element for what a flat op computes; `once`: for nothing else."""
    if op.name != "tensor.extract":
        return False
    around = enclosing(op)
    if around.name != "linalg.generic" or (once and len(iterator_kinds(around)) > 1):
        return False
    while (around := enclosing(around)).name == "scf.if":
        pass
    return around.name == "func.func"


def _is_of_vectors(op: ir.Operation, works: bool) -> bool:
    """Whether an op reads an element once, for an index vector, for a fold of one, or in a loop through all of it; of
    what `works` no loop over components."""
    if op.name != "tensor.extract":
        return False
    around = enclosing(op)
    is_loop = around.name == "scf.for" or (around.name == "scf.forall" and not works)
    if is_loop and op.operands[1] == around.regions[0].blocks[0].arguments[0]:
        around = enclosing(around)
    while around.name == "scf.if" or FOLD in around.attributes:
        around = enclosing(around)
    return around.name == "func.func" or (around.name == "linalg.generic" and is_index_vector(around))
