"""Calls and structured control flow; the linalg ops: their region, run for every index tuple of their loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.errors import RaggedError
from ragged_dialect.iteration import BACKWARDS
from ragged_dialect.reference.axis import Node
from ragged_dialect.reference.iteration import Indexing, Loops, accesses_of
from ragged_dialect.reference.program import LOOP_INDEX, Env, Program, Run, Values, handler
from ragged_dialect.reference.scalars import BINARY, is_float
from ragged_dialect.reference.value import Datum, RaggedValue


@handler("func.call")
def _call(program: Program, op: ir.Operation) -> Run:
    name = op.attributes["callee"].value
    return lambda env, operands: program.call(name, operands)


@handler("scf.if")
def _if(program: Program, op: ir.Operation) -> Run:
    branches = [program.decode_block(r.blocks[0]) if len(r.blocks) else None for r in op.regions]

    def run(env: Env, operands: Values) -> Values:
        branch = branches[0] if operands[0] else branches[1]
        return program.run(branch, env, []) if branch is not None else []

    return run


@handler("scf.for")
def _for(program: Program, op: ir.Operation) -> Run:
    block = program.decode_block(op.regions[0].blocks[0])

    def run(env: Env, operands: Values) -> Values:
        low, high, step = operands[:3]
        carried = operands[3:]
        for i in range(int(low), int(high), int(step)):
            carried = program.run(block, env, [np.asarray(low).dtype.type(i), *carried])
        return carried

    return run


@handler("scf.while")
def _while(program: Program, op: ir.Operation) -> Run:
    before, after = (program.decode_block(r.blocks[0]) for r in op.regions)

    def run(env: Env, operands: Values) -> Values:
        while True:
            goes_on, *operands = program.run(before, env, operands)
            if not goes_on:
                return operands
            operands = program.run(after, env, operands)

    return run


@handler("scf.execute_region")
def _execute_region(program: Program, op: ir.Operation) -> Run:
    block = program.decode_block(op.regions[0].blocks[0])
    return lambda env, operands: program.run(block, env, [])


_WIDE_COMBINERS = ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf")


class Elements:
    """An operand as its elements: read and written by index."""

    def __init__(self, operand: Datum, access: Indexing) -> None:
        self._access = access
        self._scalar = operand
        self.value = RaggedValue.of(operand) if isinstance(operand, (RaggedValue, np.ndarray)) else None
        if self.value is not None:
            self._trees = [axis.expand() for axis in self.value.axes]
            self._dims = [self.value.shape.layout.dims(k) for k in range(len(self._trees))]

    def _position(self, index: Sequence[int]) -> tuple[int, ...]:
        position: list[int] = []
        for tree, dims in zip(self._trees, self._dims, strict=True):
            node: Node = tree
            for dim in dims:
                node = node[index[dim]]
            position.append(node)
        return tuple(position)

    def read(self, loops: Sequence[int]) -> Datum:
        """The element of a loop index."""
        if self.value is None:
            return self._scalar
        return self.value.values[self._position(self._access.index(loops))]

    def write(self, loops: Sequence[int], element: Datum) -> None:
        """Set the element of a loop index."""
        assert self.value is not None
        self.value.values[self._position(self._access.index(loops))] = element


def _wide_steps(op: ir.Operation, outs: int) -> tuple[dict[int, Run], set[int]]:
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


def _in_f32(combine: Callable[..., Datum]) -> Run:
    return lambda env, operands: [combine(*(np.asarray(x).astype(np.float32) for x in operands))]


@handler("linalg.*")
def _linalg(program: Program, op: ir.Operation) -> Run:
    if not len(op.regions) or not op.results:
        raise RaggedError(f"expected a linalg op with a region on tensors, got '{op.name}'")
    count, accesses = accesses_of(op)
    outs = len(op.results)
    ins = len(op.operands) - outs
    overrides, wide = _wide_steps(op, outs)
    backwards = op.attributes[BACKWARDS].value if BACKWARDS in op.attributes else None
    block = program.decode_block(op.regions[0].blocks[0], overrides)

    def run(env: Env, operands: Values) -> Values:
        nest = Loops(count, accesses, operands, backwards)
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


def _own(out: RaggedValue | np.ndarray, wide: bool) -> RaggedValue | np.ndarray:
    """A copy of an out on storage of its own, in f32 for an accumulator that is kept wide."""
    if isinstance(out, RaggedValue):
        copied = out.fresh()
        return copied.fresh(copied.values.astype(np.float32)) if wide else copied
    return out.astype(np.float32) if wide else out.copy()


def _narrow(made: Datum, given: Datum) -> Datum:
    if not isinstance(given, RaggedValue) or not isinstance(made, RaggedValue):
        assert not isinstance(made, RaggedValue)
        assert not isinstance(given, RaggedValue)
        return made.astype(given.dtype)
    return RaggedValue(made.shape, made.values.astype(given.values.dtype), made.axes)


@handler("linalg.index")
def _loop_index(program: Program, op: ir.Operation) -> Run:
    dim = op.attributes["dim"].value
    return lambda env, operands: [np.int64(env[LOOP_INDEX][dim])]


@handler("linalg.softmax")
def _softmax(program: Program, op: ir.Operation) -> Run:
    """exp(x - max) / sum along one dim, in float64; a dim without elements has no result."""
    dim = op.attributes["dimension"].value

    def run(env: Env, operands: Values) -> Values:
        x = RaggedValue.of(operands[0])
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
