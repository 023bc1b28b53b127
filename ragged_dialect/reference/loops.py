"""The linalg ops: their region, run for every index tuple of their loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragged_dialect._mlir import ir, linalg
from ragged_dialect.errors import RaggedError
from ragged_dialect.reference.conformity import require_conform, require_pairs
from ragged_dialect.reference.program import LOOP_INDEX, Env, Program, Run, Values, handler
from ragged_dialect.reference.scalars import BINARY, is_float
from ragged_dialect.reference.validity import require
from ragged_dialect.reference.value import RaggedValue

Expr = Callable[[Sequence[int]], int]

_WIDE_COMBINERS = ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf")


@dataclass(frozen=True)
class Use:
    """Dim `dim` of operand `operand`, indexed by a loop."""

    operand: int
    dim: int


@dataclass(frozen=True)
class Access:
    """How the loops index an operand: per dim the expression, and the loop if it is a plain one."""

    exprs: tuple[Expr, ...]
    loops: tuple[int | None, ...]

    def index(self, loops: Sequence[int]) -> list[int]:
        """The operand's index of a loop index."""
        return [expr(loops) for expr in self.exprs]


def _expression(expr: Any) -> Expr:
    if isinstance(expr, ir.AffineDimExpr):
        at = expr.position
        return lambda loops: loops[at]
    if isinstance(expr, ir.AffineConstantExpr):
        number = expr.value
        return lambda loops: number
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


def _accesses(op: Any) -> tuple[int, list[Access]]:
    maps = linalg.get_indexing_maps(op)
    if maps is None:
        raise RaggedError(f"expected an op with indexing maps, got '{op.name}'")
    out: list[Access] = []
    count = 0
    for attr in maps:
        map_ = attr.value if isinstance(attr, ir.AffineMapAttr) else attr
        count = map_.n_dims
        exprs = list(map_.results)
        loops = tuple(e.position if isinstance(e, ir.AffineDimExpr) else None for e in exprs)
        out.append(Access(tuple(map(_expression, exprs)), loops))
    return count, out


class Nest:
    """The loops of one execution: who indexes them, in which order they nest, how long they are."""

    def __init__(self, count: int, accesses: Sequence[Access], operands: Sequence[Any]) -> None:
        self.count = count
        self.accesses = accesses
        self.values = [RaggedValue.of(x) if isinstance(x, (RaggedValue, np.ndarray)) else None for x in operands]
        self.ragged: list[list[Use]] = [[] for _ in range(count)]
        self.dense: list[list[Use]] = [[] for _ in range(count)]
        for k, access in enumerate(accesses):
            value = self.values[k]
            for dim, loop in enumerate(access.loops if value is not None else ()):
                if loop is not None and value is not None:
                    letter = value.shape.layout.letter(dim)
                    (self.dense if letter == "d" else self.ragged)[loop].append(Use(k, dim))

    def value(self, use: Use) -> RaggedValue:
        """The operand of a use."""
        value = self.values[use.operand]
        assert value is not None
        return value

    def levels(self, use: Use) -> list[int]:
        """The dims above a dim in its axis, and the dim itself."""
        axis, place = self.value(use).locate(use.dim)
        first = self.value(use).shape.layout.dims(axis)[0]
        return list(range(first, first + place + 1))

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
            for i in range(self.length(loop, index)):
                index[loop] = i
                yield from walk(k + 1)
            index[loop] = 0

        return walk(0)

    def require(self, op: str) -> None:
        """The checks of the loops: conformity of what is ragged, extents of what is dense."""
        for loop in self.order():
            uses, dense = self.ragged[loop], self.dense[loop]
            for use in uses[1:]:
                self._require_conform(op, uses[0], use)
            if not uses:
                for use in dense[1:]:
                    extents = [self.value(u).extent(u.dim) for u in (use, dense[0])]
                    require("equal", op, use.dim, extents)
                continue
            for use in dense:
                axis, place = self.value(uses[0]).locate(uses[0].dim)
                lengths = self.value(uses[0]).axes[axis].lengths(place)
                require("covers", op, use.dim, [self.value(use).extent(use.dim), lengths])

    def _require_conform(self, op: str, first: Use, other: Use) -> None:
        mine, theirs = self.levels(first), self.levels(other)
        loops = [self.accesses[other.operand].loops[dim] for dim in theirs]
        paired = [theirs[loops.index(self.accesses[first.operand].loops[dim])] for dim in mine]
        require_pairs(op, self.value(first), self.value(other), list(zip(mine, paired, strict=True)))


class Elements:
    """An operand as its elements: read and written by index."""

    def __init__(self, operand: Any, access: Access) -> None:
        self._access = access
        self._scalar = None if isinstance(operand, (RaggedValue, np.ndarray)) else operand
        self.value = None if self._scalar is not None else RaggedValue.of(operand)
        if self.value is not None:
            self._trees = [axis.expand() for axis in self.value.axes]
            self._dims = [self.value.shape.layout.dims(k) for k in range(len(self._trees))]

    def _position(self, index: Sequence[int]) -> tuple[int, ...]:
        position: list[int] = []
        for tree, dims in zip(self._trees, self._dims, strict=True):
            node: Any = tree
            for dim in dims:
                node = node[index[dim]]
            position.append(node)
        return tuple(position)

    def read(self, loops: Sequence[int]) -> Any:
        """The element of a loop index."""
        if self.value is None:
            return self._scalar
        return self.value.values[self._position(self._access.index(loops))]

    def write(self, loops: Sequence[int], element: Any) -> None:
        """Set the element of a loop index."""
        assert self.value is not None
        self.value.values[self._position(self._access.index(loops))] = element


