"""The interpreter's core: blocks decoded once into steps, run on an environment of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.checked_data import require
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.iteration import Iteration
from ragged_dialect.ops.rules import rule_of
from ragged_dialect.reference.checker import DataChecker
from ragged_dialect.reference.value import Datum, RaggedValue
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_tensor, shape_of

Operand: TypeAlias = Any
"""Of class `Datum`: which, the types of an op say."""
Values: TypeAlias = list[Operand]
Env: TypeAlias = dict[int | str, Operand]
Run: TypeAlias = Callable[[Env, Values], Sequence[Datum]]
Decoder: TypeAlias = "Callable[[Program, ir.Operation], Run]"
Pure: TypeAlias = (
    Callable[[Operand], Datum] | Callable[[Operand, Operand], Datum] | Callable[[Operand, Operand, Operand], Datum]
)

HANDLERS: dict[str, Decoder] = {}
"""What decodes an op, by its name."""

LOOKUP = "tensor.extract"
"""An op that runs for every element, and compares its indices itself while it looks the element up."""

LOOP_INDEX = "loop index"
"""Key of an environment: the indices of the linalg loops around the running region."""

_FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def handler(*names: str) -> Callable[[Decoder], Decoder]:
    """Register a decoder for ops of these names."""

    def register(decoder: Decoder) -> Decoder:
        for name in names:
            HANDLERS[name] = decoder
        return decoder

    return register


def dtype_of_type(type_: ir.Type) -> np.dtype:
    """The NumPy type of an element type. RaggedError for one the dialect does not compute with."""
    if isinstance(type_, ir.IndexType):
        return np.dtype(np.int64)
    if isinstance(type_, ir.IntegerType) and type_.width in (1, 8, 16, 32, 64):
        return np.dtype(bool if type_.width == 1 else f"i{type_.width // 8}")
    if str(type_) in _FLOATS:
        return np.dtype(_FLOATS[str(type_)])
    raise RaggedError(f"expected an element type among i1, i8 to i64, index, f16, bf16, f32, f64, got {type_}")


def attribute(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute that may be absent."""
    return op.attributes[name] if name in op.attributes else None


@dataclass(frozen=True)
class Step:
    """One op: what runs it, where its operands and results are, shapes of results that are tensors."""

    name: str
    run: Run
    operands: tuple[int, ...]
    results: tuple[int, ...]
    shapes: tuple[RaggedShape | None, ...]


@dataclass(frozen=True)
class Block:
    """A decoded block: its arguments, steps, and the operands and name of its terminator."""

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    yielded: tuple[int, ...]


class Program:
    """The functions of a module, decoded on first use. `check`: the checks of every op run before it."""

    def __init__(self, module: ir.Module, check: bool) -> None:
        self.check = check
        self._module = module
        self._iterations: dict[ir.Operation, Iteration] = {}
        self._slots: dict[ir.Value, int] = {}
        self._blocks: dict[str, Block] = {}
        self._running: set[str] = set()
        self.functions = functions_of(module.operation)

    def function(self, name: str) -> ir.Operation:
        """The op of a function."""
        if name not in self.functions:
            raise RaggedError(f"expected a function among {', '.join(self.functions) or 'none'}, got '{name}'")
        return self.functions[name]

    def call(self, name: str, arguments: Values) -> Values:
        """Run a function on values of the interpreter."""
        if name not in self._blocks:
            regions = self.function(name).regions
            if not len(regions[0].blocks):
                raise RaggedError(f"expected a function with a body, got '{name}'")
            self._blocks[name] = self.decode_block(regions[0].blocks[0])
        if name in self._running:  # as on every target
            raise RaggedError(f"expected functions that do not call themselves, got a call of '{name}' inside of it")
        self._running.add(name)
        results = self.run(self._blocks[name], {}, arguments)
        self._running.remove(name)  # not after an error: that ends the program
        return results

    def decode_block(self, block: ir.Block, overrides: dict[int, Run] | None = None) -> Block:
        """Decode a block; `overrides` replaces what runs its n-th op."""
        ops = [op.operation for op in block.operations]
        if len(ops[-1].successors):
            raise RaggedError(f"expected regions of one block, got '{ops[-1].name}' to another")
        arguments = tuple(map(self._slot, block.arguments))
        steps = tuple(self._decode(op, (overrides or {}).get(n)) for n, op in enumerate(ops[:-1]))
        return Block(arguments, steps, tuple(map(self._slot, ops[-1].operands)))

    def run(self, block: Block, env: Env, arguments: Sequence[Datum]) -> Values:
        """Run a block; the operands of its terminator."""
        env.update(zip(block.arguments, arguments, strict=True))
        for step in block.steps:
            results = step.run(env, [env[slot] for slot in step.operands])
            for slot, value, shape in zip(step.results, results, step.shapes, strict=True):
                env[slot] = self._typed(step.name, value, shape)
        return [env[slot] for slot in block.yielded]

    def _typed(self, op: str, value: Datum, shape: RaggedShape | None) -> Datum:
        """A result with the shape of its type: which extents are static decides the 1:N form."""
        if shape is None:
            return value
        made = RaggedValue.of(value)
        if made.shape.layout != shape.layout:
            raise RaggedError(f'expected a value of layout "{shape.layout}", got "{made.shape.layout}"')
        for dim, extent in enumerate(shape.shape):
            if self.check and extent is not None and shape.layout.letter(dim) == "d":
                require("equal", op, dim, [made.extent(dim), extent])
        return value if shape.layout.is_dense else replace(made, shape=shape)

    def _checked(self, op: ir.Operation, run: Run) -> Run:
        rule = rule_of(op)
        if rule is None:
            return run
        names = list(op.operands)

        def checked(env: Env, operands: Values) -> Sequence[Datum]:
            rule(DataChecker(op.name, dict(zip(names, operands, strict=True)), self._iterations), op)
            return run(env, operands)

        return checked

    def _slot(self, value: ir.Value) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def _decode(self, op: ir.Operation, override: Run | None) -> Step:
        family = op.name.split(".", 1)[0]
        decoder = HANDLERS.get(op.name) or HANDLERS.get(f"{family}.*")
        if override is None and decoder is None:
            raise RaggedError(f"expected an op that the interpreter knows, got '{op.name}'")
        run = override or decoder(self, op)  # pyright: ignore[reportOptionalCall]
        if self.check and op.name != LOOKUP:
            run = self._checked(op, run)
        shapes = tuple(shape_of(r.type) if is_tensor(r.type) else None for r in op.results)
        return Step(op.name, run, tuple(map(self._slot, op.operands)), tuple(map(self._slot, op.results)), shapes)


def pure(run: Pure) -> Run:
    """What runs an op with one result that is a function of its operands."""
    return lambda env, operands: [run(*operands)]


def effect(run: Callable[[Values], None]) -> Run:
    """What an op without results does, from a function of its operands."""

    def done(env: Env, operands: Values) -> Values:
        run(operands)
        return []

    return done


def result_dtype(op: ir.Operation) -> np.dtype:
    """Element type of an op's first result."""
    type_ = op.results[0].type
    return dtype_of_type(type_.element_type if is_tensor(type_) else type_)
