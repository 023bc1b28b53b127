"""`convert-ragged-to-scf`: ragged tensors become their parts, compute becomes loops on slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.ir.walk import find_ops, ops_in, touches_memory
from ragged_dialect.iteration import BACKWARDS, is_compute, is_elementwise, touches_ragged
from ragged_dialect.lowering.buffers.subviews import writes_around
from ragged_dialect.lowering.math.library import require_isa
from ragged_dialect.lowering.rules import (
    access,
    attention,
    checks,
    compressing,
    compute,
    control,
    exchange,
    grouping,
    making,
    scattering,
    sorting,
    structure,
)
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.prepare import expand_foreign, prepare, round_in_steps
from ragged_dialect.lowering.vector.machine import registers
from ragged_dialect.ops import OPS
from ragged_dialect.passes.analysis.divisibility import Divisors
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.types import is_ragged

RULES: dict[str, Callable[[Lowering, ir.Operation], None]] = {
    **structure.RULES,
    **access.RULES,
    **making.RULES,
    **exchange.RULES,
    **grouping.RULES,
    **compressing.RULES,
    **scattering.RULES,
    **sorting.RULES,
    **attention.RULES,
    **checks.RULES,
}


@dataclass(frozen=True)
class ConvertRaggedToScf(RaggedPass):
    """Lower ragged IR to dense IR: parts, `scf.forall` over components, linalg on slices.

    ```mlir
    %1 = linalg.reduce ins(%x : tensor<?x?x64xf32, #ragged.layout<"dr|d">>) …
    // becomes
    %1 = scf.forall (%b) in (%n) shared_outs(%o = %init) -> (tensor<?x64xf32>) {
      %lo = tensor.extract %offsets[%b] …
      %s = tensor.extract_slice %values[%lo, 0] [%len, 64] [1, 1] …
      %r = linalg.generic ins(%s) outs(%slice of %o) …
      scf.forall.in_parallel { tensor.parallel_insert_slice %r into %o[%b, 0] [1, 64] [1, 1] }
    }
    ```

    With `recompute` a softmax computes its exponentials twice instead of storing them, which is faster
    where arithmetic is cheap and memory is far. With `tensor-cores` attention becomes a call for each component, of
    which the schedule `contract` makes a kernel. `ragged.group_by` runs in parts of at least so many `keys`, and
    `keys-of-a-count` for each of the counts that every part has; with `counts` keys from there on are grouped by their
    low digits and then by the high ones. What reduces rows of at most `rows` elements, all of them alike, joins no loop
    over components, and with `rows` neither does a function of a number of each component that nothing else reads
    there; what makes rows of twice as many elements and more does, where a reduction of components reads them.
    `ragged.compress` goes over tiles of so many rows, each from the place that counting them gives, and with a `tile`
    of 0 over the runs of running sums, one for each row. `ragged.sort` merges vectors for `isa`, that of
    expand-ragged-math, or numbers, factors of sums stay bf16 where it has products of pairs, and with `amx` attention
    of bf16 uses tiles where it has these. Precondition: no `ragged.annotate` that changes a layout (run
    `ragged-infer-layouts`). Asserts become asserts on dense vectors, lowered by `convert-ragged-checks-to-calls`.
    """

    verified = True
    recompute: bool = False
    tensor_cores: bool = False
    keys: int = 16384
    keys_of_a_count: int = 8
    counts: int = 0
    rows: int = 0
    tile: int = 1024
    isa: str = "none"
    amx: bool = True

    def run(self, op: ir.Operation) -> None:
        """Lower every function of a module."""
        if self.keys < 1 or self.keys_of_a_count < 1 or self.counts < 0:
            got = f"{self.keys}, {self.keys_of_a_count} and {self.counts}"
            raise PassFailure(
                op, f"expected keys and keys-of-a-count of at least 1 and counts of at least 0, got {got}"
            )
        if self.rows < 0:
            raise PassFailure(op, f"expected rows of at least 0, got {self.rows}")
        if self.tile < 0:
            raise PassFailure(op, f"expected a tile of at least 0, got {self.tile}")
        require_isa(op, self.isa)
        expand_foreign(op)
        round_in_steps(op)
        if not _has_ragged(op):
            return
        passmanager.PassManager.parse("builtin.module(func.func(linalg-generalize-named-ops))").run(op)
        found = registers(self.isa)
        prepare(op, self.recompute, found is not None and found.dots)
        for function in functions_of(op).values():
            _lower_function(function, self)


def _has_ragged(module: ir.Operation) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        ragged = op.name in OPS or touches_ragged(op) or _has_ragged_signature(op)
        if ragged or op.name == "linalg.softmax" or BACKWARDS in op.attributes:  # which nothing else lowers
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def _has_ragged_signature(op: ir.Operation) -> bool:
    if op.name != "func.func":
        return False
    type_ = ir.TypeAttr(op.attributes["function_type"]).value
    return any(is_ragged(t) for t in (*type_.inputs, *type_.results))


def _lower_function(function: ir.Operation, options: ConvertRaggedToScf) -> None:
    ctx = Lowering(
        _exact_tiles(function),
        options.tensor_cores,
        options.keys,
        options.keys_of_a_count,
        options.counts,
        options.rows,
        registers(options.isa, options.amx),
        options.tile,
    )

    def process(block: ir.Block, operations: list[ir.OpView] | None = None) -> None:
        with ctx.scope():
            for op in list(block.operations) if operations is None else operations:
                with ir.InsertionPoint(op), op.location:
                    _lower_op(ctx, op.operation, process)
            ctx.close()

    with ctx.scope(), ir.InsertionPoint(function), function.location:
        control.lower_func(ctx, function, process)
    for op in reversed(ctx.dead):
        _erase(op)


def _exact_tiles(function: ir.Operation) -> Callable[[ir.Value], frozenset[int]]:
    """What finds the tile dims without holes of a value, by what divides its lengths."""
    if not find_ops(function, "ragged.split"):
        return lambda _: frozenset()
    known = Divisors()
    found: dict[ir.Value, frozenset[int]] = {}
    for op in walk(function):
        known.visit(op)
        for result in op.results:
            if is_ragged(result.type):
                found[result] = known.exact_tiles(result)
    return lambda value: found.get(value, frozenset())


def _erase(op: ir.Operation) -> None:
    """Erase an op that was lowered. The bindings would let a use of it dangle."""
    for result in op.results:
        for use in result.uses:
            raise AssertionError(f"expected no use of '{op.name}' to be left, got one in '{use.owner.name}'")
    op.erase()


def _lower_op(ctx: Lowering, op: ir.Operation, process: control.Process) -> None:
    writes = is_compute(op) and writes_around(op)
    try:
        if writes:
            ctx.close()
        _dispatch(ctx, op, process)
        if writes:  # what follows reads it after all components
            ctx.close()
    except LayoutError as error:
        raise PassFailure(op, f"'{op.name}' op {error}") from error


def _dispatch(ctx: Lowering, op: ir.Operation, process: control.Process) -> None:
    ctx.begin(op)
    ragged = op.name in OPS or touches_ragged(op)
    if op.name in control.RULES or op.name.startswith("scf."):
        _control(ctx, op, process, ragged)
    elif ragged and op.name in RULES:
        if any(not is_ragged(x.type) and ctx.is_pending(x) for x in op.operands):
            ctx.close()  # rules take dense operands as they are
        RULES[op.name](ctx, op)
        ctx.erase_later(op)
    elif (ragged and is_compute(op)) or compute.is_joinable(ctx, op):
        rule = compute.lower_elementwise if is_elementwise(op) else compute.lower_generic
        rule(ctx, op)
        ctx.erase_later(op)
    elif ragged:
        raise PassFailure(op, f"expected an op with a lowering for ragged tensors, got '{op.name}'")
    else:
        if ctx.forall is not None and (_reads_open_forall(ctx, op) or touches_memory(op)):
            ctx.close()
        for inner in (o for o in ops_in(op) if o != op and touches_ragged(o)):
            with ctx.scope(), ir.InsertionPoint(inner), inner.location:
                _dispatch(ctx, inner, process)


def _reads_open_forall(ctx: Lowering, op: ir.Operation) -> bool:
    """Whether an op, or one in its regions, uses a result of the open forall."""
    return any(ctx.is_pending(v) for inner in ops_in(op) for v in inner.operands)


def _control(ctx: Lowering, op: ir.Operation, process: control.Process, ragged: bool) -> None:
    if ragged or op.name in ("scf.yield", "func.return", "scf.condition"):
        if ragged:
            control.RULES[op.name](ctx, op, process)
        else:
            ctx.close()
        return
    ctx.close()
    for block in blocks_of(op):
        process(block)
