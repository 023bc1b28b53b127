"""Calls with arguments that make no sense give a result or a RaggedError that says so, outside and inside of jit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.components import array
from support.junk import Call, arrays, call, deep, inside_itself, junk
from support.refusals import Refusal, refused

import ragged_dialect as rg

LEAKS = (rg.CompileError, rg.PassError, rg.VerifyError)
"""What the compiler says of programs that should not have been made."""


class NoIndex:
    """Has the method of an integer and is none, as a tensor of several elements."""

    def __index__(self) -> int:
        raise TypeError

    def __repr__(self) -> str:
        return "NoIndex()"


class OnlyRead:
    """No opened file, though it has a method of one."""

    def read(self, size: int) -> bytes:
        return bytes(size)


def _fault(run: Call) -> str | None:
    """What is wrong with what a call raises, None where nothing is."""
    try:
        run()
    except (MemoryError, OSError):  # of files that are not there
        return None
    except Exception as error:
        if not _is_own(error) or (isinstance(error, rg.RaggedError) and not isinstance(error, LEAKS)):
            return None
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def _is_own(error: Exception) -> bool:
    """Whether an error comes from this package, and not from what NumPy or Python check before they call it."""
    frame = error.__traceback__
    while frame is not None:
        if "/ragged_dialect/" in frame.tb_frame.f_code.co_filename:
            return True
        frame = frame.tb_next
    return False


def _run(seed: int, count: int, first: Sequence[Any] | None = None) -> list[str]:
    random_ = random.Random(seed)
    found: list[str] = []
    for _ in range(count):
        text, run = call(random_, arrays() if first is None else first, junk())
        fault = _fault(run)
        found += [] if fault is None else [f"{text}\n    {fault}"]
    return found


def _run_traced(seed: int, count: int) -> list[str]:
    """The calls inside one jit function, which never gets so far as to be compiled."""
    found: list[str] = []

    @rg.jit
    def traced(*given: Any) -> Any:
        found.extend(_run(seed, count, given))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        traced(*arrays())
    return found


def test_calls_with_junk() -> None:
    assert not _run(0, 150)


def test_calls_with_junk_in_jit() -> None:
    assert not _run_traced(0, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_calls_with_junk(seed: int) -> None:
    found = _run(seed, 500) + _run_traced(seed, 1500)
    assert not found, "\n".join(found)


class Tree:
    """A class that looks like a sparse matrix in rows."""

    data, indptr = np.ones(3), np.array([0, 1, 3])

    def __iter__(self) -> Any:
        return iter([Tree()])


LENGTHS = (3, 0, 5, 1)
IDS = rg.from_lengths(np.zeros(3, np.int64), [1, 2])
SEVERAL = np.array([True, False])
REFUSED: list[Refusal] = [
    (lambda x: rg.from_offsets(np.ones(3), [0, 3], check=SEVERAL), TypeError,
     "from_offsets: expected a boolean for check, got ndarray"),
    (lambda x: rg.from_lengths(np.ones(3), [3], check=2), TypeError, "expected a boolean for check, got int"),
    (lambda x: rg.from_starts_lengths(np.ones(3), [0], [3], check=SEVERAL), TypeError, "a boolean for check"),
    (lambda x: rg.from_row_ids(np.ones(3), [0, 0, 1], check=SEVERAL), TypeError, "a boolean for check"),
    (lambda x: rg.scan(lambda c, v: (c, v), 0.0, x, reverse=SEVERAL), TypeError,
     "scan: expected a boolean for reverse, got ndarray"),
    *[(lambda x, call=call: call(x, x, equal_nan=SEVERAL), TypeError, "expected a boolean for equal_nan, got ndarray")
      for call in (np.isclose, np.allclose, np.array_equal)],
    (lambda x: np.digitize(x, [1.0], right=SEVERAL), TypeError, "np.digitize: expected a boolean for right"),
    (lambda x: np.isin(x, [1.0], invert=SEVERAL), TypeError, "np.isin: expected a boolean for invert"),
    (lambda x: np.nan_to_num(x, copy=False), TypeError,
     "np.nan_to_num: expected copy=True, got False (arrays are immutable)"),
    (lambda x: rg.jit(lambda x: rg.from_lengths(x, [3, 1]))(x), TypeError,
     'from_lengths: expected a dense array, got layout "dr'),
    (lambda x: rg.jit(lambda x: rg.like(x[:, 1:], x.values))(x), ValueError,
     '(rg.compact makes them of windows)'),
    (lambda x: rg.full(2, [1.0, 2.0, 3.0]), TypeError,
     "full: expected a number to fill with, got an array of rank 1"),
    (lambda x: rg.full((2**40, 2**10), 1.0), MemoryError, "full: expected enough memory, got"),
    (lambda x: rg.arange(2**50), MemoryError, "arange: expected enough memory, got"),
    (lambda x: x + 2**70, ValueError,
     "add: expected a number in [-2**63, 2**63), got 1180591620717411303424 (use a float)"),
    (lambda x: x + 10**400, ValueError, "got one of 1329 bits (use a float)"),
    (lambda x: rg.jit(lambda a: a * 2**63)(x), ValueError,
     "expected a number in [-2**63, 2**63), got 9223372036854775808"),
    (lambda x: x[2**70], ValueError, "expected a number in [-2**63, 2**63)"),
    (lambda x: np.equal(x, None), TypeError, "equal: expected an array or a number, got NoneType (ask with `is`)"),
    (lambda x: x + None, TypeError, "add: expected an array or a number, got NoneType (in x.shape the extent "
     "of a ragged dim is None: x.lengths has its lengths)"),
    (lambda x: rg.jit(lambda x: x.sum(1) / x.shape[1])(x), TypeError,
     "divide: expected an array or a number, got NoneType (in x.shape the extent of a ragged dim"),
    (lambda x: x / x.shape[1], TypeError, "divide: expected an array or a number, got NoneType (in x.shape"),
    (lambda x: rg.select(x, IDS, axis=0), TypeError,
     'select: expected one integer for index, got int64 of rank 2 and layout "dr" (take has'),
    (lambda x: rg.select(np.ones((3, 2)), [0, 1], axis=0), TypeError, "got int64 of rank 1 (take has"),
    (lambda x: rg.select(x, 1.5, axis=0), TypeError, "select: expected one integer for index, got float64 of rank 0"),
    (lambda x: rg.ragged(Tree()), TypeError, "ragged: expected lists, got Tree (use from_offsets(x.data, x.indptr))"),
    (lambda x: rg.ragged(inside_itself()), TypeError, "ragged: expected lists at most 64 deep, got deeper ones"),
    (lambda x: rg.ragged(deep(5000)), TypeError, "ragged: expected lists at most 64 deep"),
    (lambda x: rg.jit(lambda a: a)(deep(5000)), TypeError, "expected containers at most 100 deep, got deeper ones"),
    (lambda x: rg.jit(lambda a: inside_itself())(x), TypeError, "expected containers at most 100 deep"),
    (lambda x: rg.quantile(x, 0.5, method=deep(5000)), TypeError, "got [[[[[[[...]]]]]]]"),
    (lambda x: rg.jit(lambda v: np.reshape(v, np.empty((2, 0))))(np.arange(4)), TypeError,
     "reshape: expected integers as extents, got ndarray"),
    (lambda x: rg.partition(x, None), TypeError, "partition: expected an array or a number for vector, got NoneType"),
    (lambda x: rg.partition(x, [3.0, 6.0], lengths=True), TypeError,
     "partition: expected integers of rank 1 or 2 for lengths, got float64 of rank 1"),
    (lambda x: rg.partition(x, 3), TypeError,
     "partition: expected integers of rank 1 or 2 for offsets, got int64 of rank 0"),
    (lambda x: x.reshape((-1, 8)), TypeError, "reshape: expected a tuple of dense dims and one of their new extents"),
    (lambda x: x.reshape(-1, 8), TypeError,
     "reshape: expected a tuple of dense dims and one of their new extents, got other arguments "
     "(x.reshape((2,), (-1, 8)) makes dim 2 two dims, and so does x.reshape((4, None, -1, 8)))"),
    (lambda x: rg.from_offsets(None, [0]), TypeError, "expected an array or nested lists of numbers, got NoneType"),
    (lambda x: rg.from_offsets(["a"], [0, 1]), TypeError,
     "expected an array or nested lists of numbers, got list of <U1"),
    (lambda x: rg.from_lengths([1, 2], [[1], [1, 2]]), TypeError,
     "from_lengths: lengths 0: expected integers, got a sequence of vectors"),
    (lambda x: rg.from_offsets([[1], [1, 2]], [0, 1]), TypeError,
     "expected an array or nested lists of numbers, got list (rg.ragged takes lists of different lengths)"),
    (lambda x: rg.from_row_ids([1.0], [0], "a"), TypeError, "from_row_ids: expected an integer for nrows, got str"),
    (lambda x: rg.to_padded(x, np.ones(2)), TypeError, "to_padded: expected a number, got float64 of rank 1"),
    (lambda x: rg.to_padded(np.ones(2)), TypeError, "to_padded: expected a ragged array, got float64 of rank 1"),
    (lambda x: rg.chunk(np.ones(3), 2), TypeError, "chunk: expected a ragged array, got ndarray"),
    (lambda x: rg.like(None, 1), TypeError, "like: expected a ragged array, got NoneType"),
    (lambda x: rg.boolean_mask(x, IDS), TypeError, "boolean_mask: expected a mask of booleans, got int64 of rank 2"),
    (lambda x: rg.gather(x, IDS * 1.0), TypeError, "gather: expected indices of integers, got float64 of rank 2"),
    (lambda x: rg.to_padded(rg.split(x, axis=1, factor=2)), ValueError, "to_padded: expected a layout without tiles"),
    (lambda x: x.softmax(axis="a"), TypeError,
     "softmax: expected an integer, a tuple of integers or None for axis, got str"),
    (lambda x: x.var(ddof=1.5), TypeError, "var: expected an integer for ddof, got float"),
    (lambda x: x.sum(keepdims=1), TypeError, "sum: expected a boolean for keepdims, got int"),
    (lambda x: rg.layer_norm(x, eps="a"), TypeError, "layer_norm: expected a number for eps, got str"),
    (lambda x: rg.erf(), TypeError, "erf: expected arguments (x), got others: missing a required argument: 'x'"),
    (lambda x: x[:, "a":], TypeError, "getitem: expected an integer for a bound, got str"),
    (lambda x: x[:, :: 1.5], TypeError, "getitem: expected an integer for a step, got float"),
    (lambda x: x.lengths_of("a"), TypeError, "lengths: expected an integer for dim, got str"),
    (lambda x: x.__setitem__(0, 1), TypeError,
     "expected no assignment to elements, got one (arrays are immutable: use rg.where)"),
    (lambda x: x.__delitem__(0), TypeError,
     "expected no deletion of elements, got one (arrays are immutable: use x[mask])"),
    *((lambda x, n=n: x.astype(np.int8).to_padded(n), ValueError,
       "to_padded: expected a number that integers hold, got 1.5") for n in (1.5, np.float32(1.5), np.array(1.5))),
    (lambda x: x.astype(np.int8).to_padded(np.array(300)), ValueError,
     "to_padded: expected a number in [-128, 127], got 300"),
    (lambda x: rg.from_padded(np.ones((2, 3), np.int64), pad_value=1.5), ValueError,
     "from_padded: expected a number that integers hold, got 1.5"),
    (lambda x: np.sort(x, kind="fast"), TypeError,
     "np.sort: expected a kind of quicksort, heapsort, mergesort, stable, got 'fast'"),
    (lambda x: np.argsort(x, kind=3), TypeError,
     "np.argsort: expected a kind of quicksort, heapsort, mergesort, stable, got 3"),
    (lambda x: np.full_like(x, np.inf, np.int64), ValueError, "np.full_like: expected a number in [-9223372"),
    (lambda x: np.full_like(x, 1j), TypeError, "np.full_like: expected numbers that float32 holds, got complex128"),
    *((lambda x, n=n: np.full_like(x, n, dtype=np.int8), ValueError,
       f"np.full_like: expected a number in [-128, 127], got {n}") for n in (300, -129, 1e10, np.nan)),
    *((lambda x, n=n, bits=bits: rg.ragged([[n]], dtype=f"i{bits // 8}"), ValueError,
       f"ragged: expected a number in [{-(2 ** (bits - 1))}, {2 ** (bits - 1) - 1}], got {n}")
      for n, bits in ((300, 8), (np.nan, 8), (2**63, 64), (1e10, 32))),
    (lambda x: rg.to_padded(IDS.astype("i1"), 300), ValueError, "to_padded: expected a number in [-128, 127], got 300"),
    (lambda x: rg.to_padded(IDS.astype("i1"), np.int64(300)), ValueError, "to_padded: expected a number in [-128, "),
    (lambda x: rg.to_padded(IDS, np.nan), ValueError, "to_padded: expected a number in [-9223372036854775808, "),
    (lambda x: rg.jit(lambda a: rg.to_padded(a, 300))(IDS.astype("i1")), ValueError,
     "to_padded: expected a number in [-128, 127], got 300"),
    (lambda x: rg.from_padded(np.zeros((2, 2), "i1"), pad_value=256), ValueError,
     "from_padded: expected a number in [-128, 127], got 256"),
    (lambda x: np.array_split(x, 1.5), TypeError,
     "np.array_split: expected a number of sections or a list of indices, got 1.5"),
    (lambda x: rg.jit(3), TypeError, "jit: expected a function, got int"),
    (lambda x: rg.jit(static="ab")(len), TypeError, "jit: expected a tuple of names for static, got str"),
    (lambda x: rg.jit(static=(1,))(len), TypeError, "jit: expected names for static, got int"),
    (lambda x: rg.jit(dynamic_dims="a")(len), TypeError, "jit: expected tuples of dims for dynamic_dims, got 'a'"),
    (lambda x: rg.jit(lambda a, n: a, static=("n",))(x, [1]), TypeError,
     "expected what can be hashed for 'n', which is static, got list"),
    # the hash of what can be written is a ValueError
    (lambda x: rg.jit(lambda a, n: a, static=("n",))(x, memoryview(bytearray(1))), TypeError,
     "expected what can be hashed for 'n', which is static, got memoryview"),
    (lambda x: rg.softmax(x, axis=memoryview(bytearray(1))), TypeError,
     "softmax: expected an integer, a tuple of integers or None for axis, got memoryview"),
    (lambda x: x.astype(memoryview(bytearray(1))), TypeError, "expected a dtype of NumPy, got <memory"),
    (lambda x: x.astype(NoIndex()), TypeError, "expected a dtype of NumPy, got NoIndex()"),
    (lambda x: rg.load_npz(None), TypeError, "load_npz: expected a path or an opened file, got NoneType"),
    (lambda x: rg.load_npz(OnlyRead()), TypeError, "load_npz: expected a path or an opened file, got OnlyRead"),
    (lambda x: rg.save_npz(1, x), TypeError, "save_npz: expected a path or an opened file, got int"),
]  # fmt: skip

test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_static_arguments_that_are_equal_and_different() -> None:
    scaled = rg.jit(lambda x, n: x * n, static=("n",))
    x = array(LENGTHS, dtype=np.int64)
    assert [scaled(x, n).dtype for n in (1, 1.0, True)] == [np.int64, np.float64, np.int64]
    assert [np.copysign(1, scaled(x.sum() * 0, n)) for n in (0.0, -0.0)] == [1, -1]
    assert scaled.compilations == 5


@dataclass(frozen=True)
class Factor:
    """Equal to another one of a factor that is equal."""

    value: float

    def __call__(self, x: Any) -> Any:
        return np.copysign(x, self.value)


STATIC = [
    *((Factor(a), Factor(b)) for a, b in ((1, 1.0), (0.0, -0.0), (True, 1))),
    *((frozenset({a}), frozenset({b})) for a, b in ((1, 1.0), ((0.0,), (-0.0,)))),
    (np.float32(0.0), np.float32(-0.0)), (complex(0.0, 0.0), complex(0.0, -0.0)), (range(0), range(1, 1)),
    ((1, Factor(1)), (1, Factor(1.0))),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), STATIC, ids=repr)
def test_static_arguments_are_told_apart_by_what_they_are_made_of(one: Any, other: Any) -> None:
    assert one == other
    seen: list[Any] = []
    function = rg.jit(lambda x, given: seen.append(given) or x, static=("given",))
    for _ in range(2):
        function(array(LENGTHS), one)
        function(array(LENGTHS), other)
    assert seen[0] is one
    assert seen[1] is other
    assert function.compilations == 2


def test_keys_of_dicts_that_are_equal_and_different() -> None:
    x = array(LENGTHS, dtype=np.int64)
    scaled = rg.jit(lambda d: [key * value for key, value in d.items()])
    assert [scaled({key: x})[0].dtype for key in (1, 1.0, True)] == [np.int64, np.float64, np.int64]


def test_functions_that_are_equal_and_different() -> None:
    x = array(LENGTHS)
    assert [np.signbit(rg.vjp(Factor(s), x)[0].values).all() for s in (0.0, -0.0)] == [False, True]
    assert [np.signbit(rg.jvp(Factor(s), (x,), (x,))[0].values).all() for s in (0.0, -0.0)] == [False, True]


AFTER: list[tuple[Any, Any, Any]] = [
    (lambda x, axis: x.sum(axis=axis), 1, 1.0), (lambda x, axis: x.max(axis=axis), 1, 1 + 0j),
    (lambda x, axis: x.cumsum(axis=axis), 1, 1.0), (lambda x, axis: rg.softmax(x, axis=axis), 1, 1.0),
    (lambda x, axis: rg.unsqueeze(x, axis=axis), 1, 1.0), (lambda x, axis: x.sum(axis=axis), (0, 1), (0.0, 1)),
    (lambda x, axis: rg.concat([x, x], axis=axis), 1, 1.0), (lambda x, ddof: x.std(ddof=ddof), 1, 1.0),
    (lambda x, axis: rg.take(x, [0], axis=axis), 0, 0.0), (lambda x, flag: x.sum(keepdims=flag), True, 1),
]  # fmt: skip


@pytest.mark.parametrize(("call", "right", "wrong"), AFTER)
def test_what_is_refused_is_refused_after_what_is_equal(call: Any, right: Any, wrong: Any) -> None:
    call(array(LENGTHS), right)
    with pytest.raises(rg.ArgumentError, match=r"expected .* for (axis|ddof|keepdims), got "):
        call(array(LENGTHS), wrong)


@pytest.mark.parametrize("target", ["cpu", "emulator", "ptx-emulator"])
def test_integers_of_more_than_64_bits(target: str) -> None:
    """As where they are traced: one class with one text."""
    add = rg.jit(lambda x, n: x + n, target=target)
    x = array(LENGTHS, dtype=np.int64)
    assert add(x, 3).tolist() == (x + 3).tolist()
    for number, got in ((2**63, 2**63), (-(2**70), -(2**70)), (10**400, "one of 1329 bits")):
        with pytest.raises(rg.RuntimeCheckError) as error:
            add(x, number)
        assert str(error.value) == f"function: expected a number in [-2**63, 2**63), got {got} (use a float)"


def test_a_softmax_of_a_dense_array() -> None:
    x = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    for axis in range(3):
        expected = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
        np.testing.assert_allclose(rg.softmax(x, axis=axis), expected, 1e-5)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sort", " (rg.sort is a function)"),
        ("top_k", " (rg.top_k is a function)"),
        ("diff", " (np.diff is a function)"),
        ("sinh", " (np.sinh is a function)"),
        ("pad", " (x.to_padded() is dense, rg.concat joins along any dim)"),
        ("nonzero", " (masks are indices as they are: x[mask], whose row_ids are the components)"),
        ("diagonal", ""),
        ("real", ""),
        ("flatten", " (x.values has all elements, x.merge(1) has one level less)"),
        ("root", ""),
        ("foo", ""),
    ],
)
def test_names_of_functions_are_hints_for_attributes(name: str, hint: str) -> None:
    x = rg.ragged([[1, 2], []])
    for run, kind in ((lambda f: f(x), "ragged arrays"), (lambda f: rg.jit(f)(x), "traced values")):
        with pytest.raises(AttributeError) as caught:
            run(lambda x: getattr(x, name))
        assert str(caught.value) == f"{kind} have no attribute '{name}'{hint}"


def test_numbers_of_numpy_are_numbers() -> None:
    narrow = rg.narrow(np.arange(8).reshape(2, 4), np.int64(1), np.int32(2))
    assert narrow.tolist() == [[1, 2], [5, 6]]
    assert rg.chunk(narrow, np.int64(2))[1].tolist() == [[5, 6]]
