"""Names of functions: any string is one in MLIR, and works on every target."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.c_program import NO_CC, compile_c
from support.gpu_artifacts import artifact
from support.gpu_programs import with_emulator
from support.named_programs import NAMES, quoted

from conftest import ROOT
from ragged_dialect import VerifyError, compile
from ragged_dialect.artifacts.c_interface import SUFFIXES, c_name
from ragged_dialect.artifacts.cpu_library import write
from ragged_dialect.asm.module import load_module
from ragged_dialect.compiler.llvm_ir import lowered_to_llvm_ir
from ragged_dialect.dialect import context
from ragged_dialect.symbols import in_c_library, mangle, spell

WORKER = ROOT / "test" / "support" / "named_programs.py"
BAD = ["a b", "é", "x::y", '"\\\n', "\0", "", "ragged_report", "kernels", "__constant_2xf32", "f", "f_kernel0"]


def failures(target: str, cases: Sequence[tuple[str, Sequence[str]]]) -> str:
    """What a process of its own says of programs."""
    command, env = [sys.executable, str(WORKER), target], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, env=env, check=False)
    return done.stdout + (f"exit code {done.returncode}: {done.stderr}" if done.returncode else "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_compiled(target: str) -> None:
    assert failures(target, [("llvm.foo", BAD), ("ragged_report", ["llvm.foo"])]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_compiled_all(target: str) -> None:
    cases = [(name, ["g"]) for name in NAMES] + [("entry", NAMES)]
    assert failures(target, cases) == ""


def test_mangled_names_differ_and_are_identifiers() -> None:
    words = ["".join(letters) for size in range(6) for letters in product("_A0x.-", repeat=size)] + NAMES
    mangled = {word: mangle(word) for word in words}
    assert len(set(mangled.values())) == len(mangled)
    assert all(name.isascii() and name.isidentifier() and name.startswith("rg__") for name in mangled.values())
    assert (mangle("a b"), mangle("row_12"), mangle("é")) == ("rg__a_20b", "rg__row_5F12", "rg___C3_A9")


def test_spelled_names_differ() -> None:
    """A name that stays as it is is the mangled form of no other."""
    spelled = {spell(name, lambda other: other in ("len", "f")) for name in NAMES}
    assert len(spelled) == len(NAMES)
    assert spell("sum", lambda _: False) == "sum"


def test_names_in_c() -> None:
    for name in ("malloc", "class", "a.b", "int64_t", "INT64_MAX", "main", "ragged_set_threads", "ragged_call", "é"):
        assert c_name(name) == mangle(name)
    assert [c_name(name) for name in ("fail", "explain", "attention_pooling", "F")] == [
        "fail", "explain", "attention_pooling", "F"
    ]  # fmt: skip
    assert not any(in_c_library(c_name(name) + suffix) for name in NAMES for suffix in SUFFIXES)


@pytest.mark.sampled(3)
@pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")
@pytest.mark.parametrize("name", ["double", '*/ "\\', "take"])
def test_libraries(name: str, tmp_path: Path) -> None:
    text = f"func.func {quoted(name)}(%x: tensor<?xf64>) -> tensor<?xf64> {{ return %x : tensor<?xf64> }}"
    library, header = write(text, None, tmp_path / "libf.so")
    found = ctypes.CDLL(str(library))
    values, made = np.array([1.0, 2.0]), (ctypes.c_int64 * 3)()
    call, error = getattr(found, c_name(name)), getattr(found, f"{c_name(name)}_error")
    error.restype = ctypes.c_char_p
    assert call(ctypes.c_void_p(values.ctypes.data), ctypes.c_int64(2), made) == 0
    assert list((ctypes.c_double * 2).from_address(made[0])) == [1, 2]
    assert call(ctypes.c_void_p(values.ctypes.data), ctypes.c_int64(-1), made) == 1
    assert error().decode().startswith(f"{name}: argument 0: expected an extent of at least 0")
    main = f'#include "{header.name}"\nint main(void) {{ return {c_name(name)}_error() != 0; }}\n'
    (tmp_path / "main.c").write_text(main)
    compile_c(tmp_path / "main.c", tmp_path / "main", [str(library)])


def made_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Write a module for the GPU, import it, call its function, and call that by its documented name."""
    with_emulator(monkeypatch)
    text = f"func.func {quoted(name)}(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {{\n"
    text += "%0 = arith.addf %x, %y : tensor<?xf32>\n return %0 : tensor<?xf32> }"
    module = artifact(tmp_path, text)
    [function] = set(module.__all__) - {"synchronize"}
    assert function in (name, mangle(name))
    assert list(getattr(module, function)(np.ones(3, "f4"), np.ones(3, "f4")).get()) == [2, 2, 2]
    with pytest.raises(module.ArgumentError) as error:
        getattr(module, function)(None)
    assert str(error.value).startswith(f"{name}: expected 2 arguments")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["len", "threading", "__builtins__", 'a"""\n', "é", "class"])
def test_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    made_module(tmp_path, monkeypatch, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_modules_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    made_module(tmp_path, monkeypatch, name)


def test_translated() -> None:
    """A function that may have its name in LLVM IR keeps it; others do not take the place of the library's."""
    text = "func.func @{}(%x: f32) -> f32 {{ %0 = func.call @exp(%x) : (f32) -> f32\n return %0 : f32 }}"
    text += "\nfunc.func private @exp(%x: f32) -> f32 {{ return %x : f32 }}"
    assert "@f(" in lowered_to_llvm_ir(load_module(text.format("f"), context()))
    assert "@rg__exp(" in lowered_to_llvm_ir(load_module(text.format("f"), context()))
    assert "@rg__llvm_2Ex(" in lowered_to_llvm_ir(load_module(text.format('"llvm.x"'), context()))


@pytest.mark.parametrize(
    "text",
    [
        r'func.func @"\FF"() { return }',
        r'memref.global "private" @"\FF" : memref<1xf32>',
        r'func.func @f(%x: tensor<1xf32>) { ragged.print %x {label = "\FF"} : (tensor<1xf32>) -> () return }',
        r'func.func @f(%x: tensor<?x?xf32, #ragged.layout<"\FF">>) { return }',
    ],
)
def test_names_that_are_no_text(text: str) -> None:
    with pytest.raises(VerifyError, match=r'expected text in UTF-8, got "\\FF"'):
        compile(text)
