"""`Program`: a traced function, compiled; guards first, then arguments to parts and results to arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.axes import NestedAxis, Origin, PlainAxis, layout_of, shape_of
from ragged_dialect.arrays.buffer import AllocatedBuffer, Buffer
from ragged_dialect.arrays.guards import structure_at, structure_finder
from ragged_dialect.arrays.leaves import DenseLeaf
from ragged_dialect.arrays.spec import DType, Spec, spec
from ragged_dialect.arrays.storage import give
from ragged_dialect.arrays.structure import Structure
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.trace import Trace
from ragged_dialect.lowering import emit
from ragged_dialect.runtime.frames import descriptor, descriptor_array

Leaves = Sequence[Any]
Pack = Callable[[Leaves], bytes]
Run = Callable[[Leaves], list[Any]]
New = dict[Any, Structure]
Make = Callable[[Leaves, list[Any], New], Any]


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
    reshape: tuple[int, ...] | None


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
    number, nested = not tensor.axes and tensor.weak, not tensor.is_dense
    return Result(at, made, tuple(axes), number, nested, loose, _view_shape(tensor) if at < 0 else None)


def _shared(trace: Trace, tensor: Tensor) -> int | None:
    """The argument whose values a ragged result shows, perhaps in another shape, as -1 - leaf. Dense
    results are the caller's to write, and show no argument's."""
    if tensor.is_dense:
        return None
    storage = tensor.storage
    while storage in trace.reshaped and len([e for e in shape_of(tensor.axes).storage_shape() if e is None]) < 2:
        storage = trace.reshaped[storage]
    for number, argument in enumerate(trace.tensors):
        if argument.axes and argument.storage == storage:
            return -1 - number
    return None


def _view_shape(tensor: Tensor) -> tuple[int, ...] | None:
    """The shape of values that were reshaped, with -1 for what a call knows; None where they were not."""
    if tensor.storage not in tensor.trace.reshaped:
        return None
    return tuple(-1 if extent is None else extent for extent in shape_of(tensor.axes).storage_shape())


def _viewed(leaf: Any, shape: tuple[int, ...] | None) -> Buffer:
    """The buffer of an argument, in another shape."""
    buffer = leaf.buffer if isinstance(leaf, RaggedArray) else Buffer(leaf.array)
    if shape is None:
        return buffer
    if 0 in buffer.shape:  # -1 cannot be told from nothing
        shape = tuple(buffer.shape[0] if e < 0 and 0 in shape else max(e, 0) for e in shape)
    return Buffer(buffer.array.reshape(shape))


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
    """A compiled function on leaves. Its guards are asked first; nothing is computed when one refuses."""

    def __init__(self, trace: Trace, results: Sequence[Result], target: str) -> None:
        self._guards = tuple(guard.prepared() for guard in trace.guards)
        self._captured = tuple(trace.captured)
        self._makers = tuple(_maker(trace, result) for result in results)
        self._run = _cpu_run(trace) if target == "cpu" else _device_run(trace, target)
        self.target = target

    def __call__(self, leaves: Leaves) -> list[Any]:
        """The results of a call, in order."""
        if self._captured:
            leaves = (*leaves, *self._captured)
        for guard in self._guards:
            guard(leaves)
        parts = self._run(leaves)
        made: dict[Any, Structure] = {}
        return [make(leaves, parts, made) for make in self._makers]


# Arguments to parts, and parts of the results -----------------------------------------------------------


def _cpu_run(trace: Trace) -> Run:
    """Runs on the CPU: packed arguments in, a part per result out: a buffer or a number."""
    from ragged_dialect.compiler.cpu import load_lowered, lower_module

    function = load_lowered(lower_module(trace.module, check=False))
    call = function.prepared()
    packers = tuple(_packer(trace, wanted) for wanted in trace.wanted)
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


def _parts(fields: tuple[Any, ...], places: Sequence[tuple[int, int, int, DType]]) -> list[Any]:
    """A program may return one allocation several times: each result has memory of its own."""
    owners: dict[int, AllocatedBuffer] = {}
    parts: list[Any] = []
    for at, end, rank, dtype in places:
        if rank < 0:
            parts.append(fields[at])
        elif fields[at] in owners:
            parts.append(Buffer(descriptor_array(owners[fields[at]], fields[at:end], dtype).copy()))
        else:
            made = owners[fields[at]] = AllocatedBuffer(fields[at:end], rank, dtype)
            parts.append(made)
    return parts


def _packer(trace: Trace, wanted: int | Origin) -> Pack:
    if isinstance(wanted, Origin):
        find = structure_finder(wanted)
        return lambda leaves: find(leaves).packed
    leaf = trace.leaves[wanted]
    if isinstance(leaf, RaggedArray):
        return lambda leaves: leaves[wanted].buffer.packed
    if isinstance(leaf, (bool, int, float)):
        pack = struct.Struct({bool: "=?7x", int: "=q", float: "=d"}[type(leaf)]).pack
        return lambda leaves: pack(leaves[wanted])
    return lambda leaves: descriptor(leaves[wanted].array)


def _device_run(trace: Trace, target: str) -> Run:
    """Runs on a GPU or in the emulator: arrays in and out."""
    from ragged_dialect.execution import compile

    function = compile(trace.module, target=target, check=False)
    wanted = tuple(trace.wanted)

    def run(leaves: Leaves) -> list[Any]:
        flat: list[Any] = []
        for item in wanted:
            if isinstance(item, Origin):
                flat += structure_at(leaves, item).parts
            else:
                flat.append(_array_of(leaves[item]))
        results = function(*flat)
        found = () if results is None else results if isinstance(results, tuple) else (results,)
        return [Buffer(p) if hasattr(p, "shape") and not isinstance(p, np.generic) else p for p in found]

    return run


def _array_of(leaf: Any) -> Any:
    if isinstance(leaf, RaggedArray):
        return leaf.buffer.array
    return leaf.array if isinstance(leaf, DenseLeaf) else leaf


# Parts to results -----------------------------------------------------------------------------------------


def _maker(trace: Trace, result: Result) -> Make:
    """How a result is made of the leaves and parts of a call."""
    if result.nested:
        return _ragged_maker(trace, result)
    at, library = result.values, result.spec.library
    if result.number:
        return lambda leaves, parts, new: parts[at]
    if not result.axes:
        return lambda leaves, parts, new: _scalar(parts[at], library)
    return lambda leaves, parts, new: _dense(parts[at], library)


def _scalar(part: Buffer, library: str) -> Any:
    array = part.array
    return give(array, library) if library == "torch" else array[()]


def _dense(part: Buffer, library: str) -> Any:
    array = part.array
    if isinstance(part, AllocatedBuffer):
        array.flags.writeable = True
    return array if library == "numpy" else give(array, library)


def _ragged_maker(trace: Trace, result: Result) -> Make:
    at = result.values
    made = result.spec
    same = _leaf_with_axes(trace, result)
    if same is not None and at >= 0 and not result.loose:
        return lambda leaves, parts, new: RaggedArray.trusted(parts[at], leaves[same].axes, made)

    def make(leaves: Leaves, parts: list[Any], new: New) -> RaggedArray:
        buffer = parts[at] if at >= 0 else _viewed(leaves[-1 - at], result.reshape)
        axes = tuple([None if axis is None else _structure(axis, leaves, parts, new) for axis in result.axes])
        return RaggedArray.trusted(buffer, axes, _with_extents(result, buffer) if result.loose else made)

    return make


def _leaf_with_axes(trace: Trace, result: Result) -> int | None:
    """The argument that has all the axes of a result, in order."""
    first = result.axes[0]
    if not isinstance(first, Origin) or first.dim or first.derived:
        return None
    leaf = trace.leaves[first.leaf]
    if not isinstance(leaf, RaggedArray) or len(leaf.axes) != len(result.axes):
        return None
    plain = all(a is None and b is None for a, b in zip(leaf.axes[1:], result.axes[1:], strict=True))
    return first.leaf if plain else None


def _with_extents(result: Result, buffer: Buffer) -> Spec:
    """The spec of a result with plain extents that only the call knows."""
    known = result.spec
    shape = list(known.shape)
    for number, extent in enumerate(buffer.shape):
        if result.axes[number] is None:
            shape[known.layout.dims(number)[0]] = extent
    return spec(known.layout, tuple(shape), known.dtype, known.device, known.library)


def _structure(axis: Origin | NewStructure, leaves: Leaves, parts: list[Any], new: New) -> Structure:
    """Results with one structure have one object."""
    if isinstance(axis, Origin):
        return structure_at(leaves, axis)
    found = new.get(axis)
    if found is None:
        found = new[axis] = axis.make(parts)
    return found
