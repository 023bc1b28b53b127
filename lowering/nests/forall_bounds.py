"""An `scf.forall` that runs from 0 in steps of 1: making it, and reading its bounds."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.passes.base import PassFailure


def attributes(counts: Sequence[Mixed], outs: int) -> dict[str, ir.Attribute]:
    """The attributes of a forall for its counts and the number of its shared outs."""
    rank, (dynamic, bounds) = len(counts), build.split(counts)
    return {
        "staticLowerBound": ir.DenseI64ArrayAttr.get([0] * rank),
        "staticUpperBound": ir.DenseI64ArrayAttr.get(bounds),
        "staticStep": ir.DenseI64ArrayAttr.get([1] * rank),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, len(dynamic), 0, outs]),
    }


def counts_of(forall: ir.Operation) -> list[Mixed]:
    """How often a forall runs along each of its indices. PassFailure for one that does not go from 0 by 1, or has no
    index."""
    lower, step = (set(forall.attributes[f"static{bound}"]) for bound in ("LowerBound", "Step"))
    if (lower, step) != ({0}, {1}):
        raise PassFailure(forall, "expected an scf.forall over indices from 0 by 1, got another")
    return build.joined(forall.attributes["staticUpperBound"], forall.operands)


def forall_over(count: Mixed, stays: bool = False) -> ir.Operation:
    """An empty `scf.forall` from 0 to count, without outs. Where it does not have to stay, the canonicalizer has the
    body of a single iteration in its place."""
    operands, _ = build.split([count])
    forall = ir.Operation.create("scf.forall", operands=operands, attributes=attributes([count], 0), regions=1)
    block = forall.regions[0].blocks.append(build.index_type())
    with ir.InsertionPoint(block):
        terminator = ir.Operation.create("scf.forall.in_parallel", regions=1)
        terminator.regions[0].blocks.append()
    if stays:
        forall.attributes["mapping"] = ir.ArrayAttr.get([ir.Attribute.parse("#gpu.block<x>")])
    return forall


@contextmanager
def inside_forall(count: Mixed, stays: bool = False) -> Generator[tuple[ir.Operation, ir.Value]]:
    """What is made inside in a new forall, as `forall_over` makes it: the op, and the number of an iteration."""
    forall = forall_over(count, stays)
    block = forall.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_terminator(block):
        yield forall, block.arguments[0]
