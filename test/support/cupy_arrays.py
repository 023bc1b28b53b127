"""The stand-in for CuPy with the functions and methods that arrays need, by NumPy and as strict as CuPy 14: nothing
becomes NumPy's by itself, and nothing of NumPy's is taken for CuPy's. What is a view in NumPy is one here, as it is in
CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ragged_dialect.emulator.cupy_stand_in import Array, StandIn

FUNCTIONS = (
    *("arange", "array_equal", "ascontiguousarray", "bincount", "broadcast_to", "concatenate", "cumsum", "diff"),
    *("full", "ones", "repeat", "stack", "where", "zeros_like", "empty_like", "searchsorted", "nonzero", "moveaxis"),
)
METHODS = (
    *(
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "cumsum",
        "item",
        "max",
        "min",
        "ravel",
        "sum",
        "tolist",
        "transpose",
        "squeeze",
        "take",
        "nonzero",
        "repeat",
    ),
    *("__add__", "__radd__", "__mul__", "__rmul__", "__rsub__", "__floordiv__", "__mod__", "__neg__", "__invert__"),
    *("__matmul__", "__sub__", "__truediv__", "__rtruediv__", "__pow__", "__abs__", "round"),
    *("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__and__", "__or__"),
    *("__bool__", "__int__", "__float__", "__len__"),
)


def _by_numpy(cupy: CupyArrays, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy, on arrays of the stand-in."""

    def call(*args: Any, out: Array | None = None, **options: Any) -> Any:
        made = function(*map(_host, args), **{name: _host(value) for name, value in options.items()})
        if out is not None:
            out[...] = made
            return out
        if isinstance(made, tuple):
            return tuple(map(cupy.asarray, made))
        if not isinstance(made, np.ndarray | np.generic):
            return made
        viewed = next((x for x in args if isinstance(x, DeviceArray) and np.may_share_memory(x.host, made)), None)
        return viewed.of_host(np.asarray(made)) if viewed is not None else cupy.asarray(np.asarray(made))

    return call


def _host(given: Any) -> Any:
    if isinstance(given, np.ndarray):
        raise TypeError(f"Unsupported type {type(given)}")
    if isinstance(given, list | tuple):
        return type(given)(map(_host, given))
    if isinstance(given, Array):
        given.cupy.cuda.current.synchronize()
        return given.host
    return given


class DeviceArray(Array):
    """An array of `CupyArrays`."""

    __module__ = "cupy"
    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *_: object, **__: object) -> Any:
        """Refused, as CuPy does."""
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __getitem__(self, index: Any) -> Any:
        """A view, or what arrays of indices and masks take."""
        parts = index if isinstance(index, tuple) else (index,)
        if not any(isinstance(part, Array | list) for part in parts):
            return super().__getitem__(index)
        return self.cupy.asarray(self.get()[tuple(map(_host, parts))])

    def reshape(self, *shape: Any) -> Any:
        """Extents one by one, or together."""
        return super().reshape(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)

    def of_host(self, host: np.ndarray) -> Any:
        """A view, as NumPy makes it of what the memory holds."""
        return self._view(host)

    @property
    def T(self) -> Any:
        """Its dims the other way round."""
        return self._view(self.host.T)


def _method(name: str) -> Callable[..., Any]:
    def call(self: DeviceArray, *args: Any, **options: Any) -> Any:
        return _by_numpy(self.cupy, getattr(np.ndarray, name))(self, *args, **options)  # type: ignore[arg-type]

    return call


for _name in METHODS:
    setattr(DeviceArray, _name, _method(_name))


class CupyArrays(StandIn):
    """The stand-in, with CuPy's functions."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ndarray = DeviceArray
        for name in FUNCTIONS:
            setattr(self, name, _by_numpy(self, getattr(np, name)))
