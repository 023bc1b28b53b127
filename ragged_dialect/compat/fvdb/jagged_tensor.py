"""`JaggedTensor`: the class of this name of fvdb, its constructors, properties and `j` methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_offsets, from_row_ids
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.levels import like
from ragged_dialect.compat.fvdb import making, reducing, shaping
from ragged_dialect.compat.fvdb.elementwise import Elementwise
from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_integer


class JaggedTensor(Elementwise):
    """A list of tensors, [[n0, …], [n1, …], …], or a list of lists of them, in one array of elements.

    Made of a tensor, a list of tensors or a list of lists, or with `impl` of a `RaggedArray` or another one; the
    class methods take flat data. Structures are checked when a tensor is made: RuntimeCheckError names what does not
    fit."""

    def __init__(self, tensors: Any = None, *, impl: RaggedArray | JaggedTensor | None = None) -> None:
        if tensors is not None and impl is not None:
            raise ArgumentError("JaggedTensor: expected tensors or impl, got both")
        own = impl.array if isinstance(impl, JaggedTensor) else impl
        self.array = making.of_tensors(tensors) if own is None else making.of_array(own)

    # Constructors ----------------------------------------------------------------------------------

    @classmethod
    def from_tensor(cls, data: Dense) -> JaggedTensor:
        """Of one tensor, which is not copied."""
        return cls(impl=making.of_tensor(data))

    @classmethod
    def from_list_of_tensors(cls, tensors: Sequence[Dense]) -> JaggedTensor:
        """Of tensors [n, …] with equal dims but the first. ArgumentError for others, and for no tensor."""
        return cls(impl=making.ragged(listed("JaggedTensor", "tensors", tensors)))

    @classmethod
    def from_list_of_lists_of_tensors(cls, tensors: Sequence[Sequence[Dense]]) -> JaggedTensor:
        """Of lists of tensors; a list may be empty, but not all of them."""
        return cls(impl=making.of_lists(tensors))

    @classmethod
    def from_data_and_indices(cls, data: Dense, indices: Dense, num_tensors: int) -> JaggedTensor:
        """Of elements [total, …] and the tensor of each, not decreasing, in [0, num_tensors)."""
        return cls(impl=from_row_ids(data, indices, num_tensors))

    @classmethod
    def from_data_and_offsets(cls, data: Dense, offsets: Dense) -> JaggedTensor:
        """Of elements [total, …] and offsets, [num_tensors + 1]: tensor i is data[offsets[i] : offsets[i + 1]]."""
        return cls(impl=from_offsets(data, offsets))

    @classmethod
    def from_data_indices_and_list_ids(
        cls, data: Dense, indices: Dense, list_ids: Dense, num_tensors: int
    ) -> JaggedTensor:
        """As `from_data_and_indices`, in lists: `list_ids` has the list and the place there of every tensor,
        [num_tensors, 2], or the list of every element, [total]."""
        return cls(impl=making.grouped(from_row_ids(data, indices, num_tensors), list_ids))

    @classmethod
    def from_data_offsets_and_list_ids(cls, data: Dense, offsets: Dense, list_ids: Dense) -> JaggedTensor:
        """As `from_data_and_offsets`, in lists; `list_ids` as of `from_data_indices_and_list_ids`."""
        return cls(impl=making.grouped(from_offsets(data, offsets), list_ids))

    # Data and structure ----------------------------------------------------------------------------

    @property
    def jdata(self) -> Dense:
        """The elements of all tensors one after the other, [total, …]; shared memory, not to be written."""
        return self.array.values

    @jdata.setter
    def jdata(self, data: Dense) -> None:
        self.array = like(self.array, data)

    @property
    def joffsets(self) -> Dense:
        """Where the tensors start and end in `jdata`: int64, [num_tensors + 1]."""
        return self.array.offsets_of(self.ldim)

    @property
    def jidx(self) -> Dense:
        """The tensor of every element: int64, [total]."""
        return self.array.row_ids_of(self.ldim)

    @property
    def jlidx(self) -> Dense:
        """The list of every tensor, and its place there: int64, [num_tensors, 2]; [0, 1] for a mere list."""
        structure = self.array.structure(0)
        xp = storage.namespace(structure.vectors[0])
        if self.ldim == 1:
            return storage.give(xp.empty((0, 1), "int64"), self.array.spec.plain_library)
        lists = storage.take(self.array.row_ids_of(1))
        places = xp.arange(lists.shape[0]) - structure.starts(1)[lists]
        return storage.give(xp.stack([lists, places], axis=1), self.array.spec.plain_library)

    @property
    def num_tensors(self) -> int:
        """How many tensors there are, over all lists."""
        return self.array.structure(0).lengths(self.ldim).shape[0]

    @property
    def ldim(self) -> int:
        """Levels of lists: 1, or 2 for a list of lists."""
        return self.array.nlevels

    @property
    def lshape(self) -> list[int] | list[list[int]]:
        """The length of every tensor, in lists as the tensors are."""
        lengths: list[int] = storage.to_host(self.array.structure(0).lengths(self.ldim)).tolist()
        if self.ldim == 1:
            return lengths
        bounds = storage.to_host(self.array.structure(0).vectors[0]).tolist()
        return [lengths[low:high] for low, high in pairwise(bounds)]

    @property
    def edim(self) -> int:
        """Dense dims of an element."""
        return len(self.eshape)

    @property
    def eshape(self) -> list[int]:
        """Extents of the dense dims of an element."""
        return list(self.rshape[1:])

    @property
    def dtype(self) -> Any:
        """Element type, of the library of `jdata`."""
        return self.jdata.dtype

    @property
    def device(self) -> Any:
        """A torch.device for torch tensors, else `cpu` or `cuda:0`."""
        return self.jdata.device if self.array.spec.plain_library == "torch" else self.array.device

    @property
    def is_cpu(self) -> bool:
        """Whether the data is in the memory of the CPU."""
        return self.array.device == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the data is in the memory of a GPU."""
        return not self.is_cpu

    @property
    def requires_grad(self) -> bool:
        """Whether PyTorch records what is computed of the tensor."""
        return self.array.requires_grad

    def requires_grad_(self, requires_grad: bool) -> JaggedTensor:
        """The tensor, of which PyTorch records what is computed from now on, or no longer. ArgumentError for integers,
        for results, and for what is not PyTorch's."""
        self.array.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> JaggedTensor | None:
        """The gradient that `backward` added, as a jagged tensor; None before, and for results."""
        found = self.array.grad
        return None if found is None else self._of(found)

    def detach(self) -> JaggedTensor:
        """Another tensor of the same data, of which PyTorch records nothing."""
        return self._of(self.array.detach())

    def clone(self) -> JaggedTensor:
        """Another tensor with a copy of the data; the structure, which never changes, is shared."""
        data = self.jdata
        return self.jagged_like(data.clone() if hasattr(data, "clone") else data.copy())

    def jagged_like(self, data: Dense) -> JaggedTensor:
        """A tensor of this structure with other data, [total, …]. RuntimeCheckError for another total."""
        return self._of(like(self.array, data))

    # Lists -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[JaggedTensor]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, index: Any) -> JaggedTensor:
        """A tensor or a list (an int), several of them (a slice of any step), all (...); or the elements of every
        tensor that a jagged mask keeps or jagged integers name."""
        if index is Ellipsis:
            return self
        if isinstance(index, Elementwise):
            return self._of(shaping.picked(self.array, index.array))
        if isinstance(index, slice):
            return JaggedTensor(impl=self.array[index])
        if is_integer(index) and not isinstance(index, bool):
            return self._of(shaping.indexed(self.array, int(index)))
        raise ArgumentError(f"expected an int, a slice, ... or a JaggedTensor as index, got {type(index).__name__}")

    def unbind(self) -> list[Dense]:
        """The tensors, in lists where there are lists; they share memory with this one."""
        parts = self.array.unbind()
        return parts if self.ldim == 1 else [part.unbind() for part in parts]

    def jflatten(self, dim: int = 0) -> JaggedTensor:
        """Lists of lists as the list of all tensors (dim 0) or as one tensor per list (dim 1); a list as one
        tensor. AxisError for another dim."""
        return self._of(shaping.flattened(self.array, dim))

    def jreshape(self, lshape: Sequence[int] | Sequence[Sequence[int]]) -> JaggedTensor:
        """The elements in tensors of other lengths. RuntimeCheckError where they do not sum to the total."""
        return self._of(shaping.regrouped(self.jdata, lshape))

    def jreshape_as(self, other: JaggedTensor | Any) -> JaggedTensor:
        """The elements under the structure of another tensor; a dense one is a list of one."""
        target = other.array if isinstance(other, JaggedTensor) else making.of_tensor(other)
        return self._of(like(target, self.jdata))

    def jsqueeze(self, dim: int | None = None) -> JaggedTensor:
        """Without dims of extent 1 of `jdata`, all of them or dim `dim`; dim 0, which is jagged, stays."""
        return self._of(shaping.squeezed(self.array, dim))

    def rmask(self, mask: Dense) -> JaggedTensor:
        """The elements where a mask of booleans, [total], is true; tensors stay, also when nothing is left."""
        taken = storage.take(mask)
        if taken.ndim != 1 or taken.dtype.kind != "b":
            raise ArgumentError(f"rmask: expected a vector of booleans, got {taken.dtype} of rank {taken.ndim}")
        return self._of(self.array[like(self.array, mask)])

    # Reductions ------------------------------------------------------------------------------------

    def jsum(self, dim: int = 0, keepdim: bool = False) -> JaggedTensor:
        """Sum of each tensor along a dim of its elements. Along dim 0 one row is left, 0 for an empty tensor."""
        return self._of(reducing.reduced(self.array, "sum", dim, keepdim))

    def jmax(self, dim: int = 0, keepdim: bool = False) -> list[JaggedTensor]:
        """Largest elements along a dim, and where they are within their tensor; -inf (or the least integer)
        at -1 for an empty one."""
        return [self._of(reducing.reduced(self.array, name, dim, keepdim)) for name in ("max", "argmax")]

    def jmin(self, dim: int = 0, keepdim: bool = False) -> list[JaggedTensor]:
        """Smallest elements along a dim, and where they are within their tensor; inf (or the greatest integer)
        at -1 for an empty one."""
        return [self._of(reducing.reduced(self.array, name, dim, keepdim)) for name in ("min", "argmin")]

    def __repr__(self) -> str:
        return repr(self.array).replace("RaggedArray(", "JaggedTensor(", 1)
