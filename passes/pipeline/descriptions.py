"""What passes and named pipelines are for and what options they take, read from their sources: importing all of
them takes a second."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ragged_dialect import plugins
from ragged_dialect.passes import registry

_Found = tuple[ast.ClassDef | ast.FunctionDef, str | None]
"""A class or function, and the module it is in."""


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

    def find() -> _Found:
        return _of_class(registry.lookup(name)) if place is None else _definition(*place)

    node, module = registry.made("a description", name, find)
    return Description(name, _summary(node), tuple(_options(node, module)))


def describe_all() -> list[Description]:
    """The passes, then the named pipelines, each sorted by name, with those of installed plug-ins."""
    plugins.load_installed()
    return [describe(name) for name in (*registry.names(), *registry.pipelines())]


def _definition(module: str, name: str) -> _Found:
    """A class or function of a module. Only its own lines are parsed where they tell: a module takes three times as
    long."""
    lines = re.search(rf"^(?:class|def) {name}\b.*\n(?:(?:[ \t)].*)?\n)*", _text(module), re.MULTILINE)
    body = _body(module) if lines is None else _parsed(lines.group()) or _body(module)
    nodes = [n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name]
    return nodes[0], module


def _parsed(lines: str) -> list[ast.stmt]:
    with suppress(SyntaxError):
        return ast.parse(lines).body
    return []  # a string in it starts a line


@cache
def _text(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named '{module}'")
    return Path(spec.origin).read_text(encoding="utf-8")


@cache
def _body(module: str) -> list[ast.stmt]:
    return ast.parse(_text(module)).body


def _constant(module: str, name: str) -> object:
    """A constant of a module, without importing it where its text is enough."""
    for node in _body(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _constant(node.module, alias.name)
        elif isinstance(node, ast.Assign):
            value = _assigned(node, name)
            if value is not None:
                with suppress(NameError):
                    return _value(module, value)
    return getattr(import_module(module), name)


def _assigned(node: ast.Assign, name: str) -> ast.expr | None:
    """What an assignment gives a name, alone or in a row of names."""
    (target,), value = node.targets, node.value
    names, values = ([target], [value])
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        names, values = target.elts, value.elts
    found = (v for n, v in zip(names, values, strict=False) if isinstance(n, ast.Name) and n.id == name)
    return next(found, None)


def _value(module: str | None, value: ast.expr) -> object:
    """What a default is: a literal, or an expression of constants. NameError for one that is made by a call."""
    if any(isinstance(n, ast.Call) for n in ast.walk(value)):
        raise NameError(ast.unparse(value))
    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    known = {name: _constant(module, name) for name in names} if module is not None else {}
    return eval(compile(ast.Expression(value), "default", "eval"), {"__builtins__": {}}, known)


def _of_class(cls: type) -> _Found:
    """The source of a class that is somewhere else; without options when it has none to read."""
    try:
        node = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        node = ast.parse(f"class _:\n    {cls.__doc__ or ''!r}").body[0]
    assert isinstance(node, ast.ClassDef)
    return node, None


def _summary(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node) or ""
    return text.strip().splitlines()[0] if text.strip() else ""


def _options(node: ast.ClassDef | ast.FunctionDef, module: str | None) -> list[PassOption]:
    if isinstance(node, ast.ClassDef):
        fields = [(f.target, f.annotation, f.value) for f in node.body if isinstance(f, ast.AnnAssign)]
        named = [(ast.unparse(target), kind, value) for target, kind, value in fields]
    else:
        arguments = node.args.args
        values = [None] * (len(arguments) - len(node.args.defaults)) + list(node.args.defaults)
        named = [(a.arg, a.annotation, value) for a, value in zip(arguments, values, strict=True)]
    return [
        PassOption(name.replace("_", "-"), ast.unparse(kind), _written(value, module))
        for name, kind, value in named
        if kind is not None and "ClassVar" not in ast.unparse(kind)
    ]


def _written(value: ast.expr | None, module: str | None) -> str:
    if value is None:
        return ""
    try:
        default = _value(module, value)
    except NameError:  # of a class whose module has no text
        return ast.unparse(value)
    return str(default).lower() if isinstance(default, bool) else str(default)
