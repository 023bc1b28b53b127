"""`Trace`: the function that is being built, with its arguments, guards and results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import numpy as np

from ragged_dialect import builders, dialect, locks
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import check_word
from ragged_dialect.arrays.core.spec import DType, Spec
from ragged_dialect.arrays.core.storage import RECORDED, Dense
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.current import current
from ragged_dialect.arrays.tracing.guards import Conform, Fits, Fixed, Guard, extent_at, structure_at
from ragged_dialect.arrays.tracing.leaves import HELD, DenseLeaf, Leaf, Leaves, Origin, dense_leaf, leaf_spec
from ragged_dialect.arrays.tracing.loading import load
from ragged_dialect.arrays.tracing.plan import Plan, Result, kind_of
from ragged_dialect.arrays.tracing.python_numbers import ComputedNumbers, Exact
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.asm.locations import name_of
from ragged_dialect.checks import CHECKED
from ragged_dialect.errors import ArgumentError, LayoutError, TraceError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap
from ragged_dialect.ir.match import definer
from ragged_dialect.layout import RAGGED
from ragged_dialect.lazy import cached_property
from ragged_dialect.passes.base import FaultAt, PassFailure
from ragged_dialect.passes.ragged_insert_checks import RaggedInsertChecks
from ragged_dialect.runtime.signature import dtype_name
from ragged_dialect.types import storage_type, vector_type

_PATIENCE = 0.25
"""Seconds that a thread waits for a workplace, and then gets its own: who has it may run a function of a user's
that waits for this thread."""


class _Workplace:
    """A context of the bindings, and the lock of the thread that traces and compiles in it."""

    def __init__(self) -> None:
        self.lock = locks.lock()

    @cached_property
    def context(self) -> ir.Context:
        """The context, made at the first use."""
        return dialect.context()


_workplaces = [_Workplace()]


def _taken() -> _Workplace:
    """A workplace that no other thread has."""
    for place in tuple(_workplaces):
        if place.lock.acquire(blocking=False):
            return place
    first = _workplaces[0]
    if first.lock.acquire(timeout=_PATIENCE):
        return first
    made = _Workplace()
    made.lock.acquire()
    _workplaces.append(made)
    return made


@contextmanager
def _working() -> Generator[None]:
    """With the context of a workplace entered: the one that the thread has, else a free one."""
    mine = _place.workplace
    place = _place.workplace = mine or _taken()
    try:
        with place.context:
            yield
    finally:
        _place.workplace = mine
        if mine is None:
            place.lock.release()


Made = TypeVar("Made", ir.Value, ir.Operation)


def element_type(dtype: DType) -> ir.Type:
    """The MLIR element type of a dtype."""
    return ir.Type.parse(dtype_name(dtype))


class Trace:
    """A function under construction. `leaves` are the arguments of the call that is traced: guards
    are tried on them at once, so that an error has the place in the traced code. `tensors` are their tracers, `held`
    those of arrays that the traced code holds on to, `device` is where they are: some layouts of what lies in between
    are for the CPU.

    Arguments of the MLIR function: for every leaf its values or number, then for every nested axis
    that something has asked for its vectors and extents. `wanted` tells which, in order.

    `has_derivatives` is True while a function is traced of which derivatives are taken.

    `reshaped` has the storage that a reshaped one is a view of, `inserted` the tensor, and the dim, that a
    value with one more dim of extent 1 was made of."""

    def __init__(self, name: str, leaves: Leaves, device: str) -> None:
        self.name = name
        self.device = device
        self.leaves = list(leaves)
        self.guards: list[Guard] = []
        self.computed = ComputedNumbers()
        self.wanted: list[int | Origin] = []
        self.op = name
        self.inside_operation = False
        self.rows_apart = False  # in a step of `rg.scan`, whose rows are of different components
        self.has_derivatives = False
        self.structures: dict[Origin, NestedAxis] = {}
        """The axes of the arguments' structures that something has asked for."""
        self.columns: set[int] = set()
        """The dense arguments whose first extent, which is not static, is one of columns of a product."""
        self.tensors: list[Tensor] = []
        self.held: list[Tensor] = []
        self._captured: dict[int, Tensor] = {}
        self._alive: list[object] = []
        self.reshaped: dict[ir.Value, ir.Value] = {}
        self.inserted: dict[ir.Value, tuple[Tensor, int]] = {}
        self._prefixes: dict[tuple[NestedAxis, int], NestedAxis] = {}
        self.extents: dict[tuple[int, int], tuple[Axis, Tensor]] = {}
        """The numbers that extents are, by the identity of an axis, and a level."""
        self.ending: list[Callable[[], None]] = []
        """What is done once all is traced."""
        self.module = ir.Module.create()
        with ir.InsertionPoint(self.module.body):
            self.function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(f"rg_{name}"),  # a function named exp would be libm's
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
                regions=1,
            )
        self.block = self.function.regions[0].blocks.append()
        with ir.InsertionPoint(self.block):
            for number in range(len(self.leaves)):
                self.tensors.append(self._argument(number))

    def check_running(self) -> None:
        """TraceError unless this is what the thread traces now: MLIR values of another function are gone, or
        not to be used here."""
        if current.trace is not self:
            raise TraceError(
                "expected a value of the function that is traced, got one that left the jit function "
                f"'{self.name}' (return it from there)"
            )

    # Arguments -------------------------------------------------------------------------------------

    def capture(self, array: Leaf) -> Tensor:
        """The tracer of an array that the traced code holds on to: one more leaf of every call. ArgumentError for one
        that requires a gradient, which only arguments have, and for one on another device."""
        known = leaf_spec(array)
        if known.library == RECORDED:
            raise ArgumentError(HELD)
        if known.device != self.device:
            raise ArgumentError(f"{self.op}: expected arrays on one device, got {self.device} and {known.device}")
        found = self._captured.get(id(array))
        if found is None:
            self.leaves.append(array)
            found = self._captured[id(array)] = self._argument(len(self.leaves) - 1)
            self.held.append(found)
        return found

    def capture_dense(self, value: Dense | DenseLeaf) -> Tensor:
        """The tracer of a dense array that the traced code holds on to."""
        found = self._captured.get(id(value))
        if found is None:
            if getattr(value, "requires_grad", False):
                raise ArgumentError(HELD)
            leaf = (
                value.fixed()
                if isinstance(value, DenseLeaf)
                else dense_leaf(value, frozenset[int](), self.device).held(value)
            )
            found = self._captured[id(value)] = self.capture(leaf)
            self._alive.append(value)
        return found

    def constant(self, number: bool | int | float, dtype: DType) -> Tensor:
        """A number that the traced code has. RuntimeCheckError for an integer of more than 64 bits."""
        check_word(self.op, number)
        value = build.constant(element_type(dtype), number)
        return Tensor(self, value, dtype, (), weak=True, constant=number)

    @property
    def captured(self) -> list[Leaf]:
        """The captured arrays, in order."""
        return self.leaves[len(self.tensors) :]

    def leaf_of(self, x: Tensor) -> int | Fixed:
        """The number of the argument or captured array that a tracer stands for, or the number that it is."""
        if x.constant is not None:
            return Fixed(x.constant)
        return next(k for k, known in enumerate([*self.tensors, *self.held]) if known is x)

    def _argument(self, number: int) -> Tensor:
        spec = leaf_spec(self.leaves[number])
        element = element_type(spec.dtype)
        if spec.weak:
            value = self._add(element, number)
            return Tensor(self, value, spec.dtype, (), weak=True, leaf=number)
        axes = self._axes(spec, number)
        values = self._add(storage_type(shape_of(axes), element), number)
        return self.assembled(values, axes, spec.dtype)

    def _axes(self, spec: Spec, leaf: int) -> list[Axis]:
        axes: list[Axis] = []
        dim = 0
        for letters in spec.layout.axes:
            if letters == "d":
                axes.append(PlainAxis(spec.shape[dim], Origin(leaf, dim)))
            else:
                axes.append(self.argument_axis(Origin(leaf, dim)))
            dim += len(letters)
        return axes

    def argument_axis(self, origin: Origin) -> NestedAxis:
        """The axis of an argument's structure, or of one derived from it."""
        found = self.structures.get(origin)
        if found is None:
            structure = structure_at(self.leaves, origin)
            self.wanted.append(origin)
            vectors: list[ir.Value] = [
                self.block.add_argument(vector_type(), ir.Location.unknown()) for _ in structure.vectors
            ]
            extents: list[Mixed | None] = [
                e if c == "t" else None for c, e in zip(structure.letters, structure.extents, strict=True)
            ]
            for level in structure.extent_parts:
                extents[level] = self.block.add_argument(ir.IndexType.get(), ir.Location.unknown())
            found = self.structures[origin] = NestedAxis(structure.letters, vectors, extents, origin)
        return found

    def _add(self, type_: ir.Type, leaf: int) -> ir.Value:
        self.wanted.append(leaf)
        return self.block.add_argument(type_, ir.Location.unknown())

    # Values ----------------------------------------------------------------------------------------

    def assembled(self, storage: ir.Value, axes: Sequence[Axis], dtype: DType) -> Tensor:
        """A tracer of values and structure, which fit: arguments were checked when they were made, and operations
        compute structures that do. What a user gives as an index vector goes into an op of the dialect."""
        shape = shape_of(axes)
        if shape.layout.is_dense:
            return Tensor(self, storage, dtype, tuple(axes), storage=storage)
        parts = [shapes.cast(storage, storage_type(shape, storage.type.element_type))]
        extents: list[Mixed] = []
        dim = 0
        for axis in axes:
            if isinstance(axis, NestedAxis):
                parts += axis.vectors
                extents += [e for at, e in enumerate(axis.extents) if e is not None and shape.has_extent_part(dim + at)]
            dim += len(axis.letters)
        value = known(builders.assemble([*parts, *map(build.value, extents)], shape.layout, shape.shape))
        return Tensor(self, value, dtype, tuple(axes), storage=storage)

    # Guards ----------------------------------------------------------------------------------------

    def guard(self, guard: Guard, check: ir.Operation | None = None) -> None:
        """Ask something of the arguments before a call, which is cheaper than in the program: `check`, the assert of
        the program that says the same, is known to hold then."""
        if check is not None:
            known(check)
        if guard not in self.guards:
            guard(self.leaves)
            self.guards.append(guard)

    def about(self, what: str) -> AbstractContextManager[None]:
        """Errors name an argument of the operation, or what it is about, too."""
        return self.changed(op=f"{self.op}: {what}")

    @contextmanager
    def changed(self, **attributes: object) -> Generator[None]:
        """Attributes of the trace have other values while this is entered."""
        before = {name: getattr(self, name) for name in attributes}
        vars(self).update(attributes)
        try:
            yield
        finally:
            vars(self).update(before)

    def number_fits(self, x: Tensor, dtype: DType) -> None:
        """A Python number is used as `dtype`."""
        if dtype.kind != "i" or x.dtype.kind == "b" or (x.dtype.kind == "i" and dtype.itemsize == 8):
            return
        high = 2 ** (8 * dtype.itemsize - 1)
        self.number_in(x, -high, high - 1, self.op)

    def number_in(self, x: Tensor, low: int, high: int, op: str) -> None:
        """A Python number is used where it has to be in a range; `op` is named where it is not."""
        if x.leaf is x.constant is x.computed is None:
            number = build.to_index(x.value)
            builders.assert_valid([number], "at_most", op, 0, high)
            builders.assert_valid([build.sub(0, number)], "at_most", op, 0, -low)
            return
        fits = Fits(op, -1 if x.leaf is None else x.leaf, low, high)
        if x.constant is not None:
            fits.check(x.constant)
        elif x.leaf is not None:
            self.guard(fits)
        elif x.computed is not None:
            self.computed.narrow(x.computed, fits)

    def number(self, value: ir.Value, dtype: DType, operands: Sequence[Tensor], run: Exact, result: int) -> Tensor:
        """A number that is computed of others, and what Python makes of them; not of floats that a program computes, as
        derivatives do."""
        if any(x.leaf is x.constant is x.computed is None for x in operands):
            return Tensor(self, value, dtype, (), weak=True)
        at = self.computed.add(self.op, run, operands, result, dtype, self.leaves)
        return Tensor(self, value, dtype, (), weak=True, computed=at)

    def counted(
        self, value: ir.Value, origin: Origin | None, read: Callable[[Leaves, Origin], int] = extent_at
    ) -> Tensor:
        """The number that an extent is, or a total. One that an argument has is Python's in a call, read there."""
        at = None if origin is None else self.computed.read(self.op, lambda leaves: read(leaves, origin), self.leaves)
        return Tensor(self, value, np.dtype(np.int64), (), weak=True, computed=at)

    def conform(self, a: NestedAxis, b: NestedAxis) -> NestedAxis:
        """One axis for two that have to have equal lengths; `b` may have fewer levels.

        Between arguments that is a guard, else a check of the program. Windows stay two axes: those of equal lengths
        may be at other places."""
        a, b = a.root, b.root
        if a is b:
            return a
        if a.letters == b.letters and a.origin is not None and b.origin is not None:
            self.guard(Conform(self.op, a.origin, b.origin))
            b.same = None if "w" in b.letters else a
            return a
        if a.origin is not None and b.origin is not None and a.letters.startswith(b.letters) and not a.origin.derived:
            levels = len(b.letters)
            first = self.prefix(a, levels).root
            if first is not b:
                self.guard(Conform(self.op, Origin(a.origin.leaf, a.origin.dim, str(levels)), b.origin))
                b.same = None if "w" in b.letters else first
            return a
        self._assert_conform(a, b)
        return a

    def prefix(self, axis: NestedAxis, levels: int) -> NestedAxis:
        """The first levels of an axis, the last of them ragged; one object per axis and number."""
        root = axis.root
        if levels == len(root.letters):
            return root
        found = self._prefixes.get((root, levels))
        if found is None:
            letters = root.letters[:levels]
            count = sum({"r": 1, "w": 2}.get(c, 0) for c in letters)
            origin = root.origin
            derived = None if origin is None or origin.derived else Origin(origin.leaf, origin.dim, str(levels))
            found = NestedAxis(letters, root.vectors[:count], root.extents[:levels], derived)
            self._prefixes[root, levels] = found
        return found

    def _assert_conform(self, a: NestedAxis, b: NestedAxis) -> None:
        levels = [k for k in range(min(len(a.letters), len(b.letters))) if a.letters[k] in RAGGED]
        views = [self.nothing_of(axis) for axis in (a, b) if levels]  # what computes on tiles checks them
        for level in levels:
            pairs = [(k, k) for k in range(level + 1)]
            builders.assert_conform(views[0], views[1], pairs, self.op)

    def nothing_of(self, axis: NestedAxis, size: Mixed | None = None) -> ir.Value:
        """A ragged value with the structure of an axis, of `size` elements where that is known, and no values that
        anybody reads."""
        if size is None:
            size = 0 if "w" in axis.letters else vectors.last(axis.vectors[-1])  # no check looks below a window
        return self.assembled(shapes.empty([size], ir.IntegerType.get_signless(1)), [axis], np.dtype(np.bool_)).value

    def building(self) -> ir.InsertionPoint:
        """The insertion point of the function, as a context manager."""
        return ir.InsertionPoint(self.block)

    # The end ---------------------------------------------------------------------------------------

    def finish(self, results: Sequence[ir.Value]) -> None:
        """Return values from the function, unify the vectors of axes that a guard made equal, and insert the
        dialect's checks. What calls are known to fulfil (see `known`) needs none, so that the pass that proves checks
        leaves those which depend on data. LayoutError for an operation whose loops the dialect does not have."""
        ir.Operation.create("func.return", operands=list(results))
        for end in reversed(self.ending):  # of the outer one of nested regions first, which has the inner one in it
            end()
        for old, new in self.unified().items():
            old.replace_all_uses_with(new)
        inputs = [argument.type for argument in self.block.arguments]
        self.function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, [r.type for r in results])
        )
        try:
            RaggedInsertChecks(names=True, dense=False).run(self.module.operation)
        except PassFailure as failure:
            raise LayoutError(f"{name_of(failure.op.location) or self.name}: {failure}") from None
        except FaultAt as fault:  # what a handler of signals raises is for who calls
            raise fault.error from None

    def unified(self) -> ValueMap:
        """The vectors of axes that a guard made equal to others, and these."""
        axes = [axis for axis in (*self.structures.values(), *self._prefixes.values()) if axis.root is not axis]
        return {old: new for axis in axes for old, new in zip(axis.vectors, axis.root.vectors, strict=True)}

    @property
    def asked(self) -> tuple[Guard, ...]:
        """What is asked of the arguments of calls."""
        return (*self.guards, *([self.computed] if self.computed.has_integers else []))

    def plan(self, results: Sequence[Result]) -> Plan:
        """What running the function needs beside its program."""
        kinds, captured = tuple(map(kind_of, self.leaves)), tuple(self.captured)
        return Plan(self.name, self.op, self.asked, kinds, captured, tuple(self.wanted), tuple(results))


def known(made: Made) -> Made:
    """Mark the op that made a value, or an assert: calls fulfil what the dialect would check there."""
    op = definer(made) if isinstance(made, ir.Value) else made
    op.attributes[CHECKED] = ir.UnitAttr.get()
    return made


class _Place(threading.local):
    """Where a thread works."""

    workplace: _Workplace | None = None


_place = _Place()


def running(op: str) -> Trace:
    """What the thread traces now. TraceError where it traces nothing."""
    if current.trace is None:
        raise TraceError(f"{op}: expected to be in a function that is traced, got a call outside of one")
    return current.trace


def traced() -> Trace | None:
    """What the thread traces now, if it does."""
    return current.trace


@contextmanager
def tracing(name: str, leaves: Leaves, device: str) -> Generator[Trace]:
    """A trace with everything the bindings need; what is built goes to its block, see `Trace.building`."""
    load()  # what tracers can do, and what traced code may call
    with _working(), ir.Location.unknown():
        outer, made = current.trace, Trace(name, leaves, device)
        current.trace = made
        try:
            yield made
        finally:
            current.trace = outer
