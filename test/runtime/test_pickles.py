"""Functions in pickles: read in a process of its own, they do what they did."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.processes import python

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.asm.module import load_module
from ragged_dialect.compiler.cpu import load_lowered, lower_for_cpu
from ragged_dialect.dialect import context

TEXT = """func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
MODULE = """
import numpy as np, ragged_dialect as rg
@rg.jit
def pooled(x): return rg.softmax(x, axis=1).sum(axis=1)
@rg.jit(static=("axis",))
def summed(x, axis): return x.sum(axis=axis)
def loss(x): return (x * x).sum()
slope = rg.grad(loss)
both = rg.value_and_grad(loss, argnums=(0,))
named = rg.jit(loss)
"""
READ = """
import pickle, sys
import numpy as np
functions, arguments, expected = pickle.load(open(sys.argv[1], "rb"))
for function, given, wanted in zip(functions, arguments, expected):
    found = function(*given)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted))):
        for x, y in zip(*(x if isinstance(x, tuple) else (x,) for x in (a, b))):
            np.testing.assert_array_equal(getattr(x, "values", x), getattr(y, "values", y))
"""


def test_functions_are_read_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    made = __import__("made")
    x, v = rg.from_lengths(np.arange(6.0), [1, 2, 3]), np.arange(4, dtype="float32")
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (made.pooled, (x,)),
        (made.summed, (x, 1)),
        (made.slope, (x,)),
        (made.both, (x,)),
        (made.named, (x,)),
        (rg.softmax, (x,)),
        (rg.jit(rg.softmax), (x,)),
        (rg.compile(TEXT), (v,)),
        (rg.compile(TEXT.encode(), target="emulator"), (v,)),
        (rg.compile(load_module(TEXT, context())), (v,)),
    ]
    expected = [function(*given) for function, given in calls]
    functions, arguments = zip(*calls, strict=True)
    (tmp_path / "data").write_bytes(pickle.dumps((functions, arguments, expected)))
    python("-c", READ, str(tmp_path / "data"), folder=str(tmp_path))
    assert pickle.loads(pickle.dumps(made.pooled)) is made.pooled


def test_functions_of_a_script_are_sent_by_cloudpickle(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle", reason="no cloudpickle (pip install cloudpickle)")
    script = """
import cloudpickle, ragged_dialect as rg
@rg.jit
def double(x): return x + x
open("sent", "wb").write(cloudpickle.dumps(double))
"""
    read = "import pickle, numpy as np; assert pickle.load(open('sent', 'rb'))(np.ones(2)).tolist() == [2.0, 2.0]"
    for text in (script, read):
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env=env, check=True, timeout=120)


def test_functions_without_a_recipe_and_things_that_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moved.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    moved = __import__("moved")
    kept = pickle.dumps(moved.pooled)
    moved.pooled = 3
    with pytest.raises(rg.ArgumentError, match=r"jit: expected a jit function at moved\.pooled, got int"):
        pickle.loads(kept)
    with pytest.raises(rg.ArgumentError) as caught:
        pickle.dumps(load_lowered(lower_for_cpu(TEXT)))
    assert str(caught.value) == "expected a function that ragged_dialect.compile made to pickle, got another one"
    with pytest.raises(AttributeError):
        pickle.loads(pickle.dumps(rg.jit(np.sin)).replace(b"sin", b"sim"))
