"""Programs on PyTorch's tensors that require gradients: nodes of its graph, whose backward is a program too.

A call with such arguments finds its program by their specs, as any other: what it finds is a `RecordedProgram`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import PassingBuffer, RecordedBuffer, TensorBuffer
from ragged_dialect.arrays.core.spec import NUMBERS, Spec
from ragged_dialect.arrays.core.storage import RECORDED, ArrayLike, Dense, in_order, is_recorded, library_of
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.arrays.tracing.building import Traceable, build
from ragged_dialect.arrays.tracing.derivatives import floats
from ragged_dialect.arrays.tracing.function import Compiled, Function, requires_gradient
from ragged_dialect.arrays.tracing.keeping import Keeping, keeping, kept_leaf, replayed
from ragged_dialect.arrays.tracing.leaves import (
    DenseLeaf,
    Leaf,
    Leaves,
    held_now,
    leaf_spec,
    of_extents,
    require_plain,
    unchanging,
)
from ragged_dialect.arrays.tracing.results import is_number, shown
from ragged_dialect.arrays.tracing.tape import Tape
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError

Context: TypeAlias = Any
"""What PyTorch keeps of a call for the way back."""

Kind: TypeAlias = tuple[Any, Any, Any]
"""The dtype, the shape and the device of a tensor."""

_OF_TORCH = frozenset({"torch", RECORDED})

_CHOICES = 4
"""For how many choices of gradients a program has programs of their own."""


def recorded(name: str, leaves: Leaves, body: Traceable, target: str | None = None, columns: bool = False) -> Compiled:
    """A program of leaves of which some require gradients, and the tree of its results; `columns` as of
    `trace_function`. PassError for an operation without a derivative."""
    made = RecordedProgram(name, [_compacted(leaf) for leaf in leaves], body, target, columns)
    return made, made.tree


class RecordedProgram:
    """A program in PyTorch's graph. Results that are views of arguments are views of the tensors; those of integers,
    and all where gradients are off, are as without. What the gradients need not compute again is kept beside."""

    def __init__(self, name: str, leaves: Leaves, body: Traceable, target: str | None, columns: bool) -> None:
        self._name = name
        specs = [leaf_spec(leaf) for leaf in leaves]  # those of every call, as its key has them
        self._active = active = [k for k, own in enumerate(specs) if own.library == RECORDED]
        self._active_ragged = [k for k in active if isinstance(leaves[k], RaggedArray)]
        made: list[Keeping] = []

        def run(tensors: list[Tensor]) -> list[Tensor]:
            made.append(keeping(name, lambda *given: body(list(given)), tensors, active, _of_graph))
            return [*made[-1].results, *(x for x in made[-1].kept if isinstance(x, Tensor))]

        self._program, _ = build(name, without_gradients(leaves), run, target, columns)
        self.target, self.columns = self._program.target, self._program.columns
        specs = [leaf_spec(leaf) for leaf in of_extents(leaves, self.columns)]
        self._saved = {k: _Saved(own.of_library("torch")) for k, own in enumerate(specs) if own.library in _OF_TORCH}
        results, self._floats, kept, tape = made[-1]
        self.tree = tape.tree
        self._captured = tape.captured
        self._results = self._program.results[: len(results)]
        self._views = [(k, at) for k, x in enumerate(self._results) if (at := -1 - x.values) in active]
        self._kept = [x if isinstance(x, int) else None for x in kept]
        self._pull = _Pull(name, len(leaves), active, self._floats, tape, self.target)

    def __call__(self, leaves: Leaves) -> list[ArrayLike]:
        """The results of a call."""
        given = list(leaves)
        for k in self._active_ragged:
            given[k] = _compacted(given[k])
        results: list[ArrayLike] = []
        if not sys.modules["torch"].is_grad_enabled():
            return self._run(given)[: len(self._results)]
        if self._captured:
            require_plain(self._captured)
        made = _node().apply(self, given, results, *[_tensor(given[k]) for k in self._saved])
        for k, tensor in zip(self._floats, made, strict=True):
            results[k] = _with_tensor(results[k], tensor)
        for k, at in self._views:
            results[k] = _with_tensor(results[k], _tensor(given[at]).view(results[k].buffer.shape))
        return results

    def forward(
        self, ctx: Context, leaves: Leaves, results: list[ArrayLike], tensors: Sequence[Dense]
    ) -> tuple[Dense, ...]:
        """The tensors of the results; what the backward program needs is saved."""
        made = self._run(leaves)
        results += made[: len(self._results)]
        beside = iter(made[len(self._results) :])
        captured = held_now(self._captured)
        held = [tensor for leaf in captured if (tensor := tensor_of(leaf)) is not None]
        saved = (*tensors, *held, *[_tensor(next(beside) if k is None else results[k]) for k in self._kept])
        ctx.save_for_backward(*saved)
        ctx.saved_as = [(tensor.dtype, tensor.shape, tensor.device) for tensor in saved]
        ctx.program = self
        ctx.leaves = [
            *[_saved(x, self._saved[k]) if k in self._saved else unchanging(x) for k, x in enumerate(leaves)],
            *[_saved(x, _Saved(x.spec.of_library("torch"))) if _of_torch(x) else unchanging(x) for x in captured],
        ]
        ctx.results = [_saved(results[k], _Saved(self._results[k].spec)) for k in self._floats]
        return tuple([_tensor(results[k]) for k in self._floats])

    def _run(self, leaves: Leaves) -> list[ArrayLike]:
        """The results of the program, which does not ask for the tensors of dense arguments."""
        plain = list(leaves)
        for k in self._active_ragged:
            plain[k] = _plain(plain[k])
        return self._program(plain)

    def backward(self, ctx: Context, cotangents: Sequence[Dense]) -> list[Dense]:
        """A gradient for every tensor; None for those that need none, or of which nobody asks one now."""
        saved = iter([self._unpacked(x, kind) for x, kind in zip(ctx.saved_tensors, ctx.saved_as, strict=True)])
        records = sys.modules["torch"].is_grad_enabled()
        leaves = [x.again(next(saved), records) if type(x) is _Saved else x for x in ctx.leaves]
        given = [x.again(in_order(tensor), records) for x, tensor in zip(ctx.results, cotangents, strict=True)]
        # A gradient that has one itself has it by way of the arguments: what is kept depends on them.
        again = records and requires_gradient([*leaves, *given])
        kept = [] if again else [kept_leaf(tensor.detach() if records else tensor) for tensor in saved]
        nodes = dict(zip(self._saved, ctx.next_functions, strict=True))
        wanted = self._pull.chosen(tuple([k for k in self._active if _is_asked_for(nodes[k][0])]))
        gradients = dict(zip(wanted, self._pull.gradients(wanted, [*leaves, *given, *kept]), strict=True))
        return [_given(gradients[k]) if k in gradients else None for k in self._saved]

    def _unpacked(self, tensor: Dense, kind: Kind) -> Dense:
        """A tensor that was saved. Hooks may have put another one in its place: ArgumentError for one of another dtype,
        shape or device, since the program is for those of the call."""
        found = tensor.dtype, tensor.shape, tensor.device
        if found != kind:
            wanted, got = _described(*kind), _described(*found)
            raise ArgumentError(f"{self._name}: expected hooks to give back what was saved, {wanted}, got {got}")
        return in_order(tensor)


class _Pull(Function):
    """Gradients by the active ones of some arguments: of these, of what their function held on to, of cotangents, and
    perhaps of what was kept."""

    def __init__(
        self, name: str, count: int, active: Sequence[int], floats: Sequence[int], tape: Tape, target: str
    ) -> None:
        super().__init__(sys.maxsize, NUMBERS, named=False)
        self._name, self._count, self._active, self._floats, self._tape = name, count, tuple(active), floats, tape
        self._chosen = {self._active}
        self._target = target

    def chosen(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """The gradients to compute where some are asked for: these, or all where others were asked for too often, for
        each of which there is a program."""
        if wanted not in self._chosen:
            if len(self._chosen) == _CHOICES:
                return self._active
            self._chosen.add(wanted)
        return wanted

    def gradients(self, wanted: Sequence[int], leaves: Leaves) -> list[ArrayLike]:
        """Those by some of the active arguments of a call."""
        key = wanted, tuple([leaf_spec(leaf) for leaf in leaves])
        program, _ = self._programs.get(key) or self._compiled(key, lambda: self._build(wanted, leaves))
        return program(leaves)

    def _build(self, wanted: Sequence[int], leaves: Leaves) -> Compiled:
        make = recorded if requires_gradient(leaves) else build
        return make(f"{self._name}_gradient", leaves, lambda tensors: self._body(wanted, tensors), self._target)

    def _body(self, wanted: Sequence[int], tensors: list[Tensor]) -> list[Tensor]:
        rest = iter(tensors)
        arguments, captured, cotangents = (
            list(islice(rest, count)) for count in (self._count, len(self._tape.captured), len(self._floats))
        )
        again = replayed(self._name, self._tape, arguments, self._active, captured, self._floats)
        # What was kept is for all gradients: passes drop what those that are not wanted alone are made of.
        gradients = zip(self._active, again.pulled(cotangents, list(rest)), strict=True)
        return [gradient for k, gradient in gradients if k in wanted]


def _is_asked_for(node: Context) -> bool:
    """Whether the backward that runs asks for the gradient that goes to a node of the graph: `needs_input_grad` is true
    for all that could be asked for."""
    try:
        return bool(sys.modules["torch"]._C._will_engine_execute_node(node))
    except RuntimeError:  # a leaf whose gradient is a result (`torch.autograd.grad`), or another engine
        return True


@functools.cache
def _node() -> Any:
    import torch  # pyright: ignore[reportMissingImports]  # optional package

    class RaggedProgram(torch.autograd.Function):  # pyright: ignore
        """A program as a node of the graph."""

        @staticmethod
        def forward(
            ctx: Context, program: RecordedProgram, leaves: Leaves, results: list[ArrayLike], *tensors: Dense
        ) -> tuple[Dense, ...]:
            return program.forward(ctx, leaves, results, tensors)

        @staticmethod
        def backward(ctx: Context, *cotangents: Dense) -> tuple[Dense, ...]:
            return (None, None, None, *ctx.program.backward(ctx, cotangents))

    return RaggedProgram


# Leaves and results ----------------------------------------------------------------------------------


def _of_graph(results: list[Tensor]) -> list[int]:
    """The results whose tensors are the program's: no numbers, and no views of arguments."""
    return [k for k in floats(results) if not is_number(results[k]) and shown(results[k]) is None]


