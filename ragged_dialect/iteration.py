"""The loops of a compute op: which are ragged, what their parents are, who must conform.

A compute op is an elementwise arith or math op, or a linalg op. Its indexing maps give one loop
per iteration dim. A loop that indexes a ragged level (or a tile) runs over each component's own
length; the loops of the level's ancestors are its parents, the same for all operands ragged
there. `analyze` checks these rules for one op and describes its loops; the verifier, the check
insertion, the passes and the lowering all work from that description.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ragged_dialect._mlir import Op, ext, ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir.match import attribute_names, constant_int
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_ragged, is_tensor, shape_of

ELEMENTWISE_DIALECTS = ("arith", "math")
LINALG_OPS = frozenset(
    f"linalg.{name}"
    for name in (
        "fill copy map reduce broadcast transpose generic contract matmul batch_matmul batch_matvec vecmat matvec "
        "batch_vecmat dot elementwise softmax select "
        "exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf powf "
        "add sub mul div div_unsigned max min"
    ).split()
)

MAPPING = "ragged.mapping"
"""Of a compute op, and of the forall or flat linalg op that it becomes: how its loops are mapped to threads, see
`lowering.attributes.Mapping`."""

BACKWARDS = "ragged.backwards"
"""Of a `linalg.generic` that a scan becomes: the loop that goes from the last index to the first."""

AT_LOOPS = "ragged.at_loops"
"""Of a `tensor.extract` in a body: its indices that are loops go over dims of the tensor as a whole, which nothing else
says of what is no operand. So the derivative needs to add to no places."""

PARALLEL = "ragged.parallel"
"""Of an `scf.for` whose iterations may run on several threads of the CPU, see `may_be_parallel`."""

KERNEL = "ragged.kernel"
"""Of a function that does a range of the iterations of such a loop. What its buffer arguments point to is apart."""


class Use(NamedTuple):
    """A level that a loop indexes: dim `dim` of operand `operand`."""

    operand: int
    dim: int


class Access(NamedTuple):
    """How an operand is indexed: its shape, and per dim the loop, None for other expressions."""

    shape: RaggedShape
    loops: tuple[int | None, ...]
    exprs: tuple[ir.AffineExpr, ...]

    def parents(self, dim: int) -> frozenset[int]:
        """Loops of the levels above `dim` in its axis."""
        return frozenset(loop for d in self.shape.layout.above(dim) if (loop := self.loops[d]) is not None)

    def above(self, dim: int) -> tuple[frozenset[int], frozenset[int]]:
        """The parents of a level, and those of them that are ragged here."""
        ragged = {self.loops[d] for d in self.shape.layout.above(dim) if self.is_partial(d)}
        parents = self.parents(dim)
        return parents, parents & ragged

    def is_partial(self, dim: int) -> bool:
        """Whether the level at `dim` has component-dependent lengths: ragged, a tile, or the
        outer part of a split."""
        return self.shape.layout.letter(dim) in "rwt"


class Iteration(NamedTuple):
    """The loops of a compute op. `kinds[l]` is parallel or reduction; operands are inputs, then
    outs; `ragged[l]` lists the ragged uses of loop l, empty for a dense loop."""

    accesses: tuple[Access, ...]
    inputs: int
    kinds: tuple[str, ...]
    ragged: tuple[tuple[Use, ...], ...]

    @property
    def outs(self) -> tuple[Access, ...]:
        """Accesses of the outs."""
        return self.accesses[self.inputs :]

    @property
    def multiplies_matrices(self) -> bool:
        """Whether each loop that not all operands have is of two of three, and there is one for any two."""
        operands = [
            {k for k, access in enumerate(self.accesses) if loop in access.loops} for loop, _ in enumerate(self.kinds)
        ]
        pairs = {frozenset(found) for found in operands if len(found) < len(self.accesses)}
        return len(self.accesses) == 3 and len(pairs) == 3 and all(len(pair) == 2 for pair in pairs)

    def parents(self, loop: int) -> frozenset[int]:
        """All loops above a ragged loop; empty for a dense one."""
        uses = self.ragged[loop]
        return self.accesses[uses[0].operand].parents(uses[0].dim) if uses else frozenset()

    def static_extent(self, use: Use) -> int | None:
        """The extent of a use's dim where its type tells it."""
        return self.accesses[use.operand].shape.shape[use.dim]

    def dense_uses(self, loop: int) -> list[Use]:
        """Dense dims that a loop indexes directly."""
        return [
            Use(k, dim)
            for k, access in enumerate(self.accesses)
            for dim, used in enumerate(access.loops)
            if used == loop and not access.is_partial(dim)
        ]


