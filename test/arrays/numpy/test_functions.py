"""NumPy's functions and the methods of its ufuncs, against NumPy on the components."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg
from conftest import ROOT

LENGTHS = (3, 0, 5, 1)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_cumsum(axis: int, dtype: str) -> None:
    x = array((3, 0, 17, 1), dtype=dtype)
    for narrow in (np.cumsum(x, axis, np.int8), x.cumsum(axis, dtype=np.int8)):
        assert_components(narrow, [c.cumsum(axis - 1, np.int8) for c in components(x)])
    got = np.cumsum(x, axis)
    expected = [c.cumsum(axis - 1) for c in components(x)]
    assert got.dtype == expected[0].dtype
    assert_components(got, expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "?"])
def test_accumulate(name: str, dtype: str) -> None:
    x, ufunc = array((3, 0, 9, 1), (2,), dtype), getattr(np, name)
    for axis in (1, 2):
        got = ufunc.accumulate(x, axis=axis)
        expected = [ufunc.accumulate(c, axis=axis - 1) for c in components(x)]
        assert got.dtype == expected[0].dtype
        assert_components(got, expected)


def test_running_products() -> None:
    x = array(LENGTHS)
    assert_components(np.cumprod(x, axis=1), [c.cumprod(0) for c in components(x)])
    assert np.add.accumulate(x, axis=1, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_reduce(lengths: tuple[int, ...]) -> None:
    x = array(lengths)
    mask, parts = x > 0, components(x)
    shape = (len(lengths), 4)
    np.testing.assert_allclose(np.add.reduce(x, axis=1), np.reshape([c.sum(0) for c in parts], shape), 1e-5)
    got = np.maximum.reduce(x, axis=1, where=mask, initial=0.5)
    np.testing.assert_allclose(got, np.reshape([c.max(0, where=c > 0, initial=0.5) for c in parts], shape))
    got = np.multiply.reduce(x, axis=1, where=mask, keepdims=True)
    np.testing.assert_allclose(got, np.reshape([c.prod(0, where=c > 0) for c in parts], (-1, 1, 4)), 1e-5)


def test_reduce_of_dtypes() -> None:
    x = array(LENGTHS, dtype=np.int8)
    mask = x > 0
    got = np.minimum.reduce(x, axis=1, where=mask)
    assert got.tolist() == [c.min(0, where=c > 0, initial=127).tolist() for c in components(x)]
    assert np.add.reduce(x, axis=1, dtype=np.float32).dtype == np.float32
    assert np.add.reduce(x, axis=1, dtype=np.int8).dtype == np.int8
    assert np.add.reduce(x).tolist() == x.sum(0).tolist()
    assert np.add.reduce(x, axis=None) == np.sum(x, None) == x.values.sum()
    assert np.sum(x, dtype=np.float64).dtype == np.float64
    flags = array(LENGTHS, dtype=np.bool_)
    got = np.logical_and.reduce(flags, axis=1, where=~flags)
    assert got.tolist() == [np.logical_and.reduce(c, where=~c).tolist() for c in components(flags)]
    assert np.maximum.reduce(flags, axis=1, where=~flags).tolist() == [[False] * 4] * 4


def test_functions_that_reduce() -> None:
    x = array(LENGTHS)
    parts = components(x)
    for expected in ([c.sum(0) for c in parts],):
        np.testing.assert_allclose(np.sum(x, axis=1), expected, 1e-5)
        np.testing.assert_allclose(np.sum(x, 1), expected, 1e-5)
    np.testing.assert_allclose(np.sum(x), x.values.sum(), 1e-5)
    np.testing.assert_allclose(np.sum(x, 1, where=x > 0), [c.sum(0, where=c > 0) for c in parts], 1e-5)
    np.testing.assert_allclose(np.amax(x, axis=(1, 2)), [c.max(initial=-np.inf) for c in parts])
    np.testing.assert_allclose(np.std(x[2:], axis=1, ddof=1)[0], parts[2].std(0, ddof=1), 1e-5)
    assert np.argmax(x, axis=1).tolist() == [c.argmax(0).tolist() if len(c) else [-1] * 4 for c in parts]
    assert np.count_nonzero(x, axis=1, keepdims=True).tolist() == [[[len(c)] * 4] for c in parts]


def test_where_of_a_call() -> None:
    x = array(LENGTHS)
    got = np.divide(1, x, where=x > 0)
    assert_components(got, [np.divide(1, c, out=np.zeros_like(c), where=c > 0) for c in components(x)])
    quotient, rest = np.divmod(x, 2.0, where=x > 0, dtype=np.float64)
    assert quotient.dtype == rest.dtype == np.float64
    assert_components(rest, [np.where(c > 0, c % 2, 0) for c in components(x)])


def test_a_call_converts_before_it_computes() -> None:
    x = np.array([100, 2, -128], np.int8)
    r: Any = rg.from_lengths(x, [3])
    for ufunc, given, dtype in ((np.add, (r, r), "i8"), (np.add, (r, 300), "i2"), (np.multiply, (r, r), "f4")):
        got: Any = ufunc(*given, dtype=dtype)
        wanted = ufunc(*(x if v is r else v for v in given), dtype=dtype)
        assert (got.dtype, got.values.tolist()) == (wanted.dtype, wanted.tolist())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sort(x, axis=None),
        lambda x: np.argsort(x, None),
        lambda x: np.concatenate([x, x], axis=None),
        lambda x: np.stack([x, x], axis=None),
        lambda x: np.diff(x, axis=None),
        lambda x: np.take_along_axis(x, x.astype(np.int64), None),
    ],
)
def test_no_axis_is_not_the_one_by_default(call: Callable[[Any], Any]) -> None:
    """NumPy takes all elements as one vector then: nothing else may come of it."""
    with pytest.raises(rg.ArgumentError, match=r"expected an integer for axis, got NoneType$"):
        call(array(LENGTHS))


def test_arguments_by_the_names_of_numpy() -> None:
    x: Any = array(LENGTHS)
    assert np.sum(a=x, axis=1).tolist() == np.sum(x, 1, None, None, True)[:, 0].tolist() == x.sum(1).tolist()
    assert np.mean(a=x, axis=2).tolist() == x.mean(2).tolist()
    assert np.stack(arrays=[x, x], axis=1).shape == (4, 2, None, 4)
    assert np.concatenate((x, x), axis=1).lengths.tolist() == [6, 0, 10, 2]
    for clipped in (np.clip(x, 0, 0.5), np.clip(a=x, a_min=0, a_max=0.5), np.clip(x, min=0, max=0.5)):
        assert clipped.tolist() == x.clip(0, 0.5).tolist()
    assert np.take(x, indices=[1], axis=0).tolist() == x[1:2].tolist()
    assert np.squeeze(a=x[..., None]).shape == x.shape
    assert np.zeros_like(x, None, "K", True).dtype == x.dtype


def test_names_of_older_versions_of_numpy() -> None:
    """Functions whose names, or whose arguments', are others: 1.24 has np.round by the name round_."""

    def round_(a: Any, decimals: int = 0, out: Any = None) -> None: ...
    def reshape(a: Any, newshape: Any, order: str = "C") -> None: ...
    def take_along_axis(arr: Any, indices: Any, axis: int) -> None: ...

    def call(function: Any, *args: Any) -> Any:
        function.__module__ = "numpy"
        return x.__array_function__(function, (type(x),), args, {})

    x: Any = array(LENGTHS)
    assert call(round_, x).tolist() == x.round().tolist()
    assert call(reshape, x, (4, None, 2, 2)).shape == (4, None, 2, 2)
    with pytest.raises(rg.ArgumentError, match=r"expected an integer for axis, got NoneType$"):
        call(take_along_axis, x, x.astype(np.int64), None)


