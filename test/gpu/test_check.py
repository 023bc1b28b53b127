"""The check of programs on a GPU, on the fake CuPy with kernels that the emulator runs."""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu_programs import HEADER, emulator_loader, install
from support.ptx_sweep import ARCHS

from conftest import ROOT
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.emulator.ptx import loader

GPU = ("gpu_artifacts", "gpu_cases", "gpu_check", "gpu_problems", "gpu_report", "gpu_timing", "gpu_verify")
BENCHMARKS = ("common", *GPU)
SLOW = ("scale", "layer_norm", "segmented_softmax", "from_padded", "attention_pooling", "ragged_attention",
        "short_attention")  # fmt: skip
MEMORY = 1 << 33


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake, whose PTX is the LLVM IR that it comes from."""
    monkeypatch.setattr("ragged_dialect.ptx.emit", lambda text, arch, fast_math: HEADER + text)
    return install(monkeypatch, with_properties(StandIn(emulator_loader)))


def with_properties(cupy: StandIn, capability: str = "90") -> StandIn:
    """A fake with what only the check needs; a call takes a millisecond."""
    cupy.__version__, cupy.free_bytes = "14.0", MEMORY
    properties = {"name": b"Fake GPU", "totalGlobalMem": MEMORY}
    cupy.cuda.runtime.getDeviceProperties = lambda device: properties
    cupy.cuda.runtime.runtimeGetVersion = lambda: 13000
    cupy.cuda.get_elapsed_time = lambda start, end: 1.0
    cupy.cuda.Device = lambda: types.SimpleNamespace(compute_capability=capability, mem_info=(MEMORY, MEMORY))
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    return cupy


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The modules of the check, loaded as its command does."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in BENCHMARKS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = {name: importlib.import_module(name) for name in BENCHMARKS}
    for name in BENCHMARKS:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, name, found[name])
    monkeypatch.setattr(found["gpu_timing"], "_FLUSH", 1 << 10)
    return found


def built(
    scripts: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str, arch: str = "sm_90"
) -> Path:
    """A folder with some of the programs."""
    chosen = [path for path in scripts["gpu_artifacts"].sources() if path.stem in names]
    monkeypatch.setattr(scripts["gpu_artifacts"], "sources", lambda: chosen)
    scripts["gpu_artifacts"].build(folder, arch)
    return folder


def test_every_program_has_a_case(scripts: dict[str, Any]) -> None:
    names = [case.name for case in scripts["gpu_cases"].CASES]
    assert sorted(names) == sorted(path.stem for path in scripts["gpu_artifacts"].sources())


def test_nothing_of_the_package_is_imported() -> None:
    """It runs where there is no MLIR."""
    for name in set(BENCHMARKS) - {"gpu_artifacts"}:
        assert "ragged_dialect" not in (ROOT / "benchmarks" / f"{name}.py").read_text()


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name",
    ["segmented_sum", "row_gather", "recurrence"] + [pytest.param(name, marks=pytest.mark.slow) for name in SLOW],
)
def test_programs_agree(
    name: str, cupy: StandIn, scripts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the files to the report."""
    folder, out = built(scripts, tmp_path / "gpu", monkeypatch, name), tmp_path / "results"
    given = [str(folder), "--out", str(out), "--only", name, "--rows", "0", "1", "70", "--timed-rows", "40"]
    assert scripts["gpu_check"].main([*given, "--repetitions", "2", "--seed", "5"]) == 0
    (data,) = out.glob("*-fake-gpu.json")
    results = json.loads(data.read_text())
    assert results["seed"] == 5
    assert len(results["verified"]) >= 3
    assert not any(line["wrong"] or line["skipped"] for line in results["verified"])
    for line in results["measured"]:
        assert line["ours"]["median"] == line["copy"]["median"] == 1e-3
        assert line["host"] > 0
    (table,) = out.glob("*-fake-gpu.md")
    assert table.read_text().startswith("# Fake GPU, 20")
    assert "; a launch by CuPy alone takes unknown time of the host." in table.read_text()
    assert " comparisons with NumPy agreed, 0 did not, 0 were left out." in table.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["segmented_sum", "row_gather", "recurrence", "component_bias", *SLOW])
