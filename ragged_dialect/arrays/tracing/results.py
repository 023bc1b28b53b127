"""How tracers come out of a call: what the program returns for them, and what is known before it runs."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import spec
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis, layout_of, shape_of
from ragged_dialect.arrays.tracing.leaves import Origin
from ragged_dialect.arrays.tracing.plan import NewStructure, Result
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.ir import build


class Returned:
    """The values that a function under construction returns: each once for all that nobody writes, and
    again for what a caller may write, since the results of a program share no memory."""

    def __init__(self) -> None:
        self.values: list[ir.Value] = []
        self._shared: dict[ir.Value, int] = {}

    def add(self, value: ir.Value) -> int:
        """Number of a value among the results."""
        if value not in self._shared:
            self._shared[value] = self.add_own(value)
        return self._shared[value]

    def add_own(self, value: ir.Value) -> int:
        """Number of a value that is in no other result."""
        self.values.append(value)
        return len(self.values) - 1


def plan_result(tensor: Tensor, returned: Returned, device: str, library: str) -> Result:
    """How a tracer comes out of a call; adds what the function has to return."""
    shape: list[int | None] = []
    axes: list[Origin | NewStructure | None] = []
    for number, axis in enumerate(tensor.axes):
        if isinstance(axis, PlainAxis):
            shape.append(axis.extent)
            axes.append(None)
            continue
        root = axis.root
        shape += axis.tiles
        axes.append(root.origin or _new_structure(tensor, number, root, returned))
    made = spec(layout_of(tensor.axes), tuple(shape), tensor.dtype, device, library)
    values = shown(tensor)
    add = returned.add_own if tensor.is_dense else returned.add
    at = add(tensor.value if tensor.weak else tensor.storage) if values is None else values
    loose = any(isinstance(axis, PlainAxis) and axis.extent is None for axis in tensor.axes)
    number, nested = is_number(tensor), not tensor.is_dense
    return Result(at, made, tuple(axes), number, nested, loose, _view_shape(tensor) if at < 0 else None)


def is_number(tensor: Tensor) -> bool:
    """Whether a result is a number of Python."""
    return not tensor.axes and tensor.weak


def shown(tensor: Tensor) -> int | None:
    """The argument whose values a ragged result shows, perhaps in another shape, as -1 - leaf. Dense
    results are the caller's to write, and show no argument's."""
    if tensor.is_dense:
        return None
    storage, trace = tensor.storage, tensor.trace
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


def _new_structure(tensor: Tensor, number: int, axis: NestedAxis, returned: Returned) -> NewStructure:
    first = tensor.layout.dims(number)[0]
    vectors = tuple(returned.add(v) for v in axis.vectors)
    extents: list[int | tuple[int] | None] = []
    for level, letter in enumerate(axis.letters):
        if letter != "d":
            extents.append(axis.tiles[level])
        elif level == 0 and axis.letters[1] in "rw":
            extents.append((-1,))
        else:
            extents.append((returned.add(build.value(tensor.extent(first + level))),))
    return NewStructure(axis.letters, vectors, tuple(extents))