def test_likes() -> None:
    x = array(LENGTHS)
    x = np.where(x > 1, np.nan, x)
    assert_components(np.zeros_like(x), [np.zeros_like(c) for c in components(x)])
    assert_components(np.ones_like(x, dtype=np.int8), [np.ones(c.shape, np.int8) for c in components(x)])
    assert_components(np.full_like(x, 3), [np.full_like(c, 3) for c in components(x)])
    assert np.full_like(x, 3).dtype == x.dtype


def test_shapes() -> None:
    x = array(LENGTHS)
    assert (np.ndim(x), np.shape(x)) == (3, (4, None, 4))
    assert np.expand_dims(x, -1).shape == (4, None, 4, 1)
    assert np.transpose(x[..., None], (0, 1, 3, 2)).shape == (4, None, 1, 4)
    assert_components(np.einsum("blk,k->bl", x, np.ones(4, np.float32)), [c.sum(1) for c in components(x)])


def test_isclose() -> None:
    x: Any = rg.ragged([[1.0, np.nan], [], [np.inf, 5]])
    near: Any = rg.ragged([[1 + 1e-9, np.nan], [], [np.inf, 6]])
    for equal in (False, True):
        got: Any = np.isclose(x, near, equal_nan=equal)
        assert got.values.tolist() == np.isclose(x.values, near.values, equal_nan=equal).tolist()
        assert np.isclose(x, near, atol=2.0, equal_nan=int(equal)).tolist() == [[True, equal], [], [True, True]]
        assert np.array_equal(x, x, equal_nan=int(equal)) is equal
    assert np.allclose(x, x, equal_nan=True) is True
    with pytest.raises(rg.ArgumentError, match=r"^np\.subtract\.accumulate: expected one of"):
        np.subtract.accumulate(array(LENGTHS), axis=1)
    with pytest.raises(rg.ArgumentError, match=r"^isclose: expected an array or a number, got str$"):
        rg.jit(lambda x: np.isclose(x, x, rtol="1"))(x)
    assert np.allclose(x, near, equal_nan=True) is False
    assert rg.jit(lambda a: np.allclose(a, a * 1.0))(rg.ragged([[1.0]])).tolist() is True


