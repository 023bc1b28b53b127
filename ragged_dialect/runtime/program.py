"""Calling a program whose host side is generated Python and whose kernels run on a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ragged_dialect.errors import DeviceError, RaggedError
from ragged_dialect.runtime.arguments import Converter, Flattener, by_position
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.narrow import Late, Launch, launch_of
from ragged_dialect.runtime.printing import printer
from ragged_dialect.runtime.recompiled import Recompiled
from ragged_dialect.runtime.signature import Argument, Array, Part, Signature

Run: TypeAlias = Callable[..., tuple[Argument, ...]]


class Device(ABC):
    """What runs kernels: those of `module`, or of what `wide` makes where buffers are too large for these. Host
    programs use more of it: `empty`, `load`, `copy` and `exchange`."""

    target: str
    errors: tuple[type[Exception], ...]

    def __init__(
        self, name: str, program: HostProgram, module: Any, wide: Callable[[], Any], constants: dict[str, Array]
    ) -> None:
        self._name, self._module, self._wide, self._constants = name, module, Late(wide), constants
        self.printer = printer(program.labels)

    @abstractmethod
    def explained(self, error: Exception) -> DeviceError:
        """What one of `errors` means to the user."""

    @abstractmethod
    def arrays(self, part: Part) -> Converter:
        """The converter of arguments that are arrays."""

    @abstractmethod
    def clone(self, buffer: Array) -> Array:
        """A copy of a buffer."""

    @abstractmethod
    def memory(self, buffer: Array) -> object:
        """What a buffer shares with its views, and with nothing else."""

    @abstractmethod
    def call(self, run: Run, flat: Sequence[Argument]) -> tuple[Argument, ...]:
        """Run on flat arguments, with a status behind them where the program has checks."""

    @abstractmethod
    def _launch(self, module: Any, name: str, block: tuple[int, int, int], kinds: str) -> Launch:
        """What launches a kernel of a module."""

    def kernel(self, name: str, block: tuple[int, int, int], kinds: str, narrow: str | None = None) -> Launch:
        """What launches a kernel: called with three grid sizes and the arguments. `narrow` is the same
        kernel with 32-bit indices."""
        if narrow is None:
            return self._launch(self._module, name, block, kinds)
        fitting = self._launch(self._module, narrow, block, kinds)
        return launch_of(kinds, fitting, lambda: self._launch(self._wide.get(), name, block, kinds))

    def store(self, buffer: Array, index: tuple[int, ...], value: complex) -> None:
        """Set one element."""
        buffer[index] = value

    def constant(self, name: str) -> Array:
        """The buffer of a constant, which is not written."""
        return self._constants[name]

    def constants(self) -> Iterable[Array]:
        """The buffers of all constants."""
        return self._constants.values()


def checked(
    run: Run, flat: Sequence[Argument], status: Argument, raise_failed: Callable[[], None]
) -> tuple[Argument, ...]:
    """Run with a status. Whatever the host cannot do may be what a failed check warns of: that is raised instead."""
    try:
        return run(*flat, status)
    except RaggedError:
        raise
    except Exception:
        raise_failed()
        raise


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
