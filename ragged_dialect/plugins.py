"""Plug-ins: packages that add ops, passes and named pipelines (`docs/extending.md`).

A package names a function in its metadata, which registers what it adds:

    [project.entry-points."ragged_dialect.plugins"]
    rowtools = "rowtools.plugin:register"

    def register() -> None:
        registry.register("rowtools-count", lambda: importlib.import_module("rowtools.count").RowtoolsCount)
        registry.register_pipeline("rowtools-pipeline", "rowtools.plugin", "pipeline")
        ops.register_dialect(Rowtools, lowering="rowtools.lowering", reference="rowtools.reference")

Functions are called when a name is asked for that neither this package nor MLIR has: reading the metadata takes longer
than most runs of the tools.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from ragged_dialect.errors import PassError, place_of, require_nothing, said_by, told

GROUP = "ragged_dialect.plugins"
_loaded: dict[str, str] = {}
_allowed = True
_searched: set[tuple[str, ...]] = set()
_undos: list[Callable[[], object]] = []
_preparations: list[Callable[[], None]] = []


@contextmanager
def allowed(installed: bool) -> Generator[None]:
    """Whether installed plug-ins are looked for while this is entered."""
    global _allowed
    before, _allowed = _allowed, installed
    try:
        yield
    finally:
        _allowed = before


@contextmanager
def before_the_first(prepare: Callable[[], None]) -> Generator[None]:
    """Call a function before the first plug-in that is loaded while this is entered."""
    _preparations.append(prepare)
    try:
        yield
    finally:
        if prepare in _preparations:
            _preparations.remove(prepare)


def load_installed() -> None:
    """Load the plug-ins of installed packages, once. PassError for one that cannot be loaded."""
    path = tuple(sys.path)
    if not _allowed or path in _searched:
        return
    from importlib import metadata  # start-up time

    for entry in metadata.entry_points(group=GROUP):
        version = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
        _load(entry.value, version, entry.load)
    _searched.add(path)


def load(name: str) -> None:
    """Load the plug-in that is a module with a function `register`, once. PassError when there is none."""
    if name.endswith((".so", ".dylib", ".dll")):
        raise PassError(f"expected a Python module as plug-in, got the shared library '{name}'")
    if not all(part.isidentifier() for part in name.split(".")):
        raise PassError(f"expected the name of a module, got {name!r}")
    _load(f"{name}:register", "", lambda: importlib.import_module(name).register)


def _load(name: str, version: str, find: Callable[[], Callable[[], object]]) -> None:
    """Call a plug-in's function. What it registered before it failed is taken back."""
    if name in _loaded:
        return
    while _preparations:
        _preparations.pop()()
    _registered.clear()
    register = None
    try:
        with all_or_none():
            register = find()
            sources = _sources([name.split(":")[0]])  # as imported: they may change before a program is compiled
            require_nothing(register(), "register", register)  # which has done nothing where it is a generator
            sources += _sources(_registered)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may call `sys.exit`
        reason = (said_by(error) if isinstance(error, PassError) else None) or told(error)
        reason += place_of(error, own=False, by=register)
        raise PassError(f"expected plug-in '{name}' to register what it adds, got {reason}") from error
    _loaded[name] = " ".join([version, *sources])


@contextmanager
def all_or_none() -> Generator[None]:
    """What is registered while this is entered is taken back when it ends with an exception."""
    count = len(_undos)
    try:
        yield
    except BaseException:
        while len(_undos) > count:
            _undos.pop()()
        raise


def to_undo(undo: Callable[[], object]) -> None:
    """Note what takes a registration back."""
    _undos.append(undo)


def versions() -> tuple[str, ...]:
    """What compiled programs depend on in the loaded plug-ins: their versions and the state of their sources."""
    return tuple(f"{name} {state}" for name, state in sorted(_loaded.items()))


_registered: list[str] = []
"""Modules that the plug-in that is being loaded registers, to be imported later."""


def depends_on(module: object) -> None:
    """Note a module that a plug-in registers: compiled programs depend on its sources too. PassError for what is no
    name."""
    if not isinstance(module, str) or not all(part.isidentifier() for part in module.split(".")):
        raise PassError(f"expected the name of a module, got {module!r}")
    _registered.append(module)


def _sources(modules: Iterable[str]) -> list[str]:
    """Digests of the packages of modules; of one that is in none, of the files beside it, which it may import."""
    from importlib.util import find_spec  # start-up time

    found: list[str] = []
    for name in sorted({module.split(".")[0] for module in modules}):
        try:
            spec = find_spec(name)
        except ValueError:  # what runs as a script has none
            spec = None
        if spec is None:
            continue
        places = [Path(place) for place in spec.submodule_search_locations or ()]
        if not places and spec.origin is not None:
            places = sorted(Path(spec.origin).parent.glob("*.py"))
        found += [digest(place) for place in places]
    return found


def digest(root: Path) -> str:
    """A digest of names, sizes and times of a source file, or of all in a folder."""
    import hashlib  # start-up time

    found = hashlib.sha256()
    alone = [(str(root.parent), list[str](), [root.name])]
    for folder, _, names in alone if root.is_file() else sorted(os.walk(root, followlinks=True)):
        for name in sorted(names):
            if not name.endswith(".pyc"):
                state = os.stat(os.path.join(folder, name))
                found.update(f"{folder}/{name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()
