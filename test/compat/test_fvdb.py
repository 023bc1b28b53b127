"""fvdb's JaggedTensor: the examples of its page, random structures against lists."""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.parity_fvdb import TABLE

import ragged_dialect as rg
from ragged_dialect.compat.fvdb import JaggedTensor
from ragged_dialect.errors import (
    RuntimeCheckError,
)

Array = np.ndarray[Any, np.dtype[Any]]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def _numpy_as_torch() -> SimpleNamespace:
    rng = np.random.default_rng(0)
    return SimpleNamespace(
        tensor=np.array, randn=lambda *shape: rng.standard_normal(shape), relu=lambda x: np.maximum(x, 0)
    )


@pytest.fixture(params=["numpy", pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch"))])
def torch(request: pytest.FixtureRequest) -> Any:
    """PyTorch, and what the examples use of it with NumPy's arrays."""
    if request.param == "numpy":
        return _numpy_as_torch()
    import torch

    return torch


def test_example_of_the_class(torch: Any) -> None:
    jt = JaggedTensor.from_list_of_tensors([torch.randn(3, 4), torch.randn(2, 4), torch.randn(5, 4)])
    jt2 = jt + 1.0
    jt3 = torch.relu(jt2)
    data = jt3.jdata
    offsets = jt3.joffsets
    first_tensor = jt3[0]
    last_tensor = jt3[-1]
    np.testing.assert_allclose(data, np.maximum(np.asarray(jt.jdata) + 1, 0), rtol=1e-6)
    assert offsets.tolist() == [0, 3, 5, 10]
    np.testing.assert_array_equal(first_tensor.jdata, data[:3])
    np.testing.assert_array_equal(last_tensor.jdata, data[5:])


def test_example_of_indices(torch: Any) -> None:
    data = torch.tensor([1, 2, 3, 4, 5, 6])
    indices = torch.tensor([0, 0, 1, 1, 1, 2])
    jt = JaggedTensor.from_data_and_indices(data, indices, num_tensors=3)
    assert [t.tolist() for t in jt.unbind()] == [[1, 2], [3, 4, 5], [6]]


def test_example_of_offsets(torch: Any) -> None:
    data = torch.tensor([1, 2, 3, 4, 5, 6])
    offsets = torch.tensor([0, 2, 5, 6])
    jt = JaggedTensor.from_data_and_offsets(data, offsets)
    assert [t.tolist() for t in jt.unbind()] == [[1, 2], [3, 4, 5], [6]]
    assert type(jt.jdata) is type(data)


def test_example_of_list_ids(torch: Any) -> None:
    data = torch.tensor([1, 2, 3, 4, 5, 6])
    offsets = torch.tensor([0, 2, 5, 6])
    list_ids = torch.tensor([[0, 0], [0, 1], [1, 0]])
    jt = JaggedTensor.from_data_offsets_and_list_ids(data, offsets, list_ids)
    assert [[t.tolist() for t in row] for row in jt.unbind()] == [[[1, 2], [3, 4, 5]], [[6]]]


def test_example_of_flatten() -> None:
    t_00, t_01, t_b0 = np.zeros(2), np.ones(1), np.full(4, 2.0)
    jt = JaggedTensor.from_list_of_lists_of_tensors([[t_00, t_01], [t_b0]])
    jt_flat = jt.jflatten(dim=0)
    assert jt_flat.ldim == 1
    assert [t.tolist() for t in jt_flat.unbind()] == [[0, 0], [1], [2, 2, 2, 2]]
    assert jt.jflatten(dim=1).lshape == [3, 4]


def test_examples_of_the_properties(torch: Any) -> None:
    jt = JaggedTensor.from_list_of_tensors([torch.randn(2, 4), torch.randn(3, 4), torch.randn(1, 4)])
    assert jt.joffsets.tolist() == [0, 2, 5, 6]
    assert jt.jidx.tolist() == [0, 0, 1, 1, 1, 2]
    assert jt.lshape == [2, 3, 1]
    assert jt.rshape == (6, 4)
    jt_ll = JaggedTensor.from_list_of_lists_of_tensors([[torch.randn(2, 3), torch.randn(1, 3)], [torch.randn(4, 3)]])
    assert jt_ll.joffsets.tolist() == [0, 2, 3, 7]
    assert jt_ll.jlidx.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert jt_ll.lshape == [[2, 1], [4]]
    assert (jt.edim, jt.eshape, jt.ldim, jt.num_tensors) == (1, [4], 1, 3)
    assert (jt_ll.edim, jt_ll.eshape, jt_ll.ldim, jt_ll.num_tensors) == (1, [3], 2, 3)
    assert tuple(jt.jlidx.shape) == (0, 1)
    assert jt.is_cpu
    assert not jt.is_cuda


def test_example_of_the_extrema() -> None:
    tensors = [np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([[0.0, -1.0]])]
    jt = JaggedTensor.from_list_of_tensors(tensors)
    values, indices = jt.jmax(dim=0)
    np.testing.assert_array_equal(values.jdata, [t.max(axis=0) for t in tensors])
    np.testing.assert_array_equal(indices.jdata, [t.argmax(axis=0) for t in tensors])
    values, indices = jt.jmin(dim=0)
    np.testing.assert_array_equal(values.jdata, [t.min(axis=0) for t in tensors])
    np.testing.assert_array_equal(indices.jdata, [t.argmin(axis=0) for t in tensors])
    assert values.lshape == indices.lshape == [1, 1]


LSHAPES = [[10, 20, 0, 5], [100, 200], [1], [0, 0, 4]]


@pytest.mark.parametrize("eshape", [(), (3,), (3, 4), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("lshape", [LSHAPES, *LSHAPES, [[2, 1], [], [4]]], ids=str)
def test_round_trip_of_shapes(lshape: Any, eshape: tuple[int, ...]) -> None:
    def make(shape: Any) -> Any:
        return [make(s) for s in shape] if isinstance(shape, list) else np.zeros((shape, *eshape), np.float32)

    jt = JaggedTensor(make(lshape))
    assert (jt.lshape, jt.eshape, jt.dtype) == (lshape, list(eshape), np.float32)
    again = JaggedTensor.from_data_and_offsets(jt.jdata, jt.joffsets).jreshape(lshape)
    assert again.lshape == lshape
    assert np.shares_memory(again.jdata, jt.jdata)


def lists(seed: int) -> list[list[Array]]:
    """Three to five lists of up to four tensors of up to five rows of two integers, as floats."""
    rng = np.random.default_rng(seed)
    counts = [2, *rng.integers(0, 4, int(rng.integers(2, 5)))]
    return [[rng.integers(-4, 5, (int(rng.integers(0, 6)), 2)) / 2.0 for _ in range(count)] for count in counts]


def tensors_of(jt: JaggedTensor) -> list[Array]:
    return jt.unbind() if jt.ldim == 1 else [t for row in jt.unbind() for t in row]


def both(seed: int) -> list[tuple[JaggedTensor, list[Array]]]:
    """Lists of lists, and the list of all tensors, with the tensors."""
    nested = lists(seed)
    flat = [t for row in nested for t in row]
    return [(JaggedTensor(nested), flat), (JaggedTensor(flat), flat)]


def assert_tensors(jt: JaggedTensor, expected: list[Array]) -> None:
    found = tensors_of(jt)
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        assert np.shape(got) == np.shape(wanted)


ELEMENTWISE: list[tuple[Callable[[JaggedTensor], JaggedTensor], Callable[[Array], Array]]] = [
    (lambda j: j.abs(), np.abs),
    (lambda j: j.ceil(), np.ceil),
    (lambda j: j.floor(), np.floor),
    (lambda j: j.round(), np.rint),
    (lambda j: (j / 3).round(2), lambda t: np.round(t / 3, 2)),
    (lambda j: (j * 30).round(-1), lambda t: np.round(t * 30, -1)),
    (lambda j: j.abs().sqrt(), lambda t: np.sqrt(np.abs(t))),
    (lambda j: 1 - j * j, lambda t: 1 - t * t),
    (lambda j: j + np.array([1.0, 2.0]), lambda t: t + np.array([1.0, 2.0])),
    (lambda j: np.array([[1.0, 2.0]]) - j, lambda t: np.array([[1.0, 2.0]]) - t),
    (lambda j: j + j.jdata, lambda t: t + t),
    (lambda j: j > 0, lambda t: t > 0),
    (lambda j: np.maximum(-j, 0), lambda t: np.maximum(-t, 0)),
    (lambda j: j @ np.ones((2, 3)), lambda t: t @ np.ones((2, 3))),
    (lambda j: divmod(j, 2)[1], lambda t: t % 2),
    (lambda j: j.float(), lambda t: t.astype(np.float32)),
    (lambda j: j.int(), lambda t: t.astype(np.int32)),
    (lambda j: j.long().double(), np.trunc),
    (lambda j: j.jagged_like(np.arange(len(j.jdata)) * 1.0).jsqueeze() * 0, lambda t: np.zeros(len(t))),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("at", range(len(ELEMENTWISE)))
def test_elementwise(at: int) -> None:
    ours, numpys = ELEMENTWISE[at]
    for jt, expected in [*both(0), *both(1)]:
        made = ours(jt)
        assert made.lshape == jt.lshape
        assert_tensors(made, [numpys(t) for t in expected])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_sums_and_extrema(seed: int) -> None:
    for jt, expected in both(seed):
        assert_tensors(jt.jsum(0), [t.sum(axis=0, keepdims=True) for t in expected])
        assert_tensors(jt.jsum(-1), [t.sum(axis=1) for t in expected])
        assert_tensors(jt.jsum(1, keepdim=True), [t.sum(axis=1, keepdims=True) for t in expected])
        for found, name, empty in ((jt.jmax(), "max", -np.inf), (jt.jmin(), "min", np.inf)):
            values, indices = found
            kept = [getattr(t, name)(axis=0, keepdims=True) if len(t) else np.full((1, 2), empty) for t in expected]
            assert_tensors(values, kept)
            at = [getattr(t, f"arg{name}")(axis=0)[None] if len(t) else np.full((1, 2), -1) for t in expected]
            assert_tensors(indices, at)
        values, indices = jt.jmax(1, keepdim=True)
        assert_tensors(values, [t.max(axis=1, keepdims=True) for t in expected])
        assert_tensors(indices, [t.argmax(axis=1)[:, None] for t in expected])


def test_extrema_keep_infinities() -> None:
    jt = JaggedTensor([np.array([[1, np.inf, -1], [2, 3, -np.inf]]), np.array([[np.inf, 0, 5]])])
    assert jt.jmin()[0].jdata.tolist() == [[1, 3, -np.inf], [np.inf, 0, 5]]
    assert jt.jmax()[0].jdata.tolist() == [[2, np.inf, -1], [np.inf, 0, 5]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
def test_indexing_is_that_of_lists(seed: int) -> None:
    nested = lists(seed)
    flat = [t for row in nested for t in row]
    two, one = JaggedTensor(nested), JaggedTensor(flat)
    for at in (0, 1, -1):
        assert_tensors(two[at], nested[at])
        assert_tensors(one[at], [flat[at]])
    for cut in (slice(1, 3), slice(1, 1), slice(-1, 1), slice(-5000, 5000), slice(0, 8, 2), slice(None, None, -1)):
        assert two[cut].lshape == [[len(t) for t in row] for row in nested[cut]]
        assert_tensors(two[cut], [t for row in nested[cut] for t in row])
        assert_tensors(one[cut], flat[cut])
    assert two[...] is two
    assert len(two) == len(nested)
    assert [part.lshape for part in two] == two.lshape


@pytest.mark.parametrize("seed", range(3))
def test_picking_elements(seed: int) -> None:
    for jt, expected in both(seed):
        keys = jt.jsum(1)
        assert_tensors(jt[keys > 0], [t[t.sum(axis=1) > 0] for t in expected])
        mask = np.arange(len(jt.jdata)) % 2 == 0
        assert jt.rmask(mask).num_tensors == jt.num_tensors
        np.testing.assert_array_equal(jt.rmask(mask).jdata, np.asarray(jt.jdata)[mask])
        backwards = keys.jagged_like(np.concatenate([np.arange(len(t))[::-1] for t in expected]))
        assert_tensors(jt[backwards], [t[::-1] for t in expected])
        assert jt[backwards].lshape == jt.lshape


def test_per_element_list_ids() -> None:
    data, indices, list_ids = np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1])
    assert JaggedTensor.from_data_indices_and_list_ids(data, indices, list_ids, 3).lshape == [[2, 3], [1]]
    rows = np.array([[0, 0], [0, 1], [2, 0]])
    assert JaggedTensor.from_data_indices_and_list_ids(data, indices, rows, 3).lshape == [[2, 3], [], [1]]


def test_regrouping() -> None:
    jt = JaggedTensor([[np.arange(2), np.arange(1)], [np.arange(4)]])
    assert jt.jreshape([3, 4]).lshape == [3, 4]
    assert jt.jreshape([[7], []]).lshape == [[7], []]
    other = JaggedTensor([np.zeros(5), np.zeros(2)])
    assert jt.jreshape_as(other).lshape == [5, 2]
    assert jt.jreshape_as(np.zeros((7, 3))).lshape == [7]
    assert jt.jflatten(0).jflatten().lshape == [7]
    assert jt.jflatten(-1).lshape == jt.jflatten(1).lshape == [3, 4]


def test_squeezing() -> None:
    jt = JaggedTensor([np.zeros((2, 1, 3, 1)), np.zeros((1, 1, 3, 1))])
    assert jt.jsqueeze().eshape == [3]
    assert jt.jsqueeze(1).eshape == [3, 1]
    assert jt.jsqueeze(-1).eshape == [1, 3]
    assert jt.jsqueeze(2).eshape == jt.jsqueeze(0).eshape == [1, 3, 1]
    assert jt.jsqueeze().lshape == [2, 1]


def test_in_place() -> None:
    jt = JaggedTensor([np.array([-1.26, 4.0]), np.array([2.5])])
    old = jt.jdata
    for name in ("abs_", "round_", "ceil_", "floor_", "sqrt_"):
        assert getattr(jt, name)() is jt
    np.testing.assert_allclose(jt.jdata, np.sqrt([1, 4, 2]))
    jt += 1
    jt *= jt
    np.testing.assert_allclose(jt.jdata, (np.sqrt([1, 4, 2]) + 1) ** 2)
    np.testing.assert_array_equal(old, [-1.26, 4.0, 2.5])
    single = JaggedTensor([np.ones(2, np.float32)])
    single /= np.float64(3)
    assert single.dtype == np.float32


def test_integers_are_round_already() -> None:
    jt = JaggedTensor([np.array([-3, 7], np.int32)])
    for made in (jt.round(), jt.ceil(), jt.floor(), jt.round(2)):
        assert made.dtype == np.int32
        assert made.jdata.tolist() == [-3, 7]


def test_copies_and_casts() -> None:
    jt = JaggedTensor([np.array([1.5, 2.5])])
    assert np.shares_memory(jt.detach().jdata, jt.jdata)
    assert not np.shares_memory(jt.clone().jdata, jt.jdata)
    assert jt.clone().jdata.tolist() == [1.5, 2.5]
    assert jt.cpu().device == jt.to("cpu").device == jt.device == "cpu"
    assert jt.to("cpu").to(np.float16).dtype == np.float16
    assert jt.to("float32").type_as(np.zeros(1, np.int8)).type_as(jt.int()).dtype == np.int32
    assert jt.type("torch.int64").dtype == jt.long().dtype == np.int64
    assert jt.type("bfloat16").dtype.name == "bfloat16"
    assert pickle.loads(pickle.dumps(jt)).lshape == [2]
    assert jt.requires_grad is False
    assert jt.requires_grad_(False) is jt


def test_functions_of_torch_act_on_the_data() -> None:
    jt = JaggedTensor([np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])])
    made = JaggedTensor.__torch_function__(np.maximum, (), (jt, jt * -1))
    np.testing.assert_allclose(made.jdata, jt.jdata)
    summed = JaggedTensor.__torch_function__(np.sum, (), (jt,), {"axis": 1})
    assert summed.jdata.tolist() == [3, 7]


def test_no_tensors() -> None:
    jt = JaggedTensor()
    assert (jt.num_tensors, jt.lshape, jt.rshape, jt.dtype) == (0, [], (0,), np.float32)
    assert (jt + 1).abs().jsum().lshape == []
    empty = JaggedTensor.from_data_and_offsets(np.zeros((0, 2)), [0, 0, 0])
    assert (empty * 2).jsum().jdata.tolist() == [[0, 0], [0, 0]]
    assert empty[:0].lshape == []


def test_of_a_ragged_array() -> None:
    array = rg.narrow(np.arange(6).reshape(2, 3), 1, [2, 1])
    jt = JaggedTensor(impl=array)
    assert jt.jdata.tolist() == [1, 2, 4]
    assert JaggedTensor(np.arange(3)).lshape == JaggedTensor.from_tensor(np.arange(3)).lshape == [3]


def test_every_name_is_in_the_parity_table() -> None:
    offered = {name for name in dir(JaggedTensor) if not name.startswith("_")} - {"array"}
    assert offered <= {row.name for row in TABLE.rows}


def test_text() -> None:
    assert repr(JaggedTensor([np.array([1, 2])])).splitlines()[0] == 'JaggedTensor([1, ~], int64, "dr")'


def test_list_ids_of_a_mere_list() -> None:
    jt = JaggedTensor.from_data_and_offsets(np.zeros((5, 5)), [0, 3, 5])
    made = JaggedTensor.from_data_offsets_and_list_ids(jt.jdata, jt.joffsets, jt.jlidx)
    assert (made.ldim, made.lshape) == (1, [3, 2])
    assert JaggedTensor.from_data_indices_and_list_ids(jt.jdata, jt.jidx, jt.jlidx, 2).lshape == [3, 2]


def test_of_another_jagged_tensor() -> None:
    assert JaggedTensor(impl=JaggedTensor.from_data_and_offsets(np.zeros((5, 5)), [0, 3, 5])).lshape == [3, 2]


def test_other_data() -> None:
    jt = JaggedTensor.from_data_and_offsets(np.zeros((5, 5)), [0, 3, 5])
    jt.jdata = np.ones((5, 2, 3))
    assert (jt.lshape, jt.eshape) == ([3, 2], [2, 3])
    with pytest.raises(RuntimeCheckError, match=r"expected offsets\[2\] == 4, got 5"):
        jt.jdata = np.ones((4, 5))
