"""`Plan`: what running a traced function needs of its trace. It has nothing of MLIR, so that a cache can keep it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.spec import DType, Spec
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.arrays.core.tree import Tree
from ragged_dialect.arrays.tracing.guards import Guard
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Origin
from ragged_dialect.runtime.stored_program import CpuProgram

if TYPE_CHECKING:
    from typing_extensions import Self

Kind = tuple[bool, ...] | type
"""What an argument is: of a ragged array which axes of its storage are nested, else its class."""

Parts: TypeAlias = list[Any]
"""The results of a program: a `Buffer` or a number each, which, the plan says."""


@dataclass(frozen=True)
class NewStructure:
    """A structure that a program computes: letters, where its vectors are among the results, and per
    level None, an extent, or (in a tuple) where it is among the results; -1 for what the size of
    the first vector gives."""

    letters: str
    vectors: tuple[int, ...]
    extents: tuple[int | tuple[int] | None, ...]

    def make(self, parts: Parts) -> Structure:
        """The structure of a call."""
        vectors = [parts[at].array for at in self.vectors]
        extents: list[int | None] = []
        for extent in self.extents:
            if isinstance(extent, tuple):
                (at,) = extent
                extents.append(vectors[0].shape[0] - (self.letters[1] == "r") if at < 0 else parts[at])
            else:
                extents.append(extent)
        return Structure.trusted(self.letters, vectors, extents)


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


@dataclass(frozen=True)
class Plan:
    """The guards of a function, in order; what kind its arguments are and the arrays that it captured, which are
    arguments too; what its program takes of them; and how its results come out. `op` is what errors call it."""

    name: str
    op: str
    guards: tuple[Guard, ...]
    kinds: tuple[Kind, ...]
    captured: tuple[RaggedArray | DenseLeaf, ...]
    wanted: tuple[int | Origin, ...]
    results: tuple[Result, ...]


def kind_of(leaf: object) -> Kind:
    """The kind of an argument."""
    return tuple(axis is not None for axis in leaf.axes) if isinstance(leaf, RaggedArray) else type(leaf)


@dataclass(frozen=True)
class StoredOperation:
    """An operation on arrays of the CPU that was compiled for arguments: its plan, the tree of its results, and its
    program."""

    native: ClassVar[bool] = True
    plan: Plan
    tree: Tree
    program: CpuProgram

    def to_bytes(self) -> bytes | None:
        """As `from_bytes` reads it; None where it has functions or arrays of this process."""
        if self.plan.captured:
            return None
        try:
            return pickle.dumps((self.plan, self.tree, self.program.to_bytes()))
        except (pickle.PicklingError, AttributeError, TypeError):
            return None

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """What `to_bytes` wrote: an entry of the cache is code, and trusted as that. ValueError for anything else."""
        try:
            plan, tree, program = pickle.loads(content)
        except Exception as error:  # whatever the classes in it do
            raise ValueError("not a stored operation") from error
        return cls(plan, tree, CpuProgram.from_bytes(program))


def stored_key(specs: Sequence[Spec | None], parameters: Mapping[str, object]) -> list[object] | None:
    """What an operation on the CPU is compiled for, as text; None on a GPU, and for parameters that have none."""
    if any(s is not None and s.device != "cpu" for s in specs):
        return None
    shown = [None if s is None else [str(s.layout), s.shape, s.dtype.name, s.library, s.weak] for s in specs]
    try:
        return [shown, [[name, _text(value)] for name, value in parameters.items()]]
    except TypeError:
        return None


def _text(value: object) -> object:
    if isinstance(value, tuple):
        return ["tuple", *map(_text, cast("tuple[object, ...]", value))]
    if isinstance(value, np.dtype):
        return ["dtype", cast("DType", value).name]
    if value is None or type(value) in (bool, int, float, str):
        return [type(value).__name__, repr(value)]
    raise TypeError(f"no text for {type(value).__name__}")
