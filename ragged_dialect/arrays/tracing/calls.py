"""Running a compiled function: leaves to its arguments, and a part per result: a buffer or a number."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ragged_dialect.arrays.core.arguments import check_word
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import AllocatedBuffer, Buffer
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.guards import structure_at, structure_finder
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaf, Leaves, Origin
from ragged_dialect.arrays.tracing.plan import Parts, Plan
from ragged_dialect.host_memory import copied
from ragged_dialect.narrowing import is_scalar, is_tuple
from ragged_dialect.runtime.frames import descriptor_array
from ragged_dialect.runtime.signature import Argument
from ragged_dialect.runtime.stored_program import CpuProgram

if TYPE_CHECKING:
    from ragged_dialect._mlir import ir
    from ragged_dialect.compiler.loading import Runtime

Pack = Callable[[Leaves], bytes]
Run: TypeAlias = Callable[[Leaves], Parts]

_NUMBERS: dict[type, str] = {bool: "=?7x", int: "=q", float: "=d"}


def cpu_run(plan: Plan, program: CpuProgram, runtime: Runtime | None = None) -> Run:
    """Runs on the CPU: packed arguments in, a part per result out: a buffer or a number."""
    from ragged_dialect.compiler.loading import load_stored  # start-up time

    function = load_stored(program, runtime)
    call = function.packed.named(plan.name)
    packers = tuple(_packer(plan, wanted) for wanted in plan.wanted)
    places: list[tuple[int, int, int, DType]] = []
    at = 0
    for group in function.signature.results:
        (part,) = group.parts
        rank = -1 if part.shape is None else len(part.shape)
        end = at + (1 if rank < 0 else 3 + 2 * rank)
        places.append((at, end, rank, part.dtype))
        at = end
    if len(places) == 1 and places[0][2] >= 0:
        _, _, rank, dtype = places[0]
        return lambda leaves: [AllocatedBuffer(call(b"".join([pack(leaves) for pack in packers])), rank, dtype)]
    return lambda leaves: _parts(call(b"".join([pack(leaves) for pack in packers])), places)


def cpu_code(module: ir.Module) -> CpuProgram:
    """The program of a traced function, from the cache where it is there."""
    from ragged_dialect.compiler.cpu import cpu_program  # start-up time
    from ragged_dialect.compiler.frontend import Program  # start-up time

    return cpu_program(Program(module), check=False)


def _parts(fields: tuple[int, ...], places: Sequence[tuple[int, int, int, DType]]) -> Parts:
    """A program may return one allocation several times: each result has memory of its own."""
    owners: dict[int, AllocatedBuffer] = {}
    parts: Parts = []
    for at, end, rank, dtype in places:
        if rank < 0:
            parts.append(fields[at])
        elif fields[at] in owners:
            parts.append(None)
        else:
            made = owners[fields[at]] = AllocatedBuffer(fields[at:end], rank, dtype)
            parts.append(made)
    for number, (at, end, _, dtype) in enumerate(places):  # last: there may be no memory for a copy
        if parts[number] is None:
            parts[number] = Buffer(copied(descriptor_array(owners[fields[at]], fields[at:end], dtype)))
    return parts


def _packer(plan: Plan, wanted: int | Origin) -> Pack:
    if isinstance(wanted, Origin):
        find = structure_finder(wanted)
        return lambda leaves: find(leaves).packed
    kind = plan.kinds[wanted]
    if isinstance(kind, tuple):
        return lambda leaves: leaves[wanted].buffer.packed
    if kind in _NUMBERS:
        return _number_packer(plan.name, wanted, _NUMBERS[kind])
    return lambda leaves: leaves[wanted].packed


def _number_packer(op: str, wanted: int, text: str) -> Pack:
    pack = struct.Struct(text).pack

    def packed(leaves: Leaves) -> bytes:
        try:
            return pack(leaves[wanted])
        except struct.error:
            check_word(op, leaves[wanted])
            raise

    return packed


def device_run(plan: Plan, module: ir.Module, target: str) -> Run:
    """Runs on a GPU or in the emulator: arrays in and out."""
    from ragged_dialect.compiler.frontend import Program  # start-up time
    from ragged_dialect.execution import compile  # start-up time

    function = compile(Program(module), target=target, check=False)

    def run(leaves: Leaves) -> Parts:
        flat: Parts = []
        for item in plan.wanted:
            if isinstance(item, Origin):
                flat += structure_at(leaves, item).parts
            else:
                check_word(plan.name, leaves[item])
                flat.append(_array_of(leaves[item]))
        results = function(*flat)
        found = () if results is None else results if is_tuple(results) else (results,)
        return [Buffer(p) if hasattr(p, "shape") and not is_scalar(p) else p for p in found]

    return run


def _array_of(leaf: Leaf) -> Argument:
    if isinstance(leaf, RaggedArray):
        return leaf.buffer.array
    return leaf.array if isinstance(leaf, DenseLeaf) else leaf