def is_elementwise(op: ir.Operation) -> bool:
    """Whether an op is an arith or math op on tensors."""
    name = op.operation.name
    return name.split(".", 1)[0] in ELEMENTWISE_DIALECTS and any(
        is_tensor(v.type) for v in (*op.operation.operands, *op.operation.results)
    )


def is_compute(op: ir.Operation) -> bool:
    """Whether an op computes on ragged tensors through loops."""
    name = op.operation.name
    return name in LINALG_OPS or is_elementwise(op)


def whole_value(op: ir.Operation) -> bool:
    """Whether an op is `arith.select` with a scalar condition, which passes whole tensors."""
    return op.name == "arith.select" and not is_tensor(op.operands[0].type)


def touches_ragged(op: ir.Operation) -> bool:
    """Whether an operand or result of an op has a ragged type."""
    return any(is_ragged(v.type) for v in (*op.operation.operands, *op.operation.results))


def share_mapping(op: ir.Operation, made: Op) -> None:
    """Let what takes the place of an op have its mapping."""
    if MAPPING in op.attributes:
        made.attributes[MAPPING] = op.attributes[MAPPING]


def has_mapping(op: ir.Operation) -> bool:
    """Whether `MAPPING` says something of an op: it has loops, or may become some, as those of plug-ins may."""
    name = op.name
    if isinstance(op.opview, ext.Operation):
        return getattr(op.opview, "is_mapped", False)
    if name == "scf.for" or name.endswith(".func"):
        return (PARALLEL if name == "scf.for" else KERNEL) in op.attributes
    if is_elementwise(op):
        return touches_ragged(op) and not whole_value(op)
    return name == "scf.forall" or (name.startswith("linalg.") and name not in ("linalg.yield", "linalg.index"))


def may_be_parallel(op: ir.Operation) -> bool:
    """Whether `PARALLEL` is on a loop over indices from 0 by 1 that carries nothing, as kernels are made of."""
    if op.name != "scf.for" or op.results or not isinstance(op.attributes[PARALLEL], ir.UnitAttr):
        return False
    if not isinstance(op.operands[0].type, ir.IndexType):
        return False
    return constant_int(op.operands[0]) == 0 and constant_int(op.operands[2]) == 1


def has_backwards(op: ir.Operation) -> bool:
    """Whether `BACKWARDS` is a loop of an op that reduces."""
    loop = op.attributes[BACKWARDS]
    if op.name != "linalg.generic" or not isinstance(loop, ir.IntegerAttr):
        return False
    kinds = iterator_kinds(op)
    return 0 <= loop.value < len(kinds) and kinds[loop.value] == "reduction"


def analyze(op: ir.Operation) -> Iteration:
    """The loops of a compute op; LayoutError for what the rules refuse."""
    if is_elementwise(op):
        return _check(_elementwise(op))
    if op.operation.name == "linalg.softmax":
        return _check(_softmax(op))
    return _check(_linalg(op))


def signature(op: ir.Operation) -> tuple[Hashable, ...]:
    """What `analyze` looks at: two compute ops of equal signature have equal loops."""
    op = op.operation
    key = (op.name, *(v.type for v in op.operands), None, *(v.type for v in op.results))
    if op.name.startswith("linalg."):
        return (*key, *(op.attributes[name] for name in attribute_names(op)))
    return key


