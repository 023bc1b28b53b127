"""`Program`: a traced function, compiled; guards first, then arguments to parts and results to arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.axes import NestedAxis, Origin, PlainAxis, layout_of
from ragged_dialect.arrays.buffer import Buffer
from ragged_dialect.arrays.guards import structure_at
from ragged_dialect.arrays.spec import DType, Spec, spec
from ragged_dialect.arrays.storage import give
from ragged_dialect.arrays.structure import Structure
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.trace import Trace
from ragged_dialect.lowering import emit
from ragged_dialect.runtime.frames import Allocation, descriptor, descriptor_array

Leaves = Sequence[Any]
Pack = Callable[[Leaves], bytes]


class Returned:
    """The values that a function under construction returns, each once."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, value: Any) -> int:
        """Number of a value among the results."""
        for number, known in enumerate(self.values):
            if known == value:
                return number
        self.values.append(value)
        return len(self.values) - 1


@dataclass(frozen=True)
class NewStructure:
    """A structure that a program computes: letters, where its vectors are among the results, and per
    level None, an extent, or (in a tuple) where it is among the results; -1 for what the size of
    the first vector gives."""

    letters: str
    vectors: tuple[int, ...]
    extents: tuple[int | tuple[int] | None, ...]

    def make(self, parts: list[Any]) -> Structure:
        """The structure of a call."""
        vectors = [_host_array(parts[at]) for at in self.vectors]
        extents: list[int | None] = []
        for extent in self.extents:
            if isinstance(extent, tuple):
                (at,) = extent
                extents.append(vectors[0].shape[0] - (self.letters[1] == "r") if at < 0 else parts[at])
            else:
                extents.append(extent)
        return Structure(self.letters, vectors, extents)


def _host_array(part: Any) -> Any:
    return part.array if isinstance(part, Buffer) else part


@dataclass(frozen=True)
class Result:
    """One result: the number of its values among the parts, or the argument whose values it shows (as
    -1 - leaf), and the structure of every nested axis."""

    values: int
    spec: Spec
    axes: tuple[Origin | NewStructure | None, ...]
    number: bool
    nested: bool
    loose: bool


def plan_result(trace: Trace, tensor: Tensor, returned: Returned, device: str, library: str) -> Result:
    """How a tracer comes out of a call; adds what the function has to return."""
    shape: list[int | None] = []
    axes: list[Origin | NewStructure | None] = []
    for number, axis in enumerate(tensor.axes):
        if isinstance(axis, PlainAxis):
            shape.append(axis.extent)
            axes.append(None)
            continue
        root = axis.root
        shape += [e if c == "t" else None for c, e in zip(axis.letters, axis.extents, strict=True)]
        axes.append(root.origin or _new_structure(tensor, number, root, returned))
    made = spec(layout_of(tensor.axes), tuple(shape), tensor.dtype, device, library)
    values = _shared(trace, tensor)
    at = returned.add(tensor.storage) if values is None else values
    loose = any(isinstance(axis, PlainAxis) and axis.extent is None for axis in tensor.axes)
    return Result(at, made, tuple(axes), not tensor.axes and tensor.weak, not tensor.is_dense, loose)


def _shared(trace: Trace, tensor: Tensor) -> int | None:
    """The ragged argument whose values a result shows, as -1 - leaf."""
    for argument in trace.tensors:
        if not argument.is_dense and argument.storage == tensor.storage:
            return -1 - trace.tensors.index(argument)
    return None


def _new_structure(tensor: Tensor, number: int, axis: NestedAxis, returned: Returned) -> NewStructure:
    first = tensor.layout.dims(number)[0]
    vectors = tuple(returned.add(v) for v in axis.vectors)
    extents: list[int | tuple[int] | None] = []
    for level, letter in enumerate(axis.letters):
        if letter != "d":
            extents.append(axis.extents[level])
        elif level == 0 and axis.letters[1] in "rw":
            extents.append((-1,))
        else:
            extents.append((returned.add(emit.value(tensor.extent(first + level))),))
    return NewStructure(axis.letters, vectors, tuple(extents))


