"""What passes and named pipelines are for and what options they take, read from their sources: importing all of
them takes a second."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ragged_dialect.passes import plugins, registry

_Constants = Mapping[str, ast.expr]
_Found = tuple[ast.ClassDef | ast.FunctionDef, _Constants]


@dataclass(frozen=True)
class PassOption:
    """An option in kebab-case; `default` as it is written on the command line."""

    name: str
    type: str
    default: str


@dataclass(frozen=True)
class Description:
    """A pass, or a named pipeline."""

    name: str
    summary: str
    options: tuple[PassOption, ...]


def describe(name: str) -> Description:
    """A pass or a named pipeline. PassError when the name is unknown."""
    place = registry.place_of_pipeline(name) if registry.is_pipeline(name) else registry.place(name)
    node, constants = _of_class(registry.lookup(name)) if place is None else _definition(*place)
    return Description(name, _summary(node), tuple(_options(node, constants)))


def describe_all() -> list[Description]:
    """The passes, then the named pipelines, each sorted by name, with those of installed plug-ins."""
    plugins.load_installed()
    return [describe(name) for name in (*registry.names(), *registry.pipelines())]


def _definition(module: str, name: str) -> _Found:
    """A class or function of a module, and the module's constants."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    nodes = [node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    return nodes[0], {ast.unparse(node.targets[0]): node.value for node in assigned}


def _of_class(cls: type) -> _Found:
    """The source of a class that is somewhere else; without options when it has none to read."""
    try:
        node = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body[0]
    except OSError:
        node = ast.parse(f"class {cls.__name__}:\n    {cls.__doc__ or ''!r}").body[0]
    assert isinstance(node, ast.ClassDef)
    return node, {}


def _summary(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node) or ""
    return text.strip().splitlines()[0] if text.strip() else ""


def _options(node: ast.ClassDef | ast.FunctionDef, constants: _Constants) -> list[PassOption]:
    if isinstance(node, ast.ClassDef):
        fields = [(f.target, f.annotation, f.value) for f in node.body if isinstance(f, ast.AnnAssign)]
        named = [(ast.unparse(target), kind, value) for target, kind, value in fields]
    else:
        arguments = node.args.args
        values = [None] * (len(arguments) - len(node.args.defaults)) + list(node.args.defaults)
        named = [(a.arg, a.annotation, value) for a, value in zip(arguments, values, strict=True)]
    return [
        PassOption(name.replace("_", "-"), ast.unparse(kind), _written(value, constants))
        for name, kind, value in named
        if kind is not None and "ClassVar" not in ast.unparse(kind)
    ]


def _written(value: ast.expr | None, constants: _Constants) -> str:
    value = constants.get(ast.unparse(value), value) if value is not None else None
    if value is None:
        return ""
    try:
        literal = ast.literal_eval(value)
    except ValueError:  # computed
        return ast.unparse(value)
    return str(literal).lower() if isinstance(literal, bool) else str(literal)