def _wide_steps(op: Any, outs: int) -> tuple[dict[int, Run], set[int]]:
    """The combiners of a region that keep a float accumulator of 16 bits in f32, by the number of
    their op, and the numbers of those outs."""
    block = op.regions[0].blocks[0]
    arguments = list(block.arguments)
    accumulators = arguments[len(arguments) - outs :] if len(arguments) == len(op.operands) else []
    ops = [inner.operation for inner in block.operations]
    steps: dict[int, Run] = {}
    wide: set[int] = set()
    for number, argument in enumerate(accumulators):
        uses = [k for k, inner in enumerate(ops) if argument in list(inner.operands)]
        if len(uses) != 1 or str(argument.type) not in ("f16", "bf16"):
            continue
        combiner = ops[uses[0]]
        name = combiner.name.removeprefix("arith.")
        both = list(combiner.operands).count(argument) > 1
        yielded = list(ops[-1].operands)[number]
        if name not in _WIDE_COMBINERS or both or not combiner.results or combiner.results[0] != yielded:
            continue
        if sum(list(inner.operands).count(combiner.results[0]) for inner in ops) == 1:
            steps[uses[0]] = _in_f32(BINARY[name])
            wide.add(number)
    return steps, wide


def _in_f32(combine: Callable[..., Any]) -> Run:
    return lambda env, operands: [combine(*(np.asarray(x).astype(np.float32) for x in operands))]


@handler("linalg.*")
def _linalg(program: Program, op: Any) -> Run:
    if not len(op.regions) or not op.results:
        raise RaggedError(f"expected a linalg op with a region on tensors, got '{op.name}'")
    count, accesses = _accesses(op)
    outs = len(op.results)
    ins = len(op.operands) - outs
    overrides, wide = _wide_steps(op, outs)
    block = program.decode_block(op.regions[0].blocks[0], overrides)

    def run(env: Env, operands: Values) -> Values:
        nest = Nest(count, accesses, operands)
        if program.check:
            nest.require(op.name)
        made = [_own(out, number in wide) for number, out in enumerate(operands[ins:])]
        inputs = [Elements(x, a) for x, a in zip(operands[:ins], accesses, strict=False)]
        results = [Elements(x, a) for x, a in zip(made, accesses[ins:], strict=True)]
        outer = env.get(LOOP_INDEX)
        for index in nest.indices():
            env[LOOP_INDEX] = index
            elements = [e.read(index) for e in (*inputs, *results)][: len(block.arguments)]
            for result, element in zip(results, program.run(block, env, elements), strict=True):
                result.write(index, element)
        env[LOOP_INDEX] = outer
        return [_narrow(x, given) for x, given in zip(made, operands[ins:], strict=True)]

    return run


def _own(out: RaggedValue | np.ndarray[Any, Any], wide: bool) -> Any:
    """A copy of an out on storage of its own, in f32 for an accumulator that is kept wide."""
    if isinstance(out, RaggedValue):
        copied = out.fresh()
        return copied.fresh(copied.values.astype(np.float32)) if wide else copied
    return out.astype(np.float32) if wide else out.copy()


def _narrow(made: Any, given: Any) -> Any:
    if not isinstance(given, RaggedValue):
        return made.astype(given.dtype)
    return RaggedValue(made.shape, made.values.astype(given.values.dtype), made.axes)


@handler("linalg.index")
def _loop_index(program: Program, op: Any) -> Run:
    dim = op.attributes["dim"].value
    return lambda env, operands: [np.int64(env[LOOP_INDEX][dim])]


@handler("linalg.softmax")
def _softmax(program: Program, op: Any) -> Run:
    """exp(x - max) / sum along one dim, in float64; a dim without elements has no result."""
    dim = op.attributes["dimension"].value

    def run(env: Env, operands: Values) -> Values:
        x, out = map(RaggedValue.of, operands)
        if program.check:
            require_conform(op.name, x, out)
        made = RaggedValue.of(_own(operands[1], False))
        rows: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for index in x.indices():
            rows.setdefault((*index[:dim], -1, *index[dim + 1 :]), []).append(index)
        for row in rows.values():
            elements = np.array([x.values[x.position(i)] for i in row]).astype(np.float64)
            powers = np.exp(elements - elements.max())
            for i, power in zip(row, powers / powers.sum(), strict=True):
                made.values[made.position(i)] = power
        if not is_float(made.values.dtype):
            raise RaggedError(f"expected a softmax of floats, got {made.values.dtype}")
        return [made if isinstance(operands[1], RaggedValue) else made.values]

    return run
