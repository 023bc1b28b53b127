"""The extents of a function's results as functions of those of its arguments, where no elements decide them."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from ragged_dialect._mlir import DYNAMIC, ir, passmanager, tensor
from ragged_dialect.ir import build
from ragged_dialect.ir.functions import return_instead
from ragged_dialect.ir.match import constant_int, defining_op, made_by, terminator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.ops.checks import AssertConformOp, AssertValidOp

Size: TypeAlias = int
"""A number, or what counts as one: PyTorch's of what it traces."""

_RESOLVED = f"builtin.module(func.func(resolve-ranked-shaped-type-result-dims,{pipelines.CANONICALIZE},cse))"
"""What extents are computed of, where loops have been made of tensors: arguments, and elements of tensors."""


def _quotient(a: Size, b: Size) -> Size:
    return a // b


def _ceiling(a: Size, b: Size) -> Size:
    return -(-a // b)


def _largest(a: Size, b: Size) -> Size:
    return max(a, b) if {type(a), type(b)} == {int} else importlib.import_module("torch").sym_max(a, b)


def _smallest(a: Size, b: Size) -> Size:
    return min(a, b) if {type(a), type(b)} == {int} else importlib.import_module("torch").sym_min(a, b)


_NUMBERS: dict[str, Callable[[Size, Size], Size]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.maxsi": _largest,
    "arith.minsi": _smallest,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.floordivsi": _quotient,
    "arith.ceildivsi": _ceiling,
    "arith.ceildivui": _ceiling,
}
"""Extents are not negative, so that a division is rounded down whichever it is."""


Compute: TypeAlias = Callable[[Sequence[Sequence[Size]]], Size]
"""An extent by the shapes of arguments."""


@dataclass(frozen=True)
class Extents:
    """The extents of every value that a function returns: `sizes` are what they are computed by, None for one that only
    elements tell, and `shapes` has the numbers of those of each value. Equal extents are one."""

    sizes: tuple[Compute | None, ...]
    shapes: tuple[tuple[int, ...], ...]

    def at(self, shapes: Sequence[Sequence[Size]], unknown: Callable[[], Size]) -> list[list[Size]]:
        """The shapes of a call; `unknown` makes what stands for an extent that elements tell."""
        made = [unknown() if size is None else size(shapes) for size in self.sizes]
        return [[made[number] for number in own] for own in self.shapes]


def extents_of(arguments: Sequence[tuple[int, int]]) -> Extents:
    """The extents of values that have the shapes of arguments, of which there are numbers and ranks."""
    places = [(at, dim) for at, rank in arguments for dim in range(rank)]
    numbers = iter(range(len(places)))
    return Extents(
        tuple(_extent(*place) for place in places), tuple(tuple(islice(numbers, rank)) for _, rank in arguments)
    )


def _extent(at: int, dim: int) -> Compute:
    return lambda shapes: shapes[at][dim]


def result_extents(module: ir.Module) -> Extents:
    """The extents of what the function of a ragged program returns, whose arguments and results are dense. The program
    is used up: it returns them now."""
    (function,) = find_ops(module.operation, "func.func")
    (block,) = function.regions[0].blocks
    for check in find_ops(module.operation, AssertValidOp.OPERATION_NAME, AssertConformOp.OPERATION_NAME):
        check.erase()
    end = terminator(block)
    with ir.InsertionPoint(end), end.location:
        ranks = [ir.ShapedType(v.type).rank for v in end.operands]
        values = zip(end.operands, ranks, strict=True)
        sizes = [tensor.dim(v, build.value(dim)) for v, rank in values for dim in range(rank)]
    return_instead(function, sizes)
    for stage in pipelines.cpu_pipeline(check=False):
        stage.run(module)
        if stage.name == "scf":
            break
    passmanager.PassManager.parse(_RESOLVED).run(module.operation)
    (end,) = find_ops(module.operation, "func.return")
    numbers = {size: number for number, size in enumerate(dict.fromkeys(end.operands))}
    given = iter(end.operands)
    shapes = tuple(tuple(numbers[next(given)] for _ in range(rank)) for rank in ranks)
    return Extents(tuple(map(_computed, numbers)), shapes)


def _shaped_like(value: ir.Value) -> ir.Value:
    """A value of the shape of a tensor that loops write elements of: what they begin with."""
    op = defining_op(value)
    if op is not None and op.name == "tensor.insert":
        return _shaped_like(op.operands[1])
    if op is None or op.name != "scf.for":
        return value
    number = ir.OpResult(value).result_number
    block = op.regions[0].blocks[0]
    kept = _shaped_like(terminator(block).operands[number]) == block.arguments[number + 1]
    return _shaped_like(op.operands[number + 3]) if kept else value


def _computed(value: ir.Value) -> Compute | None:
    """An extent by the shapes of arguments; None for one that elements tell."""
    number = constant_int(value)
    if number is not None:
        return lambda _: number
    op = defining_op(value)
    if op is None:
        return None
    if op.name in ("arith.index_cast", "arith.index_castui"):
        return _computed(op.operands[0])
    if op.name == "tensor.dim":
        source, dim = _shaped_like(op.operands[0]), constant_int(op.operands[1])
        if dim is None:
            return None
        made = made_by(source, "tensor.empty")
        if made is not None:
            sizes = iter(made.operands)
            found = [next(sizes) if size == DYNAMIC else None for size in ir.ShapedType(source.type).shape][dim]
            return None if found is None else _computed(found)
        return _extent(source.arg_number, dim) if isinstance(source, ir.BlockArgument) else None
    apply = _NUMBERS.get(op.name)
    if apply is None:
        return None
    a, b = (_computed(operand) for operand in op.operands)
    return None if a is None or b is None else lambda shapes: apply(a(shapes), b(shapes))


__all__ = ["Extents", "Size", "extents_of", "result_extents"]
