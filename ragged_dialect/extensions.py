"""Dialects whose ops may touch ragged types, ours and those of plug-ins, and where the parts of the compiler find what
plug-ins have for their ops. `ops.register_dialect` adds to it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Literal, NamedTuple, Protocol, cast

from ragged_dialect import plugins
from ragged_dialect.errors import PassError, told_at

Part = Literal["patterns", "lowering", "reference", "derivatives"]


class DialectClass(Protocol):
    """A class that derives from the bindings' `ext.Dialect`."""

    DIALECT_NAMESPACE: str
    operations: list[type]


class Extension(NamedTuple):
    """A dialect of a plug-in: its class, and the module for every part of the compiler that it has something for."""

    dialect: DialectClass
    modules: Mapping[Part, str | None]


_EXTENSIONS: dict[str, Extension] = {}
LATER = {"ragged_transform": "ragged_dialect.transform.dialect"}
"""Dialects of this package that few programs have, with the modules whose `load` loads them into a context."""


def add(name: str, extension: Extension) -> None:
    """Add a dialect under its name."""
    for module in extension.modules.values():
        if module is not None:
            plugins.depends_on(module)
    _EXTENSIONS[name] = extension
    plugins.to_undo(lambda: _EXTENSIONS.pop(name))


def names() -> tuple[str, ...]:
    """Names of the dialects, ours first."""
    return ("ragged", *LATER, *_EXTENSIONS)


def dialects() -> tuple[DialectClass, ...]:
    """The dialects of plug-ins."""
    return tuple(extension.dialect for extension in _EXTENSIONS.values())


def modules(part: Part) -> list[ModuleType]:
    """What plug-ins have for a part of the compiler, imported now."""
    found = ((name, extension.modules.get(part)) for name, extension in _EXTENSIONS.items())
    return [_imported(name, part, module) for name, module in found if module is not None]


def _imported(dialect: str, part: Part, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may call `sys.exit`
        reason = told_at(error, own=False)
        raise PassError(f"expected a module '{module}' for {part} of '{dialect}', got {reason}") from error


def tables(part: Part, name: str, is_right: Callable[[object], bool], entries: str) -> list[Mapping[str, object]]:
    """The tables by op name that the modules of a part have under a name. PassError for other entries than these."""
    found: list[Mapping[str, object]] = []
    for module in modules(part):
        table = cast(object, getattr(module, name, None))
        known = cast(Mapping[str, object], table if isinstance(table, dict) else {})
        wrong = [one for one in known.values() if not is_right(one)] if isinstance(table, dict) else [table]
        if wrong:
            got = type(wrong[0]).__name__
            raise PassError(f"expected {entries} by op name in {module.__name__}.{name}, got {got}")
        found.append(known)
    return found
