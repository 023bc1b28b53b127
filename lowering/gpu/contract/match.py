"""Products of matrices of f32 or of 16-bit floats, with sums in f32, in the body of a forall: of the rows that the
components of a ragged tensor have, or of all rows at once."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import body_ops, filled_with, loop_of, made_by
from ragged_dialect.ir.walk import is_outside
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_same, root
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.segmented.component_rows import (
    Iterations,
    RowMatcher,
    is_free,
    is_plain,
    is_row_of_component,
)
from ragged_dialect.lowering.nests.forall_bounds import counts_of

RESULT = 2
"""Which operand of a product is its result."""


@dataclass(frozen=True)
class Roles:
    """The loops of a product over rows, columns and what is summed, and which operand has the rows, which the
    columns."""

    m: int
    n: int
    k: int
    left: int
    right: int


@dataclass(frozen=True)
class Contraction(Iterations):
    """A product in a forall, and elementwise ops on its result. `start` is what the sums start with: a scalar, or None
    where that is in the result. Either `difference` computes how many rows the result of a component has, or there are
    as many for each, `rows`. These and `columns` are known outside, but for a single iteration, of operands from
    outside, where the product says them."""

    product: ir.Operation
    roles: Roles
    start: ir.Value | None
    following: tuple[ir.Operation, ...]
    difference: ir.Operation | None
    rows: Mixed | None
    columns: Mixed | None


def roles_of(generic: GenericOp) -> Roles | None:
    """The roles in a generic, None where it is no product of two matrices of f16, bf16 or f32 with sums in f32."""
    if len(generic.operands) != 3 or generic.n_inputs != RESULT or generic.rank != 3:
        return None
    dims = [_dims(map_) for map_ in generic.maps]
    loops = [set(d) for d in dims]
    if not all(map(is_buffer, generic.operands)) or any(len(d) != 2 for d in dims) or len(generic.reductions) != 1:
        return None
    (m, n), (k,) = dims[RESULT], generic.reductions
    left = 0 if m in loops[0] else 1
    if loops[left] != {m, k} or loops[1 - left] != {k, n} or not _multiplies(generic):
        return None
    return Roles(m, n, k, left, 1 - left)


def _dims(map_: ir.AffineMap) -> tuple[int, ...]:
    """The loops that index an operand, each one dim; nothing for any other map."""
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in map_.results):
        return ()
    return tuple(loop_of(expr) for expr in map_.results)


def _multiplies(generic: GenericOp) -> bool:
    """Whether a payload adds the product of both inputs, as f32, to what there is."""
    a, b, total = generic.block.arguments
    short = isinstance(a.type, (ir.F16Type, ir.BF16Type))
    if not (short or isinstance(a.type, ir.F32Type)) or a.type != b.type or not isinstance(total.type, ir.F32Type):
        return False
    added = made_by(generic.yielded[0], "arith.addf")
    terms = [] if added is None else [x for x in added.operands if x != total]
    product = made_by(terms[0], "arith.mulf") if len(terms) == 1 else None
    factors = [] if product is None else list(product.operands)
    if short:
        factors = [op.operands[0] for op in (made_by(x, "arith.extf") for x in factors) if op is not None]
    return set(factors) == {a, b} and len(generic.payload) == (4 if short else 2)


def matched(forall: ir.Operation) -> Contraction | None:
    """The product of a forall, None when its body does anything else."""
    body = forall.regions[0].blocks[0]
    ops = body_ops(body)
    generics = [GenericOp(op) for op in ops if op.name == "linalg.generic"]
    start = filled_with(generics[0].op) if generics else None
    written = {root(out) for generic in generics for out in generic.outs}
    if len(body.arguments) != 1 or not all(is_plain(op, written) for op in ops):
        return None
    if start is not None and (len(generics) < 2 or not is_same(generics.pop(0).outs[0], generics[0].outs[0])):
        return None
    roles = roles_of(generics[0]) if generics else None
    if roles is None or any(root(x) in written for x in generics[0].inputs):
        return None
    if not all(follows(generic, generics[:k], written) for k, generic in enumerate(generics) if k):
        return None
    product, *following = [generic.op for generic in generics]
    rows = _rows(forall, generics, roles)
    return None if rows is None else Contraction(forall, product, roles, start, tuple(following), *rows)


def follows(generic: GenericOp, earlier: list[GenericOp], written: set[ir.Value]) -> bool:
    """Whether an op computes, for each element of a product, from it and from what is not written here."""
    known = {out for op in earlier for out in op.outs}
    if generic.rank != 2 or generic.reductions or not all(is_free(op, written) for op in generic.payload):
        return False
    inner = [k for k, x in enumerate(generic.operands) if is_buffer(x) and root(x) in written]
    used = [generic.operands[k] for k in inner if generic.is_read(k)]
    return len(used) > 0 and set(used) <= known and all(_dims(generic.maps[k]) == (0, 1) for k in inner)


def _rows(
    forall: ir.Operation, generics: list[GenericOp], roles: Roles
) -> tuple[ir.Operation | None, Mixed | None, Mixed | None] | None:
    """What computes the number of rows, or their number, and the columns, see `Contraction`; None where results have
    other rows."""
    if counts_of(forall) == [1] and all(is_outside(x, forall) for generic in generics for x in generic.operands):
        return None, None, None
    body = forall.regions[0].blocks[0]
    matchers = [RowMatcher(body, generic) for generic in generics]
    rows, columns = (matchers[0].extent(loop) for loop in (roles.m, roles.n))
    if rows is not None and all(is_row_of_component(out, body) for generic in generics for out in generic.outs):
        return None if columns is None else (None, rows, columns)
    for matcher, generic in zip(matchers, generics, strict=True):
        row = roles.m if generic is generics[0] else 0
        if any(matcher.rows_of(generic.n_inputs + out, row) != 0 for out in range(len(generic.outs))):
            return None
    differences = {matcher.difference for matcher in matchers}
    return None if len(differences) > 1 or columns is None else (differences.pop(), None, columns)
