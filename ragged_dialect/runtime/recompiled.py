"""Compiled functions in pickles are what they were compiled of: machine code is of one machine, whose cache has it."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from ragged_dialect.errors import ArgumentError


class Recipe(NamedTuple):
    """The arguments of `ragged_dialect.compile`."""

    source: str | bytes
    entry: str | None
    target: str
    check: bool | str
    options: tuple[tuple[str, object], ...]


class Recompiled:
    """A function that a pickle has the recipe of."""

    recipe: Recipe | None = None

    def __reduce__(self) -> tuple[object, ...]:
        if self.recipe is None:
            raise ArgumentError("expected a function that ragged_dialect.compile made to pickle, got another one")
        return _compiled, tuple(self.recipe)


def _compiled(
    source: str | bytes, entry: str | None, target: str, check: bool | str, options: tuple[tuple[str, object], ...]
) -> object:
    execution = importlib.import_module("ragged_dialect.execution")  # which imports this
    return execution.compile(source, entry, target, check, **dict(options))
