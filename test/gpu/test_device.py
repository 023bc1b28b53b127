"""On a GPU with the real CuPy: what the fake of `ragged_dialect/emulator/cupy_stand_in.py` takes for granted."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.twice import BAD, GOOD, MESSAGE, TWICE, ZEROS

import ragged_dialect
from ragged_dialect import ArgumentError, DeviceError, RuntimeCheckError, compile
from ragged_dialect.artifacts import gpu_module

pytestmark = pytest.mark.gpu

F32 = np.float32


@pytest.fixture
def cupy() -> Iterator[Any]:
    """The module, with nothing left to be raised afterwards."""
    import cupy

    yield cupy
    ragged_dialect.synchronize()


def on_device(cupy: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of a ragged tensor on the device."""
    return tuple(cupy.asarray(part) for part in parts)


def test_results(cupy: Any) -> None:
    f = compile(TWICE, target="auto")
    assert f.target == "gpu"
    for given in (GOOD, on_device(cupy, GOOD)):
        values, offsets = f(given)
        assert isinstance(values, cupy.ndarray)
        assert (values.get().tolist(), offsets.get().tolist()) == ([2, 4, 6], GOOD[1].tolist())


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries(cupy: Any, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"no {library}")
    if library == "torch":
        import torch

        if not torch.cuda.is_available():
            pytest.skip("PyTorch without CUDA")
        given = tuple(torch.asarray(part, device="cuda") for part in GOOD)
    else:
        import jax

        if jax.default_backend() != "gpu":
            pytest.skip("JAX without CUDA")
        jax.config.update("jax_enable_x64", True)
        given = tuple(jax.device_put(part, jax.devices("gpu")[0]) for part in GOOD)
    assert compile(TWICE, target="gpu")(given)[0].get().tolist() == [2, 4, 6]


def test_a_failed_check_is_raised_by_a_later_call(cupy: Any) -> None:
    f = compile(TWICE, target="gpu")
    good, bad = on_device(cupy, GOOD), on_device(cupy, BAD)
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.wait_event(cupy.cuda.get_current_stream().record())
    with stream:
        f(bad)
        stream.synchronize()
    assert f(good)[0].get().tolist() == [2, 4, 6]  # another stream
    with stream:
        with pytest.raises(RuntimeCheckError) as error:
            f(good)
        assert str(error.value) == MESSAGE
        assert f(good)[0].get().tolist() == [2, 4, 6]


def test_synchronize_and_checks_at_once(cupy: Any) -> None:
    compile(TWICE, target="gpu")(BAD)
    with pytest.raises(RuntimeCheckError) as error:
        ragged_dialect.synchronize()
    assert str(error.value) == MESSAGE
    with pytest.raises(RuntimeCheckError) as error:
        compile(TWICE, target="gpu", check="sync")(BAD)
    assert str(error.value) == MESSAGE


def test_graphs(cupy: Any) -> None:
    """A captured call runs again on what its argument holds then."""
    f = compile(TWICE, target="gpu")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = on_device(cupy, GOOD)
        f(x)
        stream.synchronize()
        stream.begin_capture()
        values, _ = f(x)
        graph = stream.end_capture()
        for factor in (1, 10):
            x[0][...] = cupy.asarray(factor * GOOD[0])
            graph.launch(stream)
            assert values.get().tolist() == [2 * factor, 4 * factor, 6 * factor]
        x[1][...] = cupy.asarray(BAD[1])
        graph.launch(stream)
        with pytest.raises(RuntimeCheckError) as error:
            ragged_dialect.synchronize()
        assert str(error.value) == MESSAGE


class Foreign:
    """An array by its interface, at an address."""

    def __init__(self, pointer: int) -> None:
        self.__cuda_array_interface__ = {"data": (pointer, False), "shape": (3,), "typestr": "<f4", "version": 3}


def test_pointers_of_the_host(cupy: Any) -> None:
    f = compile(TWICE, target="gpu")
    host, pinned = np.zeros(3, F32), cupy.cuda.alloc_pinned_memory(64)
    for pointer in (host.ctypes.data, pinned.ptr, 0):
        with pytest.raises(ArgumentError, match=r"expected memory on the device, got a (host|null) pointer"):
            f((Foreign(pointer), GOOD[1]))
    x = cupy.asarray(GOOD[0])
    assert f((Foreign(x.data.ptr), GOOD[1]))[0].get().tolist() == [2, 4, 6]


def test_out_of_memory(cupy: Any) -> None:
    f = compile(ZEROS, target="gpu")
    with pytest.raises(DeviceError, match="f: expected enough free memory on the device, got: "):
        f(2**42)
    assert f(3).get().tolist() == [0, 0, 0]


def test_an_artifact(cupy: Any, tmp_path: Path) -> None:
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    path = gpu_module.write(TWICE, None, tmp_path / "twice.py", arch=arch)
    spec = importlib.util.spec_from_file_location("twice", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "twice", made)
        spec.loader.exec_module(made)
    assert made.twice(GOOD)[0].get().tolist() == [2, 4, 6]
    made.twice(BAD)
    with pytest.raises(made.RuntimeCheckError) as error:
        made.synchronize()
    assert str(error.value) == MESSAGE