class Program:
    """A compiled function on leaves. `guards` are asked first; nothing is computed when one refuses."""

    def __init__(self, trace: Trace, results: Sequence[Result], target: str) -> None:
        self.guards = tuple(trace.guards)
        self._captured = tuple(trace.captured)
        self._wanted = tuple(trace.wanted)
        self._results = tuple(results)
        self._multiple = False
        self.target = target
        if target == "cpu":
            self._compile_for_cpu(trace)
        else:
            self._function = _device_function(trace.module, target)
            self._parts = self._on_device

    def __call__(self, leaves: Leaves) -> list[Any]:
        """The results of a call, in order."""
        if self._captured:
            leaves = (*leaves, *self._captured)
        for guard in self.guards:
            guard(leaves)
        parts = self._parts(leaves)
        made: dict[Any, Structure] = {}
        return [_result(result, leaves, parts, made) for result in self._results]

    # On the CPU ------------------------------------------------------------------------------------

    def _compile_for_cpu(self, trace: Trace) -> None:
        from ragged_dialect.compiler.cpu import load_lowered, lower_module

        function = load_lowered(lower_module(trace.module, check=False))
        self._packers = tuple(_packer(trace, wanted) for wanted in self._wanted)
        fields: list[tuple[int, int, DType | None]] = []
        at = 0
        for group in function.signature.results:
            (part,) = group.parts
            if part.shape is None:
                fields.append((at, -1, None))
                at += 1
            else:
                fields.append((at, len(part.shape), part.dtype))
                at += 3 + 2 * len(part.shape)
        self._fields = tuple(fields)
        self._multiple = sum(rank >= 0 for _, rank, _ in fields) > 1
        self._call = function.prepared()
        self._parts = self._on_cpu

    def _on_cpu(self, leaves: Leaves) -> list[Any]:
        fields = self._call(b"".join([pack(leaves) for pack in self._packers]))
        owned: dict[int, Allocation] | None = {} if self._multiple else None
        return [
            fields[at] if dtype is None else _buffer(fields, at, rank, dtype, owned) for at, rank, dtype in self._fields
        ]

    # On a device -----------------------------------------------------------------------------------

    def _on_device(self, leaves: Leaves) -> list[Any]:
        flat: list[Any] = []
        for wanted in self._wanted:
            if isinstance(wanted, Origin):
                flat += structure_at(leaves, wanted).parts
            else:
                leaf = leaves[wanted]
                flat.append(_array_of(leaf))
        results = self._function(*flat)
        if results is None:
            return []
        found = results if isinstance(results, tuple) else (results,)
        return [Buffer(part) if hasattr(part, "shape") and not isinstance(part, np.generic) else part for part in found]


def _array_of(leaf: Any) -> Any:
    if isinstance(leaf, RaggedArray):
        return leaf.buffer.array
    return leaf.array if hasattr(leaf, "array") else leaf


def _device_function(module: Any, target: str) -> Any:
    from ragged_dialect.execution import compile

    return compile(module, target=target, check=False)


def _packer(trace: Trace, wanted: int | Origin) -> Pack:
    if isinstance(wanted, Origin):
        if wanted.derived:
            return lambda leaves: structure_at(leaves, wanted).packed
        leaf, dim = wanted.leaf, wanted.dim
        return (
            (lambda leaves: leaves[leaf].first.packed)
            if dim == 0
            else lambda leaves: leaves[leaf].structure(dim).packed
        )
    leaf = trace.leaves[wanted]
    if isinstance(leaf, RaggedArray):
        return lambda leaves: leaves[wanted].buffer.packed
    if isinstance(leaf, (bool, int, float)):
        pack = struct.Struct({bool: "=?7x", int: "=q", float: "=d"}[type(leaf)]).pack
        return lambda leaves: pack(leaves[wanted])
    return lambda leaves: descriptor(leaves[wanted].array)


_DESCRIPTORS = tuple(struct.Struct(f"={3 + 2 * rank}q").pack for rank in range(16))


def _buffer(fields: tuple[int, ...], at: int, rank: int, dtype: DType, owned: dict[int, Allocation] | None) -> Buffer:
    """The buffer of a descriptor among the results. A program may return one allocation several times."""
    own = fields[at : at + 3 + 2 * rank]
    if owned is None:
        memory = Allocation(own[0])
    else:
        memory = owned.get(own[0])
        if memory is not None:
            return Buffer(descriptor_array(memory, _DESCRIPTORS[rank](*own), own[3 : 3 + rank], dtype).copy())
        memory = owned[own[0]] = Allocation(own[0])
    return Buffer.allocated(memory, _DESCRIPTORS[rank](*own), own[3 : 3 + rank], dtype)


def _result(result: Result, leaves: Leaves, parts: list[Any], made: dict[Any, Structure]) -> Any:
    if result.nested:
        buffer = parts[result.values] if result.values >= 0 else leaves[-1 - result.values].buffer
        structures = tuple([None if axis is None else _structure(axis, leaves, parts, made) for axis in result.axes])
        return RaggedArray.trusted(buffer, structures, _with_extents(result, buffer) if result.loose else result.spec)
    if result.number:
        return parts[result.values]
    if result.values < 0:
        return give(leaves[-1 - result.values].buffer.array, result.spec.library)
    part = parts[result.values]
    array = part.writeable if isinstance(part, Buffer) else part
    return give(array, result.spec.library) if result.axes else array[()]


def _with_extents(result: Result, buffer: Buffer) -> Spec:
    """The spec of a result with plain extents that only the call knows."""
    known = result.spec
    shape = list(known.shape)
    for number, extent in enumerate(buffer.shape):
        if result.axes[number] is None:
            shape[known.layout.dims(number)[0]] = extent
    return spec(known.layout, tuple(shape), known.dtype, known.device, known.library)


def _structure(axis: Origin | NewStructure, leaves: Leaves, parts: list[Any], made: dict[Any, Structure]) -> Structure:
    if isinstance(axis, Origin):
        return structure_at(leaves, axis)
    found = made.get(axis)
    if found is None:
        found = made[axis] = axis.make(parts)
    return found
