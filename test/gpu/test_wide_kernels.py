"""Kernels with 64-bit indices: made when a launch first needs them, once, of the program that was compiled."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.gpu_programs import with_emulator
from support.twice import BAD, GOOD, MESSAGE, TWICE

from ragged_dialect import DeviceError, RuntimeCheckError, compile
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import parse_module
from ragged_dialect.compiler import device
from ragged_dialect.compiler.frontend import Program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.dialect import context
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.runtime import narrow
from ragged_dialect.runtime.narrow import Late
from ragged_dialect.runtime.stored_program import DeviceProgram


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every lowering whether it was for 32-bit indices."""
    found: list[bool] = []
    lower = device._lower

    def note(program: Program, kernels: KernelOptions) -> DeviceProgram:
        found.append(kernels.narrow)
        return lower(program, kernels)

    monkeypatch.setattr(device, "_lower", note)
    return found


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache."""
    monkeypatch.setenv("RAGGED_CACHE", "0")


def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on buffers of two elements are too many for 32-bit indices."""
    monkeypatch.setattr(narrow, "LIMIT", 2)


def test_emulator(off: None, lowered: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    f = compile(TWICE, target="emulator", index_bits=32)
    assert f(GOOD)[0].tolist() == [2, 4, 6]
    assert lowered == [True]
    all_are_large(monkeypatch)
    for _ in range(2):
        assert f(GOOD)[0].tolist() == [2, 4, 6]
    with pytest.raises(RuntimeCheckError, match="offsets"):
        f(BAD)
    assert lowered == [True, False]


def test_gpu(off: None, lowered: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = with_emulator(monkeypatch)
    f = compile(TWICE, target="gpu", check="sync")
    assert f(GOOD)[0].get().tolist() == [2, 4, 6]
    assert len(cupy.loaded) == 1
    all_are_large(monkeypatch)
    for _ in range(2):
        assert f(GOOD)[0].get().tolist() == [2, 4, 6]
    with pytest.raises(RuntimeCheckError) as error:
        f(BAD)
    assert str(error.value) == MESSAGE
    assert [b"_i32" in ptx for ptx in cupy.loaded] == [True, False]
    assert lowered == [True, False]


def test_both_are_kept_on_disk(tmp_path: Path, lowered: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGGED_CACHE", raising=False)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    all_are_large(monkeypatch)
    for _ in range(2):
        assert compile(TWICE, target="emulator", index_bits=32)(GOOD)[0].tolist() == [2, 4, 6]
    assert lowered == [True, False]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_changes(off: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    f = compile(path, target="emulator", index_bits=32)
    path.write_text(TWICE.replace("addf", "subf"))
    all_are_large(monkeypatch)
    assert f(GOOD)[0].tolist() == [2, 4, 6]


def test_a_module_that_changes(off: None, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(TWICE, context())
    f = compile(module, target="emulator", index_bits=32)
    with module.context:
        next(iter(module.body.operations)).operation.attributes["sym_name"] = ir.StringAttr.get("other")
    all_are_large(monkeypatch)
    assert f(GOOD)[0].tolist() == [2, 4, 6]


def test_nothing_is_loaded_into_a_capture(off: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: StandIn = with_emulator(monkeypatch)
    f = compile(TWICE, target="gpu")
    given = tuple(cupy.asarray(part, blocking=True) for part in GOOD)
    stream = cupy.stream(16)
    with stream:
        f(given)
        stream.run()
        all_are_large(monkeypatch)
        stream.capturing = True
        with pytest.raises(DeviceError) as error:
            f(given)
        assert str(error.value) == "twice: expected a call with buffers as large before one is captured, got none"
        assert len(cupy.loaded) == 1
        stream.capturing = False
        f(given)
        stream.run()
        stream.capturing = True
        values, _ = f(given)
        stream.capturing = False
        assert values.get().tolist() == [2, 4, 6]
    assert len(cupy.loaded) == 2


def test_late_values_are_made_once() -> None:
    together = threading.Barrier(8)
    made: list[int] = []

    def make() -> int:
        time.sleep(0.01)
        made.append(1)
        return len(made)

    late = Late(make)

    def ask(_: int) -> int:
        together.wait()
        return late.get()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [1] * 8
    assert made == [1]


def test_late_values_are_tried_again() -> None:
    outcomes = iter([ValueError("not yet"), 5])

    def make() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    late = Late(make)
    with pytest.raises(ValueError, match="not yet"):
        late.get()
    assert (late.get(), late.get()) == (5, 5)
