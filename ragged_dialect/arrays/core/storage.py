"""What depends on the array library: taking NumPy, CuPy and PyTorch arrays, and giving them back.

Inside, arrays on the CPU are NumPy's and arrays on a GPU CuPy's; PyTorch tensors share memory with
one of them. `library` says what a user gets back.
"""

from __future__ import annotations

import importlib
import reprlib
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.errors import MASKED, ArgumentError, DeviceError, RaggedError, RuntimeCheckError
from ragged_dialect.narrowing import is_array, is_list
from ragged_dialect.runtime.memory import enough
from ragged_dialect.runtime.signature import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
else:
    DTypeLike = Any  # start-up time

Dense: TypeAlias = Any
"""A dense array of the library that a user takes: NumPy's, CuPy's or PyTorch's."""


ArrayLike: TypeAlias = Any
"""What operations take and give: a `Value`, a `Dense` array, or a number; they refuse other arguments. No union:
CuPy's and PyTorch's classes are not known here."""

Body: TypeAlias = Callable[..., Any]
"""A function of `ArrayLike`."""


class GpuArray(Protocol):
    """CuPy's array, as far as it is not NumPy's."""

    @property
    def device(self) -> Any: ...
    def get(self) -> np.ndarray: ...
    def copy(self) -> Array: ...


RECORDED = "autograd"
"""The library of arrays of PyTorch's tensors that require gradients, in specs."""

SUPPORTED = frozenset(np.dtype(t) for t in ("bool", "i1", "i2", "i4", "i8", "f2", "f4", "f8"))


KNOWN: dict[type, str] = {np.ndarray: "numpy"}
"""The libraries of classes that most arrays are of."""


def library(array: object) -> str | None:
    """`numpy`, `cupy` or `torch`; None for what is no array."""
    known = KNOWN.get(type(array))
    if known is not None:
        return known
    if isinstance(array, (np.ndarray, np.generic)):
        return "numpy"
    name = type(array).__module__.split(".", 1)[0]
    if name == "cupy" and hasattr(array, "__cuda_array_interface__"):
        return "cupy"
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return None
    if type(array).__module__ in ("torch", "torch.nn.parameter"):
        KNOWN[type(array)] = "torch"
    return "torch"


def take(array: Any, where: str = "cpu") -> Array:
    """An array of any library as NumPy's or CuPy's, no copy where memory can be shared; or a sequence of numbers, in
    memory of the device `where`. ArgumentError for a tensor that is not on a CPU or CUDA, or requires a gradient, for
    a masked array, and for what is no array and no numbers."""
    if type(array) is np.ndarray:
        return array
    kind = library(array)
    if kind == "torch":
        taken = _from_torch(array)
        if is_recorded(array):
            raise ArgumentError(GRADIENT)
        return taken
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(MASKED)
    if kind is not None:
        return np.asarray(array) if kind == "numpy" else array
    made = _numbers(array)
    return made if where == "cpu" else to_gpu(made, int(where.removeprefix("cuda:")))


def _numbers(value: object) -> np.ndarray:
    """NumPy's array of what is no array. ArgumentError for what is no number or nested lists of them."""
    reason = ""
    try:
        made = np.asarray(value)
    except (RaggedError, MemoryError):
        raise
    except Exception as error:  # a class may do anything when it is asked for its array
        differ = is_list(value) and isinstance(error, ValueError) and "inhomogeneous" in str(error)
        made, reason = None, " (rg.ragged takes lists of different lengths)" if differ else f" ({error})"
    if made is None or made.dtype.kind not in "biufc":
        got = type(value).__name__ if made is None or not made.ndim else f"{type(value).__name__} of {made.dtype}"
        hint = reason if made is None or not made.ndim else _instead_of(made.dtype)
        raise ArgumentError(f"expected an array or nested lists of numbers, got {got}{hint}")
    check_integers(value, made)
    return made


def check_integers(value: object, made: np.ndarray) -> None:
    """ArgumentError for lists of integers of which NumPy made floats, as some are less than 0 or small, and others no
    int64: digits would be lost."""
    if made.dtype.kind == "f" and made.size and np.abs(made).max() >= 2.0**63:
        numbers = np.asarray(value, object)
        if all(isinstance(number, (int, np.integer)) for number in numbers.flat):
            hint = _INSTEAD["uint64"]
            raise ArgumentError(
                f"expected integers below 2**63, got a list with {max(numbers.flat)} (convert to {hint})"
            )


def is_recorded(array: Dense) -> bool:
    """Whether an array is a tensor whose operations PyTorch records now."""
    return library(array) == "torch" and array.requires_grad and sys.modules["torch"].is_grad_enabled()


def peek(array: Any) -> Array:
    """As `take`, of tensors that require gradients too: what is computed of it has no gradient."""
    return _from_torch(array) if library(array) == "torch" else take(array)


def in_order(tensor: Dense) -> Dense:
    """A tensor of PyTorch in C order; itself where it is so. ArgumentError as for `take`."""
    _check_plain(tensor)
    if tensor.is_contiguous():
        return tensor
    if type(tensor) in KNOWN and tensor.is_cpu:
        _check_memory(tensor)
    return tensor.contiguous()


