"""Whether ops treat rows apart from each other: what they make of rows has a dim of rows again, and nothing else of it
tells one row from another."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ragged_dialect._mlir import ir
from ragged_dialect.asm.locations import name_of
from ragged_dialect.generic import index_loop
from ragged_dialect.ir import shapes
from ragged_dialect.ir.match import constant_int, made_by
from ragged_dialect.ir.walk import captures, makers, ops_in
from ragged_dialect.iteration import analyze, expr_uses, is_compute
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_tensor


class Rows:
    """The dim of rows of values that have such, and the indices that are the number of rows."""

    def __init__(self, rows: Iterable[ir.Value]) -> None:
        self._dims = dict.fromkeys(rows, 0)
        self._counts = set[ir.Value]()
        self._numbers = set[ir.Value]()  # that are computed of these

    def dim(self, x: ir.Value) -> int | None:
        """The dim of rows of a value, None for one that has none."""
        return self._dims.get(x)

    def is_count(self, x: ir.Value) -> bool:
        """Whether an index is the number of rows that a value has."""
        op = made_by(x, "tensor.dim")
        return op is not None and constant_int(op.operands[1]) == self._dims.get(op.operands[0], -1)

    def visit(self, op: ir.Operation) -> None:
        """Find what an op makes of rows. PassFailure for one that does not treat them apart."""
        read = captures([op]) if len(op.regions) else list(op.operands)
        if not any(x in self._dims for x in read) and not self._counted(read):
            return
        if op.name in CHECKS:
            return
        if is_compute(op):
            return self._compute(op)
        if op.name == "arith.index_cast" and op.operands[0] in self._counts:
            return self._counts.update(op.results)
        if not any(x in self._dims for x in read) and op.name.startswith("arith."):
            return self._numbers.update(op.results)
        rule = _RULES.get(op.name)
        if rule is None or any(x in self._numbers for x in read):
            raise self._refusal(op)
        return rule(self, op)

    def _counted(self, values: Iterable[ir.Value]) -> bool:
        """Whether some values depend on the number of rows."""
        return any(x in self._counts or x in self._numbers for x in values)

    def _refusal(self, op: ir.Operation) -> PassFailure:
        name = name_of(op.location)
        named = f"'{op.name}'" if name is None else f"{name} ('{op.name}')"
        return PassFailure(op, f"expected steps that treat rows apart from each other, got {named}")

    def _require(self, op: ir.Operation, holds: bool) -> None:
        if not holds:
            raise self._refusal(op)

    def _common(self, op: ir.Operation, operands: Iterable[ir.Value]) -> int:
        """The one dim that all of some operands have rows in."""
        dims = {self._dims.get(x) for x in operands}
        self._require(op, len(dims) == 1 and None not in dims)
        return next(d for d in dims if d is not None)

    # Loops -----------------------------------------------------------------------------------------

    def _compute(self, op: ir.Operation) -> None:
        found = analyze(op)
        self._require(op, not self._counted(op.operands))
        operands = [x for x in op.operands if op.name.startswith("linalg.") or is_tensor(x.type)]
        read = list(zip(operands, found.accesses, strict=False))  # of elementwise ops the result is there too
        loops = {access.loops[self._dims[x]] for x, access in read if x in self._dims}
        self._require(op, len(loops) == 1 and None not in loops)
        loop = next(n for n in loops if n is not None)
        along = op.attributes["dimension"].value if op.name == "linalg.softmax" else None
        self._require(op, found.kinds[loop] == "parallel" and along != loop)
        for x, access in read:
            places = [dim for dim, expr in enumerate(access.exprs) if expr_uses(expr, loop)]
            self._require(op, places == [self._dims[x]] if x in self._dims else not places)
        self._body(op, loop)
        for result, out in zip(op.results, found.outs, strict=True):
            self._require(op, loop in out.loops)
            self._dims[result] = out.loops.index(loop)

    def _body(self, op: ir.Operation, loop: int) -> None:
        """Rows are read by the index of the loop over them, which nothing else reads."""
        for inner in ops_in(op):
            if inner == op:
                continue
            self._require(op, not self._counted(inner.operands))
            read = inner.operands[0] if inner.name == "tensor.extract" and inner.operands[0] in self._dims else None
            for place, operand in enumerate(inner.operands):
                is_row = read is not None and place == 1 + self._dims[read]
                self._require(op, (index_loop(operand) == loop) == is_row)
                self._require(op, operand not in self._dims or (read is not None and place == 0))

    # Other ops -------------------------------------------------------------------------------------

    def dim_of(self, op: ir.Operation) -> None:
        """An extent."""
        dim = constant_int(op.operands[1])
        self._require(op, dim is not None)
        if dim == self._dims[op.operands[0]]:
            self._counts.update(op.results)

    def loop(self, op: ir.Operation) -> None:
        """A loop that carries rows, each by itself."""
        inits, block = list(op.operands)[3:], op.regions[0].blocks[0]
        _, *arguments = block.arguments
        known: dict[ir.Value, int] = {
            x: self._dims[init] for x, init in zip(arguments, inits, strict=True) if init in self._dims
        }
        self._require(op, not self._counted(op.operands))
        self._dims.update(known)
        *ops, end = (inner.operation for inner in block.operations)
        for inner in ops:
            self.visit(inner)
        self._require(op, not self._counted(end.operands))
        self._require(op, [self._dims.get(x) for x in end.operands] == [known.get(x) for x in arguments])
        self._dims.update((r, known[x]) for r, x in zip(op.results, arguments, strict=True) if x in known)

    def empty(self, op: ir.Operation) -> None:
        """Uninitialised rows."""
        sizes = iter(op.operands)
        places = [d for d, size in enumerate(op.results[0].type.shape) if size < 0 and next(sizes) in self._counts]
        self._require(op, len(places) == 1)
        self._dims[op.results[0]] = places[0]

    def same(self, op: ir.Operation) -> None:
        """What leaves dims as they are."""
        self._dims[op.results[0]] = self._common(op, op.operands[:1])

    def along(self, op: ir.Operation) -> None:
        """What works along another dim."""
        operands = [x for x in op.operands if is_tensor(x.type)]
        at, dim = self._common(op, operands), int_attr(op, "dim")
        self._require(op, at != dim)
        self._dims[op.results[0]] = at - (op.name == "ragged.select" and dim < at)

    def extract_slice(self, op: ir.Operation) -> None:
        """Parts of all rows."""
        at = self._common(op, op.operands[:1])
        self._dims[op.results[0]] = self._place(op, at, op.results[0])

    def insert_slice(self, op: ir.Operation) -> None:
        """Parts of all rows, in others."""
        part, whole = op.operands[:2]
        at = self._common(op, [whole])
        self._require(op, self._dims.get(part) == self._place(op, at, part))
        self._dims[op.results[0]] = at

    def _place(self, op: ir.Operation, at: int, part: ir.Value) -> int:
        """The dim of rows of a part, which may lack dims of extent 1."""
        sizes = shapes.mixed(op, "sizes")
        ones = [dim for dim, size in enumerate(sizes) if not isinstance(size, ir.Value) and size == 1]
        dropped = len(sizes) - part.type.rank
        self._require(op, self._is_whole(op, at) and dropped in (0, len(ones)))
        return at - sum(dim < at for dim in ones) if dropped else at

    def _is_whole(self, op: ir.Operation, at: int) -> bool:
        size = shapes.mixed(op, "sizes")[at]
        return (
            shapes.mixed(op, "offsets")[at] == 0
            and shapes.mixed(op, "strides")[at] == 1
            and isinstance(size, ir.Value)
            and size in self._counts
        )

    def reshape(self, op: ir.Operation) -> None:
        """Dims of rows stay alone, but for dims of extent 1."""
        at, is_expanded = self._common(op, op.operands[:1]), op.name == "tensor.expand_shape"
        groups = [[number.value for number in group] for group in op.attributes["reassociation"]]
        longer = (op.results if is_expanded else op.operands)[0].type.shape
        place = at if is_expanded else next(k for k, group in enumerate(groups) if at in group)
        rows = [dim for dim in groups[place] if longer[dim] != 1]
        self._require(op, len(rows) == 1 and longer[rows[0]] < 0)
        self._dims[op.results[0]] = rows[0] if is_expanded else place


CHECKS = frozenset({"ragged.assert_valid", "ragged.assert_conform", "cf.assert"})

_RULES: dict[str, Callable[[Rows, ir.Operation], None]] = {
    "tensor.dim": Rows.dim_of,
    "scf.for": Rows.loop,
    "tensor.empty": Rows.empty,
    **dict.fromkeys(("tensor.cast", "ragged.guard"), Rows.same),
    **dict.fromkeys(("ragged.select", "ragged.slice", "ragged.concat", "ragged.scan", "ragged.recurrence"), Rows.along),
    "tensor.extract_slice": Rows.extract_slice,
    "tensor.insert_slice": Rows.insert_slice,
    **dict.fromkeys(("tensor.collapse_shape", "tensor.expand_shape"), Rows.reshape),
}


def rows_of(block: ir.Block, strict: bool = True) -> Rows:
    """What has rows in a block whose arguments have. PassFailure for ops that do not treat rows apart from each other;
    where these are known to, and the analysis does not see it, it is not `strict`: nothing is known of what such ops
    make then. Those that nothing reads do not matter, and when strict, nor do those that checks alone read."""
    known, ops = Rows(block.arguments), [op.operation for op in block.operations]
    end = ops.pop()
    checked = () if strict else (x for op in ops if op.name in CHECKS for x in op.operands)
    for op in makers([*end.operands, *checked], ops):
        try:
            known.visit(op)
        except PassFailure:
            if strict:
                raise
    return known