def _access(type_: ir.RankedTensorType, exprs: list[ir.AffineExpr]) -> Access:
    shape = shape_of(type_)
    loops = tuple(e.position if isinstance(e, ir.AffineDimExpr) else None for e in exprs)
    return Access(shape, loops, tuple(exprs))


def _identity(type_: ir.RankedTensorType, rank: int) -> Access:
    return _access(type_, [ir.AffineDimExpr.get(i) for i in range(rank)])


def _elementwise(op: ir.Operation) -> Iteration:
    result = op.operation.results[0].type
    rank = shape_of(result).rank
    tensors = [v.type for v in op.operation.operands if is_tensor(v.type)]
    for type_ in tensors:
        if shape_of(type_).layout != shape_of(result).layout:
            raise LayoutError(f"expected operands and result of one layout, got {type_} and {result}")
    accesses = tuple(_identity(t, rank) for t in (*tensors, result))
    return _iteration(accesses, len(tensors), ("parallel",) * rank)


def _softmax(op: ir.Operation) -> Iteration:
    source, target = (v.type for v in op.operation.operands)
    rank = shape_of(target).rank
    if shape_of(source).layout != shape_of(target).layout:
        raise LayoutError(f"expected ins and outs of one layout, got {source} and {target}")
    shape_of(target).reduce(frozenset({op.operation.attributes["dimension"].value}))
    return _iteration((_identity(source, rank), _identity(target, rank)), 1, ("parallel",) * rank)


def output_count(op: ir.Operation) -> int:
    """Number of outs of a linalg op."""
    return len(op.operation.results)


def _linalg(op: ir.Operation) -> Iteration:
    maps = indexing_maps(op.operation)
    if not maps:
        raise LayoutError("expected an op with indexing maps, got none")
    operands = list(op.operation.operands)
    outs = output_count(op)
    accesses: list[Access] = []
    for map_, operand in zip(maps, operands, strict=True):
        if is_tensor(operand.type):
            accesses.append(_access(operand.type, list(map_.results)))
        else:
            accesses.append(Access(RaggedShape(Layout.dense(0), ()), (), ()))
    count = maps[0].n_dims
    inputs = len(operands) - outs
    return _iteration(tuple(accesses), inputs, _kinds(op, accesses[inputs:], count))


def _kinds(op: ir.Operation, outs: list[Access], count: int) -> tuple[str, ...]:
    if op.operation.name == "linalg.generic":
        return iterator_kinds(op.operation)
    used = {loop for out in outs for loop in out.loops}
    return tuple("parallel" if loop in used else "reduction" for loop in range(count))


def _iteration(accesses: tuple[Access, ...], inputs: int, kinds: tuple[str, ...]) -> Iteration:
    ragged: list[list[Use]] = [[] for _ in kinds]
    for k, access in enumerate(accesses):
        for dim, loop in enumerate(access.loops):
            if loop is not None and access.is_partial(dim):
                ragged[loop].append(Use(k, dim))
    for uses in ragged:
        uses.sort(key=lambda use: tuple(-len(loops) for loops in accesses[use.operand].above(use.dim)))
    return Iteration(accesses, inputs, kinds, tuple(map(tuple, ragged)))


def _check(it: Iteration) -> Iteration:
    for access in it.accesses:
        _check_plain_exprs(it, access)
        _check_distinct(access)
    for loop, uses in enumerate(it.ragged):
        if uses:
            _check_outs(it, loop)
            _check_parents(it, loop, uses)
    _check_order(it)
    for access in it.accesses[: it.inputs]:
        if None not in access.loops:
            reduced = (d for d, loop in enumerate(access.loops) if loop is not None and it.kinds[loop] == "reduction")
            access.shape.reduce(frozenset(reduced))
    return it


