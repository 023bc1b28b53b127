"""Making arrays: every way in, what is refused, and looking at what was made."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_components, dense, nested, split
from support.devices import OnGpu, on_a_gpu
from support.refusals import Refusal, refused

import ragged_dialect as rg
from ragged_dialect.arrays.core.structure import Structure

V = np.arange(8, dtype=np.float32)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_one_structure_from_offsets_lengths_and_row_ids(lengths: tuple[int, ...]) -> None:
    values = dense(lengths)
    offsets = np.cumsum([0, *lengths])
    ids = np.repeat(np.arange(len(lengths)), lengths)
    for x in (
        rg.from_offsets(values, offsets),
        rg.from_lengths(values, list(lengths)),
        rg.from_row_ids(values, ids, len(lengths)),
        rg.from_starts_lengths(values, offsets[:-1], list(lengths)),
    ):
        assert_components(x, split(values, lengths))
        assert x.lengths.tolist() == list(lengths)
        assert x.row_ids.tolist() == ids.tolist()
        assert x.shape == (len(lengths), None, 4)
        assert (len(x), x.total, x.max_length) == (len(lengths), sum(lengths), max(lengths, default=0))


def test_values_are_not_copied() -> None:
    x = rg.from_offsets(V, [0, 3, 8])
    assert np.shares_memory(x.values, V)
    assert all(np.shares_memory(part, V) for part in x.unbind())


def test_description() -> None:
    x = array((3, 0, 5))
    assert (str(x.layout), x.ndim, x.nlevels, x.dtype, x.device) == ("dr|d", 3, 1, np.float32, "cpu")
    assert x.nbytes == 8 * 4 * 4 + 4 * 8
    assert x.offsets.tolist() == [0, 3, 3, 8]
    assert x.starts.tolist() == [0, 3, 3]


@pytest.mark.parametrize("lengths", NESTED)
def test_two_levels_as_lists(lengths: Any) -> None:
    x = nested(lengths)
    values = iter(x.values.tolist())
    assert x.tolist() == [[[next(values) for _ in range(n)] for n in row] for row in lengths]
    assert [part.tolist() for part in x] == x.tolist()


def test_from_nested_lists() -> None:
    x = rg.ragged([[1.0, 2.0], [], [3.0]])
    assert (str(x.layout), x.tolist()) == ("dr", [[1.0, 2.0], [], [3.0]])
    y = rg.ragged([[np.ones((2, 3)), np.zeros((0, 3))], [np.ones((1, 3))]])
    assert (str(y.layout), y.shape) == ("drr|d", (2, None, None, 3))
    assert rg.ragged([np.arange(2), np.arange(3)], dtype=np.int8).dtype == np.int8


def test_from_iterables_and_ragged_arrays() -> None:
    assert rg.ragged(range(n) for n in (2, 0, 1)).tolist() == [[0, 1], [], [0]]
    assert rg.ragged({"a": [1, 2], "b": (3,)}.values()).tolist() == [[1, 2], [3]]
    x, y = array((3, 0)), array((1, 2), seed=1)
    assert rg.ragged([x, [], y]).shape == (3, None, None, 4)
    assert rg.ragged([x, [], y]).tolist() == [x.tolist(), [], y.tolist()]


def test_contains() -> None:
    x = rg.ragged([[1, 2], [], [3]])
    assert 3 in x
    assert 4 not in x


def test_narrow_is_a_view() -> None:
    padded = np.arange(24.0).reshape(2, 4, 3)
    x = rg.narrow(padded, np.array([1, 0]), np.array([2, 4]))
    assert np.shares_memory(x.stored.values, padded)
    assert_components(x, [padded[0, 1:3], padded[1]])


def test_two_independent_ragged_dims() -> None:
    values = np.arange(15.0).reshape(3, 5)
    x = rg.partition(rg.from_offsets(values, [0, 1, 3]), np.array([0, 2, 5]), axis=2)
    assert (str(x.layout), x.ragged_dims) == ("dr|dr", (1, 3))
    assert x.lengths_of(3).tolist() == [2, 3]
    assert (x * 2).values.tolist() == (values * 2).tolist()


def test_empty_like_and_like() -> None:
    x = array((3, 0, 5))
    assert rg.empty_like(x, np.int32).dtype == np.int32
    assert rg.like(x, np.zeros((8, 7))).shape == (3, None, 7)
    with pytest.raises(rg.RuntimeCheckError, match="expected offsets\\[3\\] == 7, got 8"):
        rg.like(x, np.zeros(7))


def test_like_in_traced_code() -> None:
    for x in (array((3, 0, 5)), nested(NESTED[0])):
        values = np.arange(len(x.values) * 2.0).reshape(-1, 2)
        made = rg.jit(lambda x, values: rg.like(x, values))(x, values)
        assert made.tolist() == rg.like(x, values).tolist()
    turned = array((3, 0, 5))[:, ::-1]  # of no argument: made when the function is traced
    held = rg.jit(lambda x: rg.like(turned, np.arange(8.0)) * x)(np.float64(2.0))
    assert held.tolist() == (rg.like(turned, np.arange(8.0)) * 2).tolist()
    of_arguments = rg.jit(rg.like)
    with pytest.raises(rg.RuntimeCheckError, match="expected offsets\\[3\\] == 7, got 8"):
        of_arguments(array((3, 0, 5)), np.zeros(7))
    with pytest.raises(rg.LayoutError, match=r'like: expected lists in traced code, got layout "dw\|d"'):
        of_arguments(array((3, 0, 5))[:, 1:], np.zeros(5))
    x = array((3, 0, 5))
    with pytest.raises(
        rg.ArgumentError, match=r"like: expected a dense array, got a ragged one \(its values are one\)"
    ):
        of_arguments(x, rg.from_lengths(np.zeros(9), np.ones(8, np.int64) + (np.arange(8) == 0)))
    with pytest.raises(rg.LayoutError, match='like: expected lists in traced code, got layout "ddr'):
        of_arguments(x[:, None], np.zeros(8))
    with pytest.raises(rg.LayoutError, match="like: expected values of rank 1 or more, got rank 0"):
        of_arguments(x, np.zeros(()))


def test_assume_valid_checks_nothing() -> None:
    assert rg.assume_valid(V, [0, 5, 3, 8]).lengths.tolist() == [5, -2, 5]


def test_pickle() -> None:
    x = nested(NESTED[0])
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_text_and_picture_are_short() -> None:
    text = repr(array((3, 0, 5, 1, 1, 1)))
    assert 'RaggedArray([6, ~, 4], float32, "dr|d")' in text
    assert "lengths of dim 1: [3, 0, 5, 1, 1, 1]" in text
    assert len(text.splitlines()) < 10
    assert nested(NESTED[0])._repr_html_().startswith("<div>")
    assert repr(array(())).count("\n") == 1


def test_another_device() -> None:
    x = array((1, 2))
    assert x.to("cpu") is x
    back = on_a_gpu(x).to("cpu")
    assert (back.device, back.spec) == ("cpu", x.spec)
    assert_components(back, x.unbind())


def test_a_tensor_on_another_device() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    with pytest.raises(rg.ArgumentError, match="expected a tensor on a CPU or CUDA device, got meta"):
        rg.from_offsets(torch.empty(3, device="meta"), [0, 3])


def test_tensors_whose_elements_are_elsewhere() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    x, ones = rg.from_offsets(torch.ones(3), [0, 1, 3]), torch.ones(3, 3)
    nested = torch.nested.nested_tensor([ones], layout=torch.jagged)
    for odd in (ones.to_sparse(), ones.to_mkldnn(), nested):
        for use in (lambda a: rg.from_offsets(a, [0, 1, 3]), lambda a: x * a, lambda a: rg.from_lengths(ones[0], a)):
            with pytest.raises(
                rg.ArgumentError, match=r"expected a dense tensor, got a tensor that is .* \(convert it first\)"
            ):
                use(odd)
    negative = torch.ones(3, dtype=torch.complex64).conj().imag  # stored as its negative
    assert (
        rg.from_offsets(negative - 1, [0, 1, 3]).tolist()
        == rg.from_offsets(torch._neg_view(ones[0]), [0, 1, 3]).tolist()
    )


def test_arrays_whose_dtypes_have_nothing_in_common() -> None:
    text = r"^ragged: expected arrays of dtypes that NumPy joins, got bfloat16 and int32 \(convert them\)$"
    with pytest.raises(rg.ArgumentError, match=text):
        rg.ragged([np.ones(1, ml_dtypes.bfloat16), np.ones(2, np.int32)])


def test_lists_of_tensors() -> None:
    """Those that differ in their first extent alone are joined by PyTorch, others one by one: with the same errors."""
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    for several in (list, tuple):
        x = rg.ragged(several([torch.ones(2, 3), torch.zeros(0, 3), torch.ones(1, 3, dtype=torch.float32)]))
        assert (x.lengths.tolist(), x.shape, type(x.values)) == ([2, 0, 1], (3, None, 3), torch.Tensor)
    parts = [torch.ones(2, requires_grad=True), torch.ones(1)]
    (rg.ragged(parts) * rg.ragged([[1.0, 2.0], [3.0]])).sum().backward()
    assert parts[0].grad.tolist() == [1.0, 2.0]
    assert rg.ragged([torch.ones(1), torch.ones(1, dtype=torch.float64)]).dtype == np.float64
    with pytest.raises(rg.ArgumentError, match=r"^ragged: expected arrays of shape \[n, 2\], got \[1\] at \[1\]$"):
        rg.ragged([torch.ones(3, 2), torch.ones(1)])
    with pytest.raises(rg.ArgumentError, match=r"^ragged: expected a list or an array at \[0\], got a number"):
        rg.ragged([torch.tensor(1.0), torch.tensor(2.0)])


def test_dtypes_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    x = rg.ragged([[1.0, 2.0], [3.0]], torch.float32)
    names = ("bfloat16", "float16", "float64", "int8", "int64", "bool")
    assert [x.astype(getattr(torch, name)).dtype.name for name in names] == list(names)
    with pytest.raises(rg.ArgumentError, match=r"^expected a dtype of bool, .*, got float8_e5m2$"):
        x.astype(torch.float8_e5m2)
    with pytest.raises(rg.ArgumentError, match=r"expected a dtype of NumPy, or bfloat16, got torch.float8_e4m3fn$"):
        rg.from_lengths(torch.zeros(3, dtype=torch.float8_e4m3fn), [1, 2])


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_tensors_with_tangents() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(rg.ArgumentError, match="expected a tensor without a tangent, got one of forward_ad"):
            np.exp(rg.from_offsets(dual, [0, 1, 3]))


def test_numbers_of_tensors() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    x = rg.from_offsets(torch.ones(3, 2, dtype=torch.bfloat16), [0, 1, 3])
    assert (x.tolist(), x.lengths.tolist()) == ([[[1, 1]], [[1, 1], [1, 1]]], [1, 2])
    assert "[0] [[1, 1]]" in repr(x)
    total = rg.from_offsets(torch.ones(3, 2), [0, 1, 3]).sum()
    assert isinstance(total, torch.Tensor)
    assert (total.shape, total.item()) == ((), 6)


@pytest.mark.parametrize(
    "nested_list", [[[[1.0], []], []], [[], [[1.0], [2.0, 3.0]]], [[[]], []], [[[[1.0]]], [], [[]]], [[[[]]], [], [[]]]]
)
def test_empty_lists_at_every_depth(nested_list: list[Any]) -> None:
    assert rg.ragged(nested_list).tolist() == nested_list


def test_components_of_dense_levels() -> None:
    x = rg.RaggedArray.of(V, [Structure("drd", [np.array([0, 1, 4])], (2, None, 2))], op="test")
    assert x.tolist() == [[[0, 1]], [[2, 3], [4, 5], [6, 7]]]
    rows = rg.RaggedArray.of(V[:0], [Structure("drd", [np.array([0, 1, 4])], (2, None, 0))], op="test")
    assert rows.tolist() == [[[]], [[], [], []]]


def test_text_of_large_components() -> None:
    x = rg.from_lengths(np.ones((3000, 3)), [3], [1000, 1000, 1000])
    assert len(repr(x)) < 300
    assert "[0] [[1.0, 2.0], []]" in repr(rg.ragged([[[1.0, 2.0], []], [[3.0]]]))


DTYPES = {
    "uint8": " (convert to int16)", "uint16": " (convert to int32)", "uint32": " (convert to int64)",
    "uint64": " (convert to int64 where they fit, or float64)", "float128": " (convert to float64)",
    "complex64": " (convert to float32, with a dim for the two parts)",
    "complex128": " (convert to float64, with a dim for the two parts)",
    "object": " (convert to numbers of 64 bits, with nan in the place of None)",
    "datetime64[s]": ' (convert to int64, with astype("int64"))',
    "timedelta64[ms]": ' (convert to int64, with astype("int64"))',
}  # fmt: skip
TAKERS: list[Any] = [
    lambda v: rg.ragged([v, v]), lambda v: rg.ragged([v, np.zeros(2)]), lambda v: rg.ragged([[np.zeros(2)], [v, []]]),
    lambda v: rg.ragged([[1]], dtype=v.dtype), lambda v: rg.from_offsets(v, [0, 2]),
    lambda v: rg.from_lengths(v, [2]), lambda v: rg.from_row_ids(v, [0, 1]),
    lambda v: rg.from_starts_lengths(v, [0], [2]), lambda v: rg.from_padded(v[None], np.array([1])),
    lambda v: rg.narrow(v[None], 0, 1), lambda v: rg.partition(v, np.array([0, 2])),
    lambda v: rg.assume_valid(v, [0, 2]),
    lambda v: rg.like(ONE, v), lambda v: rg.empty_like(ONE, v.dtype), lambda v: ONE.astype(v.dtype),
    lambda v: rg.astype(ONE, dtype=v.dtype), lambda v: ONE + v, lambda v: rg.jit(lambda a: a)(v),
    lambda v: np.zeros_like(ONE, dtype=v.dtype),
]  # fmt: skip
ONE = rg.from_lengths(np.ones(2), [2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("taker", TAKERS)
def test_dtypes_that_programs_do_not_have(taker: Any, dtype: str) -> None:
    known = "bool, int8 to int64, float16 to float64 or bfloat16"
    with pytest.raises(rg.ArgumentError) as caught:
        taker(np.zeros(2, dtype))
    text = re.sub(r"^(add|astype|partition|ragged|np\.zeros_like): ", "", str(caught.value))  # what names itself
    assert text == f"expected a dtype of {known}, got {dtype}{DTYPES[dtype]}"


def test_no_dtype() -> None:
    for call in (lambda: ONE.astype("nothing"), lambda: rg.ragged([[1]], dtype="nothing")):
        with pytest.raises(rg.ArgumentError, match="expected a dtype of NumPy, got 'nothing'"):
            call()


REFUSED: list[Refusal] = [
    (lambda: rg.from_offsets(V, [0, 4, 2, 8]), rg.RuntimeCheckError,
     "from_offsets: level 1, component 1: expected offsets[2] >= offsets[1], got 2 < 4"),
    (lambda: rg.from_offsets(V, [1, 4, 8]), rg.RuntimeCheckError,
     "from_offsets: level 1, component 0: expected offsets[0] == 0, got 1"),
    (lambda: rg.from_offsets(V, [0, 4, 7]), rg.RuntimeCheckError,
     "from_offsets: level 1, component 1: expected offsets[2] == 8, got 7"),
    (lambda: rg.from_offsets(V, [0, 4, 9]), rg.RuntimeCheckError,
     "from_offsets: level 1, component 1: expected offsets[2] == 8, got 9"),
    (lambda: rg.from_offsets(V, []), rg.RuntimeCheckError,
     "from_offsets: level 1: expected at least 1 offset, got 0"),
    (lambda: rg.from_offsets(V, np.array([0.0, 8.0])), TypeError,
     "from_offsets: offsets 0: expected integers, got dtype float64"),
    (lambda: rg.from_offsets(V, np.array([[0, 8]])), TypeError, "from_offsets: offsets 0: expected rank 1, got rank 2"),
    (lambda: rg.from_offsets(np.zeros(300), np.array([0, 44], np.int8)), TypeError,
     "from_offsets: offsets 0: expected a dtype that holds 300, got int8"),
    (lambda: rg.from_offsets(V, np.array([0, 2**63], np.uint64)), TypeError,
     "from_offsets: offsets 0: expected entries below 2**63, got 9223372036854775808"),
    (lambda: rg.from_offsets(V), TypeError, "from_offsets: expected offsets of at least 1 level, got 0"),
    (lambda: rg.from_offsets(np.float32(1), [0]), TypeError,
     "from_offsets: expected values of rank 1 or more, got rank 0"),
    (lambda: rg.from_offsets(V, [0, 2, 2, 4], [0, 1, 4, 8]), rg.RuntimeCheckError,
     "from_offsets: level 1, component 2: expected offsets[3] == 3, got 4"),
    # of which NumPy makes floats
    *((call, TypeError, f"expected integers below 2**63, got a list with {2**63} "
       "(convert to int64 where they fit, or float64)")
      for call in (lambda: rg.ragged([[1, 2**63], [2]]), lambda: rg.ragged([[-1], [2**63]]),
                   lambda: rg.from_lengths([1, 2**63], [2]), lambda: rg.concat([ONE, [[2**63, -1]]]))),
    (lambda: rg.ragged(5), TypeError,  # pyright: ignore[reportArgumentType]
     "ragged: expected nested lists of arrays, got int"),
    (lambda: rg.ragged("text"), TypeError, "ragged: expected nested lists of arrays, got str"),
    # what has an attribute `ndim`
    (lambda: rg.ragged(np.float32), TypeError, "ragged: expected nested lists of arrays, got type"),
    (lambda: rg.ragged(np), TypeError, "ragged: expected nested lists of arrays, got module"),
    (lambda: rg.RaggedArray(), TypeError,
     "RaggedArray: expected a function that makes arrays (rg.ragged and others), got a call"),
    (lambda: rg.from_offsets(V.astype(np.complex64), [0, 8]), TypeError,
     "bfloat16, got complex64 (convert to float32, with a dim for the two parts)"),
    (lambda: rg.from_lengths(V, [4, -1, 5]), rg.RuntimeCheckError,
     "from_lengths: level 1, component 1: expected lengths[1] >= 0, got -1"),
    (lambda: rg.from_lengths(V, [4, 5]), rg.RuntimeCheckError,
     "from_lengths: level 1: expected lengths to sum to 8, got 9"),
    (lambda: rg.from_lengths(V[:0], [2**62] * 4), rg.RuntimeCheckError,
     f"from_lengths: level 1: expected lengths to sum to 0, got {2**63 - 1}"),
    (lambda: rg.from_lengths(V, [2**62] * 4 + [8]), rg.RuntimeCheckError,
     f"from_lengths: level 1: expected lengths to sum to 8, got {2**63 - 1}"),
    (lambda: rg.from_lengths(V, [2**62] * 4, [8]), rg.RuntimeCheckError,
     f"from_lengths: level 1: expected lengths to sum to 1, got {2**63 - 1}"),
    (lambda: rg.from_starts_lengths(np.zeros((2**60, 0), np.int8), [0] * 8, [2**60] * 8), rg.RuntimeCheckError,
     "from_starts_lengths: level 1: expected lengths to sum to less than 2**63, got more"),
    (lambda: rg.from_starts_lengths(V, [2**62], [2**62]), rg.RuntimeCheckError,
     f"from_starts_lengths: level 1, component 0: expected starts[0] + lengths[0] <= 8, got {2**63 - 1}"),
    (lambda: rg.from_lengths(V), TypeError, "from_lengths: expected lengths of at least 1 level, got 0"),
    (lambda: rg.from_starts_lengths(V, [0, 6], [2, 3]), rg.RuntimeCheckError,
     "from_starts_lengths: level 1, component 1: expected starts[1] + lengths[1] <= 8, got 9"),
    (lambda: rg.from_starts_lengths(V, [0, -1], [2, 3]), rg.RuntimeCheckError,
     "from_starts_lengths: level 1, component 1: expected starts[1] >= 0, got -1"),
    (lambda: rg.from_starts_lengths(V, [0, 1], [2, -3]), rg.RuntimeCheckError,
     "from_starts_lengths: level 1, component 1: expected lengths[1] >= 0, got -3"),
    (lambda: rg.from_starts_lengths(V, [0], [2, 3]), rg.RuntimeCheckError,
     "from_starts_lengths: level 1: expected starts and lengths of one size, got 1 and 2"),
    (lambda: rg.from_row_ids(V[:4], [0, 1, 0, 2]), rg.RuntimeCheckError,
     "from_row_ids: expected row_ids[2] >= row_ids[1], got 0 < 1 (sort values and ids by the ids, or "
     "rg.take(values, rg.group_by(row_ids, nrows)))"),
    (lambda: rg.from_row_ids(V[:4], [2, 0, 1, 0]), rg.RuntimeCheckError,
     "from_row_ids: expected row_ids[1] >= row_ids[0], got 0 < 2"),
    (lambda: rg.from_row_ids(V[:4], [-5, 2, 3, 4]), rg.RuntimeCheckError,
     "from_row_ids: expected row_ids[0] in [0, 5), got -5"),
    (lambda: rg.from_row_ids(V[:2], [0, 4], nrows=4), rg.RuntimeCheckError,
     "from_row_ids: expected row_ids[1] in [0, 4), got 4"),
    (lambda: rg.from_row_ids(V[:2], [0, 4], nrows=-2), rg.RuntimeCheckError,
     "from_row_ids: expected nrows >= 0, got -2"),
    (lambda: rg.from_row_ids(V, [0]), TypeError, "from_row_ids: expected a row id for each of 8 values, got 1"),
    (lambda: rg.narrow(np.zeros((2, 3)), 2, 2), rg.RuntimeCheckError,
     "narrow: level 1, component 0: expected starts[0] + lengths[0] <= 3, got 4"),
    (lambda: rg.narrow(np.zeros((2, 3)), np.array([0]), 2), rg.RuntimeCheckError,
     "narrow: expected 2 numbers for start, got 1"),
    (lambda: rg.narrow(V, 0, 1), TypeError, "narrow: expected a dense array of rank 2 or more, got rank 1"),
    (lambda: rg.ragged([[1, 2], 3]), TypeError,
     "ragged: expected a list or an array at [1], got a number (as in rg.ragged([[1, 2], [3]]))"),
    (lambda: rg.ragged([1, 2, 3]), TypeError, "ragged: expected a list or an array at [0], got a number (as in "),
    (lambda: rg.ragged(np.arange(3)), TypeError, "ragged: expected a list or an array at [0], got a number"),
    (lambda: rg.ragged([[], 3.5]), TypeError, "ragged: expected a list or an array at [1], got a number"),
    (lambda: rg.ragged([3, [1]]), TypeError, "ragged: expected a list or an array at [0], got a number"),
    (lambda: rg.ragged([[[4]], [], [[1, 2], 3]]), TypeError, "ragged: expected a list or an array at [2][1], got a "),
    (lambda: rg.ragged([[np.ones((1, 2))], [np.ones((1, 2)), np.ones((1, 3))]]), TypeError,
     "ragged: expected arrays of shape [n, 2], got [1, 3] at [1][1]"),
    (lambda: rg.ragged([[1], None, [2]]), TypeError,
     "ragged: expected a list or an array at [1], got None (write [] for a missing list)"),
    (lambda: rg.ragged([[1, None], [2]]), TypeError, "expected an array or nested lists of numbers, got list of object "
     "(convert to numbers of 64 bits, with nan in the place of None)"),
    (lambda: rg.ragged([[np.datetime64("2020-01-01")]]), TypeError,
     'nested lists of numbers, got list of datetime64[D] (convert to int64, with astype("int64"))'),
    (lambda: rg.ragged([]), TypeError, "ragged: expected at least one array, got none (use from_offsets)"),
    (lambda: rg.ragged([np.ones((2, 3)), np.ones((2, 4))]), TypeError,
     "ragged: expected arrays of shape [n, 3], got [2, 4]"),
    (lambda: array((1, 2)).lengths_of(2), rg.LayoutError, 'lengths: expected a ragged dim, got dim 2 of layout "dr|d"'),
    (lambda: array((1, 2)).lengths_of(7), IndexError, "lengths: expected dim in [-3, 3), got 7"),
    (lambda: array((1, 2)).structure(-4), IndexError, "structure: expected dim in [-3, 3), got -4"),
    (lambda: np.asarray(array((1, 2))), TypeError,
     "expected a dense array, got a ragged one (use to_padded, values or tolist; rg.take(table, x) takes rows)"),
    (lambda: bool(array((1, 2))), TypeError, "expected one truth value, got a ragged array (use any() or all())"),
    (lambda: rg.from_lengths(V, [[2, 1], [1, 1, 1]]), TypeError,
     "from_lengths: lengths 0: expected integers, got a sequence of vectors (every level is an argument)"),
    (lambda: rg.from_lengths(1.0, [1]), TypeError, "from_lengths: expected values of rank 1 or more, got rank 0"),
    (lambda: rg.from_starts_lengths(1.0, [0], [1]), TypeError,
     "from_starts_lengths: expected values of rank 1 or more, got rank 0"),
    (lambda: rg.ragged([[[1.0]], [1.0]]), TypeError, "ragged: expected arrays inside 2 lists, got one inside 1"),
    (lambda: array((1, 2)).to("tpu"), TypeError, "to: expected a device cpu or cuda, got tpu"),
    (lambda: array((1, 2)).structure(2), rg.LayoutError,
     'expected a dim of a nested axis, got dim 2 of layout "dr|d"'),
    (lambda: rg.RaggedArray.of(V, [Structure.of_offsets(OnGpu())], op="test"), TypeError,
     "test: expected values and structure on one device, got cpu and cuda:0"),
    (lambda: rg.RaggedArray.of(V, [Structure("dw", [V.astype(int)] * 2, (3, None))], op="test"), rg.RuntimeCheckError,
     "test: level 1: expected 3 starts and lengths, got 8"),
    (lambda: rg.RaggedArray.of(V, [Structure("drd", [np.array([0, 2])], (1, None, 3))], op="test"),
     rg.RuntimeCheckError,
     "test: level 2: expected a multiple of 3, got 8"),
]  # fmt: skip


test_refused = refused(REFUSED)


def test_names_of_the_package() -> None:
    assert re.fullmatch(r"\d+(\.\d+)*", rg.__version__)
    assert {"__version__", "softmax", "compile"} <= set(dir(rg)) == {*rg.__all__, "__version__"}
    assert all(getattr(rg, name) is not None for name in rg.__all__)
    with pytest.raises(AttributeError, match="module 'ragged_dialect' has no attribute 'nothing'"):
        rg.nothing  # pyright: ignore[reportAttributeAccessIssue]


ENDLESS = np.broadcast_to(np.float64(1), (2, 2**44))
SIZES: dict[str, Callable[[], Any]] = {
    "ids": lambda: rg.from_row_ids(np.arange(2.0), [0, 2**62]),
    "the last id": lambda: rg.from_row_ids(np.arange(2.0), [0, 2**63 - 1]),
    "rows": lambda: rg.from_row_ids(np.arange(2.0), [0, 1], nrows=2**63 - 1),
    "more rows": lambda: rg.from_row_ids(np.arange(2.0), [0, 1], nrows=2**44),
    "values": lambda: rg.from_offsets(ENDLESS[0], [0, 2**44]),
    "padded": lambda: rg.narrow(ENDLESS, 0, 1),
    "lengths": lambda: rg.from_lengths(np.arange(2.0), np.broadcast_to(0, 2**44)),
    "components": lambda: rg.ragged([ENDLESS[0]]),
    "a number each": lambda: np.full_like(rg.ragged([[1.0], [2.0]]), ENDLESS),
    "windows": lambda: rg.from_starts_lengths(np.zeros((2**55, 0), np.int8), [0], [2**55]).values,
    "row ids": lambda: rg.from_lengths(np.zeros((2**55, 0), np.int8), [2**55]).row_ids,
    "an operand": lambda: rg.ragged([[1.0], [2.0]]) + ENDLESS,
}


@pytest.mark.parametrize("case", SIZES)
def test_sizes_that_no_memory_holds(case: str) -> None:
    with pytest.raises(rg.AllocationError, match="expected enough memory, got"):
        SIZES[case]()
