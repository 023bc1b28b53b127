"""What a traced function returns, as the tensors that its arrays are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType, Spec, spec
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Tree, flatten
from ragged_dialect.arrays.custom_ops.parameters import check_layout
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, layout_of, shape_of
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.guards import structure_at
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.runtime.signature import Array


@dataclass(frozen=True)
class Result:
    """A result: its type, and where its tensors are, among what the op returns or, as -1 - number, among what it takes.
    Values are always returned."""

    spec: Spec
    values: int
    vectors: tuple[int, ...]

    def own(self, taken: Sequence[ArrayLike], returned: Sequence[ArrayLike]) -> tuple[ArrayLike, ...]:
        """The tensors of a call."""
        return returned[self.values], *(returned[at] if at >= 0 else taken[-1 - at] for at in self.vectors)


@dataclass
class Returned:
    """The tensors that results are made of, each once, the results, and their tree. `held` are the offsets among the
    tensors, by number, that are those of an array which the function holds on to."""

    tree: Tree
    tensors: list[Tensor] = field(default_factory=list[Tensor])
    results: list[Result] = field(default_factory=list[Result])
    held: dict[int, Array] = field(default_factory=dict[int, Array])

    @staticmethod
    def of(op: str, returned: ArrayLike, arguments: Sequence[Tensor]) -> Returned:
        """What a function returned for arguments. ArgumentError for layouts whose structure is more than offsets."""
        found, tree = flatten(returned)
        made = Returned(tree)
        places = {v: -1 - k for k, v in enumerate(_tensors(arguments)) if v is not None}
        for number, item in enumerate(found):
            x = contiguous(as_tensor(arguments[0].trace, item))
            known = spec(layout_of(x.axes), shape_of(x.axes).shape, x.dtype, library="torch")
            check_layout(f"{op}: result {number}", known)
            values = made._place(places, x.trace, x.storage, x.dtype, x.axes)
            vectors = [
                at for axis in x.axes if isinstance(axis, NestedAxis) for at in made._vectors(places, x, axis.root)
            ]
            made.results.append(Result(known, values, tuple(vectors)))
        return made

    def _vectors(self, places: dict[ir.Value, int], x: Tensor, axis: NestedAxis) -> list[int]:
        own = [self._place(places, x.trace, v, np.dtype(np.int64), [PlainAxis(None)]) for v in axis.vectors]
        if axis.origin is not None and axis.origin.leaf >= len(x.trace.tensors):
            self.held.update(zip(own, structure_at(x.trace.leaves, axis.origin).vectors, strict=True))
        return own

    def _place(
        self, places: dict[ir.Value, int], trace: Trace, value: ir.Value, dtype: DType, axes: Sequence[Axis]
    ) -> int:
        """The number of a tensor."""
        if value not in places:
            plain = tuple(axis if isinstance(axis, PlainAxis) else PlainAxis(None) for axis in axes)
            places[value] = len(self.tensors)
            self.tensors.append(Tensor(trace, value, dtype, plain))
        return places[value]


def _tensors(arguments: Sequence[Tensor]) -> list[ir.Value | None]:
    """The offsets among the tensors that arguments are made of, None for the others."""
    found: list[ir.Value | None] = []
    for x in arguments:
        found += [None, *(v for axis in x.axes if isinstance(axis, NestedAxis) for v in axis.vectors)]
    return found
