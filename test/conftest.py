"""Options, markers and fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.targets import TARGETS, Compile, compile_for, has_gpu
from support.verified_programs import verify_programs

from ragged_dialect.ptx.tools import find_tool

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("quick", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow`: run the tests marked slow too, with more hypothesis examples."""
    parser.addoption("--slow", action="store_true", help="run tests marked slow, and more hypothesis examples")


def pytest_configure(config: pytest.Config) -> None:
    """The number of hypothesis examples follows `--slow`. No compiled program comes from an earlier run, and each is
    verified."""
    os.environ["RAGGED_CACHE"] = "0"
    verify_programs()
    settings.load_profile("thorough" if config.getoption("--slow") else "quick")


SHARE_ON_STAND_IN = 32
"""Without a GPU one test in so many that want one runs on PTX text under `make test`: half a minute."""

ALWAYS_ON_STAND_IN = ("test_device.py", "test_arrays.py")


def _number(item: pytest.Item) -> int:
    """A number that a test has everywhere, as good as random."""
    return zlib.crc32(item.name.encode())


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What the quick run leaves out: to skip thousands of tests one by one takes half a minute."""
    if config.getoption("--slow"):
        return []
    on_stand_in = "" if has_gpu() else f", and of those that want a GPU one in {SHARE_ON_STAND_IN} on PTX text"
    return [f"left out: tests marked slow, cases beyond samples{on_stand_in} (all with --slow)"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick run takes no slow tests, and one case in `n` of every test that is marked `sampled(n)`, once, and at
    least one."""
    if config.getoption("--slow"):
        return
    left_out = {item for item in items if item.get_closest_marker("slow") or not _is_for_stand_in(item)}
    cases: dict[str, list[pytest.Item]] = {}
    for item in (item for item in items if item not in left_out):
        if shares := [marker.args[0] for marker in item.iter_markers("sampled")]:
            if len(shares) > 1:
                raise pytest.UsageError(f"{item.nodeid}: expected one share of its cases, got {shares}")
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in cases.values():
        for place, item in enumerate(sorted(family, key=_number)):
            marker = item.get_closest_marker("sampled")
            if marker and place % marker.args[0]:
                left_out.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Tests that are collected are garbage never again: to look for it among them takes a twentieth of the run."""
    gc.collect()
    gc.freeze()


def _is_for_stand_in(item: pytest.Item) -> bool:
    """Whether a test runs where there is no GPU: of those that want one a share, on PTX text."""
    if item.get_closest_marker("gpu") is None or has_gpu():
        return True
    return item.path.name in ALWAYS_ON_STAND_IN or _number(item) % SHARE_ON_STAND_IN == 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, what this machine leaves out."""
    if item.get_closest_marker("ptx") and find_tool("ptxas") is None:
        pytest.skip("no ptxas")
    if item.get_closest_marker("gpu") and not has_gpu():
        sys.modules["cupy"] = _stand_in()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Other tests have no CuPy again."""
    if item.get_closest_marker("gpu") and not has_gpu():
        sys.modules.pop("cupy", None)


@cache
def _stand_in() -> Any:
    """For tests that want a GPU where there is none: CuPy, with kernels that run as PTX text. One for all of them, as
    functions may be compiled by fixtures."""
    from support.cupy_arrays import CupyArrays

    from ragged_dialect.emulator.ptx import loader

    return CupyArrays(loader())


@pytest.fixture
def root() -> Path:
    """The top folder of the project."""
    return ROOT


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Every target in turn; a GPU where there is one."""
    return request.param


@pytest.fixture(scope="module")
def compile(target: str) -> Compile:
    """`ragged_dialect.compile` for every target in turn, with NumPy results."""
    return compile_for(target)


@pytest.fixture
def mlir_context() -> Iterator[Any]:
    """A context with the dialect loaded, current while the test runs, with an unknown location."""
    from ragged_dialect._mlir import ir
    from ragged_dialect.dialect import context

    with context() as made, ir.Location.unknown(made):
        yield made


def make_shape(layout: str, extents: str) -> Any:
    """A RaggedShape from a layout (also one of plain `d` axes) and extents like `3x?x512`."""
    from ragged_dialect.layout import Layout
    from ragged_dialect.shape import RaggedShape

    made = Layout.dense(layout.count("d")) if set(layout) <= {"d", "|"} else Layout.parse(layout)
    return RaggedShape(made, tuple(None if e == "?" else int(e) for e in extents.split("x")))
