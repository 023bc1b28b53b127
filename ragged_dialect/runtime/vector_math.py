"""glibc's vector math library, which programs on the CPU call."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from typing import Any

from ragged_dialect.runtime.machine_code import address_of


@cache
def libmvec() -> Any:
    """The library; None where there is none."""
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def vector_addresses(names: Iterable[str]) -> dict[str, int]:
    """Where its functions are, those that it has."""
    library = libmvec()
    return {name: address_of(getattr(library, name)) for name in names if hasattr(library, name)}
