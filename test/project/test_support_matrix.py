"""Every op on every layout works like the reference interpreter or is refused by name: some cells of
every op in the quick run, all of them and the page that lists them in the long one."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from types import ModuleType

import pytest
from support.matrix import (
    COLUMNS,
    EVERY_PTX,
    Key,
    Outcome,
    build_cell,
    keys,
    run_cell,
    run_cells,
    sample_of,
    worker_environment,
)

from conftest import ROOT
from ragged_dialect.emulator.cupy_stand_in import StandIn

SHARE = 144
"""The quick run takes one cell in so many of every op on the CPU."""
KERNELS = {"emulator": 0, "gpu": 1}
"""Compiling for a GPU takes longer: the emulator takes a cell of every second op, the executor of PTX of the others."""


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """`docs/generate_support.py` as a module."""
    spec = importlib.util.spec_from_file_location("generate_support", ROOT / "docs" / "generate_support.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def failures(outcomes: list[Outcome]) -> str:
    """What failed, for the message of an assert."""
    return "\n\n".join(f"{' / '.join(o.key)}: {o.text}" for o in outcomes if o.status == "failed")


def reachable(target: str) -> str:
    """The target for worker processes: where a stand-in is the GPU, they run PTX text themselves."""
    return "ptx-emulator" if target == "gpu" and isinstance(sys.modules["cupy"], StandIn) else target


def one_of_every_op(first: int) -> list[Key]:
    """A cell of every op, from another `first` another one."""
    return sample_of(len(keys()), first)


def workers() -> int:
    """Worker processes: one per core."""
    return len(os.sched_getaffinity(0))


@pytest.mark.sampled(2)
def test_some_cells_of_every_op(target: str) -> None:
    cells = one_of_every_op(0)[KERNELS[target] :: 2] if target in KERNELS else sample_of(SHARE)
    outcomes = run_cells(cells, workers(), reachable(target))
    assert {o.key[1] for o in outcomes} >= {op for _, op, _ in (keys() if target == "cpu" else cells)}
    assert not failures(outcomes)
    page = (ROOT / "docs" / "support.md").read_text()
    unlisted = sorted({o.key[1] for o in outcomes if f"\n### {o.key[1]}\n" not in page})
    assert not unlisted


@pytest.mark.sampled(2)
@pytest.mark.parametrize("side", ["before", "after"])
def test_some_cells_between_guard_pages(side: str) -> None:
    cells = one_of_every_op(1)[side == "after" :: 2]
    assert not failures(run_cells(cells, workers(), guards=side))


@pytest.mark.parametrize("side", ["before", "after"])
def test_guards_find_what_is_out_of_bounds(side: str) -> None:
    """The harness can fail: a worker dies of one byte too many, and says of which cell."""
    script = (
        "import ctypes; from support.allocators import install_guards\n"
        f"guarded = install_guards('{side}')\n"
        "at = guarded.allocate(12)\n"
        "assert ctypes.string_at(at, 12) == b'\\xff' * 12\n"
        f"ctypes.string_at(at {'- 1' if side == 'before' else '+ 12'}, 1)"
    )
    done = subprocess.run([sys.executable, "-c", script], env=worker_environment(), check=False)
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.slow
@pytest.mark.parametrize("side", ["before", "after"])
def test_all_cells_between_guard_pages(side: str) -> None:
    assert not failures(run_cells(keys(), workers(), guards=side))


@pytest.mark.slow
def test_all_cells_and_the_page_that_lists_them(generator: ModuleType) -> None:
    on_cpu = run_cells(keys(), workers())
    assert not failures(on_cpu)
    on_emulator = run_cells(keys(), workers(), "emulator")
    assert not failures(on_emulator)
    assert (ROOT / "docs" / "support.md").read_text() == generator.render(on_cpu, on_emulator)


@pytest.mark.slow
@pytest.mark.gpu
def test_all_cells_on_a_gpu() -> None:
    if reachable("gpu") != "gpu":
        pytest.skip("no GPU; all cells run as every PTX")
    assert not failures(run_cells(keys(), workers(), "gpu"))


@pytest.mark.slow
def test_all_cells_as_every_ptx() -> None:
    assert not failures(run_cells(keys(), workers(), EVERY_PTX))


def test_refused_cells_say_why(target: str) -> None:
    outcome = run_cell(("dw", "ragged.merge", "dim 0"), target)
    assert outcome.status == "refused"
    assert outcome.text == (
        "'ragged.merge' op expected contiguous components to merge, got window dim 1 of layout \"dw\" "
        "(use ragged.compact)"
    )


@pytest.mark.sampled(2)
def test_wrong_results_and_dead_workers_are_failures(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself can fail: a result that differs, an error only one side gives."""
    key = ("dr", "linalg.reduce", "dim 1")
    assert run_cell(key, target).status == "works"
    monkeypatch.setattr("support.matrix.run", lambda module, entry, args: [args[0][0]])
    outcome = run_cell(key, target)
    assert outcome.status == "failed"
    assert "result" in outcome.text
    (dead,) = run_cells([("dr", "no such op", "")], 1, reachable(target))
    assert dead.status == "failed"


def test_every_layout_has_every_kind_of_cell() -> None:
    for layout in COLUMNS[1:]:
        ops = {op for _, op, _ in keys([layout])}
        assert {"ragged.merge", "linalg.reduce", "linalg.generic", "arith", "tensor.extract", "scf.if"} <= ops
    assert build_cell(("dr|d", "ragged.merge", "dim 0")).text().count("ragged.merge") == 1


def test_page_groups_equal_outcomes(generator: ModuleType) -> None:
    outcomes = [
        Outcome(("dr", "ragged.merge", "dim 0"), "works"),
        Outcome(("drr", "ragged.merge", "dim 0"), "works"),
        Outcome(("dw", "ragged.merge", "dim 0"), "refused", "'ragged.merge' op expected 1 of layout \"dw\", got dim 1"),
    ]
    text = "\n".join(generator.section("ragged.merge", outcomes, set()))
    assert "| `dr`, `drr` | dim 0 | – |" in text
    assert "| `dw` | – | dim 0 (1) |" in text
    assert "1. `'ragged.merge' op expected N of layout \"…\", got dim N`" in text


def test_page_marks_what_works_on_the_cpu_only(generator: ModuleType) -> None:
    keys = [("dr", "arith", "dim 0"), ("dr", "arith", "dim 1"), ("dw", "arith", "dim 0"), ("dw", "arith", "dim 1")]
    on_cpu = [Outcome(key, "works") for key in keys]
    on_emulator = [*on_cpu[:3], Outcome(keys[3], "refused", "'arith.addf' op expected more, got less")]
    text = generator.render(on_cpu, on_emulator)
    assert "4 cells work, 3 of them on a GPU too" in text
    assert "| `dr` | dim 0, 1 | – |" in text
    assert "| `dw` | dim 0; dim 1 (CPU only) | – |" in text
