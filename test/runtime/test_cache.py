"""The cache of compiled programs: what is reused, and what cannot hurt it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.twice import GOOD, TWICE

from conftest import ROOT
from ragged_dialect import compile
from ragged_dialect._mlir import PACKAGE
from ragged_dialect.checks import Check
from ragged_dialect.compiler import device, stored
from ragged_dialect.compiler.frontend import Program, load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.compiler.versions import versions
from ragged_dialect.errors import CompileError
from ragged_dialect.layout import Layout
from ragged_dialect.mlir_packages import mlir_libraries
from ragged_dialect.runtime import cache
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.signature import Group, Part, Signature
from ragged_dialect.runtime.stored_program import DeviceProgram
from ragged_dialect.shape import RaggedShape

F32 = np.float32


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, which is not there yet."""
    monkeypatch.delenv("RAGGED_CACHE", raising=False)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the entries that were lowered, not taken from the cache."""
    names: list[str] = []
    lower = device._lower

    def note(program: Program, *rest: Any) -> DeviceProgram:
        names.append(program.name)
        return lower(program, *rest)

    monkeypatch.setattr(device, "_lower", note)
    return names


def doubled(text: str = TWICE, **options: Any) -> list[float]:
    """What TWICE gives, on the emulator."""
    return compile(text, target="emulator", **options)(GOOD)[0].tolist()


def test_a_second_compilation_is_not_one(place: Path, lowered: list[str]) -> None:
    for _ in range(3):
        assert doubled() == [2, 4, 6]
    assert doubled(TWICE.replace("  ", "    ") + "// the same program") == [2, 4, 6]
    assert lowered == ["twice"]
    assert len(list(place.iterdir())) == 1
    assert place.stat().st_mode & 0o777 == 0o700


def test_what_a_program_depends_on(place: Path, lowered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    other = TWICE.replace("addf", "mulf")
    doubled()
    doubled(check=False)
    assert doubled(other) == [1, 4, 9]
    both = TWICE + TWICE.replace("@twice", "@again")
    doubled(both, entry="twice")  # what the entry does not call is nothing to it
    doubled(both, entry="again")
    assert lowered == ["twice", "twice", "twice", "again"]
    monkeypatch.setattr(stored, "versions", lambda: ("another",))
    doubled()
    assert lowered[4:] == ["twice"]


def test_the_arch_counts(place: Path, lowered: list[str]) -> None:
    for arch, fast in (("sm_80", False), ("sm_90", False), ("sm_90", True), ("sm_80", False)):
        kernels = KernelOptions(arch=arch, fast_math=fast)
        assert f".target {arch}" in device.device_program(load_program(TWICE), kernels).kernels
    assert len(lowered) == 3


def test_versions() -> None:
    own, *mlir, llvmlite, llvm = versions()
    assert [name.split()[0] for name in (own, llvmlite, llvm)] == ["ragged-dialect", "llvmlite", "LLVM"]
    assert PACKAGE in [name.split()[0] for name in mlir]
    assert {len(digest) for digest in (own.split()[1], *(name.split()[1] for name in mlir))} == {64}


def test_a_package_that_is_none_has_no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", ".x", "no.such", "nosuch"):
        monkeypatch.setenv("RAGGED_MLIR_PACKAGE", name)
        assert bool(list(mlir_libraries())) == (not name)


def test_off(place: Path, lowered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CACHE", "0")
    doubled()
    doubled()
    assert lowered == ["twice", "twice"]
    assert not place.exists()


def test_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAGGED_CACHE", "RAGGED_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/x")
    assert cache.folder() == Path("/home/x/.cache/ragged-dialect")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert cache.folder() == Path("/y/ragged-dialect")
    monkeypatch.setenv("RAGGED_CACHE_DIR", "/z")
    assert cache.folder() == Path("/z")

    monkeypatch.delenv("RAGGED_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "y")
    assert cache.folder() == Path("/home/x/.cache/ragged-dialect")
    monkeypatch.setenv("HOME", "nowhere")
    assert cache.folder() is None
    cache.store("a", b"x")
    assert cache.load("a") is None
    monkeypatch.setenv("RAGGED_CACHE_DIR", "z")
    with pytest.raises(CompileError, match="expected an absolute path in RAGGED_CACHE_DIR, got 'z'"):
        doubled()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:70] + b"?" + b[71:], lambda b: b"", lambda b: b"?" * 9]
)
def test_damaged_entries_are_made_anew(place: Path, lowered: list[str], damage: Any) -> None:
    doubled()
    (file,) = place.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert doubled() == [2, 4, 6]
    assert lowered == ["twice", "twice"]
    assert file.read_bytes() == whole
    assert doubled() == [2, 4, 6]
    assert len(lowered) == 2


def test_a_folder_that_cannot_be_made(place: Path, lowered: list[str]) -> None:
    place.write_text("a file")
    assert doubled() == [2, 4, 6]
    assert doubled() == [2, 4, 6]
    assert len(lowered) == 2


@pytest.mark.parametrize("step", ["mkstemp", "write", "replace"])
def test_a_disk_that_refuses(place: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read-only, or full: nothing is kept, nothing is left behind."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(*{
        "mkstemp": (cache.tempfile, "mkstemp", refuse),
        "write": (cache.os, "fdopen", _full(refuse)),
        "replace": (cache.os, "replace", refuse),
    }[step])  # fmt: skip
    cache.store("name", b"data")
    monkeypatch.undo()
    assert list(place.iterdir()) == []
    assert cache.load("name") is None


def _full(refuse: Any) -> Any:
    """An fdopen of files that cannot be written."""
    fdopen = os.fdopen

    class Full:
        def __init__(self, handle: int, mode: str) -> None:
            self.file = fdopen(handle, mode)

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        write = refuse

    return Full


def test_an_interrupted_write_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.store("name", b"data")
    assert list(place.iterdir()) == []


WRITER = """
import sys
import tracemalloc
from ragged_dialect.runtime import cache
data = [bytes([k]) * 200_000 for k in range(4)]
for k in range(200):
    cache.store("name", data[k % 4])
    got = cache.load("name")
    assert got in data, "torn"
