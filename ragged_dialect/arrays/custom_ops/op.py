"""`torch_op`: a function of arrays as a custom op of PyTorch's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from itertools import islice
from keyword import iskeyword

import numpy as np

from ragged_dialect.arrays.convert.optional import optional
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike, Body, Dense
from ragged_dialect.arrays.core.tree import unflatten
from ragged_dialect.arrays.custom_ops.parameters import (
    Parameter,
    is_float,
    parameters,
    structure,
    without_values,
)
from ragged_dialect.arrays.custom_ops.results import Result, Returned
from ragged_dialect.arrays.tracing.autograd import Context, tensor_of
from ragged_dialect.arrays.tracing.building import as_tensor, trace_function
from ragged_dialect.arrays.tracing.guards import structure_at
from ragged_dialect.arrays.tracing.jit import JitFunction
from ragged_dialect.arrays.tracing.keeping import replayed
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaf, Origin, leaf_spec, simple_leaf
from ragged_dialect.arrays.tracing.tape import Tape
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, running
from ragged_dialect.compiler.extents import Size, extents_of, result_extents
from ragged_dialect.errors import ArgumentError, brief
from ragged_dialect.locks import once
from ragged_dialect.narrowing import is_list

_GRADIENT = "__gradient_"
"""Between the name of an op and the numbers of the arguments that its gradients are by."""

_OPS: dict[str, TorchOp] = {}
"""Ops by name: the last ones."""


class TorchOp:
    """A custom op. Calls take the tensors of the arguments and give those of the results. `like` has, for what is known
    to be shaped like arguments, the number of one for each result."""

    def __init__(self, name: str, function: Body, taken: Sequence[Parameter], like: Sequence[int] = ()) -> None:
        self.name = name
        self._taken = taken
        self._symbol = re.sub(r"\W", "_", name)
        self._run = JitFunction(self._replayed, (), None, None)
        self._gradients: dict[tuple[int, ...], TorchOp] = {}
        self._replaced = False
        examples = [parameter.example for parameter in taken]
        made: list[tuple[Tape, Returned]] = []

        def trace(arguments: list[Tensor]) -> list[Tensor]:
            tape, _, results = Tape.of(lambda: function(*arguments), arguments)
            returned = Returned.of(name, unflatten(tape.tree, results), arguments)
            made.append((tape, returned))
            return returned.tensors

        with trace_function(self._symbol, examples, trace) as traced:
            self._tape, returned = made[0]
            self._tree, self._results, self._held = returned.tree, returned.results, returned.held
            self._dtypes = [getattr(_torch(), plan.spec.dtype.name) for plan in traced.plans]
            self._sources = [source for item in traced.trace.wanted for source in self._sources_of(traced.trace, item)]
            if like:
                self._sources = list(range(sum(len(parameter.names) for parameter in taken)))
                known = {r.values: (taken[at].first, len(r.spec.layout.axes)) for r, at in zip(self._results, like)}
                self._extents = extents_of([known[number] for number in range(len(known))])
            else:
                self._extents = result_extents(traced.trace.module)
        if not self._dtypes:
            raise ArgumentError(f"{name}: expected a function that returns arrays, got one that returns none")
        self._floats = {r.values: r for r in reversed(self._results) if is_float(r.spec)}
        self._op = self._registered()

    def __call__(self, *tensors: Dense) -> ArrayLike:
        """The results of a call, in the containers that the function returns them in: of a dense one a tensor, of a
        ragged one a tuple of its values and its offsets."""
        for x in tensors:
            if isinstance(x, RaggedArray):
                raise ArgumentError(f"{self.name}: expected tensors (x.values, x.offsets), got a ragged array")
        returned = self._called(tensors)
        results = [r.own(tensors, returned) if r.vectors else returned[r.values] for r in self._results]
        return results[0] if self._tree is None else unflatten(self._tree, results)

    def _called(self, flat: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
        """What the op returns. ArgumentError for an op whose name another one has got since."""
        if self._replaced:
            raise ArgumentError(f"{self.name}: expected the op that has this name, got one that it was taken from")
        returned: object = self._op(*flat)
        return returned if is_list(returned) else (returned,)

    def replaced(self) -> None:
        """Let no call come here any more."""
        self._replaced = True
        for gradient in self._gradients.values():
            gradient.replaced()

    def __repr__(self) -> str:
        return f"TorchOp({self.name!r})"

    def __deepcopy__(self, memo: object) -> TorchOp:
        """Itself: PyTorch has one op of a name."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """By its name, as PyTorch has it."""
        return _of_name, (self.name,)

    # The function ----------------------------------------------------------------------------------

    def _replayed(self, *arguments: Tensor) -> list[Tensor]:
        trace = running(self.name)
        leaves = [*arguments, *(as_tensor(trace, x) for x in self._tape.captured)]
        return Returned.of(self.name, self._tape(leaves, leaves), arguments).tensors

    def _sources_of(self, trace: Trace, item: int | Origin) -> list[int | tuple[int, ...]]:
        """Of an argument of the program: the tensors of a call that it is, or the shapes of an array that the function
        holds on to."""
        leaf = item.leaf if isinstance(item, Origin) else item
        if leaf >= len(self._taken):
            held = trace.captured[leaf - len(self._taken)]
            if isinstance(item, Origin):
                return [vector.shape for vector in structure_at([held], Origin(0, item.dim, item.derived)).vectors]
            return [held.array.shape if isinstance(held, DenseLeaf) else held.buffer.shape]
        parameter = self._taken[leaf]
        if not isinstance(item, Origin):
            return [parameter.first]
        axis, _ = parameter.spec.layout.locate(item.dim)
        before = 1 + sum(len(letters) - 1 for letters in parameter.letters[:axis])
        return [parameter.first + before + level for level in range(len(parameter.letters[axis]) - 1)]

    # What PyTorch calls ----------------------------------------------------------------------------

    def _registered(self) -> ArrayLike:
        """The op of PyTorch's."""
        library = _torch().library
        taken = ", ".join(part for parameter in self._taken for part in parameter.schema)
        schema = f"({taken}) -> ({', '.join('Tensor' for _ in self._dtypes)})"
        made = library.custom_op(self.name, self._computed, mutates_args=(), schema=schema)
        made.register_fake(self._faked)
        if self._floats and any(is_float(parameter.spec) for parameter in self._taken):
            made.register_autograd(self._backward, setup_context=self._kept)
        return made

    def _computed(self, *flat: ArrayLike) -> ArrayLike:
        """The tensors of a call."""
        made = self._run(*(parameter.leaf(self.name, flat) for parameter in self._taken))
        return tuple(made) if len(made) > 1 else made[0]

    def _faked(self, *flat: ArrayLike) -> ArrayLike:
        """Tensors like those of a call, without elements."""
        torch = _torch()
        for parameter in self._taken:
            parameter.check_extents(self.name, flat)
        taken = [x.shape if isinstance(x, torch.Tensor) else () for x in flat]
        found = self._shapes(taken, lambda: torch.library.get_ctx().new_dynamic_size())
        device = next(x.device for x in flat if isinstance(x, torch.Tensor))
        made = [torch.empty(shape, dtype=d, device=device) for shape, d in zip(found, self._dtypes, strict=True)]
        return tuple(made) if len(made) > 1 else made[0]

    def _kept(self, ctx: Context, inputs: Sequence[ArrayLike], output: ArrayLike) -> None:
        """Keep the arguments, and what says how results are nested. PassError for a function without a derivative."""
        returned: Sequence[ArrayLike] = output if is_list(output) else (output,)
        ctx.numbers = [None if isinstance(x, _torch().Tensor) else x for x in inputs]
        vectors = [part for result in self._floats.values() for part in result.own(inputs, returned)[1:]]
        # PyTorch finds what was changed of what is saved; a graph that it compiles has no tensors of its own to save
        captured = [] if _torch().compiler.is_compiling() else self._tape.captured
        held = [tensor for leaf in captured if (tensor := tensor_of(leaf)) is not None]
        ctx.save_for_backward(*(x for x, n in zip(inputs, ctx.numbers, strict=True) if n is None), *vectors, *held)
        self._gradient(self._active(ctx))

    def _backward(self, ctx: Context, *cotangents: Dense) -> ArrayLike:
        """A gradient for every tensor that needs one."""
        saved = iter(ctx.saved_tensors)
        flat = [next(saved) if number is None else number for number in ctx.numbers]
        given = list(flat)
        for number, result in self._floats.items():
            given += [cotangents[number], *(next(saved) for _ in result.vectors)]
        active = self._active(ctx)
        gradients: list[ArrayLike] = [None] * len(flat)
        op = self._gradient(active)
        returned = op._called(given)
        for leaf, result in zip(active, op._results, strict=True):
            gradients[self._taken[leaf].first] = returned[result.values]
        return tuple(gradients)

    def _active(self, ctx: Context) -> tuple[int, ...]:
        """The arguments by which there are gradients."""
        needed = ctx.needs_input_grad
        return tuple(k for k, p in enumerate(self._taken) if is_float(p.spec) and needed[p.first])

    def _gradient(self, active: tuple[int, ...]) -> TorchOp:
        """The op of the gradients by some arguments: of the arguments and of cotangents of results of floats."""

        def make() -> TorchOp:
            if active not in self._gradients:
                self._gradients[active] = self._differentiated(active)
            return self._gradients[active]

        return self._gradients.get(active) or once((id(self), active), make)

    def _differentiated(self, active: tuple[int, ...]) -> TorchOp:
        count = len(self._taken)
        which = [next(k for k, r in enumerate(self._results) if r.values == number) for number in self._floats]

        def gradients(*arguments: Tensor) -> ArrayLike:
            given, cotangents = arguments[:count], arguments[count:]
            return replayed(self.name, self._tape, given, active, self._tape.captured, which).pulled(cotangents)

        names = [f"cotangent{k}" for k in which]
        examples = [self._example(self._results[k]) for k in which]
        taken = [*self._taken, *parameters(self.name, names, examples, self._taken)]
        name = f"{self.name}{_GRADIENT}{'_'.join(map(str, active))}"
        return TorchOp(name, gradients, taken, active)

    def _example(self, result: Result) -> Leaf:
        """A cotangent of a result for the examples. Of structures that are computed nothing is known but that of arrays
        that the function holds on to."""
        found = self._shapes([shape for parameter in self._taken for shape in parameter.shapes], lambda: 1)
        taken: Sequence[ArrayLike] = [vector for parameter in self._taken for vector in (None, *parameter.vectors)]
        made = {at: np.zeros(found[at], np.int64) for at in result.vectors if at >= 0} | self._held
        vectors = (taken[-1 - at] if at < 0 else made[at] for at in result.vectors)
        letters = result.spec.layout.axes
        axes = [structure(self.name, own, list(islice(vectors, len(own) - 1))) for own in letters]
        return without_values(result.spec, found[result.values], axes)

    def _shapes(self, taken: Sequence[Sequence[Size]], unknown: Callable[[], Size]) -> list[list[Size]]:
        """The shapes of what is returned, by those of what is taken."""
        return self._extents.at([taken[at] if isinstance(at, int) else at for at in self._sources], unknown)


