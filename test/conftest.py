"""Options, markers and fixtures shared by all tests."""

from __future__ import annotations

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick run takes one case in `n` of every test that is marked `sampled(n)`, once, and at least one."""
    if config.getoption("--slow"):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if shares := [marker.args[0] for marker in item.iter_markers("sampled")]:
            if len(shares) > 1:
                raise pytest.UsageError(f"{item.nodeid}: expected one share of its cases, got {shares}")
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in cases.values():
        for place, item in enumerate(sorted(family, key=_number)):
            marker = item.get_closest_marker("sampled")
            if marker and place % (share := marker.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"one case in {share} runs (all with --slow)"))


def _left_out(item: pytest.Item) -> str | None:
    """Why a test that wants a GPU does not run on the stand-in."""
    if has_gpu() or item.config.getoption("--slow"):
        return None
    chosen = item.path.name in ALWAYS_ON_STAND_IN or _number(item) % SHARE_ON_STAND_IN == 0
    return None if chosen else f"no GPU, and one test in {SHARE_ON_STAND_IN} runs on PTX text (all with --slow)"


def _skip_reason(item: pytest.Item) -> str | None:
    if item.get_closest_marker("slow") and not item.config.getoption("--slow"):
        return "slow (run with --slow)"
    if item.get_closest_marker("ptx") and find_tool("ptxas") is None:
        return "no ptxas"
    return _left_out(item) if item.get_closest_marker("gpu") else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, what this machine or this run leaves out."""
    reason = _skip_reason(item)
    if reason is not None:
        pytest.skip(reason)
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
