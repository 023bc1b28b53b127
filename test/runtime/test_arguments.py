"""Arguments of compiled functions: what is taken, what is refused, and that nothing is shared."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.structures import DTYPES, text_of
from support.targets import Compile

from ragged_dialect import ArgumentError, RaggedError, RuntimeCheckError, compile
from ragged_dialect.runtime.cpu import CpuFunction

F32, I64 = np.float32, np.int64
RAGGED = 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>'
WINDOWS = 'tensor<?x?xf32, #ragged.layout<"dw">>'
BATCHES = 'tensor<?x?x?xf32, #ragged.layout<"ddr">>'
VALUES, OFFSETS = np.arange(6, dtype=F32).reshape(3, 2), np.array([0, 1, 3])


def identity(*types: str) -> CpuFunction:
    """A compiled function that returns its arguments."""
    return compile(text_of(types, [], [(f"%a{k}", type_) for k, type_ in enumerate(types)]))


@pytest.fixture(scope="module")
def functions() -> dict[str, CpuFunction]:
    """Functions that return their argument, by the argument's type."""
    types = ["tensor<?x2xf32>", "tensor<?xi64>", "tensor<bf16>", RAGGED, WINDOWS, BATCHES]
    types += ["i1", "i8", "i64", "index", "f16", "bf16", "f32", "f64"]
    types += [f"tensor<?x{element}>" for element in DTYPES if element != "i64"]
    return {type_: identity(type_) for type_ in types}


