"""What a custom op takes and gives: tensors, of which a ragged array has several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ragged_dialect.arrays.core import validation
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.spec import Spec
from ragged_dialect.arrays.core.storage import ArrayLike, take
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaf, leaf_spec, simple_leaf
from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.signature import Array


@dataclass(frozen=True)
class Parameter:
    """An argument, or what is a cotangent of a result: a number, a tensor, or of a ragged array the values and the
    offsets of every ragged level, outermost first, axis by axis. `first` is the number of the first of them, `example`
    an argument whose values are not set: what agrees in it agrees in calls, or they are refused."""

    name: str
    example: Leaf
    first: int

    @property
    def spec(self) -> Spec:
        """Its type."""
        return leaf_spec(self.example)

    @property
    def letters(self) -> tuple[str, ...]:
        """Of every axis of the values."""
        return self.spec.layout.axes

    @property
    def names(self) -> list[str]:
        """Of the tensors."""
        count = sum(len(letters) - 1 for letters in self.letters)
        return [self.name, *(f"{self.name}_offsets{number}" for number in range(count))]

    @property
    def schema(self) -> list[str]:
        """The tensors as PyTorch's schemas have them."""
        kind = "Tensor" if not self.spec.weak else "float" if self.spec.dtype.kind == "f" else "SymInt"
        return [f"{kind} {name}" for name in self.names]

    @property
    def storage_shape(self) -> list[int | None]:
        """The extents of the values, None for those that calls know."""
        dims = (self.spec.layout.dims(number)[0] for number in range(len(self.letters)))
        return [self.spec.shape[d] if letters == "d" else None for d, letters in zip(dims, self.letters, strict=True)]

    @property
    def vectors(self) -> list[Array]:
        """The offsets of the example."""
        axes = self.example.axes if isinstance(self.example, RaggedArray) else ()
        return [vector for axis in axes if axis is not None for vector in axis.vectors]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the tensors of the example."""
        values = () if self.spec.weak else self.example.buffer.shape if self.vectors else self.example.shape
        return [values, *(vector.shape for vector in self.vectors)]

    def own(self, flat: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
        """Its tensors among those of a call."""
        return flat[self.first : self.first + len(self.names)]

    def leaf(self, op: str, flat: Sequence[ArrayLike]) -> Leaf:
        """The argument of a call. ArgumentError for one of another type, RuntimeCheckError for offsets that do not
        fit."""
        given, *vectors = self.own(flat)
        if self.spec.weak:
            return given
        if given is None or any(vector is None for vector in vectors):
            raise ArgumentError(f"{op}: {self.name}: expected a tensor, got None")
        where, rest = f"{op}: {self.name}", iter(vectors)
        axes = [
            structure(where, letters, [take(v.detach()) for v in islice(rest, len(letters) - 1)])
            for letters in self.letters
        ]
        values = given.detach()
        self.check_extents(op, flat)
        made: Leaf = RaggedArray.of(values, axes, op=where) if vectors else simple_leaf(op, values)
        if leaf_spec(made).dtype != self.spec.dtype:
            raise ArgumentError(f"{where}: expected dtype {self.spec.dtype}, got {leaf_spec(made).dtype}")
        return made if vectors else DenseLeaf(made.array, self.spec, made.tensor)

    def check_extents(self, op: str, flat: Sequence[ArrayLike]) -> None:
        """ArgumentError for a tensor of other extents."""
        if self.spec.weak:
            return
        known, found = self.storage_shape, tuple(flat[self.first].shape)
        if len(known) != len(found) or any(e is not None and e != n for e, n in zip(known, found, strict=True)):
            wanted = str(tuple("any" if extent is None else extent for extent in known)).replace("'any'", "any")
            raise ArgumentError(f"{op}: {self.name}: expected values of shape {wanted}, got {found}")


def parameters(
    op: str, names: Sequence[str], examples: Sequence[Leaf], after: Sequence[Parameter] = ()
) -> list[Parameter]:
    """Parameters of examples, whose tensors come after those of others. ArgumentError for layouts whose structure is
    more than offsets."""
    made: list[Parameter] = []
    first = sum(len(parameter.names) for parameter in after)
    for name, example in zip(names, examples, strict=True):
        known = leaf_spec(example)
        check_layout(f"{op}: {name}", known)
        if isinstance(example, RaggedArray):
            example = without_values(known, example.buffer.shape, example.axes)
        elif isinstance(example, DenseLeaf):
            example = without_values(known, example.shape)
        made.append(Parameter(name, example, first))
        first += len(made[-1].names)
    return made


def without_values(known: Spec, shape: Sequence[int], axes: Sequence[Structure | None] = ()) -> Leaf:
    """An argument of a type whose values are not set: of its memory no page is used."""
    values = np.empty(shape, known.dtype)
    made = known.of_library("torch")
    return RaggedArray.trusted(Buffer(values), tuple(axes), made) if any(axes) else DenseLeaf(values, made)


def is_float(known: Spec) -> bool:
    """Whether there may be gradients by an array of a type."""
    return not known.weak and known.dtype.kind not in "biu"


def check_layout(place: str, spec: Spec) -> None:
    """ArgumentError for a layout whose structure is more than offsets."""
    for letters in spec.layout.axes:
        if letters != "d" and letters != "d" + "r" * (len(letters) - 1):
            raise ArgumentError(f'{place}: expected ragged dims with offsets below a batch, got layout "{spec.layout}"')


def structure(place: str, letters: str, vectors: Sequence[Array]) -> Structure | None:
    """The structure of an axis. ArgumentError for what are no offsets."""
    if letters == "d":
        return None
    own = [validation.index_vector(vector, place) for vector in vectors]
    for level, vector in enumerate(own, 1):
        if not vector.shape[0]:
            validation.check_offsets(vector, place, level, 0)
    return Structure.of_offsets(*own)
