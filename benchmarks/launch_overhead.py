"""What a call on a GPU costs on the host beside CuPy's own work: `python benchmarks/launch_overhead.py`.

Needs no GPU: a module that stands for CuPy takes every call and does nothing, so the time is that of
this package's arguments, sizes, checks and launches; what the stand-in takes to make its arrays is
measured and taken off. It is no time of a GPU; `gpu_check.py` reports `host us` with CuPy's part in
it. Expected: at most 15 us for a launch, the best of many repeats.
"""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
from common import microseconds

import ragged_dialect as rg

PROGRAMS = Path(__file__).resolve().parent / "gpu"
EXTRA: dict[str, tuple[Any, ...]] = {"scale": (1.5,), "layer_norm": (), "segmented_sum": (), "segmented_softmax": ()}
"""Programs, with their arguments beside values and offsets."""
LIMIT = 15.0
COMPONENTS, ROWS, WIDTH = 1024, 65536, 64


class IdlePointer:
    """Memory that is nowhere."""

    ptr, device_id = 4096, 0

    def __init__(self) -> None:
        self.mem = object()

    def memset_async(self, value: int, size: int, stream: Any) -> None:
        """Nothing."""

    def copy_from_device_async(self, source: Any, size: int) -> None:
        """Nothing."""


class IdleArray:
    """The type and the shape of an array."""

    made = 0
    flags = types.SimpleNamespace(c_contiguous=True)

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.ndim, self.dtype, self.size = len(self.shape), np.dtype(dtype), math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        self.data = IdlePointer()
        IdleArray.made += 1

    def __getitem__(self, index: Any) -> IdleArray:
        return self

    def reshape(self, shape: Any) -> IdleArray:
        """Another shape."""
        return IdleArray(shape, self.dtype)

    def get(self, out: Any = None, blocking: bool = True) -> Any:
        """Nothing to get."""
        return out


class IdleModule:
    """A module of kernels that counts their launches."""

    launches = 0

    def load(self, ptx: bytes) -> None:
        """Nothing."""

    def get_function(self, name: str) -> Any:
        """A kernel that does nothing."""

        def launch(grid: Any, block: Any, args: Any) -> None:
            IdleModule.launches += 1

        return launch


def idle_cupy() -> types.ModuleType:
    """A module with what the launch path asks CuPy for."""
    cupy = types.ModuleType("cupy")
    stream = types.SimpleNamespace(ptr=0, synchronize=lambda: None, is_capturing=lambda: False)
    runtime = types.SimpleNamespace(
        getDevice=lambda: 0,
        getDeviceCount=lambda: 1,
        driverGetVersion=lambda: 13000,
        memcpyDeviceToHost=2,
        memcpyAsync=lambda to, source, size, kind, stream: None,
        CUDARuntimeError=RuntimeError,
    )
    event = types.SimpleNamespace(done=True, record=lambda stream: None)
    cuda = types.SimpleNamespace(
        runtime=runtime,
        driver=types.SimpleNamespace(CUDADriverError=RuntimeError),
        memory=types.SimpleNamespace(UnownedMemory=type(None), OutOfMemoryError=MemoryError),
        function=types.SimpleNamespace(Module=IdleModule),
        Device=lambda: types.SimpleNamespace(compute_capability="90"),
        Event=lambda disable_timing: event,
        alloc_pinned_memory=bytearray,
        get_current_stream=lambda: stream,
    )
    given = {"cuda": cuda, "ndarray": IdleArray, "empty": IdleArray, "zeros": IdleArray, "__version__": "14.0"}
    vars(cupy).update(given, asarray=lambda value, blocking=False: IdleArray(value.shape, value.dtype))
    return cupy


def own_microseconds(call: Any, arguments: tuple[Any, ...], array: float) -> tuple[float, int]:
    """The best time of a call without that of the stand-in's arrays, `array` each, and its launches."""
    call(*arguments)
    launches, arrays = IdleModule.launches, IdleArray.made
    call(*arguments)
    launches, arrays = IdleModule.launches - launches, IdleArray.made - arrays
    return microseconds(lambda: call(*arguments)) - arrays * array, launches


def main() -> int:
    """Print the table; 1 where a launch takes longer than is expected."""
    sys.modules["cupy"] = idle_cupy()
    values, offsets = IdleArray((ROWS, WIDTH), np.float32), IdleArray((COMPONENTS + 1,), np.int64)
    array = microseconds(lambda: IdleArray((ROWS, WIDTH), np.float32))
    missed = 0
    print(f"{'program':<20}{'checks':>8}{'launches':>10}{'us':>8}{'us / launch':>14}")
    for name, extra in EXTRA.items():
        text = (PROGRAMS / f"{name}.mlir").read_text()
        for check in (True, False):
            compiled = rg.compile(text, target="gpu", arch="sm_90", check=check)
            took, launches = own_microseconds(compiled, (values, offsets, *extra), array)
            missed += took > LIMIT * launches
            print(f"{name:<20}{'yes' if check else 'no':>8}{launches:>10}{took:>8.1f}{took / launches:>14.1f}")
    print(f"expected at most {LIMIT:g} us a launch")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