def _check_distinct(access: Access) -> None:
    """Levels of one axis nest, so each has a loop of its own."""
    layout = access.shape.layout
    for axis, letters in enumerate(layout.axes):
        loops = [access.loops[dim] for dim in layout.dims(axis)]
        twice = [loop for loop in loops if loops.count(loop) > 1]
        if twice:
            raise LayoutError(f'expected a loop for every level of axis "{letters}", got loop {twice[0]} twice')


def _check_plain_exprs(it: Iteration, access: Access) -> None:
    layout = access.shape.layout
    for dim, (loop, expr) in enumerate(zip(access.loops, access.exprs, strict=True)):
        if loop is not None:
            continue
        if not layout.is_plain(dim):
            raise LayoutError(f'expected a plain loop index for dim {dim} of layout "{layout}", got {expr}')
        used = [k for k, uses in enumerate(it.ragged) if uses and expr_uses(expr, k)]
        if used:
            raise LayoutError(f"expected a plain index of ragged loop {used[0]}, got {expr}")


def expr_uses(expr: ir.AffineExpr, loop: int) -> bool:
    """Whether an affine expression contains a loop."""
    if isinstance(expr, ir.AffineDimExpr):
        return expr.position == loop
    if isinstance(expr, ir.AffineBinaryExpr):
        return expr_uses(expr.lhs, loop) or expr_uses(expr.rhs, loop)
    return False


def _check_outs(it: Iteration, loop: int) -> None:
    """A result on a ragged loop is itself ragged there; on a tile it may be dense of its extent."""
    tiles = {it.static_extent(u) for u in it.ragged[loop] if it.accesses[u.operand].shape.layout.letter(u.dim) == "t"}
    for out in it.outs:
        for dim, used in enumerate(out.loops):
            if used != loop or out.is_partial(dim):
                continue
            if tiles and out.shape.shape[dim] in tiles:
                continue
            uses = it.ragged[loop][0]
            lost = sorted(k for k in it.parents(loop) if k not in out.loops)
            if lost:
                raise LayoutError(
                    f"expected loop {lost[0]}, a parent of ragged loop {loop}, in the result, got it reduced "
                    "(use ragged.reduce_across)"
                )
            raise LayoutError(
                f"expected a result with a ragged level on loop {loop} "
                f"(dim {uses.dim} of operand {uses.operand} is ragged), got dense dim {dim}"
            )


def _check_parents(it: Iteration, loop: int, uses: tuple[Use, ...]) -> None:
    """One operand has all the parents. Another input may lack some, whose lengths are then the same
    for all indices of those (keys under the queries of one batch); a result may not."""
    parents = it.parents(loop)
    for use in uses[1:]:
        got = it.accesses[use.operand].parents(use.dim)
        if got != parents and (use.operand >= it.inputs or not got < parents):
            raise LayoutError(
                f"expected parents {sorted(parents)} for ragged loop {loop}, got {sorted(got)} in operand {use.operand}"
                + (" (use ragged.reduce_across)" if parents - got else "")
            )
        _, ragged = it.accesses[uses[0].operand].above(uses[0].dim)
        _, others = it.accesses[use.operand].above(use.dim)
        if not others <= ragged:
            raise LayoutError(
                f"expected parents {sorted(others)} of ragged loop {loop}, ragged in operand {use.operand}, to be so "
                f"in operand {uses[0].operand}, got {sorted(ragged)}"
            )


def _check_order(it: Iteration) -> None:
    """Ragged loops nest: the lengths of one are known before those of what is below it."""
    left = {loop: it.parents(loop) for loop, uses in enumerate(it.ragged) if uses}
    while ready := [loop for loop, parents in left.items() if not parents & left.keys()]:
        left = {loop: parents for loop, parents in left.items() if loop not in ready}
    if left:
        raise LayoutError(f"expected ragged loops inside one another, got each of {[*left]} inside another of them")