def torch_op(name: str, function: Body, *examples: ArrayLike) -> TorchOp:
    """A function of arrays as a custom op of PyTorch's, for `torch.compile`, `torch.export` and whatever else sees
    tensors only: with a rule for the shapes of its results, and with its gradients, which are custom ops too.

    `name` is `namespace::name`, `function` what `rg.jit` takes, with positional arguments; `examples` are arguments
    like those of calls, arrays, tensors or numbers: their dtypes, layouts and the extents of their plain dims, but for
    the first dim of a tensor (if it is not 1, which broadcasts), are what the op is for. Calls take a tensor for each
    dense argument, and for a ragged one its values and then its offsets, and give results likewise. Lengths are no part
    of what is compiled. An op that is made again takes the name, and calls of the one before are refused.

    ArgumentError for a name of another form, for layouts that are more than offsets, and in calls for other dtypes and
    extents; RuntimeCheckError in calls for offsets that do not fit; PassError for a function without a derivative, in
    calls with what requires a gradient; MissingPackageError without PyTorch.

    >>> x = rg.from_lengths(torch.rand(3, 8), [3])
    >>> pooled = rg.torch_op("mine::pooled", lambda x: rg.softmax(x, 1).sum(1), x)
    >>> torch.compile(lambda values, offsets: pooled(values, offsets) * 2, fullgraph=True)(x.values, x.offsets).shape
    torch.Size([1, 8])
    """
    parts = str(name).split("::")
    if len(parts) != 2 or not all(part.isascii() and part.isidentifier() and not iskeyword(part) for part in parts):
        raise ArgumentError(f"torch_op: expected a name like 'namespace::name', of no keywords, got {brief(name)}")
    if _GRADIENT in name:
        raise ArgumentError(f"torch_op: expected a name without '{_GRADIENT}', as gradients have, got '{name}'")
    leaves = [simple_leaf(name, example) for example in examples]
    if all(leaf_spec(leaf).weak for leaf in leaves):
        raise ArgumentError(f"{name}: expected an array among the examples, got none")
    names = list(inspect.signature(JitFunction(function, (), None, None)).parameters)
    if len(names) != len(leaves) or not all(name.isascii() for name in names):
        names = [f"x{k}" for k in range(len(leaves))]
    made = TorchOp(name, function, parameters(name, names, leaves))
    if name in _OPS:
        _OPS[name].replaced()
    _OPS[name] = made
    return made


def _of_name(name: str) -> TorchOp:
    """The op of a name, where it was pickled. ArgumentError for one that this process has not made."""
    if name not in _OPS:
        raise ArgumentError(f"torch_op: expected '{name}' to be made before it is unpickled, got none of this name")
    return _OPS[name]


def _torch() -> ArrayLike:
    return optional("torch", "torch_op")


__all__ = ["TorchOp", "torch_op"]
