"""`guard-ragged-allocs`: an allocation of more bytes than a program can count fails."""

from __future__ import annotations

from math import prod

from ragged_dialect._mlir import DYNAMIC, arith, ir, llvm
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.runtime.memory_runtime import FAIL, TOO_LARGE
from ragged_dialect.lowering.runtime.runtime_calls import call, declare
from ragged_dialect.passes.base import RaggedPass

_SLACK = 4096
"""Bytes that an allocation may ask for beside its elements, to align them."""


class GuardRaggedAllocs(RaggedPass):
    """Ask before every allocation whether its size in bytes can be counted.

    ```mlir
    %a = memref.alloc(%n) : memref<?x8xf32>
    // becomes
    %large = arith.cmpi ugt, %n, %most : index
    scf.if %large { llvm.call @ragged_fail(%size) }
    %a = memref.alloc(%n) : memref<?x8xf32>
    ```

    The size that is asked for would wrap, and what is written not fit. Negative extents are too large
    as well. Extents of 0 count as 1, as NumPy counts: it has no arrays of other shapes. Declares the hooks
    that `finalize-memref-to-llvm{use-generic-functions}` calls. Precondition: bufferized.
    """

    def run(self, op: ir.Operation) -> None:
        """Guard every allocation of a module."""
        allocations = find_ops(op, "memref.alloc")
        for allocation in allocations:
            with ir.InsertionPoint(allocation), allocation.location:
                _guard(allocation)
        declare(op)


def _guard(allocation: ir.Operation) -> None:
    type_ = allocation.results[0].type
    known = prod(max(extent, 1) for extent in type_.shape if extent != DYNAMIC)
    most = (TOO_LARGE - _SLACK) // (known * _bytes(type_.element_type))
    extents = list(allocation.operands)
    if not extents and most:
        return
    with flow.when(_more_than(extents, most)):
        call(FAIL, [llvm.mlir_constant(ir.IntegerAttr.get(build.i64(), TOO_LARGE))])


def _bytes(element: ir.Type) -> int:
    """At least the bytes of an element in memory; an index has no width of its own."""
    return 1 << max((getattr(element, "width", 64) - 1).bit_length() - 3, 0)


def _more_than(extents: list[ir.Value], most: int) -> ir.Value:
    """Whether a product of extents, as unsigned numbers, is more than a number."""
    if len(extents) < 2:
        return build.above(extents[0] if extents else 1, most)
    low, *rest = (arith.maxui(extent, build.value(1)) for extent in extents)
    over = None
    for factor in rest:
        low, high = arith.mului_extended(low, factor)
        wraps = build.above(high, 0)
        over = wraps if over is None else arith.ori(over, wraps)
    return arith.ori(over, build.above(low, most))
