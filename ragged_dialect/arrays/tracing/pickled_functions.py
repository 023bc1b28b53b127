"""Functions in pickles: by their name where a module has it, as functions of Python are."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from types import FrameType


def is_by_name(thing: object, module: str, name: str) -> bool:
    """Whether a pickle may have a thing by its qualified name. cloudpickle sends what belongs to the script that runs
    by value, since workers do not have it."""
    try:
        return at(module, name) is thing and not (module == "__main__" and _is_cloudpickle())
    except (ImportError, AttributeError):
        return False


def at(module: str, name: str) -> object:
    """What a module has under a qualified name. AttributeError, ImportError."""
    return reduce(getattr, name.split("."), sys.modules.get(module) or importlib.import_module(module))


def _is_cloudpickle() -> bool:
    """Whether cloudpickle is who asks: `__reduce__` is told of no pickler."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not str(frame.f_globals.get("__name__", "")).startswith("cloudpickle"):
        frame = frame.f_back
    return frame is not None
