"""The loops of a linalg op: how they index the operands, how they nest, how long they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.errors import RaggedError
from ragged_dialect.generic import indexing_maps
from ragged_dialect.reference.value import Datum, RaggedValue

Expr = Callable[[Sequence[int]], int]


@dataclass(frozen=True)
class Indexed:
    """Dim `dim` of operand `operand`, indexed by a loop."""

    operand: int
    dim: int


@dataclass(frozen=True)
class Indexing:
    """How the loops index an operand: per dim the expression, and the loop if it is a plain one."""

    exprs: tuple[Expr, ...]
    loops: tuple[int | None, ...]

    def index(self, loops: Sequence[int]) -> list[int]:
        """The operand's index of a loop index."""
        return [expr(loops) for expr in self.exprs]


def _expression(expr: ir.AffineExpr) -> Expr:
    if isinstance(expr, ir.AffineDimExpr):
        at = expr.position
        return lambda loops: loops[at]
    if isinstance(expr, ir.AffineConstantExpr):
        number = expr.value
        return lambda loops: number
    if not isinstance(expr, ir.AffineBinaryExpr):
        raise RaggedError(f"expected an affine expression of loops, got {expr}")
    a, b = _expression(expr.lhs), _expression(expr.rhs)
    for kind, function in _AFFINE.items():
        if isinstance(expr, getattr(ir, kind)):
            return lambda loops: function(a(loops), b(loops))
    raise RaggedError(f"expected an affine expression of loops, got {expr}")


_AFFINE: dict[str, Callable[[int, int], int]] = {
    "AffineAddExpr": lambda a, b: a + b,
    "AffineMulExpr": lambda a, b: a * b,
    "AffineModExpr": lambda a, b: a % b,
    "AffineFloorDivExpr": lambda a, b: a // b,
    "AffineCeilDivExpr": lambda a, b: -(-a // b),
}


def accesses_of(op: ir.Operation) -> tuple[int, list[Indexing]]:
    """Number of loops of an op, and how they index its operands."""
    maps = indexing_maps(op)
    if not maps:
        raise RaggedError(f"expected an op with indexing maps, got '{op.name}'")
    out: list[Indexing] = []
    count = 0
    for map_ in maps:
        count = map_.n_dims
        exprs = list(map_.results)
        loops = tuple(e.position if isinstance(e, ir.AffineDimExpr) else None for e in exprs)
        out.append(Indexing(tuple(map(_expression, exprs)), loops))
    return count, out


class Loops:
    """The loops of one execution: who indexes them, in which order they nest, how long they are, and which one goes
    backwards."""

    def __init__(
        self, count: int, accesses: Sequence[Indexing], operands: Sequence[Datum], backwards: int | None = None
    ) -> None:
        self.count = count
        self.backwards = backwards
        self.accesses = accesses
        self.values = [RaggedValue.of(x) if isinstance(x, (RaggedValue, np.ndarray)) else None for x in operands]
        self.ragged: list[list[Indexed]] = [[] for _ in range(count)]
        self.dense: list[list[Indexed]] = [[] for _ in range(count)]
        for k, access in enumerate(accesses):
            value = self.values[k]
            for dim, loop in enumerate(access.loops if value is not None else ()):
                if loop is not None and value is not None:
                    letter = value.shape.layout.letter(dim)
                    (self.dense if letter == "d" else self.ragged)[loop].append(Indexed(k, dim))
        for uses in self.ragged:
            uses.sort(key=lambda use: -len(self.levels(use)))

    def value(self, use: Indexed) -> RaggedValue:
        """The operand of a use."""
        value = self.values[use.operand]
        assert value is not None
        return value

    def levels(self, use: Indexed) -> list[int]:
        """The dims above a dim in its axis, and the dim itself."""
        return [*self.value(use).shape.layout.above(use.dim), use.dim]

    def parents(self, loop: int) -> list[int]:
        """The loops of the levels above a ragged loop."""
        use = self.ragged[loop][0]
        loops = [self.accesses[use.operand].loops[dim] for dim in self.levels(use)[:-1]]
        return [loop for loop in loops if loop is not None]

    def order(self) -> list[int]:
        """The loops, parents first, else as they are numbered."""
        done: list[int] = []
        while len(done) < self.count:
            done.append(
                next(
                    loop
                    for loop in range(self.count)
                    if loop not in done and (not self.ragged[loop] or all(p in done for p in self.parents(loop)))
                )
            )
        return done

    def length(self, loop: int, index: Sequence[int]) -> int:
        """Iterations of a loop under the indices of its parents."""
        if self.ragged[loop]:
            use = self.ragged[loop][0]
            return self.value(use).length(use.dim, self.accesses[use.operand].index(index))
        if not self.dense[loop]:
            raise RaggedError(f"expected an operand that gives the extent of loop {loop}, got none")
        use = self.dense[loop][0]
        return self.value(use).extent(use.dim)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """All loop indices."""
        order = self.order()
        index = [0] * self.count

        def walk(k: int) -> Iterator[tuple[int, ...]]:
            if k == self.count:
                yield tuple(index)
                return
            loop = order[k]
            indices = range(self.length(loop, index))
            for i in reversed(indices) if loop == self.backwards else indices:
                index[loop] = i
                yield from walk(k + 1)
            index[loop] = 0

        return walk(0)
