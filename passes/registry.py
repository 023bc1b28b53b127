"""Names of the passes, each with the place of its class; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.errors import PassError
from ragged_dialect.passes.base import RaggedPass

Loader = Callable[[], type[RaggedPass]]

_LOADERS: dict[str, Loader] = {}


def register(name: str, loader: Loader) -> None:
    """Add a pass under its name. PassError when the name is taken."""
    if name in _LOADERS:
        raise PassError(f"expected a new pass name, got '{name}', which is registered")
    _LOADERS[name] = loader


def unregister(name: str) -> None:
    """Take a pass out again. PassError when the name is unknown."""
    lookup(name)
    del _LOADERS[name]


def names() -> list[str]:
    """The registered names, sorted."""
    return sorted(_LOADERS)


def is_registered(name: str) -> bool:
    """Whether a pass of ours has the name."""
    return name in _LOADERS


def lookup(name: str) -> type[RaggedPass]:
    """The class of a pass, imported now. PassError with the near names when it is unknown."""
    loader = _LOADERS.get(name)
    if loader is None:
        raise PassError(f"expected a known pass, got '{name}'{suggestion(name)}")
    return loader()


def is_pipeline(name: str) -> bool:
    """Whether a named pipeline of ours has the name."""
    return name in _PIPELINES


def pipeline(name: str) -> Callable[..., Sequence[Any]]:
    """The function behind a named pipeline: its keyword arguments are options, its result stages
    with a `text`."""
    module, function = _PIPELINES[name]
    return getattr(importlib.import_module(module), function)


def pipelines() -> list[str]:
    """Names of the named pipelines, sorted."""
    return sorted(_PIPELINES)


def suggestion(name: str) -> str:
    """` (did you mean 'a' or 'b'?)`, or nothing when no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, [*_LOADERS, *_PIPELINES], n=3)
    return f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""


def _in_package(package: str, name: str) -> Loader:
    """A pass in the file, and of the class, that its name spells."""

    def load() -> type[RaggedPass]:
        module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
        return getattr(module, "".join(word.capitalize() for word in name.split("-")))

    return load


# Passes do not import lowering: it is known here by name only.
_PIPELINES = {
    "ragged-to-llvm-pipeline": ("ragged_dialect.lowering.pipelines", "cpu_pipeline"),
    "ragged-to-gpu-pipeline": ("ragged_dialect.lowering.pipelines", "gpu_pipeline"),
}
_PACKAGES = {
    "ragged_dialect.passes": (
        "ragged-insert-checks",
        "ragged-canonicalize",
        "ragged-infer-layouts",
        "ragged-check-conform",
        "ragged-simplify-splits",
        "ragged-fuse",
        "ragged-differentiate",
    ),
    "ragged_dialect.lowering": (
        "cascade-ragged-sums",
        "collapse-ragged-loops",
        "convert-forall-to-gpu",
        "convert-ragged-to-scf",
        "convert-ragged-checks-to-calls",
        "convert-ragged-checks-to-scf",
        "convert-ragged-copies-to-linalg",
        "convert-ragged-forall-to-loops",
        "convert-ragged-selects-to-scf",
        "define-integer-divisions",
        "guard-ragged-allocs",
        "hoist-ragged-allocas",
        "order-ragged-loops",
        "outline-ragged-loops",
        "expand-ragged-floats",
        "expand-ragged-math",
        "protect-ragged-arguments",
        "ragged-map-parallel",
        "replace-empty-reshapes",
        "thread-ragged-kernels",
        "expand-kernel-math",
        "check-nvvm-kernels",
        "contract-kernel-floats",
        "finish-nvvm-kernels",
        "lower-kernel-sigmoids",
        "lower-libdevice-calls",
        "lower-memory-bools",
        "unshare-ragged-empties",
        "wrap-ragged-device-code",
    ),
}

for _package, _names in _PACKAGES.items():
    for _name in _names:
        register(_name, _in_package(_package, _name))
