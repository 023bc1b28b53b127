"""The bindings in a process that has another LLVM, loaded before or after them, and another allocator."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

USE = "import numpy, ragged_dialect as rg; assert rg.from_lengths(numpy.ones(3), [1, 2]).sum(1).tolist() == [1, 2]; "
FLAGS = "import sys; before = sys.getdlopenflags(); "
SAME = "assert sys.getdlopenflags() == before; "
PEERS = ("tensorflow", "triton", "numba", "jax", "torch", "llvmlite.binding")
TEXT = (
    r"expected to load MLIR before \S+, which has an LLVM too, got it second, with malloc of \S+; "
    "put 'from ragged_dialect import compile' before the import that loads the other"
)
# An LLVM whose options end the process, as they do where two get mixed.
LLVM = "#include <stdlib.h>\nvoid _ZN4llvm2cl6Option11addArgumentEv(void) { abort(); }\n"
ALLOCATOR = """
#include <stddef.h>
void *__libc_malloc(size_t);
void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *p) { __libc_free(p); }
"""


def run(code: str, preload: str = "") -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "LD_PRELOAD": preload}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def library(folder: Path, source: str) -> Path:
    """A shared library of C."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "made.c").write_text(source)
    subprocess.run([compiler, "-shared", "-fPIC", "-fno-builtin", "-o", "made.so", "made.c"], cwd=folder, check=True)
    return folder / "made.so"


def load(path: Path) -> str:
    """Code that loads a library for all to see."""
    return f"import ctypes; ctypes.CDLL({str(path)!r}, ctypes.RTLD_GLOBAL); "


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["import ragged_dialect; {load}{use}", "{use}{load}{use}"])
def test_another_llvm(tmp_path: Path, order: str) -> None:
    other = load(library(tmp_path, LLVM))
    done = run(FLAGS + order.format(load=other, use=USE) + SAME)
    assert done.returncode == 0, done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize("allocator", ["own", "jemalloc", "tcmalloc_minimal"])
def test_another_llvm_and_another_allocator(tmp_path: Path, allocator: str) -> None:
    """Apart they work; together the bindings come first, or do not come."""
    preload = str(library(tmp_path, ALLOCATOR)) if allocator == "own" else ctypes.util.find_library(allocator)
    if preload is None:
        pytest.skip(f"no {allocator}")
    (tmp_path / "llvm").mkdir()
    made = library(tmp_path / "llvm", LLVM)
    for code in (USE, "from ragged_dialect import compile; " + load(made) + USE):
        done = run(code, preload)
        assert done.returncode == 0, done.stderr
    done = run(f"{FLAGS}\ntry: {load(made)}{USE}\nexcept rg.RaggedError as error: {SAME}print(error)", preload)
    assert done.returncode == 0, done.stderr
    assert str(made) in done.stdout
    assert re.match(TEXT, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("order", ["{load}{use}", "{use}{load}{use}", "import ragged_dialect; {load}{use}"])
def test_peers(peer: str, order: str) -> None:
    if importlib.util.find_spec(peer.partition(".")[0]) is None:
        pytest.skip(f"no {peer}")
    done = run(FLAGS + order.format(load=f"import {peer}; ", use=USE))
    assert done.returncode == 0, done.stderr
