"""The names of fvdb's page of `JaggedTensor`."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.parity import Table, refused

from ragged_dialect.compat.fvdb import JaggedTensor
from ragged_dialect.errors import ArgumentError, DeviceError

TABLE = Table("fvdb.JaggedTensor", "ragged_dialect.compat.fvdb")


def one() -> JaggedTensor:
    """Three tensors of 2, 3 and 1 rows of 4 numbers."""
    return JaggedTensor.from_data_and_offsets(np.arange(24.0).reshape(6, 4) - 10.25, [0, 2, 5, 6])


def two() -> JaggedTensor:
    """Two lists: of tensors of 2 and 1 rows, and of one of 4."""
    return one_of_lists(np.arange(21.0).reshape(7, 3))


def one_of_lists(data: Any) -> JaggedTensor:
    """Seven rows in the lists of `two`."""
    return JaggedTensor.from_data_offsets_and_list_ids(data, [0, 2, 3, 7], np.array([[0, 0], [0, 1], [1, 0]]))


def equal(found: Any, expected: Any) -> None:
    """Assert equal values and shapes."""
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)


def same(found: list[Any], expected: list[Any]) -> None:
    """Assert equal arrays, one by one."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        equal(a, b)


@TABLE.works("JaggedTensor", note="`impl` takes a `RaggedArray` too; without arguments there is no tensor")
def _constructor() -> None:
    tensors = [np.zeros((2, 4)), np.ones((1, 4))]
    same(JaggedTensor(tensors).unbind(), tensors)
    same(JaggedTensor([tensors, []])[0].unbind(), tensors)
    same(JaggedTensor(tensors[0]).unbind(), tensors[:1])
    assert JaggedTensor(impl=one().array).lshape == [2, 3, 1]
    assert JaggedTensor().num_tensors == 0


@TABLE.works("operators and torch functions", note="the torch functions of fvdb's list; NumPy's ufuncs")
def _functions() -> None:
    equal((1 + one() * one()).jdata, 1 + one().jdata ** 2)
    equal(np.maximum(one(), 0).jdata, np.maximum(one().jdata, 0))
    refused(ArgumentError, lambda: JaggedTensor.__torch_function__(np.cumsum, (), (one(), 0)))
    equal(JaggedTensor.__torch_function__(np.tanh, (), (one(),)).jdata, np.tanh(one().jdata))


@TABLE.works("indexing", note="ints, slices, `...` and jagged masks or integers; slices of any step")
def _indexing() -> None:
    assert one()[0].lshape == [2]
    assert one()[-1].lshape == [1]
    assert two()[0].lshape == [2, 1]
    assert two()[::-1].lshape == [[4], [2, 1]]
    keys = one().jsum(1)
    assert one()[keys > 0].lshape == [0, 2, 1]


@TABLE.works("abs")
def _abs() -> None:
    equal(one().abs().jdata, np.abs(one().jdata))


@TABLE.works("ceil", "floor")
def _ceil() -> None:
    equal(one().ceil().jdata, np.ceil(one().jdata))
    equal(one().floor().jdata, np.floor(one().jdata))


@TABLE.works("round")
def _round() -> None:
    equal(one().round().jdata, np.rint(one().jdata))
    equal(one().round(decimals=1).jdata, np.round(one().jdata, 1))


@TABLE.works("sqrt", note="of integers float64, where torch gives float32")
def _sqrt() -> None:
    equal(one().abs().sqrt().jdata, np.sqrt(np.abs(one().jdata)))
    assert one().int().sqrt().dtype == np.float64


@TABLE.differs(
    "abs_",
    "ceil_",
    "floor_",
    "round_",
    "sqrt_",
    why="the tensor gets other data; the memory of the old data, which others may share, is not written",
)
def _in_place() -> None:
    for name in ("abs", "ceil", "floor", "round", "sqrt"):
        jt = one().abs()
        data, copy = jt.jdata, jt.jdata.copy()
        assert getattr(jt, f"{name}_")() is jt
        equal(jt.jdata, getattr(one().abs(), name)().jdata)
        equal(data, copy)


@TABLE.works("clone")
def _clone() -> None:
    jt = one()
    assert not np.shares_memory(jt.clone().jdata, jt.jdata)
    equal(jt.clone().jdata, jt.jdata)


@TABLE.works("cpu")
def _cpu() -> None:
    assert one().cpu().is_cpu


@TABLE.works("cuda", note="needs CuPy; without it DeviceError")
def _cuda() -> None:
    try:
        assert one().cuda().is_cuda
    except DeviceError as error:
        assert "CuPy" in str(error)


@TABLE.works("detach")
def _detach() -> None:
    jt = one()
    assert np.shares_memory(jt.detach().jdata, jt.jdata)


