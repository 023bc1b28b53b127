"""What fvdb's JaggedTensor refuses, by name."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from support.torch_like import call_torch

import ragged_dialect as rg
from ragged_dialect.compat.fvdb import JaggedTensor
from ragged_dialect.errors import (
    ArgumentError,
    AxisError,
    DeviceError,
    LayoutError,
    RaggedError,
    RangeError,
    RuntimeCheckError,
)


def tensor() -> JaggedTensor:
    return JaggedTensor([np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])])


def nested() -> JaggedTensor:
    return JaggedTensor([[np.zeros(2), np.zeros(1)], [np.zeros(4)]])


def ids(offsets: list[int], list_ids: Any) -> JaggedTensor:
    return JaggedTensor.from_data_offsets_and_list_ids(np.zeros(offsets[-1]), offsets, np.array(list_ids))


def assigned(jt: JaggedTensor, value: Any) -> None:
    jt += value


ERRORS: list[tuple[Any, type[RaggedError], str]] = [
    (lambda: JaggedTensor([]), ArgumentError, "ragged: expected at least one array, got none"),
    (lambda: JaggedTensor([[], []]), ArgumentError, "ragged: expected at least one array, got none"),
    (
        lambda: JaggedTensor([np.zeros(1), [np.zeros(1)]]),
        ArgumentError,
        "JaggedTensor: expected tensors or lists of tensors, got both",
    ),
    (lambda: JaggedTensor([np.zeros((1, 2)), np.zeros((1, 3))]), ArgumentError, r"expected arrays of shape \[n, 2\]"),
    (
        lambda: JaggedTensor.from_tensor(np.zeros(())),
        ArgumentError,
        "JaggedTensor: expected a tensor of rank 1 or more, got rank 0",
    ),
    (
        lambda: JaggedTensor(impl=rg.from_offsets(np.zeros((2, 2)), [0, 1], [0, 1], [0, 2])),
        LayoutError,
        'JaggedTensor: expected one or two ragged levels in front, got layout "drrr\\|d"',
    ),
    (
        lambda: JaggedTensor.from_data_and_offsets(np.zeros(3), [0, 2, 1, 3]),
        RuntimeCheckError,
        r"expected offsets\[2\] >= offsets\[1\], got 1 < 2",
    ),
    (
        lambda: JaggedTensor.from_data_and_indices(np.zeros(2), [0, 3], 3),
        RuntimeCheckError,
        r"expected row_ids\[1\] in \[0, 3\), got 3",
    ),
    (lambda: ids([0, 1, 2], [[0, 0]]), ArgumentError, r"list_ids: expected shape \[2, 2\], got \[1, 2\]"),
    (lambda: ids([0, 1, 3], [0, 0]), ArgumentError, r"list_ids: expected shape \[2, 2\] or \[3\], got \[2\]"),
    (lambda: ids([0, 1, 2], [[0, 0], [0, 2]]), RuntimeCheckError, "list_ids: expected place 1 for tensor 1, got 2"),
    (lambda: ids([0, 1, 2], [[1, 0], [0, 0]]), RuntimeCheckError, r"expected row_ids\[1\] >= row_ids\[0\], got 0 < 1"),
    (
        lambda: ids([0, 2, 2], [0, 0]),
        RuntimeCheckError,
        r"list_ids: expected elements in every tensor, got none in tensor 1 \(give rows\)",
    ),
    (lambda: ids([0, 2], [0, 1]), RuntimeCheckError, "list_ids: expected list 0 for element 1, got 1"),
    (lambda: tensor().jagged_like(np.zeros(2)), RuntimeCheckError, r"like.*expected offsets\[2\] == 2, got 3"),
    (lambda: tensor().jreshape([1, 1]), RuntimeCheckError, "expected lengths to sum to 3, got 2"),
    (lambda: tensor().jreshape_as(np.zeros(2)), RuntimeCheckError, r"expected offsets\[1\] == 3, got 2"),
    (lambda: tensor().jflatten(1), AxisError, r"jflatten: expected dim in \[-1, 1\), got 1"),
    (lambda: nested().jflatten(-3), AxisError, r"jflatten: expected dim in \[-2, 2\), got -3"),
    (lambda: tensor().jsqueeze(2), AxisError, r"jsqueeze: expected dim in \(-2, 2\), got 2"),
    (lambda: tensor().jsum(-2), AxisError, r"jsum: expected dim in \(-2, 2\), got -2"),
    (lambda: tensor().jmax(2), AxisError, r"jmax: expected dim in \(-2, 2\), got 2"),
    (lambda: tensor()[2], RangeError, r"expected an index in \[-2, 2\), got 2"),
    (lambda: tensor()["a"], ArgumentError, "expected an int, a slice, ... or a JaggedTensor as index, got str"),
    (lambda: tensor().rmask(np.zeros(3)), ArgumentError, "rmask: expected a vector of booleans, got float64 of rank 1"),
    (lambda: tensor().rmask(np.zeros(2, bool)), RuntimeCheckError, r"expected offsets\[2\] == 2, got 3"),
    (
        lambda: tensor()[JaggedTensor([np.array([0]), np.array([1])])],
        RangeError,
        r"component 1: expected index in \[-1, 1\), got 1",
    ),
    (
        lambda: tensor()[JaggedTensor([np.array([0])])],
        RuntimeCheckError,
        r"expected tensors of one structure, got different ones \(.*expected 2 components, got 1",
    ),
    (
        lambda: nested()[JaggedTensor([[np.array([0])], [np.array([0]), np.array([0])]])],
        RuntimeCheckError,
        r"expected tensors of one structure, got different ones \(.*expected length 2, got 1",
    ),
    (lambda: nested()[tensor().long()], RuntimeCheckError, "expected a structure of 2 levels, got 1"),
    (lambda: tensor() + tensor()[:1], RuntimeCheckError, "expected 2 components, got 1"),
    (
        lambda: JaggedTensor.__torch_function__(np.add, (), (tensor(), tensor()[:1])),
        RuntimeCheckError,
        "expected tensors of one structure, got different ones",
    ),
    (
        lambda: JaggedTensor.__torch_function__(np.add, (), (1, 2)),
        ArgumentError,
        "expected a jagged tensor among the arguments, got none",
    ),
    (
        lambda: np.add.reduce(tensor()),
        ArgumentError,
        r"np.add.reduce: expected a call \(use jsum, jmin or jmax\), got a method",
    ),
    (lambda: tensor().int().sqrt_(), ArgumentError, "expected a result that int32 holds in place, got float64"),
    (
        lambda: assigned(tensor().jsum(1, keepdim=True), np.zeros((1, 3))),
        ArgumentError,
        r"expected a result of shape \(3, 1\) in place, got \(3, 3\)",
    ),
    (
        lambda: np.add(tensor(), 1, out=np.zeros(3)),
        ArgumentError,
        "np.add: expected one jagged tensor for out, got another",
    ),
    (lambda: tensor().to("tpu"), ArgumentError, "expected a device or a dtype, got tpu"),
    (lambda: tensor().type("cuda:0"), ArgumentError, "expected a device or a dtype, got cuda:0"),
    (
        lambda: tensor().requires_grad_(True),
        ArgumentError,
        "requires_grad_: expected an array of PyTorch's, got one of numpy",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(call: Any, error: type[RaggedError], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


REFUSED = [
    (lambda: JaggedTensor(impl=3), "JaggedTensor: expected a ragged array, got int"),
    (lambda: JaggedTensor([np.zeros(3)], impl=tensor()), "JaggedTensor: expected tensors or impl, got both"),
    (
        lambda: call_torch(np.add, tensor(), 1, out=np.zeros(3)),
        "torch.add: expected a jagged tensor for out, got ndarray",
    ),
    (lambda: JaggedTensor(3), "JaggedTensor: expected a list of tensors, got int"),
    (lambda: JaggedTensor.from_list_of_lists_of_tensors([1]), "JaggedTensor: expected a list of tensors, got int"),
    (lambda: tensor().jreshape(None), "jreshape: expected a list of lengths, got NoneType"),
    (lambda: tensor().jsum("a"), "jsum: expected an integer for dim, got str"),
    (lambda: tensor().round("a"), "round: expected an integer for decimals, got str"),
    (lambda: np.cumsum(tensor()), r"expected a dense array, got a jagged tensor \(use jdata or unbind\)"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refused_arguments(call: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        call()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is here")
def test_a_gpu_needs_cupy() -> None:
    with pytest.raises(DeviceError, match=r"expected CuPy for arrays on a GPU, got none \("):
        tensor().cuda()


@pytest.mark.gpu
def test_to_the_gpu_and_back() -> None:
    jt = nested().cuda()
    assert jt.is_cuda
    assert (jt.device, jt.lshape) == ("cuda:0", [[2, 1], [4]])
    assert (jt + 1).cpu().jdata.tolist() == [1.0] * 7
    assert jt.to("cuda:0").array is jt.array
