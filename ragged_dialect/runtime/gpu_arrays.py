"""Arguments on the GPU: arrays of CuPy, PyTorch, JAX and others without a copy, NumPy's copied."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ragged_dialect.device_model import DEVICE
from ragged_dialect.narrowing import is_array
from ragged_dialect.runtime.arguments import (
    Converter,
    MisfitError,
    numpy_arrays,
    static_extents,
    wrong_extent,
    wrong_rank,
)
from ragged_dialect.runtime.signature import Part

_DEVICE_MEMORY = (2, 3)
"""cudaMemoryTypeDevice, cudaMemoryTypeManaged."""

_DLPACK_DEVICES = (2, 13)
"""kDLCUDA, kDLCUDAManaged."""

_DLPACK_ERRORS = (BufferError, TypeError, ValueError, RuntimeError, NotImplementedError)
_FIRST_WITH_BFLOAT16 = 14


class DeviceArrays:
    """Makes the converters of array arguments for the device that is current."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy = cupy
        self.device = int(cupy.cuda.runtime.getDevice())
        self._unowned = cupy.cuda.memory.UnownedMemory

    def converter(self, part: Part) -> Converter:
        """Takes arrays on the device, and NumPy arrays, which are copied to it. One that is not
        contiguous or not aligned is copied. MisfitError for others, as for NumPy arrays on the CPU."""
        array, device, unowned = self._cupy.ndarray, self.device, self._unowned
        from_numpy = numpy_arrays(part)
        rank, dtype, static = len(part.shape or ()), part.dtype, static_extents(part)

        def convert(value: Any) -> Any:
            if type(value) is not array:
                value = self._imported(value, from_numpy)
            if value.ndim != rank:
                raise wrong_rank(part, value)
            if value.dtype != dtype:
                value = self._widened(part, value)
            for axis, extent in static:
                if value.shape[axis] != extent:
                    raise wrong_extent(axis, extent, value)
            data = value.data
            if data.device_id != device:
                raise MisfitError(f"expected an array on device {device}, got one on device {data.device_id}")
            if type(data.mem) is unowned:
                self._check_pointer(data.ptr, value.size)
            if not value.flags.c_contiguous or data.ptr % DEVICE.access_bytes:
                return value.copy(order="C")
            return value

        return convert

    def _imported(self, value: Any, from_numpy: Converter) -> Any:
        if is_array(value):
            return self._cupy.asarray(from_numpy(value), blocking=True)
        if isinstance(value, self._cupy.ndarray):
            return value.view(self._cupy.ndarray)
        if hasattr(value, "__dlpack_device__"):
            return self._from_dlpack(value)
        if hasattr(value, "__cuda_array_interface__"):
            interface = value.__cuda_array_interface__
            self._check_pointer(interface["data"][0], int(np.prod(interface["shape"], dtype=object)))
            return self._cupy.asarray(value)
        raise MisfitError(f"expected an array on the device or a NumPy array, got {type(value).__name__}")

    def _from_dlpack(self, value: Any) -> Any:
        kind, device = value.__dlpack_device__()
        if kind not in _DLPACK_DEVICES:
            raise MisfitError(f"expected an array on the device, got {type(value).__name__} in host memory")
        if device != self.device:
            raise MisfitError(f"expected an array on device {self.device}, got one on device {device}")
        version = self._cupy.__version__
        if "bfloat16" in str(getattr(value, "dtype", "")) and int(version.split(".")[0]) < _FIRST_WITH_BFLOAT16:
            raise MisfitError(f"expected CuPy {_FIRST_WITH_BFLOAT16} or newer for bfloat16, got CuPy {version}")
        try:
            return self._cupy.from_dlpack(value)
        except _DLPACK_ERRORS as error:
            raise MisfitError(f"expected an array that DLPack can pass on, got: {error}") from None

    def _check_pointer(self, pointer: int, size: int) -> None:
        """Refuse memory that the device cannot use; no memory is fine where nothing is in it."""
        if not size:
            return
        if not pointer:
            raise MisfitError("expected memory on the device, got a null pointer")
        if self._cupy.cuda.runtime.pointerGetAttributes(pointer).type not in _DEVICE_MEMORY:
            raise MisfitError("expected memory on the device, got a host pointer or one that was freed")

    def _widened(self, part: Part, value: Any) -> Any:
        if part.vector and value.dtype.kind in "iu":
            return value.astype(np.int64)
        raise MisfitError(f"expected dtype {part.dtype}, got {value.dtype}")