@TABLE.differs("device", why="`cpu` or `cuda:0` as a string; a torch.device for torch tensors")
def _device() -> None:
    assert one().device == "cpu"


@TABLE.works("double", "float", "int", "long")
def _casts() -> None:
    for name, dtype in (("double", "f8"), ("float", "f4"), ("int", "i4"), ("long", "i8")):
        made = getattr(one(), name)()
        assert made.dtype == np.dtype(dtype)
        equal(made.jdata, one().jdata.astype(dtype))


@TABLE.differs("dtype", why="of the library of the data: NumPy's for NumPy's arrays")
def _dtype() -> None:
    assert one().dtype == np.float64


@TABLE.works("edim", "eshape")
def _eshape() -> None:
    assert (one().edim, one().eshape) == (1, [4])
    jt = JaggedTensor([np.zeros((2, 4, 5))])
    assert (jt.edim, jt.eshape) == (2, [4, 5])


@TABLE.works("from_data_and_indices", note="indices have to be in order")
def _indices() -> None:
    jt = JaggedTensor.from_data_and_indices(np.array([1, 2, 3, 4, 5, 6]), np.array([0, 0, 1, 1, 1, 2]), num_tensors=3)
    same(jt.unbind(), [[1, 2], [3, 4, 5], [6]])


@TABLE.works("from_data_and_offsets", note="offsets are checked")
def _offsets() -> None:
    jt = JaggedTensor.from_data_and_offsets(np.array([1, 2, 3, 4, 5, 6]), np.array([0, 2, 5, 6]))
    same(jt.unbind(), [[1, 2], [3, 4, 5], [6]])


@TABLE.works(
    "from_data_indices_and_list_ids", note="list ids of elements, as documented, or of tensors, as in the next row"
)
def _indices_and_list_ids() -> None:
    data, indices = np.arange(6), np.array([0, 0, 1, 1, 1, 2])
    for list_ids in (np.array([0, 0, 0, 0, 0, 1]), np.array([[0, 0], [0, 1], [1, 0]])):
        assert JaggedTensor.from_data_indices_and_list_ids(data, indices, list_ids, 3).lshape == [[2, 3], [1]]


@TABLE.works("from_data_offsets_and_list_ids", note="list ids are checked")
def _offsets_and_list_ids() -> None:
    jt = JaggedTensor.from_data_offsets_and_list_ids(
        np.array([1, 2, 3, 4, 5, 6]), np.array([0, 2, 5, 6]), np.array([[0, 0], [0, 1], [1, 0]])
    )
    same(jt.unbind()[0], [[1, 2], [3, 4, 5]])
    same(jt.unbind()[1], [[6]])


@TABLE.works("from_list_of_lists_of_tensors", note="a list may be empty")
def _lists() -> None:
    tensors = [[np.zeros((2, 3)), np.zeros((1, 3))], [], [np.zeros((4, 3))]]
    assert JaggedTensor.from_list_of_lists_of_tensors(tensors).lshape == [[2, 1], [], [4]]


@TABLE.works("from_list_of_tensors")
def _tensors() -> None:
    tensors = [np.zeros((2, 4)), np.ones((3, 4))]
    same(JaggedTensor.from_list_of_tensors(tensors).unbind(), tensors)


@TABLE.works("from_tensor")
def _tensor() -> None:
    data = np.zeros((2, 4))
    jt = JaggedTensor.from_tensor(data)
    assert jt.lshape == [2]
    assert np.shares_memory(jt.jdata, data)


@TABLE.works("is_cpu", "is_cuda")
def _is_cpu() -> None:
    assert one().is_cpu
    assert not one().is_cuda


@TABLE.works("jagged_like")
def _jagged_like() -> None:
    jt = two().jagged_like(np.zeros((7, 2, 2)))
    assert (jt.lshape, jt.eshape) == ([[2, 1], [4]], [2, 2])


@TABLE.works("jdata")
def _jdata() -> None:
    equal(
        JaggedTensor([np.zeros((2, 4)), np.ones((3, 4)), np.zeros((1, 4))]).jdata,
        np.repeat([[0], [1], [0]], [2, 3, 1], 0) * np.ones(4),
    )


@TABLE.works("jflatten", note="of a mere list one tensor, as fvdb does")
def _jflatten() -> None:
    assert two().jflatten().lshape == [2, 1, 4]
    assert two().jflatten(dim=1).lshape == [3, 4]
    assert one().jflatten().lshape == [6]


@TABLE.differs("jidx", why="the example of the page is wrong: lengths [2, 3, 1] give [0, 0, 1, 1, 1, 2]")
def _jidx() -> None:
    equal(one().jidx, [0, 0, 1, 1, 1, 2])
    equal(JaggedTensor([np.zeros(3), np.zeros(2), np.zeros(1)]).jidx, [0, 0, 0, 1, 1, 2])