def in_memory(tensor: Dense) -> Dense:
    """A tensor in C order whose memory is that of the array that programs take; itself where it is so. Errors as of
    `peek`."""
    if address(tensor) or not tensor.is_cpu:
        return tensor
    tensor = tensor.resolve_neg()
    return tensor if peek(tensor).flags.aligned else tensor.clone()


def address(tensor: Dense) -> int:
    """Where the elements of a tensor in C order are, in the memory of the CPU, for code that takes an address. 0 where
    there are none, and for all that is not plainly so, of which `peek` makes an array, or an error."""
    if type(tensor) not in KNOWN or not tensor.is_cpu or tensor.is_neg():
        return 0
    try:
        found, size = tensor.data_ptr(), tensor.element_size()
        end = (tensor.storage_offset() + tensor.numel()) * size
        is_there = end <= tensor.untyped_storage().nbytes() or not tensor.numel()
    except RuntimeError:  # it stands for others
        return 0
    return found if is_there and not found % size else 0


@cache
def dtype_of_tensors(dtype: Any) -> DType:
    """NumPy's dtype of one of PyTorch's. ArgumentError as for `take`."""
    return _elements(sys.modules["torch"].empty(0, dtype=dtype)).dtype


def joined(arrays: Sequence[Dense], like: Dense) -> Dense:
    """One tensor of tensors, and of other arrays of numbers, with the gradients of all, in the dtype of an array."""
    torch = sys.modules["torch"]
    dtype = give(like[:0], "torch").dtype
    return torch.cat([(a if library(a) == "torch" else torch.as_tensor(a)).to(dtype) for a in arrays])


def joined_alike(tensors: Sequence[Any]) -> tuple[Dense, np.ndarray] | None:
    """One tensor of PyTorch's tensors that differ in their first extent alone, and these extents; None for anything
    else. Looking at each as an array takes ten times as long."""
    torch = sys.modules.get("torch")
    if torch is None or not tensors or any(type(x) is not torch.Tensor for x in tensors):
        return None
    if any(x.layout is not torch.strided or x.is_nested or x.is_quantized or not x.ndim for x in tensors):
        return None
    if len({(x.dtype, x.device, x.shape[1:]) for x in tensors}) > 1:
        return None
    return torch.cat(tensors), np.fromiter((x.shape[0] for x in tensors), np.int64, len(tensors))


def library_of(array: Dense) -> str:
    """The library of what is made of an array, as specs have it."""
    found = library(array) or "numpy"
    return RECORDED if found == "torch" and array.requires_grad and sys.modules["torch"].is_grad_enabled() else found


def _check_plain(tensor: Dense) -> None:
    """ArgumentError for a tensor of PyTorch whose elements are not where strides say, or that has a tangent."""
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        got = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else str(tensor.layout)
        raise ArgumentError(f"expected a dense tensor, got a tensor that is {got} (convert it first)")
    forward = torch.autograd.forward_ad
    if forward._current_level >= 0 and forward.unpack_dual(tensor).tangent is not None:
        raise ArgumentError("expected a tensor without a tangent, got one of forward_ad")


def _from_torch(tensor: Dense) -> Array:
    _check_plain(tensor)
    return _elements(tensor)


