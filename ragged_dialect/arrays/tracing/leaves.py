"""Arguments of programs: which Python objects they may be, and their specs."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.spec import NUMBERS, DType, Spec, spec
from ragged_dialect.arrays.core.storage import ArrayLike, Dense
from ragged_dialect.errors import ArgumentError
from ragged_dialect.host_memory import copied
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.narrowing import is_array
from ragged_dialect.runtime.frames import descriptor, descriptor_at
from ragged_dialect.runtime.signature import Array


class DenseLeaf:
    """A dense array as an argument: contiguous, of NumPy or CuPy; and the tensor of PyTorch that it is. Of a tensor
    alone the array is made when somebody looks at it."""

    __slots__ = ("_array", "_source", "shape", "spec", "tensor")

    def __init__(self, array: Array | None, made: Spec, tensor: Dense = None) -> None:
        self._array = array
        self._source: Dense = None
        self.tensor = tensor
        self.shape: tuple[int, ...] = tuple(tensor.shape) if array is None else array.shape
        self.spec = made

    @property
    def array(self) -> Array:
        """The array."""
        if self._array is None:
            self._array = storage.contiguous(storage.peek(self.tensor))
        return self._array

    @property
    def packed(self) -> bytes:
        """The memref descriptor."""
        at = storage.address(self.tensor) if self._array is None else 0
        return descriptor_at(at, self.shape) if at else descriptor(self.array)

    def fixed(self) -> DenseLeaf:
        """Itself for later calls, whatever memory the tensor has by then."""
        self._array = self.array
        return self

    def of_spec(self, made: Spec) -> DenseLeaf:
        """The same memory with another spec."""
        return DenseLeaf(self._array, made, self.tensor)

    def held(self, value: Dense) -> DenseLeaf:
        """The same memory for later calls: the dtype and the shape of the caller's array can be set in place. Of a
        value that is not in C order, whose copy this is, what it has by then."""
        made = DenseLeaf(self.array.view(), self.spec, self.tensor)
        if storage.library(value) is not None:
            known = storage.peek(value)
            if not storage.namespace(known).may_share_memory(known, made.array):
                made._source = value.view() if self.tensor is None else value.detach()
                made.tensor = None if self.tensor is None else made._source  # whose changes PyTorch counts
        return made

    def now(self) -> DenseLeaf:
        """What is held, as it is now."""
        if self._source is None:
            return self
        tensor = None if self.tensor is None else storage.in_order(self._source)
        array = storage.contiguous(storage.peek(self._source if tensor is None else tensor))
        return DenseLeaf(array, self.spec, tensor)


Leaf: TypeAlias = Any
"""A `RaggedArray`, a `DenseLeaf` or a number of Python: which, its spec says."""

Leaves: TypeAlias = Sequence[Leaf]
"""The arguments of a program."""


@dataclass(frozen=True)
class Origin:
    """Where an axis comes from: an argument by number and its dim (the first, for a nested axis), and
    how its structure was derived from the argument's."""

    leaf: int
    dim: int
    derived: str = ""


@lru_cache(maxsize=4096)
def dense_spec(shape: tuple[int, ...], dtype: DType, device: str, library: str, dynamic: frozenset[int] | None) -> Spec:
    """The spec of a dense array: the first axis, which may be a batch or a total, is not static, unless
    its extent is 1, which broadcasts. `dynamic` names other axes that are not. ArgumentError for a dtype
    that programs do not have."""
    storage.check_dtype(dtype)
    loose = frozenset({0}) if dynamic is None else dynamic
    static = tuple(None if axis in loose and extent != 1 else extent for axis, extent in enumerate(shape))
    return spec(Layout.dense(len(shape)), static, dtype, device, library)


@lru_cache(maxsize=4096)
def tensor_spec(shape: tuple[int, ...], dtype: Any, library: str, dynamic: frozenset[int] | None) -> Spec:
    """The spec of a tensor in the memory of the CPU; see `dense_spec`."""
    return dense_spec(shape, storage.dtype_of_tensors(dtype), "cpu", library, dynamic)


def dense_leaf(array: Dense, dynamic: frozenset[int] | None = None, where: str = "cpu") -> DenseLeaf:
    """A dense array of any library, or nested lists of numbers for the device `where`, as an argument. ArgumentError
    for a dtype that programs do not have."""
    if type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return DenseLeaf(array, dense_spec(array.shape, array.dtype, "cpu", "numpy", dynamic))
    library, tensor = storage.library_of(array), None
    if library in ("torch", storage.RECORDED):
        tensor = storage.in_order(array)
        if storage.address(tensor):
            return DenseLeaf(None, tensor_spec(tuple(tensor.shape), tensor.dtype, library, dynamic), tensor)
    taken = storage.contiguous(storage.take(array, where) if tensor is None else storage.peek(tensor))
    made = dense_spec(taken.shape, taken.dtype, storage.device(taken), library, dynamic)
    return DenseLeaf(taken, made, tensor)


