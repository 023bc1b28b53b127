"""Names of the passes, each with the place of its class; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, cast

from ragged_dialect import plugins
from ragged_dialect.errors import PassError, RaggedError, kind_of, place_of, said_by, told_at

if TYPE_CHECKING:
    from ragged_dialect.passes.base import RaggedPass

Loader = Callable[[], "type[RaggedPass]"]
T = TypeVar("T")


class Part(Protocol):
    """A stage of a named pipeline: pipeline text with a name."""

    @property
    def name(self) -> str:
        """What dumps call it."""
        ...

    @property
    def text(self) -> str:
        """Its passes."""
        ...


_LOADERS: dict[str, Loader] = {}
_SCHEDULES: dict[str, tuple[str, str]] = {}
OWN_SCHEDULES = ("auto", "general", "balanced", "segment", "contract")
"""Names that this package has, see `lowering/gpu/schedules.py`."""


def register(name: str, loader: Loader) -> None:
    """Add a pass under its name. PassError when the name is taken or none."""
    _add("pass", name, _LOADERS, loader, _is_taken)


def _add(
    what: str, name: object, table: dict[str, T], value: T, is_taken: Callable[[str], bool], *modules: object
) -> None:
    """Add something by its name, and note the module that it is of."""
    if not isinstance(name, str) or re.fullmatch(r"[a-z][a-z0-9-]+", name) is None:
        raise PassError(f"expected a name of two or more small letters, digits and '-', got {name!r}")
    if is_taken(name):
        raise PassError(f"expected a new {what} name, got '{name}', which is registered")
    for module in modules:
        plugins.depends_on(module)
    table[name] = value
    plugins.to_undo(lambda: table.pop(name, None))


def _is_taken(name: str) -> bool:
    """Whether a pass or pipeline has the name, of MLIR too."""
    from ragged_dialect.passes.pipeline.stages import is_native  # imports this module

    return name in _LOADERS or name in _PIPELINES or is_native(name)


def made(
    what: str, name: str, make: Callable[[], T], is_right: Callable[[T], bool] = lambda _: True, by: object = None
) -> T:
    """What a plug-in's function `by` gives. PassError, with the name of the pass or pipeline, where it raises or gives
    something else."""
    try:
        found = make()
        right = is_right(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may call `sys.exit`
        if isinstance(error, RaggedError) and said_by(error) is not None:
            raise
        raise PassError(f"expected {what} of '{name}', got {told_at(error, own=False)}") from error
    if not right:
        raise PassError(f"expected {what} of '{name}', got {kind_of(found)}{place_of(PassError(), by=by)}")
    return found


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
    if name not in _LOADERS:
        raise PassError(f"expected a known pass, got '{name}'{suggestion(name)}")
    from ragged_dialect.passes.base import RaggedPass  # imports this module

    def is_pass(found: object) -> bool:
        if not (isinstance(found, type) and issubclass(found, RaggedPass)):
            return False
        texts = (getattr(found, "name", None), cast(object, found.anchor))
        return all(isinstance(text, str) for text in texts) and isinstance(cast(object, found.verified), bool)

    return made("a pass class", name, _LOADERS[name], is_pass, _LOADERS[name])


def place(name: str) -> tuple[str, str] | None:
    """Module and class of a pass of this package, without importing it; None for others."""
    loader = _LOADERS.get(name)
    return (loader.module, loader.cls) if isinstance(loader, _InPackage) else None


def is_pipeline(name: str) -> bool:
    """Whether a named pipeline of ours has the name."""
    return name in _PIPELINES


def pipeline(name: str) -> Callable[..., Sequence[Part]]:
    """The function behind a named pipeline: its keyword arguments are options, its result stages
    with a `name` and a `text`."""
    module, function = place_of_pipeline(name)
    return made("a function", name, lambda: getattr(importlib.import_module(module), function), callable)


def place_of_pipeline(name: str) -> tuple[str, str]:
    """Module and name of the function behind a named pipeline."""
    return _PIPELINES[name]


def register_pipeline(name: str, module: str, function: str) -> None:
    """Add a named pipeline: a function whose keyword arguments are its options, which gives stages with a `name` and
    a `text`. PassError when the name is taken or none."""
    _add("pipeline", name, _PIPELINES, (module, function), _is_taken, module)


def pipelines() -> list[str]:
    """Names of the named pipelines, sorted."""
    return sorted(_PIPELINES)


def register_schedule(name: str, module: str, attribute: str) -> None:
    """Add a schedule, a `lowering.gpu.schedules.Schedule` that a module has as an attribute. PassError when the name is
    taken or none."""
    _add("schedule", name, _SCHEDULES, (module, attribute), (*_SCHEDULES, *OWN_SCHEDULES).__contains__, module)


def schedules() -> list[str]:
    """Names of the schedules of plug-ins, sorted."""
    return sorted(_SCHEDULES)


def schedule(name: str, is_schedule: Callable[[object], bool]) -> object:
    """A schedule of a plug-in, imported now."""
    module, attribute = _SCHEDULES[name]
    return made("a schedule", name, lambda: getattr(importlib.import_module(module), attribute), is_schedule)


def suggestion(name: str) -> str:
    """` (did you mean 'a' or 'b'?)`, or nothing when no name is near."""
    from difflib import get_close_matches  # start-up time

    near = get_close_matches(name, [*_LOADERS, *_PIPELINES], n=3)
    return f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""


class _InPackage(NamedTuple):
    """A pass in the file, and of the class, that its name spells."""

    package: str
    name: str

    @property
    def module(self) -> str:
        return f"{self.package}.{self.name.replace('-', '_')}"

    @property
    def cls(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-"))

    def __call__(self) -> type[RaggedPass]:
        return getattr(importlib.import_module(self.module), self.cls)


# Passes do not import lowering: it is known here by name only.
_PIPELINES = {
    "ragged-to-llvm-pipeline": ("ragged_dialect.lowering.pipelines", "cpu_pipeline"),
    "ragged-to-gpu-pipeline": ("ragged_dialect.lowering.pipelines", "gpu_pipeline"),
    "ragged-file-pipeline": ("ragged_dialect.lowering.pipeline_files", "file_pipeline"),
}
_PACKAGES = {
    "ragged_dialect.passes": (
        "ragged-insert-checks ragged-canonicalize ragged-infer-layouts ragged-check-conform ragged-simplify-splits "
        "ragged-fuse ragged-differentiate ragged-rematerialize ragged-compute-once ragged-decompose-attention "
        "ragged-decompose-scans ragged-decompose-scatters ragged-decompose-steps ragged-distribute "
        "ragged-drop-unit-dims ragged-overlap ragged-raise-attention"
    ),
    "ragged_dialect.lowering.buffers": (
        "convert-ragged-copies-to-linalg copy-strided-casts expand-unit-dims fold-matrix-copies "
        "guard-ragged-allocs hoist-ragged-allocs hoist-stack-buffers keep-read-outs lower-memory-types "
        "replace-empty-reshapes reuse-ragged-outs shorten-ragged-lifetimes unshare-ragged-empties"
    ),
    "ragged_dialect.lowering.checks": "convert-ragged-checks-to-calls",
    "ragged_dialect.lowering.dense": (
        "add-negated-terms convert-ragged-selects-to-scf define-integer-divisions expand-ragged-scans "
        "inline-index-vectors merge-index-vectors multiply-constant-powers protect-ragged-arguments"
    ),
    "ragged_dialect.lowering.loops": (
        "cascade-ragged-sums collapse-ragged-loops convert-ragged-forall-to-loops narrow-ragged-loops "
        "order-ragged-loops outline-ragged-loops prefetch-ragged-rows settle-ragged-roundings"
    ),
    "ragged_dialect.lowering.math": "expand-ragged-floats expand-ragged-math",
    "ragged_dialect.lowering.products": "vectorize-ragged-products",
    "ragged_dialect.lowering.runtime": "thread-ragged-kernels",
    "ragged_dialect.lowering.scf": "convert-ragged-to-scf",
    "ragged_dialect.lowering.skew": "share-long-components share-long-folds",
    "ragged_dialect.lowering.vector": "expand-compressed-stores vectorize-ragged-loops",
    "ragged_dialect.transform": "ragged-transform-interpreter",
    "ragged_dialect.lowering.gpu.passes": (
        "convert-forall-to-gpu convert-inner-linalg-to-loops fission-ragged-foralls gather-ragged-products "
        "merge-ragged-checks place-ragged-temporaries privatize-ragged-scratch ragged-map-parallel split-long-folds "
        "split-long-reductions split-long-scans tile-flat-ops version-ragged-components wrap-ragged-device-code"
    ),
    "ragged_dialect.lowering.gpu.nvvm": (
        "check-nvvm-kernels contract-kernel-floats expand-kernel-math finish-nvvm-kernels lower-kernel-sigmoids "
        "lower-libdevice-calls"
    ),
}

for _package, _names in _PACKAGES.items():
    for _name in _names.split():
        _LOADERS[_name] = _InPackage(_package, _name)
