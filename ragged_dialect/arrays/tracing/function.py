"""Functions on tracers as functions on arrays: traced and compiled once per key, then called."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import Spec
from ragged_dialect.arrays.core.storage import RECORDED, ArrayLike
from ragged_dialect.arrays.core.tree import Tree, exact, unflatten
from ragged_dialect.arrays.tracing.calls import cpu_run
from ragged_dialect.arrays.tracing.current import current
from ragged_dialect.arrays.tracing.leaves import Leaf, Leaves, leaf_spec
from ragged_dialect.arrays.tracing.plan import StoredOperation
from ragged_dialect.arrays.tracing.program import Program
from ragged_dialect.locks import once

Compiled = tuple[Any, Tree]
"""A program, and the tree of its results."""


class Call(NamedTuple):
    """A call: its arguments as given and, where they tell them, the key of its program and its leaves."""

    arguments: tuple[ArrayLike, ...]
    parameters: dict[str, ArrayLike]
    key: Hashable = None
    leaves: Leaves = ()


class Function:
    """What `operation` and `jit` make. A call finds its program by a key: an entry per positional argument, the
    spec of an array or a number (of the types in `numbers`) or None for none, and the parameters by name, exactly, if
    it is `named`. What has more than `most` positional arguments, or others, is left to `_call`, and so is a call
    without a program. `compilations` counts programs."""

    def __init__(self, most: int, numbers: Mapping[type, Spec], named: bool) -> None:
        self._most = most
        self._numbers = numbers
        self._named = named
        self._programs: dict[Hashable, Compiled] = {}
        self.compilations = 0

    def __call__(self, *arguments: ArrayLike, **parameters: ArrayLike) -> ArrayLike:
        """The results on arrays; within traced code the tracers of the results. Errors of guards are raised before
        anything is computed."""
        if len(arguments) > self._most or (parameters and not self._named):
            return self._call(Call(arguments, parameters))
        specs: list[Hashable] = []
        leaves: Leaves = arguments
        made: list[Leaf] | None = None
        present = True
        for at, argument in enumerate(arguments):
            if type(argument) is RaggedArray:
                specs.append(argument.spec)
            elif type(argument) in self._numbers:
                specs.append(self._numbers[type(argument)])
            elif argument is None:
                specs.append(None)
                present = False
            else:
                leaf = self._leaf(argument, arguments)
                if leaf is None:
                    return self._call(Call(arguments, parameters))
                leaves = made = list(arguments) if made is None else made
                made[at] = leaf
                specs.append(leaf.spec)
        for name, value in parameters.items():
            specs += name, exact(value)
        key = tuple(specs)
        try:
            found = self._programs.get(key)
        except (TypeError, ValueError):  # a parameter that has no hash, which `_call` refuses
            found = None
        if found is None or current.trace is not None:
            return self._call(Call(arguments, parameters, key, leaves))
        program, tree = found
        results = program(leaves if present else [leaf for leaf in leaves if leaf is not None])
        return results[0] if tree is None else unflatten(tree, results)

    def _leaf(self, argument: ArrayLike, arguments: Sequence[ArrayLike]) -> Leaf:
        """An argument as a leaf of programs; None where a call with it is left to `_call`."""
        raise NotImplementedError

    def _call(self, call: Call) -> ArrayLike:
        """A call of another kind, or one that has a key, and leaves, and no program yet."""
        raise NotImplementedError

    def _compiled(self, key: Hashable, build: Callable[[], Compiled]) -> Compiled:
        """The program of a key, made by one of the threads that ask for it."""

        def make() -> Compiled:
            found = self._programs.get(key)
            if found is None:
                found = self._programs[key] = build()
                self.compilations += 1
            return found

        return once((id(self), key), make)


def requires_gradient(leaves: Leaves) -> bool:
    """Whether PyTorch records what is computed of arguments."""
    return any(leaf_spec(leaf).library == RECORDED for leaf in leaves)


def loaded(found: StoredOperation) -> Compiled:
    """A compiled operation in memory, ready to call."""
    return Program(found.plan, cpu_run(found.plan, found.program), "cpu"), found.tree
