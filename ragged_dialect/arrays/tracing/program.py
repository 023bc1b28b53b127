"""`Program`: a traced function, compiled; guards first, then it runs, and its parts become arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import AllocatedBuffer, Buffer, ReshapedBuffer, TensorBuffer
from ragged_dialect.arrays.core.spec import Spec, spec
from ragged_dialect.arrays.core.storage import ArrayLike, Dense, give, in_memory
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.arrays.tracing.calls import Leaves, Parts, Run
from ragged_dialect.arrays.tracing.guards import structure_at
from ragged_dialect.arrays.tracing.leaves import Leaf, Origin, held_now, require_plain
from ragged_dialect.arrays.tracing.plan import NewStructure, Plan, Result
from ragged_dialect.runtime.memory import explained

New: TypeAlias = dict[NewStructure, Structure]
Make: TypeAlias = Callable[[Leaves, Parts, New], ArrayLike]


class Program:
    """A compiled function on leaves. Its guards are asked first; nothing is computed when one refuses. `columns` are
    the dense ones that it takes only with the first extents of those that it was made for."""

    def __init__(self, plan: Plan, run: Run, target: str, columns: tuple[int, ...] = ()) -> None:
        self._guards = tuple(guard.prepared() for guard in plan.guards)
        self._captured = plan.captured
        self._makers = tuple(_maker(plan, result) for result in plan.results)
        self._run = run
        self.target = target
        self.columns = columns
        self.results = plan.results
        self._name = plan.op

    def __call__(self, leaves: Leaves) -> list[ArrayLike]:
        """The results of a call, in order. AllocationError where there is no memory."""
        if self._captured:
            require_plain(self._captured)
            leaves = (*leaves, *held_now(self._captured))
        try:
            for guard in self._guards:
                guard(leaves)
            parts = self._run(leaves)
            made: New = {}
            return [make(leaves, parts, made) for make in self._makers]
        except MemoryError as error:
            raise explained(self._name, error) from None


def _maker(plan: Plan, result: Result) -> Make:
    """How a result is made of the leaves and parts of a call."""
    if result.nested:
        return _ragged_maker(plan, result)
    at, library = result.values, result.spec.library
    if result.number:
        return lambda leaves, parts, new: parts[at]
    if not result.axes:
        return lambda leaves, parts, new: _scalar(parts[at], library)
    return lambda leaves, parts, new: _dense(parts[at], library)


def _scalar(part: Buffer, library: str) -> Dense:
    array = part.array
    return give(array, library) if library == "torch" else array[()]


def _dense(part: Buffer, library: str) -> Dense:
    return part.own(library) if type(part) is AllocatedBuffer else give(part.array, library)


def _ragged_maker(plan: Plan, result: Result) -> Make:
    at = result.values
    made = result.spec
    same = _leaf_with_axes(plan, result)
    if same is not None and at >= 0 and not result.loose:
        return lambda leaves, parts, new: RaggedArray.trusted(parts[at], leaves[same].axes, made)

    def make(leaves: Leaves, parts: Parts, new: New) -> RaggedArray:
        buffer = parts[at] if at >= 0 else _viewed(leaves[-1 - at], result.reshape)
        axes = tuple([None if axis is None else _structure(axis, leaves, parts, new) for axis in result.axes])
        return RaggedArray.trusted(buffer, axes, _with_extents(result, buffer) if result.loose else made)

    return make


def _leaf_with_axes(plan: Plan, result: Result) -> int | None:
    """The argument that has all the axes of a result, in order."""
    first = result.axes[0]
    if not isinstance(first, Origin) or first.dim or first.derived:
        return None
    kind = plan.kinds[first.leaf]
    if not isinstance(kind, tuple) or len(kind) != len(result.axes):
        return None
    plain = not any(kind[1:]) and all(axis is None for axis in result.axes[1:])
    return first.leaf if plain else None


def _with_extents(result: Result, buffer: Buffer) -> Spec:
    """The spec of a result with plain extents that only the call knows."""
    known = result.spec
    shape = list(known.shape)
    for number, extent in enumerate(buffer.shape):
        if result.axes[number] is None:
            shape[known.layout.dims(number)[0]] = extent
    return spec(known.layout, tuple(shape), known.dtype, known.device, known.library)


def _viewed(leaf: Leaf, shape: tuple[int, ...] | None) -> Buffer:
    """The buffer of an argument, in another shape. PyTorch counts changes of both arrays as one."""
    is_ragged, is_torch = isinstance(leaf, RaggedArray), leaf.spec.library == "torch"
    known = leaf.buffer if is_ragged else leaf
    if shape is not None and 0 in known.shape:  # -1 cannot be told from nothing
        shape = tuple(known.shape[0] if e < 0 and 0 in shape else max(e, 0) for e in shape)
    if not is_torch:
        if shape is not None:
            return Buffer(known.array.reshape(shape))
        return known if is_ragged else Buffer(known.array)
    if not is_ragged:
        tensor = in_memory(leaf.tensor.detach())
        return TensorBuffer(tensor if shape is None else tensor.view(shape))
    if shape is not None:
        return ReshapedBuffer(leaf, shape)
    leaf.buffer = made = leaf.buffer.of_torch()
    return made


def _structure(axis: Origin | NewStructure, leaves: Leaves, parts: Parts, new: New) -> Structure:
    """Results with one structure have one object."""
    if isinstance(axis, Origin):
        return structure_at(leaves, axis)
    found = new.get(axis)
    if found is None:
        found = new[axis] = axis.make(parts)
    return found
