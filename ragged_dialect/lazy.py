"""Attributes that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """As that of `functools`, without the lock that it has before Python 3.12: one for all instances, which a fork
        of another thread leaves taken for ever in the child. Two threads may both compute a value, and get the first
        one: programs have addresses of what structures hold."""

        def __init__(self, function: Callable[[object], object]) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))


__all__ = ["cached_property"]