BAD = [
    ("tensor<?x2xf32>", [[1.0, 2.0]], "expected a NumPy array, got list"),
    ("tensor<?x2xf32>", 1.0, "expected a NumPy array, got float"),
    ("tensor<?x2xf32>", None, "expected a NumPy array, got NoneType"),
    ("tensor<?x2xf32>", np.zeros(2, F32), "expected rank 2, got rank 1"),
    ("tensor<?x2xf32>", np.zeros((1, 1, 2), F32), "expected rank 2, got rank 3"),
    ("tensor<?x2xf32>", np.zeros((1, 2)), "expected dtype float32, got float64"),
    ("tensor<?x2xf32>", np.zeros((1, 2), np.int32), "expected dtype float32, got int32"),
    ("tensor<?x2xf32>", np.zeros((1, 2), object), "expected dtype float32, got object"),
    ("tensor<?x2xf32>", np.zeros((1, 3), F32), "expected extent 2 on axis 1, got 3"),
    ("tensor<?xi64>", np.zeros(1, np.int32), "expected dtype int64, got int32"),
    ("tensor<?xi64>", np.zeros(1, np.uint64), "expected dtype int64, got uint64"),
    ("tensor<bf16>", np.zeros((), np.float16), "expected dtype bfloat16, got float16"),
    (RAGGED, VALUES, "expected a tuple (values, offsets1), got ndarray"),
    (RAGGED, (VALUES,), "expected a tuple of 2 (values, offsets1), got 1"),
    (RAGGED, (VALUES, OFFSETS, 3), "expected a tuple of 2 (values, offsets1), got 3"),
    (WINDOWS, (), "expected a tuple of 3 (values, starts1, lengths1), got 0"),
    (BATCHES, VALUES, "expected a tuple (values, offsets2, extent0, extent1), got ndarray"),
    ("i1", 1, "expected True or False, got int"),
    ("i1", np.float32(1), "expected True or False, got float32"),
    ("i8", 128, "expected a number in [-128, 127], got 128"),
    ("i8", -129, "expected a number in [-128, 127], got -129"),
    ("i64", 2**63, f"expected a number in [{-(2**63)}, {2**63 - 1}], got {2**63}"),
    ("i64", 1.0, "expected a number of type int64, got float"),
    ("i64", True, "expected a number of type int64, got bool"),
    ("index", "3", "expected a number of type int64, got str"),
    ("f32", "3", "expected a number of type float32, got str"),
    ("f32", True, "expected a number of type float32, got bool"),
    ("f32", 1j, "expected a number of type float32, got complex"),
    ("f32", np.zeros(1, F32), "expected a number of type float32, got ndarray"),
    ("f16", ml_dtypes.bfloat16(1), "expected a number of type float16, got bfloat16"),
    ("bf16", None, "expected a number of type bfloat16, got NoneType"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("type_", "argument", "message"), BAD)
def test_refused(type_: str, argument: Any, message: str, functions: dict[str, CpuFunction]) -> None:
    with pytest.raises(ArgumentError) as error:
        functions[type_](argument)
    assert str(error.value) == f"f: argument 0: {message}"
    assert isinstance(error.value, RaggedError)
    assert isinstance(error.value, TypeError)


BAD_PARTS = [
    (RAGGED, (VALUES.astype(np.float64), OFFSETS), "values: expected dtype float32, got float64"),
    (RAGGED, (VALUES[:, :1], OFFSETS), "values: expected extent 2 on axis 1, got 1"),
    (RAGGED, (VALUES, [0, 1, 3]), "offsets1: expected a NumPy array, got list"),
    (RAGGED, (VALUES, OFFSETS[None]), "offsets1: expected rank 1, got rank 2"),
    (RAGGED, (VALUES, OFFSETS.astype(float)), "offsets1: expected dtype int64, got float64"),
    (RAGGED, (VALUES, OFFSETS.astype(bool)), "offsets1: expected dtype int64, got bool"),
    (RAGGED, (VALUES, np.array([0, 2**63], np.uint64)), f"offsets1: expected entries below 2**63, got {2**63}"),
    (WINDOWS, (np.zeros(2, F32), OFFSETS, 3), "lengths1: expected a NumPy array, got int"),
    (BATCHES, (np.zeros(3, F32), OFFSETS, 1.0, 2), "extent0: expected a number of type int64, got float"),
    (BATCHES, (np.zeros(3, F32), OFFSETS, 2, -1), "extent1: expected an extent of at least 0, got -1"),
]


@pytest.mark.parametrize(("type_", "argument", "message"), BAD_PARTS)
def test_refused_parts(type_: str, argument: Any, message: str, functions: dict[str, CpuFunction]) -> None:
    with pytest.raises(ArgumentError) as error:
        functions[type_](argument)
    assert str(error.value) == f"f: argument 0, {message}"


def test_the_place_of_a_later_argument() -> None:
    function = identity("f32", RAGGED, RAGGED, "i8")
    good = (VALUES, OFFSETS)
    for arguments, place in [
        ((1, good, (VALUES, 3), 1), "argument 2, offsets1: expected a NumPy array, got int"),
        ((1, good, 3, 1), "argument 2: expected a tuple (values, offsets1), got int"),
        ((1, good, good, 1.5), "argument 3: expected a number of type int8, got float"),
        (("x", 1, 1, 1), "argument 0: expected a number of type float32, got str"),
    ]:
        with pytest.raises(ArgumentError) as error:
            function(*arguments)
        assert str(error.value) == f"f: {place}"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_count(count: int) -> None:
    with pytest.raises(ArgumentError) as error:
        identity("f32", "f32")(*[1.0] * count)
    assert str(error.value) == f"f: expected 2 arguments, got {count}"


@pytest.mark.parametrize(
    ("type_", "given", "result"),
    [
        ("i1", True, True),
        ("i1", np.bool_(False), False),
        ("i8", -128, -128),
        ("i8", np.int64(5), 5),
        ("i64", -(2**63), -(2**63)),
        ("index", np.array(7), 7),
        ("f64", 0.1, 0.1),
        ("f32", 0.1, float(F32(0.1))),
        ("f32", np.float16(0.5), 0.5),
        ("f32", 3, 3.0),
        ("f32", 1e300, float("inf")),
        ("f32", -(10**400), float("-inf")),
        ("f16", 65520, float("inf")),
        ("f16", -0.1, float(np.float16(-0.1))),
        ("bf16", 3.140625, 3.140625),
        ("bf16", 1e39, float("inf")),
        ("bf16", ml_dtypes.bfloat16(2), 2.0),
    ],
)
def test_scalars(type_: str, given: Any, result: Any, functions: dict[str, CpuFunction]) -> None:
    """Rounded as the program would, and back as plain Python numbers."""
    got = functions[type_](given)
    assert got == result
    assert type(got) is type(result)


def test_scalars_beside_each_other() -> None:
    """The struct of the results has gaps as C has them."""
    types = ["i1", "f64", "i8", "f16", "bf16", "i1", "i32", "tensor<?xf32>", "i8", "index", "i16", "f32"]
    given = [True, 0.1, -3, 1.5, 2.25, False, -11, np.arange(3, dtype=F32), 9, 7, -300, 0.5]
    got = identity(*types)(*given)
    assert got[7].tolist() == [0, 1, 2]
    assert [*got[:7], *got[8:]] == [*given[:7], *given[8:]]


@pytest.mark.parametrize("element", DTYPES)
def test_arrays_of_every_type(element: str, functions: dict[str, CpuFunction]) -> None:
    given = np.array([0, 1, 1, 0]).astype(DTYPES[element])
    got = functions[f"tensor<?x{element}>"](given)
    assert got.dtype == given.dtype
    assert got.tolist() == given.tolist()
    assert got.flags.writeable
    assert not np.shares_memory(got, given)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u1", "u2", "u4", "u8", ">i4", ">u8"])
def test_index_vectors_are_widened(dtype: str, functions: dict[str, CpuFunction]) -> None:
    values, offsets = functions[RAGGED]((VALUES, OFFSETS.astype(dtype)))
    assert offsets.dtype == I64
    assert offsets.tolist() == OFFSETS.tolist()
    assert values.tolist() == VALUES.tolist()


def layouts_in_memory() -> list[np.ndarray[Any, Any]]:
    """Equal arrays that are not laid out as the program wants them."""
    wide = np.zeros((3, 4), F32)
    wide[:, ::2] = VALUES
    unaligned = np.frombuffer(b"\0" + VALUES.tobytes(), F32, offset=1).reshape(3, 2)
    assert not unaligned.flags.aligned
    frozen = VALUES.copy()
    frozen.flags.writeable = False
    return [np.asfortranarray(VALUES), wide[:, ::2], VALUES[::-1][::-1], unaligned, VALUES.astype(">f4"), frozen]


@pytest.mark.parametrize("case", range(6))
def test_other_memory_layouts_are_copied(case: int, functions: dict[str, CpuFunction]) -> None:
    given = layouts_in_memory()[case]
    assert functions["tensor<?x2xf32>"](given).tolist() == VALUES.tolist()
    assert functions[RAGGED]((given, OFFSETS[::-1][::-1]))[0].tolist() == VALUES.tolist()


def test_a_scalar_array_that_is_not_aligned() -> None:
    given = np.frombuffer(b"\0" + np.float32(2.5).tobytes(), F32, offset=1).reshape(())
    assert not given.flags.aligned
    got = identity("tensor<f32>")(given)
    assert got.shape == ()
    assert got == 2.5


@pytest.mark.parametrize("shape", [(0, 2), (1, 2)])
def test_empty_and_short(shape: tuple[int, ...], functions: dict[str, CpuFunction]) -> None:
    got = functions["tensor<?x2xf32>"](np.ones(shape, F32))
    assert got.shape == shape
    values, offsets = functions[RAGGED]((np.ones((0, 2), F32), np.zeros(1, I64)))
    assert values.shape == (0, 2)
    assert offsets.tolist() == [0]


def test_lists_for_tuples(functions: dict[str, CpuFunction]) -> None:
    assert functions[RAGGED]([VALUES, OFFSETS])[1].tolist() == OFFSETS.tolist()


VIEWS = f"""
func.func @f(%v: tensor<?x2xf32>, %o: tensor<?xi64>)
    -> ({RAGGED}, tensor<?x2xf32>, tensor<?xi64>, tensor<?x2xf32>, tensor<?xi64>) {{
  %0 = ragged.partition %v, %o {{dim = 0}} : (tensor<?x2xf32>, tensor<?xi64>) -> {RAGGED}
  %1 = ragged.merge %0 {{dim = 0}} : ({RAGGED}) -> tensor<?x2xf32>
  %2 = ragged.offsets %0 {{level = 1}} : ({RAGGED}) -> tensor<?xi64>
  return %0, %1, %2, %v, %o : {RAGGED}, tensor<?x2xf32>, tensor<?xi64>, tensor<?x2xf32>, tensor<?xi64>
}}
"""


def test_results_share_no_memory(compile: Compile) -> None:
    """Neither with arguments nor with each other, in a program that is all views."""
    values, offsets = VALUES.copy(), OFFSETS.copy()
    (first, starts), *others = compile(VIEWS)(values, offsets)
    arrays = [values, offsets, first, starts, *others]
    for k, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[:k])
    for array in arrays[2:]:
        array[...] = -1
    assert values.tolist() == VALUES.tolist()
    assert offsets.tolist() == OFFSETS.tolist()


