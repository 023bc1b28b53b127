"""Modules of this package as the text of one module that imports none of them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

_PACKAGE = "ragged_dialect"


class Amalgamation(NamedTuple):
    """The imports and the code of several modules, the names that the code defines, and those that are imported."""

    imports: str
    code: str
    names: frozenset[str]
    imported: frozenset[str]


def amalgamate(modules: Sequence[ModuleType]) -> Amalgamation:
    """Join modules, each after those it imports from the package; their names must differ. Types of
    other modules, which only annotations name, become `Any`."""
    sources = [inspect.getsource(module) for module in modules]
    trees = [ast.parse(source) for source in sources]
    nodes = [node for tree in trees for node in tree.body]
    names = {name for node in nodes for name in _defined(node)}
    types = {
        inner.name for node in nodes if _is_for_types(node) for inner in ast.walk(node) if isinstance(inner, ast.alias)
    } - names
    pieces = ["\n".join(f"{name} = Any" for name in sorted(types))]
    pieces += [_kept(source, tree) for source, tree in zip(sources, trees, strict=True)]
    aliases = [alias for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
    imported = frozenset(alias.asname or alias.name.split(".")[0] for alias in aliases)
    return Amalgamation(_imports(nodes), "\n\n\n".join(pieces).strip(), frozenset(names | types), imported)


def _imports(nodes: Sequence[ast.stmt]) -> str:
    """Imports from outside the package, one line per module."""
    plain = {ast.unparse(node) for node in nodes if isinstance(node, ast.Import)}
    named: dict[str, set[str]] = {"typing": {"Any"}}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not _is_own(node):
            named.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
    named["typing"].discard("TYPE_CHECKING")
    froms = [f"from {module} import {', '.join(sorted(group))}" for module, group in sorted(named.items())]
    return "\n".join([*sorted(plain), *froms])


def _is_own(node: ast.ImportFrom) -> bool:
    return (node.module or "").split(".")[0] in (_PACKAGE, "__future__")


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _kept(source: str, tree: ast.Module) -> str:
    """The text of a module without imports and what only type checkers read; the first line of its
    docstring as a comment."""
    dropped: set[int] = set()
    for node in tree.body:
        docstring = node is tree.body[0] and isinstance(node, ast.Expr)
        if docstring or _is_for_types(node) or isinstance(node, (ast.Import, ast.ImportFrom)):
            dropped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = [line for number, line in enumerate(source.splitlines(), 1) if number not in dropped]
    about = (ast.get_docstring(tree) or "").splitlines()[0]
    return f"# {about}\n\n" + "\n".join(kept).strip()


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