def test_programs_agree_as_ptx(
    name: str, scripts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arch in ARCHS:
        folder = built(scripts, tmp_path / arch, monkeypatch, name, arch=arch)
        for strict in (False, True):
            install(monkeypatch, with_properties(StandIn(loader(strict)), arch.removeprefix("sm_")))
            given = [str(folder), "--only", name, "--rows", "0", "1", "70", "3000", "--timed-rows", "40"]
            assert scripts["gpu_check"].main([*given, "--repetitions", "1"]) == 0, (arch, strict)


def test_an_error_is_found(
    cupy: StandIn, scripts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that adds up what it should scale."""
    folder = built(scripts, tmp_path, monkeypatch, "scale")
    text = (folder / "scale.py").read_text()
    assert "fmul contract" in text
    (folder / "scale.py").write_text(text.replace("fmul contract", "fadd contract"))
    given = [str(folder), "--only", "scale", "--rows", "500", "--timed-rows", "40"]
    assert scripts["gpu_check"].main(given) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["equal", "zipf", "gaps", "short", "one"])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 5000])
def test_lengths(kind: str, rows: int, scripts: dict[str, Any]) -> None:
    lengths = scripts["gpu_problems"].lengths(kind, rows, np.random.default_rng(0))
    assert lengths.sum() == rows
    assert lengths.min() >= 0
    assert len(lengths) > 1 or kind == "one" or rows < 128


def wrong(scripts: dict[str, Any], cupy: StandIn, change: Any) -> str | None:
    """What the check says of sums that somebody has changed."""
    problem = scripts["gpu_problems"].Problem.of("zipf", 500, 3)
    (case,) = [case for case in scripts["gpu_cases"].CASES if case.name == "segmented_sum"]
    sums = np.stack([problem.span(a, b).sum(0) for a, b in zip(problem.offsets, problem.offsets[1:], strict=False)])
    result = cupy.asarray(change(sums.astype(np.float32)), blocking=True)
    return next(scripts["gpu_verify"].problems(case, problem, [result]), None)


def test_what_differs(scripts: dict[str, Any], cupy: StandIn) -> None:
    def poisoned(sums: Any) -> Any:
        sums[2, 3] = np.nan
        return sums

    def off(sums: Any) -> Any:
        sums[1, 7] += 1
        return sums

    assert wrong(scripts, cupy, lambda sums: sums) is None
    assert wrong(scripts, cupy, lambda sums: sums[:-1]) == "result 0: expected 7 rows, got shape (6, 64)"
    assert wrong(scripts, cupy, poisoned) == "result 0: expected finite numbers, got 1 others, first in row 2"
    found = wrong(scripts, cupy, off)
    assert found is not None
    assert found.startswith("result 0, component 1 (rows ")
    assert found.endswith("(1 of 64 are off)")


def test_what_has_no_room_is_left_out(
    cupy: StandIn, scripts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = built(scripts, tmp_path, monkeypatch, "scale")
    cupy.cuda.Device = lambda: types.SimpleNamespace(compute_capability="90", mem_info=(1 << 20, 1 << 20))
    results = scripts["gpu_check"].check(
        cupy,
        scripts["gpu_check"].parse([str(folder), "--only", "scale", "--rows", "9000", "--timed-rows", "9000"]),
    )
    assert {line["skipped"] for line in results["verified"] if line["lengths"] != "decreasing"} == {
        "needs 8 MiB, 1 are free"
    }
    assert results["measured"] == []
    assert "left out: needs 8 MiB" in scripts["gpu_report"].markdown(results)


def test_missing_program(cupy: StandIn, scripts: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"scale\.py: expected a program made by .*gpu_artifacts\.py, got none"):
        scripts["gpu_check"].main([str(tmp_path), "--only", "scale"])


def test_no_cupy(scripts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(SystemExit, match="gpu_check: expected CuPy, got: "):
        scripts["gpu_check"].main([str(tmp_path)])


def test_no_gpu(cupy: StandIn, scripts: dict[str, Any], tmp_path: Path) -> None:
    cupy.devices = -1
    with pytest.raises(SystemExit, match="gpu_check: expected a GPU, got: cudaErrorNoDevice"):
        scripts["gpu_check"].main([str(tmp_path)])
