"""Imports go one way: plain modules <- dialect <- passes <- lowering <- execution <- tools.
The runtime stands alone: nothing it imports, at whatever distance, imports MLIR."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.arrays.tracing.operation import OPERATIONS, Operation

PLAIN = {"errors", "lazy", "layout", "shape", "merging", "sources", "checks", "segments", "locks", "device_model",
         "extensions", "narrowing", "plugins"}  # fmt: skip
LEVELS = {
    "passes": 2, "lowering": 3, "transform": 4, "execution": 4, "compiler": 4,
    "arrays": 5, "tools": 5, "artifacts": 5, "compat": 6, "nn": 6,
}  # fmt: skip
SOURCES = sorted(
    path
    for folder in ("ragged_dialect", "passes", "lowering")
    for path in (ROOT / folder).rglob("*.py")
    if "ragged_dialect/passes" not in path.as_posix() and "ragged_dialect/lowering" not in path.as_posix()
)


def module_name(path: Path) -> str:
    """Dotted name under which a source file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "ragged_dialect" else ("ragged_dialect", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


class Facts(NamedTuple):
    """What a module says: `imports` are modules of the project, TYPE_CHECKING blocks left out, `packages` what all its
    imports are from, and `defines` whether it has functions or classes."""

    imports: frozenset[str]
    packages: frozenset[str]
    defines: bool


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements inside of one. There are ten times as many expressions, which import nothing."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def imported(node: ast.AST) -> set[str]:
    """Modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        submodules = {f"{node.module}.{alias.name}" for alias in node.names}
        return submodules & MODULES.keys() or {node.module}
    return set()


@cache
def facts(module: str) -> Facts:
    """Of each module once: to parse all of them takes a second."""
    tree = ast.parse(MODULES[module].read_text())
    found: set[str] = set()
    checked: set[ast.AST] = set()
    packages: set[str] = set()
    for node in statements(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            checked.update(inner for one in node.body for inner in ast.walk(one))
        names = imported(node)
        packages.update(name.split(".")[0] for name in names)
        if node not in checked:
            found |= names
    defines = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)
    return Facts(frozenset(found & MODULES.keys()), frozenset(packages), defines)


def imports(module: str) -> frozenset[str]:
    """Modules of the project that a module imports anywhere in its text, TYPE_CHECKING blocks left out."""
    return facts(module).imports


def level(module: str) -> int:
    """Place of a module in the order of imports."""
    parts = module.split(".")
    if len(parts) == 1:
        return max(LEVELS.values())
    return 0 if parts[1] in PLAIN else LEVELS.get(parts[1], 1)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_one_way(module: str) -> None:
    upward = sorted(m for m in imports(module) if m != "ragged_dialect" and level(m) > level(module))
    assert not upward, f"{module} (level {level(module)}) imports {upward}"


STANDALONE = ("ragged_dialect.runtime", "ragged_dialect.ptx", "ragged_dialect.emulator")
WITHOUT_MLIR = sorted(m for m in MODULES if m.startswith(STANDALONE) or level(m) == 0)


@pytest.mark.parametrize("module", WITHOUT_MLIR)
def test_runtime_and_plain_modules_never_import_mlir(module: str) -> None:
    seen, pending = {module}, [module]
    while pending:
        new = imports(pending.pop()) - seen
        seen |= new
        pending.extend(new)
    assert "ragged_dialect._mlir" not in seen


ROW = re.compile(r"^\| (\w+) \| (`.*`) \|(.*)\|$", re.M)


def rooms() -> tuple[dict[str, str], dict[str, set[str]]]:
    """The room of each module or package, and what each room imports, as `docs/architecture.md` has them."""
    rows = ROW.findall((ROOT / "docs" / "architecture.md").read_text())
    of = {module: room for room, modules, _ in rows for module in re.findall(r"`(\w+)`", modules)}
    return of, {room: set(imported.split()) for room, _, imported in rows}


def test_rooms_are_as_the_page_says() -> None:
    """Every module is in a room, and every room imports those of its row: all of them, and no other."""
    of, allowed = rooms()
    inside = {module: of[module.split(".")[1]] for module in MODULES if "." in module}
    found: dict[str, set[str]] = {room: set() for room in allowed}
    for module, room in inside.items():
        found[room] |= {inside[m] for m in imports(module) if m in inside} - {room}
    assert found == allowed
    assert not cycle({room: frozenset(others) for room, others in found.items()})


def test_rules_see_an_import() -> None:
    assert "ragged_dialect._mlir" in imports("ragged_dialect.types")
    assert level("ragged_dialect.passes.base") > level("ragged_dialect.types") > level("ragged_dialect.layout")


def test_no_lock_that_a_fork_leaves_taken() -> None:
    """`functools.cached_property` has one before Python 3.12; `ragged_dialect.lazy` has none."""
    found = [module for module, path in MODULES.items() if re.search(r"functools.*cached_property", path.read_text())]
    assert found == ["ragged_dialect.lazy"]


def test_no_module_names_the_bindings_but_mlir_py() -> None:
    found = {module for module in MODULES if facts(module).packages & {"mlir", "torch_mlir"}}
    assert found == {"ragged_dialect._mlir"}


RAW = ("ragged_dialect._mlir", "ragged_dialect.dialect", "ragged_dialect.transform.dialect")


def test_future_annotations_where_the_op_builder_allows_them() -> None:
    """The op builder reads raw annotations: op files and `_mlir.py` go without, all others with."""
    for module, path in MODULES.items():
        text = path.read_text()
        raw = module in RAW or module.startswith("ragged_dialect.ops")
        if not raw and facts(module).defines:
            assert "from __future__ import annotations\n" in text, module
        assert not (raw and "from __future__" in text), module


# GPU ---------------------------------------------------------------------------------------------------

GPU = {m: m.split(".")[3:] for m in sorted(MODULES) if m.startswith("ragged_dialect.lowering.gpu.")}
GPU_ROOMS = {
    "attributes": {"attributes"},
    "kernel": {"attributes", "kernel"},
    "segmented": {"attributes", "kernel", "segmented"},
    "contract": {"attributes", "kernel", "segmented", "contract"},
    "schedules": {"attributes", "kernel", "segmented", "contract"},
    "passes": {"attributes", "kernel", "segmented", "contract", "schedules", "passes"},
    "nvvm": {"attributes", "kernel", "nvvm"},
    "host": {"kernel", "host"},
}
"""What each room of the GPU lowering may import of it."""


@pytest.mark.parametrize("module", GPU)
def test_rooms_of_the_gpu_lowering_import_one_way(module: str) -> None:
    found = {GPU[m][0] for m in imports(module) & GPU.keys()}
    assert found <= GPU_ROOMS[GPU[module][0]]


def test_the_gpu_lowering_imports_itself_in_no_round() -> None:
    assert not cycle({module: imports(module) & GPU.keys() for module in GPU})


# Arrays ------------------------------------------------------------------------------------------------

ARRAYS = {m: m.split(".")[2:] for m in sorted(MODULES) if m.startswith("ragged_dialect.arrays")}
ROOMS = {"core": 0, "tracing": 1, "index": 2, "ops": 3, "numpy": 4, "convert": 4, "methods": 5}
LATER = re.compile(r"# (start-up time|optional package)$")


def cycle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """Modules that import each other in a round, none where there is no round."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_arrays_import_each_other_in_no_round() -> None:
    """Imports in functions count."""
    assert not cycle({module: imports(module) & ARRAYS.keys() for module in ARRAYS})


@pytest.mark.parametrize("module", ARRAYS)
def test_rooms_of_arrays_import_one_way(module: str) -> None:
    room = ROOMS.get(".".join(ARRAYS[module][:1]), 6)
    upward = sorted(m for m in imports(module) & ARRAYS.keys() if ROOMS.get(".".join(ARRAYS[m][:1]), 6) > room)
    assert not upward, f"{module} imports {upward}"


@pytest.mark.parametrize("module", ARRAYS)
def test_arrays_import_no_lowering(module: str) -> None:
    """What they need of it, `compiler` and `execution` have."""
    assert not [m for m in imports(module) if level(m) == LEVELS["lowering"]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("module", ARRAYS)
def test_imports_in_functions_of_arrays_have_a_reason(module: str) -> None:
    text = MODULES[module].read_text()
    inside = [
        node
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    lines = [text.splitlines()[node.lineno - 1] for node in inside]
    assert not [line.strip() for line in lines if not LATER.search(line)], "expected a comment with the reason"


def test_a_round_is_found() -> None:
    graph = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"}), "d": frozenset[str]()}
    assert set(cycle(graph)) == {"a", "b", "c"}
    assert LATER.search("import torch  # pyright: ignore[x]  # optional package")
    assert not LATER.search("import torch  # because")


def test_public_names_are_where_the_stub_says() -> None:
    lines = (ROOT / "ragged_dialect" / "__init__.pyi").read_text().splitlines()
    assert len(rg.__all__) == sum(line.startswith("from ") for line in lines)
    for name in rg.__all__:
        assert getattr(rg, name).__name__.removeprefix("ragged_dialect.").removeprefix("arrays.") == name


def test_the_stub_says_which_names_are_operations() -> None:
    """They are known by their names alone until one is compiled."""
    lines = (ROOT / "ragged_dialect" / "__init__.pyi").read_text().splitlines()
    marked = {line.split()[5] for line in lines if line.endswith("# an operation")}
    assert marked == {name for name in rg.__all__ if isinstance(getattr(rg, name), Operation)}
    assert all(getattr(rg, name) is OPERATIONS[name] for name in marked)
