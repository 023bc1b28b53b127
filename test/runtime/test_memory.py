"""A lack of memory is an error that names the size: nothing is lost, nothing of the call is left."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.processes import python
from support.structures import text_of
from support.twice import ZEROS

from conftest import ROOT
from ragged_dialect import AllocationError, DeviceError, DeviceMemoryError, RaggedError, compile
from ragged_dialect.runtime.frames import descriptor_array

TOO_LARGE = r"f: expected a buffer of less than 2\*\*63 bytes, got a larger one"


def run_worker(*arguments: str, threads: int = 1) -> str:
    """What `support/memory_worker.py` prints in a process of its own."""
    return python("-m", "support.memory_worker", *arguments, RAGGED_NUM_THREADS=str(threads)).stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_allocation_may_fail(threads: int) -> None:
    assert len(run_worker("fail", threads=threads).splitlines()) == 11


def test_sizes_that_there_is_no_memory_for() -> None:
    assert run_worker("large").splitlines() == [
        "268435456 f: expected memory for 6442451008 bytes, got none",
        "2147483648 f: expected memory for 51539607616 bytes, got none",
        "35184372088832 f: expected memory for 844424930132032 bytes, got none",
        "1152921504606846976 f: expected a buffer of less than 2**63 bytes, got a larger one",
        "768614336404564651 f: expected a buffer of less than 2**63 bytes, got a larger one",
        "4611686018427387904 ragged.to_padded: level 1: expected a size below 2**63, got 4611686018427387904 * 2",
        "9223372036854775807 ragged.to_padded: level 1: expected a size below 2**63, got 9223372036854775807 * 2",
        "268435456 (0, 268435456, 3)",
        "2147483648 (0, 2147483648, 3)",
        "35184372088832 (0, 35184372088832, 3)",
        "1152921504606846976 f: expected a buffer of less than 2**63 bytes, got a larger one",
        "768614336404564651 f: expected a buffer of less than 2**63 bytes, got a larger one",
        "4611686018427387904 f: expected a buffer of less than 2**63 bytes, got a larger one",
        "9223372036854775807 f: expected a buffer of less than 2**63 bytes, got a larger one",
    ]


@pytest.mark.parametrize("extent", [2**46, 2**61 - 1, 2**62, 2**63 - 1])
def test_the_error_names_the_size(extent: int) -> None:
    """Far above what any machine has."""
    with pytest.raises(AllocationError, match=r"^f: expected (memory for \d+ bytes, got none|a buffer of less than)"):
        compile(ZEROS)(extent)
    np.testing.assert_array_equal(compile(ZEROS)(3), np.zeros(3))


def test_negative_extents_without_checks() -> None:
    less = ["%c9 = arith.constant 9 : index", "%n = arith.subi %a0, %c9 : index"]
    body = [*less, "%0 = tensor.empty(%n) : tensor<?xf32>"]
    function = compile(text_of(["index"], body, [("%0", "tensor<?xf32>")]), check=False)
    assert function(12).shape == (3,)
    with pytest.raises(AllocationError, match=TOO_LARGE):
        function(3)


def test_static_sizes() -> None:
    """The type alone tells that the bytes wrap."""
    square = "tensor<4294967296x4294967296xf32>"
    with pytest.raises(AllocationError, match=TOO_LARGE):
        compile(text_of(["f32"], [f"%0 = tensor.splat %a0 : {square}"], [("%0", square)]))(1.0)


def test_errors_are_memory_errors() -> None:
    assert issubclass(AllocationError, (RaggedError, MemoryError))
    assert issubclass(DeviceMemoryError, DeviceError)
    with pytest.raises(DeviceMemoryError, match="expected enough memory"):
        compile(ZEROS, target="emulator")(2**60)


AT_EXIT = f"""
import abc, ctypes
import numpy as np
import ragged_dialect as rg
from ragged_dialect.arrays.core import buffer
from ragged_dialect.runtime import frames

abc.kept = [rg.from_offsets(np.ones(3), [0, 1, 3]) + 1, rg.compile('''{ZEROS}''')(3)]
for module in (abc, buffer, frames):  # what something outside of Python holds loses its names, the oldest last
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
"""


def test_memory_that_is_freed_when_the_interpreter_exits() -> None:
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr == ""


def test_shapes_that_numpy_refuses() -> None:
    fields = [0, 0, 0, 0, 2**62, 1, 1]
    with pytest.raises(AllocationError, match=r"expected a result that NumPy can hold, got one of shape \(0, \d+\)"):
        descriptor_array(None, fields, np.dtype(np.float32))


def test_memory_of_another_size_makes_few_classes() -> None:
    """Array types of ctypes are some: results of ragged programs have another size on every call."""
    values = np.arange(40.0)
    fields = [[0, values.ctypes.data, 1, n, 1] for n in range(39)]
    made = [descriptor_array(None, f, values.dtype) for f in fields]
    assert [x.tolist() for x in made] == [values[1 : n + 1].tolist() for n in range(39)]
    assert 1 < len({type(x.base) for x in made}) < 11  # as many as sizes have numbers of bits