"""


def test_processes_share_it(place: Path) -> None:
    """An entry is the data of one of them, never a mixture, and never missing."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    children = [subprocess.Popen([sys.executable, "-c", WRITER], env=environment) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert [file.name for file in place.iterdir()] == ["name"]


def test_programs_as_bytes() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    shape = RaggedShape(Layout.parse("ddr|d"), (None, 2, None, 3))
    group = Group((Part("values", bf16, (None, 3)), Part("offsets2", np.dtype(np.int64), (None,), vector=True)), shape)
    scalars = tuple(
        Group((Part("value", np.dtype(t), None),)) for t in (bool, np.int8, np.float16, np.float64, np.int64)
    )
    constants = {"c": np.array([[1.5], [-2]], bf16), "d": np.array(3), "e": np.zeros((0, 2), bool)}
    host = HostProgram("def bind(rt): …", constants, (Check("index", "ragged.select", 0),), ("x",), ("memref.load",))
    program = DeviceProgram(Signature("f", (group, *scalars), (group,)), host, "kernels")
    again = DeviceProgram.from_bytes(program.to_bytes())
    assert (again.signature, again.kernels) == (program.signature, program.kernels)
    assert (again.host.source, again.host.checks, again.host.labels) == (host.source, host.checks, host.labels)
    assert again.host.reads_back == host.reads_back
    for name, array in constants.items():
        kept = again.host.constants[name]
        assert (kept.dtype, kept.shape, kept.tolist()) == (array.dtype, array.shape, array.tolist())


def test_memory_of_a_look(place: Path) -> None:
    cache.store("entry", bytes(1000))
    tracemalloc.start()
    try:
        assert cache.load("entry") == bytes(1000)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20  # not what an entry may have at most
    finally:
        tracemalloc.stop()
