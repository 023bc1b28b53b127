"""What `ragged.print` calls at run time: brackets and elements are collected to nested lists and
printed at the end of a tensor."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress


class _Printer(threading.local):
    """Every thread that calls the program has its own tensor under way."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.label = ""
        self.stack: list[list[object]] = []

    def begin(self, label: int) -> None:
        self.label = self.labels[label]
        self.stack = [[]]

    def open(self) -> None:
        self.stack.append([])

    def close(self) -> None:
        done = self.stack.pop()
        self.stack[-1].append(done)

    def add(self, x: object) -> None:
        self.stack[-1].append(x)

    def end(self) -> None:
        (value,) = self.stack.pop()
        with suppress(OSError):  # a callback cannot raise; what is still in the buffer fails again later
            print(f"{self.label}: {value}" if self.label else str(value), flush=True)


def printer(labels: Sequence[str]) -> dict[str, Callable[[], None] | Callable[[int], None] | Callable[[float], None]]:
    """The printing functions by the end of their name, `ragged_print_…`."""
    made = _Printer(labels)
    return {
        "begin": made.begin,
        "open": made.open,
        "close": made.close,
        "bool": lambda x: made.add(bool(x)),
        "int": made.add,
        "float": lambda x: made.add(float(x)),
        "end": made.end,
    }


_ARGUMENTS = {"begin": ctypes.c_int64, "bool": ctypes.c_int64, "int": ctypes.c_int64, "float": ctypes.c_double}


def print_callbacks(labels: Sequence[str]) -> dict[str, Callable[..., None]]:
    """The printing functions for machine code, by symbol; they must stay alive."""
    callbacks: dict[str, Callable[..., None]] = {}
    for name, function in printer(labels).items():
        argument = [_ARGUMENTS[name]] if name in _ARGUMENTS else []
        callbacks[f"_mlir_ciface_ragged_print_{name}"] = ctypes.CFUNCTYPE(None, *argument)(function)
    return callbacks
