"""Calling a program whose host side is generated Python and whose kernels run on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from ragged_dialect.errors import DeviceError
from ragged_dialect.runtime.arguments import Converter, Flattener, by_position
from ragged_dialect.runtime.recompiled import Recompiled
from ragged_dialect.runtime.signature import Argument, Array, Part, Signature

Run: TypeAlias = Callable[..., tuple[Argument, ...]]


class Device(Protocol):
    """What runs kernels. Host programs use more of it: `kernel`, `empty`, `load`, `store`, `copy`,
    `clone`, `constant` and `printer`."""

    target: str
    errors: tuple[type[Exception], ...]

    def explained(self, error: Exception) -> DeviceError:
        """What one of `errors` means to the user."""
        ...

    def arrays(self, part: Part) -> Converter:
        """The converter of arguments that are arrays."""
        ...

    def clone(self, buffer: Array) -> Array:
        """A copy of a buffer."""
        ...

    def memory(self, buffer: Array) -> object:
        """What a buffer shares with its views, and with nothing else."""
        ...

    def constants(self) -> Iterable[Array]:
        """The buffers that belong to the program."""
        ...

    def call(self, run: Run, flat: Sequence[Argument]) -> tuple[Argument, ...]:
        """Run on flat arguments, with a status behind them where the program has checks."""
        ...


class DeviceFunction(Recompiled):
    """A compiled function whose kernels a device runs.

    A ragged argument or result is the tuple of its parts (values, index vectors, extents), a
    scalar a Python number. Results never share memory with arguments; arguments are not written.
    Calls from several threads may overlap.
    """

    def __init__(self, signature: Signature, bind: Callable[[Any], Run], device: Device) -> None:
        self.signature = signature
        self.target = device.target
        self._device = device
        self._flatten = Flattener(signature, device.arrays)
        self._run = bind(device)
        self._constants = {id(device.memory(buffer)) for buffer in device.constants()}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run. ArgumentError for arguments that do not fit, RuntimeCheckError for invalid data (on a
        GPU maybe of an earlier call), DeviceError when the device cannot.

        Returns None without results, the result alone when there is one, else a tuple."""
        if named:
            raise by_position(self.signature.name, named)
        try:
            flat = self._flatten(arguments)
            results = self._own(self._device.call(self._run, flat), flat)
        except self._device.errors as error:
            raise self._device.explained(error) from None
        return self.signature.grouped(results)

    def _own(self, results: Sequence[Argument], flat: Sequence[Argument]) -> list[Argument]:
        """A program may return an argument, a constant, or one buffer several times, or views of them."""
        memory = self._device.memory
        taken = {id(memory(value)) for value in flat if hasattr(value, "shape")} | self._constants
        owned: list[Argument] = []
        for value in results:
            if hasattr(value, "shape"):
                if id(memory(value)) in taken:
                    value = self._device.clone(value)
                taken.add(id(memory(value)))
            owned.append(value)
        return owned
