"""Whether a value is of a class with parameters, which `isinstance` leaves unknown to pyright, with all made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

Item: TypeAlias = Any
"""What a container holds: whoever asks knows."""


def is_tuple(x: object) -> TypeGuard[tuple[Item, ...]]:
    """Whether something is a tuple."""
    return isinstance(x, tuple)


def is_list(x: object) -> TypeGuard[Sequence[Item]]:
    """Whether something is a list or a tuple."""
    return isinstance(x, (list, tuple))


def is_dict(x: object) -> TypeGuard[dict[Item, Item]]:
    """Whether something is a dict."""
    return isinstance(x, dict)


def is_frozenset(x: object) -> TypeGuard[frozenset[Item]]:
    """Whether something is a frozenset."""
    return isinstance(x, frozenset)


def is_mapping(x: object) -> TypeGuard[Mapping[Item, Item]]:
    """Whether something is a mapping."""
    return isinstance(x, Mapping)


def is_array(x: object) -> TypeGuard[np.ndarray]:
    """Whether something is an array of NumPy."""
    return isinstance(x, np.ndarray)


def is_scalar(x: object) -> TypeGuard[np.generic]:
    """Whether something is a scalar of NumPy."""
    return isinstance(x, np.generic)


def is_boolean(x: object) -> TypeGuard[bool | np.bool_]:
    """Whether something is a boolean of Python or of NumPy."""
    return isinstance(x, (bool, np.bool_))


def is_integer(x: object) -> TypeGuard[int | np.integer]:
    """Whether something is an integer of Python, where booleans are some, or of NumPy."""
    return isinstance(x, (int, np.integer))
