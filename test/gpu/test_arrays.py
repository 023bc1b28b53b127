"""Arrays in the memory of a GPU do what they do in the CPU's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

pytestmark = pytest.mark.gpu

LENGTHS = [3, 0, 7]
Dense = dict[str, Any]

CASES: dict[str, Callable[[Any, Any, Dense], Any]] = {
    "list of components": lambda x, y, d: x[[2, 0]],
    "array of components": lambda x, y, d: x[d["ids"]],
    "take a list": lambda x, y, d: x.take([1, 0], 0),
    "a list beside an array": lambda x, y, d: np.add(x, [1.0, 2.0]),
    "a list in jit": lambda x, y, d: rg.jit(lambda a: a * [1.0, 2.0])(x),
    "mask": lambda x, y, d: x[x[..., 0] > 0],
    "part of every component": lambda x, y, d: x[:, 1:3],
    "backwards": lambda x, y, d: x[:, ::-1],
    "component": lambda x, y, d: x[2],
    "row": lambda x, y, d: x[0, 1],
    "values of windows": lambda x, y, d: x[:, 1:].values,
    "components": lambda x, y, d: [part.sum() for part in x],
    "dense": lambda x, y, d: x + d["row"],
    "numbers": lambda x, y, d: 2 / (x + 3),
    "two": lambda x, y, d: rg.where(x > 0, x, y),
    "sum": lambda x, y, d: (x.sum(), x.sum(0), x.sum(1), x.sum(2)),
    "statistics": lambda x, y, d: (x.max(1), x.argmax(1), x.std(1)),
    "softmax": lambda x, y, d: rg.softmax(x, axis=1),
    "jit": lambda x, y, d: rg.jit(lambda a: rg.softmax(a * 2, axis=1).sum(1))(x),
    "norm": lambda x, y, d: rg.layer_norm(x),
    "product": lambda x, y, d: (x @ d["weights"], rg.transposed_matmul(x, y)),
    "attention": lambda x, y, d: rg.attention(x, y, y),
    "scan": lambda x, y, d: x.cumsum(1),
    "joined": lambda x, y, d: (np.concatenate([x, y], axis=1), rg.concat([x, y], axis=0), rg.stack([x, y])),
    "padded": lambda x, y, d: (x.to_padded(-1.0), rg.from_padded(x.to_padded(0), x.lengths)),
    "parts": lambda x, y, d: (x.lengths, x.offsets, x.row_ids, np.array_split(x, 2)),
    "alike": lambda x, y, d: (np.ones_like(x), np.zeros_like(x), np.full_like(x, 3, "i4")),
    "of rows": lambda x, y, d: rg.from_row_ids(x.values, x.row_ids, 3),
    "types": lambda x, y, d: (x.astype("f8"), np.round(x), np.isnan(x).sum()),
    "gradient": lambda x, y, d: rg.grad(lambda a: (rg.softmax(a, axis=1) * a).sum())(x),
    "copies": lambda x, y, d: (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.tolist()),
}


def world(place: Callable[[np.ndarray], Any]) -> tuple[Any, Any, Dense]:
    """Arguments of a case, with memory where `place` puts it."""
    rng = np.random.default_rng(0)
    x, y = (rg.from_lengths(place(rng.standard_normal((10, 2)).astype("f4")), LENGTHS) for _ in range(2))
    dense = {"ids": np.array([2, 0, 2]), "row": np.float32([1, 2]), "weights": np.ones((2, 3), "f4")}
    return x, y, {name: place(array) for name, array in dense.items()}


def flat(result: Any) -> list[np.ndarray]:
    """All arrays of a result, on the host."""
    if isinstance(result, rg.RaggedArray):
        return flat((result.values, result.offsets))
    if isinstance(result, list | tuple):
        return [array for part in result for array in flat(part)]
    return [np.asarray(result.get() if hasattr(result, "get") else result)]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", CASES)
def test_as_on_the_cpu(case: str) -> None:
    import cupy

    for found, wanted in zip(
        flat(CASES[case](*world(cupy.asarray))), flat(CASES[case](*world(np.asarray))), strict=True
    ):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_structure_is_owned() -> None:
    import cupy

    offsets = cupy.asarray(np.array([0, 3, 3, 10]))
    x = rg.from_offsets(cupy.asarray(np.zeros((10, 2), "f4")), offsets)
    offsets[1] = 2
    x.offsets[1] = 2
    assert x.offsets.get().tolist() == [0, 3, 3, 10]


def test_bad_data() -> None:
    import cupy

    values = cupy.asarray(np.zeros((10, 2), "f4"))
    with pytest.raises(rg.RuntimeCheckError, match=r"expected offsets\[2\] >= offsets\[1\], got 3 < 5"):
        rg.from_offsets(values, cupy.asarray(np.array([0, 5, 3, 10])))
    with pytest.raises(rg.RuntimeCheckError, match=r"expected row_ids\[5\] >= row_ids\[4\], got 0 < 1"):
        rg.from_row_ids(values, cupy.asarray(np.array([0, 0, 0, 1, 1, 0, 1, 2, 2, 2])))


def test_arrays_of_two_devices_do_not_meet() -> None:
    import cupy

    x, _, _ = world(cupy.asarray)
    row = np.float32([1, 2])
    for mixed in (lambda a: a + row, rg.jit(lambda a: a + row)):
        with pytest.raises(rg.ArgumentError, match="expected arrays on one device, got c"):
            mixed(x)


def test_files(tmp_path: Path) -> None:
    import cupy

    x, _, _ = world(cupy.asarray)
    rg.save_npz(tmp_path / "x.npz", x)
    assert rg.load_npz(tmp_path / "x.npz").tolist() == x.tolist()