IN_PLACE = f"""
func.func @f(%v: tensor<?x2xf32>, %o: tensor<?xi64>, %i: index) -> (tensor<?x2xf32>, tensor<?x2xf32>) {{
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%v : tensor<?x2xf32>) -> tensor<?x2xf32>
  %1 = ragged.partition %v, %o {{dim = 0}} : (tensor<?x2xf32>, tensor<?xi64>) -> {RAGGED}
  %2 = ragged.select %1, %i {{dim = 0}} : ({RAGGED}, index) -> tensor<?x2xf32>
  return %0, %2 : tensor<?x2xf32>, tensor<?x2xf32>
}}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("index", [1, 2])
def test_arguments_are_never_written(index: int, compile: Compile) -> None:
    """When the program succeeds and when a check fails, though the program writes to an argument."""
    values, offsets = VALUES.copy(), OFFSETS.copy()
    function = compile(IN_PLACE)
    if index == 1:
        zeros, selected = function(values, offsets, index)
        assert not zeros.any()
        assert selected.tolist() == VALUES[1:].tolist()
    else:
        with pytest.raises(RuntimeCheckError, match=r"expected index in \[0, 2\), got 2"):
            function(values, offsets, index)
    assert values.tolist() == VALUES.tolist()
    assert offsets.tolist() == OFFSETS.tolist()


def test_results_outlive_the_function() -> None:
    function = identity("tensor<?xf32>")
    got = function(np.arange(1000, dtype=F32))
    view = got[500:]
    del function, got
    assert view.tolist() == list(range(500, 1000))
