"""Modules of this package as the text of one module that imports none of them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

_PACKAGE = "ragged_dialect"


class Amalgamation(NamedTuple):
    """The imports and the code of several modules, and the names that the code defines."""

    imports: str
    code: str
    names: frozenset[str]


def amalgamate(modules: Sequence[ModuleType]) -> Amalgamation:
    """Join modules, each after those it imports from the package; their names must differ."""
    imports: set[str] = set()
    pieces: list[str] = []
    names: set[str] = set()
    for module in modules:
        source = inspect.getsource(module)
        tree = ast.parse(source)
        dropped: set[int] = set()
        for node in tree.body:
            if _is_left_out(node):
                dropped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                imports.update(_foreign(node))
        names |= {name for node in tree.body for name in _defined(node)}
        kept = [line for number, line in enumerate(source.splitlines(), 1) if number not in dropped]
        about = (ast.get_docstring(tree) or "").splitlines()[0]
        pieces.append(f"# {about}\n\n" + "\n".join(kept).strip())
    ordered = sorted(imports, key=lambda line: (line.startswith("from"), line))
    return Amalgamation("\n".join(ordered), "\n\n\n".join(pieces), frozenset(names))


def _is_left_out(node: ast.stmt) -> bool:
    """Imports, what only type checkers read, and the module's docstring."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and node.lineno == 1


def _foreign(node: ast.stmt) -> list[str]:
    """Imports from outside the package, one per line."""
    if isinstance(node, ast.Import):
        return [f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "") for alias in node.names]
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return []
    if node.module.split(".")[0] in (_PACKAGE, "__future__"):
        return []
    return [f"from {node.module} import {alias.name}" for alias in node.names if alias.name != "TYPE_CHECKING"]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
