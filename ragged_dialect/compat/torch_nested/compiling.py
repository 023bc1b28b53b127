"""`compile`: functions of nested tensors as compiled programs, by `rg.jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import ragged_dialect as rg
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.compat.torch_nested.nested_tensor import NestedTensor
from ragged_dialect.narrowing import is_dict


class _Parts(NamedTuple):
    """A nested tensor as `rg.jit` takes it. The place of the ragged dim is text: it belongs to the key."""

    array: Dense
    ragged_dim: str


def _apart(value: Any) -> Any:
    if isinstance(value, NestedTensor):
        return _Parts(value.array, str(value.ragged_dim))
    return _mapped(_apart, value)


def _together(value: Any) -> Any:
    if isinstance(value, _Parts):
        return NestedTensor(value.array, int(value.ragged_dim))
    return _mapped(_together, value)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if is_dict(value):
        return {key: function(item) for key, item in value.items()}
    return type(value)(map(function, value)) if type(value) in (list, tuple) else value


class CompiledFunction:
    """A function of nested tensors that is compiled once per layout, dtypes and dense extents; other lengths
    use the same program. `compilations` counts programs."""

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)

        def traced(arguments: Any, options: Any) -> Any:
            return _apart(function(*_together(arguments), **_together(options)))

        self._program = rg.jit(traced)

    @property
    def compilations(self) -> int:
        """How many programs there are."""
        return self._program.compilations

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run."""
        return _together(self._program(_apart(arguments), _apart(options)))


def compile(model: Callable[..., object], *, fullgraph: bool = True, dynamic: bool = True) -> CompiledFunction:
    """`torch.compile` for functions of nested tensors. There is always one graph, whose lengths are dynamic:
    the options are taken, and change nothing."""
    return CompiledFunction(model)