def _of_torch(leaf: Leaf) -> bool:
    return leaf_spec(leaf).library in _OF_TORCH


def _compacted(leaf: Leaf) -> ArrayLike:
    """A leaf whose gradient has the shape of its values: without windows."""
    return leaf.compacted if isinstance(leaf, RaggedArray) and leaf.requires_grad else leaf


def without_gradients(leaves: Leaves) -> list[Leaf]:
    """The same leaves, of which no gradients are recorded."""
    return [_plain(leaf) for leaf in leaves]


def _plain(leaf: Leaf) -> ArrayLike:
    """A leaf that requires no gradient."""
    if leaf_spec(leaf).library != RECORDED:
        return leaf
    made = leaf.spec.of_library("torch")
    if isinstance(leaf, RaggedArray):
        return RaggedArray.trusted(leaf.buffer.detached(), leaf.axes, made)
    return leaf.of_spec(made)


def _tensor(leaf: Leaf) -> ArrayLike:
    """The tensor of an argument or a result, or of a gradient: the same one each time, whose changes are noticed."""
    if not isinstance(leaf, RaggedArray):
        return leaf.tensor if isinstance(leaf, DenseLeaf) else leaf
    leaf.buffer = leaf.buffer.of_torch()
    return leaf.buffer.tensor


