"""What `ragged.print` calls at run time: brackets and elements are collected to nested lists and
printed at the end of a tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class _Printer:
    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.label = ""
        self.stack: list[list[Any]] = []

    def begin(self, label: int) -> None:
        self.label = self.labels[label]
        self.stack = [[]]

    def open(self) -> None:
        self.stack.append([])

    def close(self) -> None:
        done = self.stack.pop()
        self.stack[-1].append(done)

    def add(self, x: Any) -> None:
        self.stack[-1].append(x)

    def end(self) -> None:
        (value,) = self.stack.pop()
        print(f"{self.label}: {value}" if self.label else str(value), flush=True)


def register_printer(engine: Any, labels: Sequence[str]) -> Any:
    """Register the printing functions with an execution engine; the result must stay alive."""
    printer = _Printer(labels)
    callbacks = {
        "begin": ctypes.CFUNCTYPE(None, ctypes.c_int64)(printer.begin),
        "open": ctypes.CFUNCTYPE(None)(printer.open),
        "close": ctypes.CFUNCTYPE(None)(printer.close),
        "bool": ctypes.CFUNCTYPE(None, ctypes.c_int64)(lambda x: printer.add(bool(x))),
        "int": ctypes.CFUNCTYPE(None, ctypes.c_int64)(printer.add),
        "float": ctypes.CFUNCTYPE(None, ctypes.c_double)(printer.add),
        "end": ctypes.CFUNCTYPE(None)(printer.end),
    }
    for name, callback in callbacks.items():
        engine.register_runtime(f"ragged_print_{name}", callback)
    return printer, callbacks