def pieces(part: Any, count: int) -> list[Any]:
    """The rows of a component as `torch.chunk` cuts them, and none for pieces that are left."""
    size = -(-len(part) // count)
    return [part[k * size : (k + 1) * size] for k in range(count)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lengths", STRUCTURES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_pieces_of_every_component(lengths: tuple[int, ...], count: int) -> None:
    x = array(lengths)
    parts = components(x)
    for number, piece in enumerate(rg.chunk(x, count, axis=1)):
        assert_components(piece, [pieces(c, count)[number] for c in parts])
        assert np.shares_memory(piece.stored.values, x.values) or not x.values.size
    for number, piece in enumerate(np.array_split(x, count, axis=1)):
        assert_components(piece, [np.array_split(c, count)[number] for c in parts])
    for number, piece in enumerate(np.split(x, [1, 3], axis=-2)):
        assert_components(piece, [np.split(c, [1, 3])[number] for c in parts])


def test_pieces_of_two_levels() -> None:
    x = nested(((3, 0), (), (5, 2, 1)))
    rows = x.tolist()
    for axis in (1, 2):
        made = rg.jit(lambda a, axis: [piece * 1 for piece in rg.chunk(a, 2, axis)], static=("axis",))(x, axis)
        for number, piece in enumerate(made):
            if axis == 1:
                assert piece.tolist() == [pieces(row, 2)[number] for row in rows]
            else:
                assert piece.tolist() == [[pieces(inner, 2)[number] for inner in row] for row in rows]


def test_pieces_of_the_batch() -> None:
    x: Any = array((1, 2, 3, 4, 5))
    for parts, expected in ((np.array_split(x, 3), [[1, 2], [3, 4], [5]]), (np.split(x, 5), [[1], [2], [3], [4], [5]])):
        assert [[len(c) for c in components(p)] for p in parts] == expected


HAVE = "expected a function that ragged arrays have, got another"
REFUSED: list[Refusal] = [
    (lambda x: np.subtract.reduce(x), TypeError,
     "np.subtract.reduce: expected one of add, multiply, maximum, minimum, logical_or, logical_and, logaddexp, "
     "bitwise_and, bitwise_or, bitwise_xor, got"),
    (lambda x: np.subtract.accumulate(x, axis=1), TypeError, "np.subtract.accumulate: expected one of add, multiply,"),
    (lambda x: np.add.outer(x, x), TypeError,
     "np.add.outer: expected call, reduce or accumulate, got outer (insert dims with x[..., None], and broadcast)"),
    (lambda x: np.add.at(x, [0], 1), TypeError,
     "got at (arrays are immutable: rg.segment_sum adds up by ids, rg.where replaces)"),
    (lambda x: np.add.reduceat(x, [0]), TypeError, "got reduceat (make components with rg.from_offsets, and"),
    (lambda x: np.add(x, x, out=x), TypeError,
     "np.add: expected no out, got one (ragged arrays are immutable: use the result)"),
    (lambda x: np.sum(x, out=np.zeros(4)), TypeError, "np.sum: expected no out, got one"),
    (lambda x: np.add(x, x, where=np.ones(4)), TypeError, "np.add: expected a mask of booleans for where, got float64"),
    (lambda x: np.sum(x, where=[[True], False]), TypeError, "expected an array or nested lists of numbers, got list"),
    (lambda x: np.add(x, x, dtype=np.int8), TypeError,
     "np.add: expected operands that NumPy computes in int8, got others: Cannot cast"),
    (lambda x: np.add(x, 1, casting="unsafe"), TypeError,
     "np.add: expected no option casting on ragged arrays, got one"),
    (lambda x: np.matvec(x, x), TypeError, "np.matvec: expected a ufunc that ragged arrays have, got another "
     "(x @ w, or rg.einsum)"),
    (lambda x: np.unique(x), TypeError, "ragged arrays have, got another (rg.unique(x) has the distinct elements"),
    (lambda x: np.histogram(x, 1), TypeError, "np.histogram: expected a function that ragged arrays have"),
    *((lambda x, name=name: getattr(np, name)("f", x), TypeError, f"np.{name}: {HAVE} (rg.save_npz(file, x))")
      for name in ("save", "savez", "savez_compressed", "savetxt")),
    *((lambda x, name=name: getattr(np, name)(x, x), TypeError, f"np.{name}: {HAVE} (x @ w, or rg.einsum)")
      for name in ("dot", "inner", "tensordot")),
    *((lambda x, name=name: getattr(np, name)(x), TypeError, f"np.{name}: {HAVE} (masks are indices as they are: ")
      for name in ("nonzero", "argwhere", "flatnonzero")),
    (lambda x: np.trim_zeros(x), TypeError, f"np.trim_zeros: {HAVE} (x[mask] leaves out what the mask does not have"),
    *((lambda x, use=use: use(x), TypeError, f"{HAVE} (rg.concat joins along any dim, rg.stack along a new one)")
      for use in (lambda x: np.tile(x, 2), lambda x: np.append(x, x), lambda x: np.hstack([x, x]),
                  lambda x: np.vstack([x, x]), lambda x: np.insert(x, 0, x))),
    (lambda x: np.linalg.inv(x), TypeError, f"np.linalg.inv: {HAVE}"),
    (lambda x: np.fft.fft(x), TypeError, f"np.fft.fft: {HAVE}"),
    (lambda x: np.polyval([2, 1], x), TypeError, f"np.polyval: {HAVE} ((a * x + b) * x + c)"),
    (lambda x: np.linalg.outer(x, x), TypeError, f"np.linalg.outer: {HAVE} (x[:, :, None] * y[:, None, :] of the "),
    (lambda x: np.sum(x, None, None, np.zeros(4)), TypeError, "np.sum: expected no out, got one"),
    (lambda x: np.stack([x, x], 0, np.zeros(3)), TypeError, "np.stack: expected no out, got one"),
    (lambda x: np.concatenate([x, x], 0, np.zeros(3)), TypeError, "np.concatenate: expected no out, got one"),
    (lambda x: np.concatenate([x, x], out=np.zeros(3)), TypeError, "np.concatenate: expected no out, got one"),
    (lambda x: np.take(x, [0], 0, np.zeros(3)), TypeError, "np.take: expected no out, got one"),
    (lambda x: np.clip(x, 0, 1, np.zeros(3)), TypeError, "np.clip: expected no out, got one"),
    (lambda x: np.argmax(x, 1, np.zeros(3)), TypeError, "np.argmax: expected no out, got one"),
    (lambda x: np.clip(x, 0, 1, newshape=3), TypeError, "np.clip: expected no option newshape on ragged arrays"),
    (lambda x: np.concatenate([x], dtype="f8"), TypeError, "np.concatenate: expected no option dtype on ragged arrays"),
    (lambda x: np.var(x, 1, "f8"), TypeError, "np.var: expected no option dtype on ragged arrays, got one"),
    (lambda x: np.zeros_like(x, None, "F"), TypeError, "np.zeros_like: expected no option order on ragged arrays"),
    (lambda x: np.partition(x, 2), TypeError, "np.partition: expected a function that ragged arrays have, got another"),
    (lambda x: np.reshape(x, (2, -1)), TypeError, "reshape: expected a tuple of dense dims and one"),
    (lambda x: np.unwrap(x), TypeError, "np.unwrap: expected a function that ragged arrays have"),
    (lambda x: np.where(x), TypeError, "np.where: expected arguments (condition, x, y), got others: missing"),
    (lambda x: np.take(x, [0]), TypeError, "np.take: expected an axis, got none (that of x.values goes over all"),
    (lambda x: np.roll(x, 1), TypeError, "np.roll: expected an axis, got none"),
    (lambda x: np.roll(x, 1, ""), TypeError, "np.roll: expected an integer for axis, got str"),
    (lambda x: np.take(x, [0], ""), TypeError, "np.take: expected an integer for axis, got str"),
    (lambda x: np.cumsum(x), TypeError, "cumsum: expected an axis, got none (that of x.values goes over all elements)"),
    (lambda x: np.array_split(x, 0), TypeError, "np.array_split: expected sections in [1, 1048576], got 0"),
    (lambda x: np.array_split(x, 2, 3), IndexError, "np.array_split: expected axis in [-3, 3), got 3"),
    (lambda x: np.split(x, 3), rg.LayoutError, "expected an extent that 3 divides, got 4 (use np.array_split)"),
    (lambda x: np.split(x, 2, 1), rg.LayoutError, "np.split: expected an extent that 2 divides, got a ragged one"),
    (lambda x: rg.jit(lambda a: np.array_split(a, 2))(x), rg.LayoutError,
     "np.array_split: expected an extent that is known when the function is traced, got dim 0"),
    (lambda x: rg.chunk(x, 0), TypeError, "chunk: expected chunks in [1, 1048576], got 0"),
    (lambda x: rg.chunk(x, 2, axis=4), IndexError, "chunk: expected axis in [-3, 3), got 4"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


FRESH = """
import importlib, pkgutil
import ragged_dialect.arrays as arrays
from ragged_dialect.arrays.tracing.loading import load
from ragged_dialect.arrays.tracing.operation import OPERATIONS
load()
known = set(OPERATIONS)
for module in pkgutil.walk_packages(arrays.__path__, "ragged_dialect.arrays."):
    importlib.import_module(module.name)
print(sorted(set(OPERATIONS) - known))
"""


def test_all_operations_are_loaded_together() -> None:
    """Those that NumPy's protocols find by their names too, in a process that used none."""
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("decimals", [0, 1, -1, -2])
def test_rounding_is_numpys(dtype: str, decimals: int) -> None:
    x = array(LENGTHS)
    x = (x * 100 - 15).astype(dtype)
    for got in (x.round(decimals), np.round(x, decimals), np.around(x, decimals=decimals), round(x, decimals)):
        expected = np.round(np.asarray(x.values), decimals)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.values, expected)


def test_rounding_to_more_decimals_than_floats_have() -> None:
    assert np.isnan(rg.from_lengths(np.ones(2), [1, 1]).round(400).values).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "i4", "?"])
def test_neighbours_and_order(axis: int, dtype: str) -> None:
    x = array((3, 0, 17, 1), (4,), dtype=dtype)
    for function in (np.diff, np.flip, np.sort):
        assert_components(function(x, axis=axis), [function(c, axis=axis - 1) for c in components(x)])
    assert_components(np.diff(x, 2, axis=axis), [np.diff(c, 2, axis=axis - 1) for c in components(x)])
    assert_components(np.flip(x), [np.flip(c) for c in components(x)][::-1])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shift", [1, -2, 7])
@pytest.mark.parametrize("axis", [1, 2])
def test_rolls(axis: int, shift: int) -> None:
    x = array((3, 0, 17, 1), (4,))
    for y in (x, x[1:], x[:, 1:]):
        assert_components(np.roll(y, shift, axis=axis), [np.roll(c, shift, axis=axis - 1) for c in components(y)])
    lists = nested(((1, 2), (), (3,)))
    expected = [[np.roll(part, shift).tolist() for part in parts] for parts in lists.tolist()]
    assert np.roll(lists, shift, axis=2).tolist() == expected


def test_dims_in_each_others_place() -> None:
    x = array((3, 0, 5), (2, 4))
    assert_components(np.swapaxes(x, 2, -1), [np.swapaxes(c, 1, 2) for c in components(x)])


def test_vectors_need_no_axis() -> None:
    vector, places = np.arange(4.0), np.array([2, 0])
    made = rg.jit(lambda x, at: (np.take(x, at), np.roll(x, 1)))(vector, places)
    assert [x.tolist() for x in made] == [vector[places].tolist(), np.roll(vector, 1).tolist()]


def test_methods_take_numpys_options() -> None:
    x = array((3, 1, 17, 1), (4,))
    mask = x > 0
    pairs = list(zip(components(x), components(mask), strict=True))
    assert x.sum(1, dtype=np.float64).dtype == np.float64
    np.testing.assert_allclose(
        x.sum(1, initial=2.0, where=mask), [c.sum(0, initial=2, where=m) for c, m in pairs], 1e-5
    )
    np.testing.assert_allclose(x.prod(1, where=mask), [c.prod(0, where=m) for c, m in pairs], 1e-5)
    np.testing.assert_allclose(x.max(1, initial=0.5), [c.max(0, initial=0.5) for c, _ in pairs])
    np.testing.assert_allclose(x.min(1, initial=0.5, where=mask), [c.min(0, initial=0.5, where=m) for c, m in pairs])
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="empty slice"):
        expected = [c.mean(0, where=m) for c, m in pairs]
    np.testing.assert_allclose(x.mean(1, where=mask), expected, 1e-5)
    assert x.mean(1, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal((x > 0).any(1, where=mask), [(c > 0).any(0, where=m) for c, m in pairs])
    np.testing.assert_array_equal(mask.all(1, where=x < 1), [m.all(0, where=c < 1) for c, m in pairs])
    for narrow in (lambda x: x.sum(1, dtype=np.int8, initial=300), lambda x: np.sum(x, 1, np.int32, initial=2**40)):
        with pytest.raises(rg.RuntimeCheckError, match=r"^np\.add: expected a number in \[-\d+, \d+\], got \d+$"):
            narrow(x)


def test_components_in_another_order() -> None:
    x = array((3, 0, 17, 1), (4,))
    assert_components(np.roll(x, 1, axis=0), [components(x)[k] for k in (3, 0, 1, 2)])
    rolled = rg.jit(lambda x, shift, axis: np.roll(x, shift, axis=axis), static=("axis",))
    for axis in range(3):
        for shift in (0, 1, -5, 40):
            assert_components(rolled(x, shift, axis), components(np.roll(x, shift, axis=axis)))
    with pytest.raises(rg.ArgumentError, match=r"np\.roll: expected an integer for shift, got"):
        rolled(x, 1.5, 1)


def test_ranges() -> None:
    x = array((3, 2, 17, 1), (4,))
    np.testing.assert_array_equal(np.ptp(x, axis=1), [np.ptp(c, 0) for c in components(x)])
    assert np.ptp(rg.ragged([[1, 5], []], np.int32), axis=1).tolist() == [4, 0]
    assert_components(np.ptp(x, axis=2), [np.ptp(c, 1) for c in components(x)])


def test_numbers_for_what_is_none() -> None:
    for dtype in ("f2", "f4", "f8"):
        values = np.array([np.nan, 1.0, np.inf, -np.inf], dtype)
        x = rg.from_lengths(values, [1, 3])
        np.testing.assert_array_equal(np.nan_to_num(x).values, np.nan_to_num(values))
        given = np.nan_to_num(x, nan=2.0, posinf=3.0, neginf=4.0).values
        np.testing.assert_array_equal(given, np.nan_to_num(values, nan=2.0, posinf=3.0, neginf=4.0))
    assert np.nan_to_num(array(LENGTHS, dtype="i4")).dtype == np.int32


def test_sizes() -> None:
    x = array((3, 0, 17, 1), (4,))
    assert (x.size, np.size(x), np.size(x, 0), np.size(x, 1), np.size(x, -1)) == (84, 84, 4, None, 4)
    assert (x[:, 1:].size, x[::2].size, x[:, :, :2].size) == (72, 80, 42)
    lists = rg.ragged([[[1, 2], [3]], [], [[4]]])
    assert (lists.size, lists[1:].size, lists[:, :, 1:].size, rg.from_lengths(np.zeros((0, 3)), []).size) == (
        4,
        1,
        1,
        0,
    )
    with pytest.raises(
        rg.LayoutError, match=r'^size: expected a layout without tiles, got "drt\|d" \(merge it first\)$'
    ):
        _ = x.split(1, 2).size


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ends", [{"prepend": 0}, {"append": 2.5}, {"prepend": 1, "append": 1}], ids=str)
def test_differences_from_what_is_put_before_and_behind(ends: dict[str, float]) -> None:
    x = rg.ragged([[3, 1, 2], [], [5]])
    found = np.diff(x, axis=1, **ends)
    rows = [np.diff(np.asarray(row, np.int64), **ends) for row in x.tolist()]
    assert found.tolist() == [row.tolist() for row in rows]
    assert found.dtype == rows[0].dtype
    assert rg.jit(lambda x: np.diff(x, axis=1, **ends))(x).tolist() == found.tolist()


def test_differences_from_a_traced_number() -> None:
    x = rg.ragged([[3.0, 1.0], [], [5.0]])
    assert rg.jit(lambda x, p: np.diff(x, prepend=p))(x, 1.0).tolist() == [[2.0, -2.0], [], [4.0]]
    assert rg.grad(lambda p: (np.diff(x, prepend=p) ** 2).sum())(1.0) == -12.0
    text = "diff: expected an array to join lists of lists along a ragged dim, got a number"
    with pytest.raises(rg.ArgumentError, match=text):
        np.diff(rg.ragged([[[1, 2]], []]), prepend=0)


def test_differences_of_features_and_from_arrays() -> None:
    x = rg.from_lengths(np.arange(8.0).reshape(4, 2), [3, 0, 1])
    assert np.diff(x, axis=1, prepend=0.0)[:, :1].tolist() == [[[0.0, 1.0]], [], [[6.0, 7.0]]]
    np.testing.assert_array_equal(np.diff(x, axis=2, append=0.0).values, np.diff(x.values, axis=1, append=0.0))
    first = np.array([[[1.0, 1.0]], [[2.0, 2.0]], [[3.0, 3.0]]])
    assert np.diff(x, axis=1, prepend=first)[:, :1].tolist() == [[[-1.0, 0.0]], [], [[3.0, 4.0]]]


def test_differences_that_are_none() -> None:
    with pytest.raises(rg.ArgumentError, match=r"^np.diff: expected n of at least 0, got -1$"):
        np.diff(array(LENGTHS), -1)


def test_masks_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x = rg.from_lengths(torch.arange(12.0), [5, 0, 3, 4])
    mask = torch.tensor([[True], [False], [True], [True]])
    assert x.sum(axis=1, where=mask).tolist() == [10, 0, 18, 38]
    with pytest.raises(rg.ArgumentError, match=r"expected a mask of booleans for where, got torch\.int64"):
        x.sum(axis=1, where=mask.long())


def test_several_dims_of_extent_1() -> None:
    x = rg.from_lengths(np.arange(6.0), [2, 4])
    for axes in ((0, 1), (0, -1), (-1, -2), 2, (2,)):
        found: Any = np.expand_dims(x, axes)
        wanted = np.expand_dims(np.zeros((2, 7)), axes).shape
        assert found.shape == tuple(None if extent == 7 else extent for extent in wanted)
    with pytest.raises(rg.ArgumentError, match=r"np\.expand_dims: expected different axes, got \(0, 0\)"):
        np.expand_dims(x, (0, 0))