@TABLE.works("jlidx", note="a row per tensor, as in the example; [0, 1] of a mere list, as fvdb has")
def _jlidx() -> None:
    equal(two().jlidx, [[0, 0], [0, 1], [1, 0]])
    assert one().jlidx.shape == (0, 1)


@TABLE.differs(
    "jmax", "jmin", why="of an empty tensor -inf (inf), or the extreme integer, at -1, where fvdb has 0 at -1"
)
def _extrema() -> None:
    jt = JaggedTensor([np.array([[1.0, 4.0], [3.0, 2.0]]), np.zeros((0, 2))])
    for name, values, indices, empty in (("jmax", [3, 4], [1, 0], -np.inf), ("jmin", [1, 2], [0, 1], np.inf)):
        found = getattr(jt, name)(dim=0)
        equal(found[0].jdata, [values, [empty, empty]])
        equal(found[1].jdata, [indices, [-1, -1]])
        assert found[0].lshape == [1, 1]
        equal(getattr(one(), name)(1, keepdim=True)[0].jdata, getattr(one().jdata, name[1:])(axis=1, keepdims=True))


@TABLE.works("joffsets")
def _joffsets() -> None:
    equal(one().joffsets, [0, 2, 5, 6])
    equal(two().joffsets, [0, 2, 3, 7])


@TABLE.works("jreshape")
def _jreshape() -> None:
    assert two().jreshape([3, 4]).lshape == [3, 4]
    assert two().jreshape([[3], [2, 2]]).lshape == [[3], [2, 2]]


@TABLE.works("jreshape_as")
def _jreshape_as() -> None:
    assert two().jreshape_as(JaggedTensor([np.zeros(3), np.zeros(4)])).lshape == [3, 4]
    assert two().jreshape_as(np.zeros(7)).lshape == [7]


@TABLE.differs(
    "jsqueeze", why="dims of `jdata`, as fvdb does, but the jagged dim 0 stays also when there is one element"
)
def _jsqueeze() -> None:
    jt = JaggedTensor([np.zeros((1, 1, 3, 1))])
    assert jt.jsqueeze().rshape == (1, 3)
    assert jt.jsqueeze(1).rshape == (1, 3, 1)
    assert jt.jsqueeze(0).rshape == jt.rshape


@TABLE.works("jsum", note="along dim 0 every tensor keeps one row, whatever `keepdim` says, as fvdb does")
def _jsum() -> None:
    jt = one()
    equal(jt.jsum(dim=0).jdata, [t.sum(axis=0) for t in jt.unbind()])
    assert jt.jsum(dim=0).lshape == [1, 1, 1]
    assert two().jsum().lshape == [[1, 1], [1]]
    equal(jt.jsum(1, keepdim=True).jdata, jt.jdata.sum(axis=1, keepdims=True))


@TABLE.works("lshape", note="as the example prints; the comment above it on the page has a wrong number")
def _lshape() -> None:
    assert (one().lshape, two().lshape) == ([2, 3, 1], [[2, 1], [4]])


@TABLE.works("ldim", "num_tensors", "rshape")
def _ldim() -> None:
    assert (one().ldim, one().num_tensors, one().rshape) == (1, 3, (6, 4))
    assert (two().ldim, two().num_tensors, two().rshape) == (2, 3, (7, 3))


@TABLE.differs("requires_grad", "requires_grad_", "grad", why="as there for PyTorch's tensors; others are refused")
def _requires_grad() -> None:
    assert not one().requires_grad
    assert one().grad is None
    assert one().requires_grad_(False).lshape == [2, 3, 1]
    refused(ArgumentError, lambda: one().requires_grad_(True))


@TABLE.works("rmask", note="a mask of the elements, as fvdb has; the page says of the regular dims")
def _rmask() -> None:
    mask = np.array([True, False, False, False, False, True])
    jt = one().rmask(mask)
    assert jt.lshape == [1, 0, 1]
    equal(jt.jdata, one().jdata[mask])


@TABLE.works("to", "type", "type_as")
def _to() -> None:
    assert one().to("cpu").to(np.float32).dtype == one().type(np.float32).dtype == np.float32
    assert one().type_as(np.zeros(1, np.int8)).dtype == one().type_as(one().type("int8")).dtype == np.int8


@TABLE.works("unbind")
def _unbind() -> None:
    jt = two()
    assert [[t.shape for t in row] for row in jt.unbind()] == [[(2, 3), (1, 3)], [(4, 3)]]
    assert np.shares_memory(jt.unbind()[1][0], jt.jdata)