def _given(gradient: Dense) -> Dense:
    """The tensor of a gradient."""
    return gradient.buffer.given(gradient.spec.library) if isinstance(gradient, RaggedArray) else gradient


def _described(dtype: object, shape: Sequence[int], device: object) -> str:
    return f"{dtype} of shape {tuple(shape)} on {device}"


def tensor_of(leaf: Leaf) -> Dense | None:
    """The tensor of an array that a function holds on to, to be saved; None where it is none."""
    return _tensor(leaf).detach() if _of_torch(leaf) else None


def _with_tensor(result: Dense, tensor: Dense) -> ArrayLike:
    """A result whose values are a tensor of the graph: of the memory of its own one, if it has that."""
    if not isinstance(result, RaggedArray):
        return tensor
    plain = None
    if type(result.buffer) is TensorBuffer:
        plain = result.buffer
        plain.tensor = tensor.detach()  # its own one is that of the graph by now
    return RaggedArray.trusted(RecordedBuffer(tensor, plain), result.axes, result.spec.of_library(RECORDED))


class _Saved(NamedTuple):
    """What makes an argument like another one, whose elements a tensor that PyTorch saves has, of that tensor."""

    spec: Spec
    axes: tuple[Structure | None, ...] = ()

    def again(self, tensor: Dense, records: bool) -> Leaf:
        """The argument; `records` tells whether PyTorch records what is computed now."""
        made = self.spec.of_library(library_of(tensor)) if records else self.spec
        if self.axes:
            return RaggedArray.trusted(_passing(tensor, made), self.axes, made)
        return DenseLeaf(None, made, tensor)


def _saved(leaf: Leaf, known: _Saved) -> _Saved:
    """What makes an argument like this one, of which the spec is known."""
    return _Saved(known.spec, leaf.axes) if isinstance(leaf, RaggedArray) else known


def _passing(tensor: Dense, made: Spec) -> TensorBuffer:
    return RecordedBuffer(tensor) if is_recorded(tensor) else PassingBuffer(tensor, made.dtype)
