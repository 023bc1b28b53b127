"""Where functions are that a pickle names, for workers that import them or are sent their code."""

from __future__ import annotations

import importlib
import pickle
import sys
from functools import reduce


def is_at(thing: object, module: str, name: str) -> bool:
    """Whether a module has something under a qualified name."""
    try:
        return _found(module, name) is thing
    except (ImportError, AttributeError):
        return False


def code_of(function: object, module: str) -> bytes | None:
    """A function of the script that runs, which workers do not have, as cloudpickle sends it where it is in use: Dask
    and Ray are."""
    if module != "__main__" or "cloudpickle" not in sys.modules:
        return None
    dumps = getattr(importlib.import_module("cloudpickle"), "dumps")
    return dumps(function)


def at(module: str, name: str, code: bytes | None) -> object:
    """What a module has under a name, or else what the code is of. AttributeError, ImportError."""
    try:
        return _found(module, name)
    except (ImportError, AttributeError):
        if code is None:
            raise
        return pickle.loads(code)


def _found(module: str, name: str) -> object:
    return reduce(getattr, name.split("."), sys.modules.get(module) or importlib.import_module(module))
