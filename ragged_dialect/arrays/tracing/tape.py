"""A traced function, as what does the same in other traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Tree, flatten, unflatten
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.guards import Elsewhere
from ragged_dialect.arrays.tracing.leaves import Leaf, Origin
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, running
from ragged_dialect.asm.module import parse_module
from ragged_dialect.ir import shapes
from ragged_dialect.ir.clone import ValueMap, bytecode, clone
from ragged_dialect.passes.differentiate.program import recorded


class Taped(NamedTuple):
    """A function that was traced: its tape, the ops that it made, and its results."""

    tape: Tape
    ops: list[ir.Operation]
    results: list[Tensor]


class Tape:
    """What a function did when it was traced. Called with tracers of another trace it does the same again, whatever
    the function would do by now: gradients that are made later are those of what was computed.

    `captured` are the arrays that the function held on to, `tree` is that of its results. What was done is kept as
    bytecode, since a context belongs to one thread at a time."""

    def __init__(
        self,
        trace: Trace,
        ops: Iterable[ir.Operation],
        arguments: Sequence[Tensor],
        results: Iterable[Tensor],
        tree: Tree,
    ) -> None:
        self.captured: list[Leaf] = trace.captured
        self.tree = tree
        self._count = len(arguments)
        self._guards = trace.asked
        self._results = [_Result.of(x) for x in results]
        taken = _values([*arguments, *trace.held])
        derived = {o: axis for o, axis in trace.structures.items() if o.derived and axis.vectors[0] not in taken}
        self._derived = list(derived)
        taken += [value for axis in derived.values() for value in _values_of(axis)]
        self._code = _bytecode(ops, taken, trace.unified(), _values(results))

    @staticmethod
    def of(function: Callable[[], ArrayLike], arguments: Sequence[Tensor]) -> Taped:
        """Trace a function of arguments, which are those of the running trace or made of them."""
        trace = running("tape")

        def run() -> tuple[list[Tensor], Tree]:
            found, tree = flatten(function())
            results = [as_tensor(trace, x) for x in found]
            _values(results)  # made at the first use, which is one of the ops then
            return results, tree

        with trace.changed(has_derivatives=True):
            ops, (results, tree) = recorded(trace.block, run)
        return Taped(Tape(trace, ops, arguments, results, tree), ops, results)

    def __call__(self, leaves: Sequence[Tensor], given: Sequence[Tensor]) -> ArrayLike:
        """The results, nested as they were. Given are the arguments and the captured arrays, or what was made of them:
        of `leaves`, which are arguments of the running trace, held by it, or numbers."""
        trace = running("tape")
        tensors = list(given)
        arguments = tuple(map(trace.leaf_of, leaves)) if self._guards else ()
        for guard in self._guards:
            trace.guard(Elsewhere(guard, arguments))
        taken = _values(tensors)
        taken += [value for origin in self._derived for value in _values_of(_axis(tensors, origin))]
        module = parse_module(self._code, trace.module.context)
        (block,) = next(iter(module.body.operations)).regions[0].blocks
        known: ValueMap = {old: shapes.cast(new, old.type) for old, new in zip(block.arguments, taken, strict=True)}
        *ops, returned = block.operations
        for op in ops:
            clone(op.operation, known)
        values = iter([known[value] for value in returned.operands])
        return unflatten(self.tree, [result.made(trace, values, tensors) for result in self._results])


class _Axis(NamedTuple):
    """A nested axis of a result: how many vectors it has, and its extents, False for those that are values."""

    letters: str
    vectors: int
    extents: tuple[int | None, ...]
    origin: Origin | None

    @staticmethod
    def of(axis: Axis) -> PlainAxis | _Axis:
        """A description of an axis, which has nothing of its program."""
        if isinstance(axis, PlainAxis):
            return axis
        extents = tuple([False if isinstance(e, ir.Value) else e for e in axis.extents])
        return _Axis(axis.letters, len(axis.vectors), extents, axis.root.origin)

    def made(self, values: Iterator[ir.Value], tensors: Sequence[Tensor]) -> NestedAxis:
        """An axis in another program, where an argument's is that of one of its arguments."""
        vectors = [next(values) for _ in range(self.vectors)]
        extents = [next(values) if e is False else e for e in self.extents]
        return NestedAxis(self.letters, vectors, extents) if self.origin is None else _axis(tensors, self.origin)


class _Result(NamedTuple):
    """A result without its values."""

    dtype: DType
    weak: bool
    axes: tuple[PlainAxis | _Axis, ...]

    @staticmethod
    def of(x: Tensor) -> _Result:
        """A description of a result, which has nothing of its program."""
        return _Result(x.dtype, x.weak, tuple(map(_Axis.of, x.axes)))

    def made(self, trace: Trace, values: Iterator[ir.Value], tensors: Sequence[Tensor]) -> Tensor:
        """The result in another program."""
        value = next(values)
        storage = next(values) if any(isinstance(axis, _Axis) for axis in self.axes) else None
        axes = tuple([
            PlainAxis(axis.extent, axis.origin and _plain_origin(tensors, axis.origin))
            if isinstance(axis, PlainAxis)
            else axis.made(values, tensors)
            for axis in self.axes
        ])  # fmt: skip
        return Tensor(trace, value, self.dtype, axes, weak=self.weak, storage=storage)


def _axis(tensors: Sequence[Tensor], origin: Origin) -> NestedAxis:
    """The axis that has an origin among the arguments and captured arrays of a tape. Those that were made contiguous
    have the axis that others give."""
    x = tensors[origin.leaf]
    axis = x.nested_axis(x.place(origin.dim)[0])
    if origin.derived.isdigit():
        return x.trace.prefix(axis, int(origin.derived))
    if not origin.derived or "w" not in axis.letters:
        return axis
    assert axis.root.origin is not None
    return x.trace.argument_axis(replace(axis.root.origin, derived=origin.derived))


def _plain_origin(tensors: Sequence[Tensor], origin: Origin) -> Origin | None:
    """Where a dense extent that was an argument's comes from now."""
    x = tensors[origin.leaf]
    number, level = x.place(origin.dim)
    return batch_axis(x.axes[number], level).origin


def _values_of(axis: NestedAxis) -> list[ir.Value]:
    return [*axis.vectors, *(e for e in axis.extents if isinstance(e, ir.Value))]


def _values(tensors: Iterable[Tensor]) -> list[ir.Value]:
    """What tensors are made of."""
    found: list[ir.Value] = []
    for x in tensors:
        nested = [axis for axis in x.axes if isinstance(axis, NestedAxis)]
        found += [x.value, *([x.storage] if nested else []), *(v for axis in nested for v in _values_of(axis))]
    return found


def _bytecode(
    ops: Iterable[ir.Operation], taken: Sequence[ir.Value], unified: ValueMap, returned: Sequence[ir.Value]
) -> bytes:
    """A function of values that has ops, as a module."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        types = ir.FunctionType.get([v.type for v in taken], [v.type for v in returned])
        attributes = {"sym_name": ir.StringAttr.get("tape"), "function_type": ir.TypeAttr.get(types)}
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = function.regions[0].blocks.append(*types.inputs)
    known: ValueMap = dict(zip(taken, block.arguments, strict=True))
    known |= {old: known[new] for old, new in unified.items() if new in known}
    with ir.InsertionPoint(block):
        for op in ops:
            clone(op, known)
        ir.Operation.create("func.return", operands=[known[value] for value in returned])
    return bytecode(module)