def beside_ragged(leaf: DenseLeaf, specs: Sequence[Spec]) -> DenseLeaf:
    """A dense operand of an elementwise operation: extents that meet a ragged dim of another operand, which
    change with every batch, are not static."""
    rank = len(leaf.shape)
    loose = {
        dim
        for other in specs
        for dim, letter in enumerate(other.layout.letters, rank - len(other.shape))
        if letter in RAGGED and dim > 0
    }
    if not loose:
        return leaf
    known, dynamic = leaf.spec, frozenset(loose | {0})
    made = dense_spec(leaf.shape, known.dtype, known.device, known.library, dynamic)
    return leaf.of_spec(made)


def of_extents(leaves: Leaves, numbers: Collection[int]) -> list[Leaf]:
    """Leaves of which some, which are dense, have specs that are static."""

    def static(leaf: DenseLeaf) -> DenseLeaf:
        known = leaf.spec
        return leaf.of_spec(dense_spec(leaf.shape, known.dtype, known.device, known.library, frozenset[int]()))

    return [static(leaf) if k in numbers else leaf for k, leaf in enumerate(leaves)]


def unchanging(x: ArrayLike) -> ArrayLike:
    """An argument for a later call, whatever is done to it until then: a copy of an array that somebody may write; of
    PyTorch's tensors none, whose changes its graph finds."""
    if isinstance(x, DenseLeaf):
        array = x.array if x.tensor is None else None
        own = unchanging(array)
        return x if own is array else DenseLeaf(own, x.spec)
    if isinstance(x, RaggedArray):
        values = None if type(x.buffer) is not Buffer else x.buffer.array  # others are a program's or PyTorch's
        own = unchanging(values)
        return x if own is values else RaggedArray.trusted(Buffer(own), x.axes, x.spec)
    if is_array(x):
        return copied(x) if x.flags.writeable else x
    return x.copy() if storage.library(x) == "cupy" else x


HELD = (
    "expected what requires a gradient as an argument, got an array that the traced function holds on to (carry it in "
    "loops, or call them in rg.jit)"
)


def held_now(captured: Leaves) -> list[Leaf]:
    """The arrays that a function holds on to, for a call."""
    return [x.now() if isinstance(x, DenseLeaf) else x for x in captured]


def require_plain(captured: Leaves) -> None:
    """ArgumentError for an array that a function holds on to and that requires a gradient since it was traced, where
    PyTorch records what is computed."""
    torch = sys.modules.get("torch")
    if torch is not None and any(map(_requires_gradient, captured)) and torch.is_grad_enabled():
        raise ArgumentError(HELD)


def _requires_gradient(leaf: Leaf) -> bool:
    tensor = tensor_of(leaf)
    return tensor is not None and bool(tensor.requires_grad)


def tensor_of(x: ArrayLike) -> Dense:
    """The tensor of PyTorch that an array is of, or is; None for others."""
    if storage.library(x) == "torch":
        return x
    return getattr(x.buffer if isinstance(x, RaggedArray) else x, "tensor", None)


def is_dense(value: object) -> bool:
    """Whether a value is a dense array of some library."""
    return storage.library(value) is not None


def leaf_spec(leaf: Leaf) -> Spec:
    """The spec of an argument: a RaggedArray, a DenseLeaf or a Python number."""
    return NUMBERS[type(leaf)] if type(leaf) in NUMBERS else leaf.spec


def device_of(arguments: Sequence[ArrayLike]) -> str:
    """The device of the first argument that is an array, where numbers beside it belong."""
    for argument in arguments:
        if isinstance(argument, (RaggedArray, DenseLeaf)):
            return argument.spec.device
        if is_dense(argument):
            return storage.device(storage.peek(argument))
    return "cpu"


def simple_leaf(name: str, value: ArrayLike, beside: Sequence[ArrayLike] = (), hint: str = "") -> Leaf:
    """An argument as a leaf of programs, a list on the device of the arrays `beside` it. ArgumentError for what is no
    array and no number, with a hint, and for a dtype that programs do not have."""
    try:
        if type(value) in storage.KNOWN:
            return dense_leaf(value)
        if isinstance(value, (RaggedArray, DenseLeaf)) or type(value) in NUMBERS:
            return value
        if is_dense(value):
            return dense_leaf(value)
        if isinstance(value, (list, tuple)):
            return dense_leaf(value, where=device_of(beside))
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
    raise ArgumentError(f"{name}: expected an array or a number, got {type(value).__name__}{hint}")