def _elements(tensor: Dense) -> Array:
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor.is_cuda:
        return _cupy().from_dlpack(tensor.contiguous())
    if not tensor.is_cpu:
        raise ArgumentError(f"expected a tensor on a CPU or CUDA device, got {tensor.device}")
    try:
        made = (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    except TypeError:  # of short floats that NumPy does not have
        raise ArgumentError(f"expected a dtype of NumPy, or bfloat16, got {tensor.dtype}") from None
    except RuntimeError:
        hint = "rg.grad, rg.vjp and rg.jvp for torch.func; torch.compiler.disable for torch.compile"
        raise ArgumentError(f"expected a tensor that has values, got one that stands for others ({hint})") from None
    _check_memory(tensor)
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes  # start-up time

        return made.view(ml_dtypes.bfloat16)
    return made


def _check_memory(tensor: Dense) -> None:
    """ArgumentError for a tensor whose memory ends before its elements do: NumPy takes memory of its own in place of
    none, and PyTorch does not ask how much there is."""
    if tensor.numel():
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        end = tensor.storage_offset() + sum((n - 1) * step for n, step in steps) + 1
        if not tensor.data_ptr() or end * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ArgumentError("expected a tensor that has values, got one without memory (its storage was resized)")


GRADIENT = "expected what requires no gradient, got a tensor that does (detach it first)"


def give(array: Array | GpuArray, kind: str) -> Dense:
    """NumPy's or CuPy's array as one of a library. ArgumentError for arrays that require a gradient, which an array of
    NumPy does not have."""
    if kind == RECORDED:
        raise ArgumentError(GRADIENT)
    if kind != "torch":
        return array
    torch = sys.modules.get("torch") or importlib.import_module("torch")  # optional package
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":
        return torch.from_numpy(_writable(array.view(np.int16))).view(torch.bfloat16)
    return torch.from_numpy(_writable(array))


def owned(vector: Array | GpuArray) -> Array:
    """An index vector in memory that nobody else can write: a view of it where it is of bytes, which never change,
    else a copy."""
    if not isinstance(vector, np.ndarray):
        return vector.copy()
    base: Any = vector
    while is_array(base):
        base = base.base
    return vector.view() if type(base) is bytes else np.ndarray(vector.shape, vector.dtype, vector.tobytes())


def frozen(array: Any) -> Array:
    """The array, read-only where its library has read-only arrays."""
    if is_array(array):
        array.flags.writeable = False
    return array


class _Memory:
    """Memory of an array that NumPy takes for writable: PyTorch has no other, and warns."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, array: np.ndarray) -> None:
        self.owner = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _writable(array: np.ndarray) -> np.ndarray:
    return array if array.flags.writeable else np.asarray(_Memory(array))


_INSTEAD = {
    "uint8": "int16", "uint16": "int32", "uint32": "int64", "uint64": "int64 where they fit, or float64",
    "float128": "float64", "complex64": "float32, with a dim for the two parts",
    "complex128": "float64, with a dim for the two parts",
    "object": "numbers of 64 bits, with nan in the place of None",
    "M": 'int64, with astype("int64")', "m": 'int64, with astype("int64")',
}  # fmt: skip
"""By name, or by kind where units are in the names."""


def _instead_of(dtype: DType) -> str:
    """What to convert a dtype to, in brackets, or nothing."""
    instead = _INSTEAD.get(dtype.name) or _INSTEAD.get(dtype.kind)
    return f" (convert to {instead})" if instead else ""


def check_dtype(dtype: DType) -> None:
    """ArgumentError for an element type that programs do not have, with one to convert to."""
    if dtype not in SUPPORTED and dtype.name != "bfloat16":
        known = "bool, int8 to int64, float16 to float64 or bfloat16"
        raise ArgumentError(f"expected a dtype of {known}, got {dtype}{_instead_of(dtype)}")


def dtype_of(dtype: DTypeLike) -> DType:
    """NumPy's dtype of what names one. ArgumentError for what does not, and for dtypes that programs do not have."""
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    if isinstance(dtype, str) and dtype == "bfloat16":
        import ml_dtypes  # start-up time

        return np.dtype(ml_dtypes.bfloat16)
    try:
        found = np.dtype(dtype)
    except Exception:  # a text that is no dtype may be a syntax error
        raise ArgumentError(f"expected a dtype of NumPy, got {reprlib.repr(dtype)}") from None
    check_dtype(found)
    return found


def converted(op: str, array: Array, dtype: DType) -> Array:
    """Numbers that come in, in a dtype. RuntimeCheckError for one that an integer dtype does not hold, where `astype`
    of an array wraps, ArgumentError for complex ones and for what is no number."""
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise ArgumentError(f"{op}: expected numbers that {dtype} holds, got {array.dtype}")
    if dtype.kind == "i" and array.dtype.kind != "b" and array.size:
        limit = integer_limit(dtype)
        for number in (array.min().item(), array.max().item()):
            if not -limit - 1 <= number <= limit:
                raise RuntimeCheckError(f"{op}: expected a number in [{-limit - 1}, {limit}], got {number}")
    with np.errstate(over="ignore"), enough(op):
        return array.astype(dtype)


def contiguous(array: Array | GpuArray) -> Array:
    """The array in C order, aligned, in native byte order; itself where it is so."""
    if not isinstance(array, np.ndarray):
        return namespace(array).ascontiguousarray(array)
    if array.dtype.byteorder not in "=|<":
        array = array.astype(array.dtype.newbyteorder("="))
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    with enough("array"):
        return np.array(array, order="C")


def namespace(array: Array | GpuArray) -> ModuleType:
    """The module with the functions for an array: numpy or cupy."""
    return np if isinstance(array, (np.ndarray, np.generic)) else _cupy()


def device(array: Array | GpuArray) -> str:
    """`cpu`, or `cuda:0` for NumPy's or CuPy's array."""
    return "cpu" if isinstance(array, np.ndarray) else f"cuda:{array.device.id}"


@cache
def integer_limit(dtype: DType) -> int:
    """Largest number of an integer dtype."""
    return int(np.iinfo(dtype).max)


def to_host(array: Array | GpuArray) -> np.ndarray:
    """The array in the memory of the CPU."""
    return array if isinstance(array, np.ndarray) else array.get()


def to_gpu(array: Array | GpuArray, number: int) -> Array:
    """The array in the memory of a GPU. DeviceError without CuPy."""
    cupy = _cupy()
    with cupy.cuda.Device(number):
        return cupy.asarray(array)


def _cupy() -> ModuleType:
    try:
        import cupy  # pyright: ignore[reportMissingImports]  # optional package
    except ImportError as error:
        raise DeviceError(f"expected CuPy for arrays on a GPU, got none ({error})") from error
    return cupy
