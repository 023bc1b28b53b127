"""The reference interpreter's arith, math and index ops: wrap-around, signs, rounding."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.structures import DTYPES, text_of

from ragged_dialect.errors import RaggedError
from ragged_dialect.reference import run


def evaluate(op: str, result: str, *operands: tuple[str, Any]) -> Any:
    """The result of an op written with %a0, %a1, …"""
    return run(text_of([t for t, _ in operands], [f"%0 = {op}"], [("%0", result)]), "f", [v for _, v in operands])[0]


BINARY = [
    ("addi", "i8", 127, 1, -128),
    ("subi", "i8", -128, 1, 127),
    ("muli", "i16", 300, 300, 24464),
    ("addi", "i64", 2**63 - 1, 1, -(2**63)),
    ("addi", "i1", True, True, False),
    ("divsi", "i32", -7, 2, -3),
    ("divsi", "i32", 7, -2, -3),
    ("divui", "i8", -1, 2, 127),
    ("floordivsi", "i32", -7, 2, -4),
    ("ceildivsi", "i32", -7, 2, -3),
    ("ceildivsi", "i32", 7, 2, 4),
    ("ceildivui", "i32", 7, 2, 4),
    ("remsi", "i32", -7, 2, -1),
    ("remsi", "i32", 7, -2, 1),
    ("remui", "i8", -1, 10, 5),
    ("andi", "i8", 12, 10, 8),
    ("ori", "i8", 12, 10, 14),
    ("xori", "i1", True, False, True),
    ("shli", "i8", 65, 1, -126),
    ("shrsi", "i8", -128, 3, -16),
    ("shrui", "i8", -128, 3, 16),
    ("maxsi", "i8", -1, 1, 1),
    ("maxui", "i8", -1, 1, -1),
    ("minsi", "i1", True, False, True),
    ("minui", "i1", True, False, False),
    ("addi", "index", 5, -7, -2),
    ("addf", "f32", 16777216.0, 1.0, 16777216.0),
    ("addf", "f16", 2048.0, 1.0, 2048.0),
    ("mulf", "f16", 300.0, 300.0, math.inf),
    ("divf", "f64", 1.0, 0.0, math.inf),
    ("remf", "f32", -7.0, 2.0, -1.0),
    ("maximumf", "f32", math.nan, 1.0, math.nan),
    ("maxnumf", "f32", math.nan, 1.0, 1.0),
    ("minnumf", "f32", 2.0, math.nan, 2.0),
    ("minimumf", "f32", 0.0, -0.0, -0.0),
    ("maximumf", "f32", -0.0, 0.0, 0.0),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("op", "type_", "a", "b", "expected"), BINARY)
def test_binary(op: str, type_: str, a: Any, b: Any, expected: Any) -> None:
    """Scalars, and tensors of them."""
    got = evaluate(f"arith.{op} %a0, %a1 : {type_}", type_, (type_, a), (type_, b))
    np.testing.assert_equal(got, expected)
    assert not isinstance(expected, float) or math.copysign(1, got) == math.copysign(1, expected) or expected != 0
    if type_ in DTYPES:
        dtype, tensor = DTYPES[type_], f"tensor<2x{type_}>"
        operands = [(tensor, np.array([x, x], dtype)) for x in (a, b)]
        array = evaluate(f"arith.{op} %a0, %a1 : {tensor}", tensor, *operands)
        assert array.dtype == dtype
        np.testing.assert_equal(array, np.array([expected, expected], dtype))


CASTS = [
    ("extsi", "i8", "i32", -1, -1),
    ("extsi", "i1", "i32", True, -1),
    ("extui", "i8", "i32", -1, 255),
    ("extui", "i1", "i8", True, 1),
    ("trunci", "i32", "i8", 300, 44),
    ("trunci", "i32", "i1", 3, True),
    ("sitofp", "i32", "f32", -3, -3.0),
    ("sitofp", "i1", "f32", True, -1.0),
    ("uitofp", "i8", "f32", -1, 255.0),
    ("fptosi", "f32", "i8", -3.9, -3),
    ("fptoui", "f32", "i8", 200.0, -56),
    ("extf", "bf16", "f32", 1.5, 1.5),
    ("truncf", "f32", "f16", 2049.0, 2048.0),
    ("truncf", "f32", "bf16", 257.0, 256.0),
    ("bitcast", "f32", "i32", 1.0, 0x3F800000),
    ("index_cast", "i32", "index", -5, -5),
    ("index_castui", "i8", "index", -1, 255),
]


@pytest.mark.parametrize(("op", "source", "target", "value", "expected"), CASTS)
def test_casts(op: str, source: str, target: str, value: Any, expected: Any) -> None:
    """Widths, signs and rounding."""
    assert evaluate(f"arith.{op} %a0 : {source} to {target}", target, (source, value)) == expected


COMPARES = [
    ("cmpi slt", "i8", -1, 1, True),
    ("cmpi ult", "i8", -1, 1, False),
    ("cmpi slt", "i1", True, False, True),
    ("cmpi ne", "index", 3, 3, False),
    ("cmpf olt", "f32", math.nan, 1.0, False),
    ("cmpf ult", "f32", math.nan, 1.0, True),
    ("cmpf one", "f32", 2.0, 1.0, True),
    ("cmpf une", "f32", math.nan, math.nan, True),
    ("cmpf ord", "f32", 1.0, 1.0, True),
    ("cmpf uno", "f32", 1.0, math.nan, True),
    ("cmpf true", "f32", math.nan, 1.0, True),
    ("cmpf false", "f32", 1.0, 1.0, False),
]


@pytest.mark.parametrize(("op", "type_", "a", "b", "expected"), COMPARES)
def test_compares(op: str, type_: str, a: Any, b: Any, expected: bool) -> None:
    """Signs, and NaN in ordered and unordered predicates."""
    name, predicate = op.split()
    assert evaluate(f"arith.{name} {predicate}, %a0, %a1 : {type_}", "i1", (type_, a), (type_, b)) is expected


FUNCTIONS = [
    ("exp", "f32", [1.5], math.exp(1.5)),
    ("erf", "f64", [0.5], math.erf(0.5)),
    ("rsqrt", "f32", [4.0], 0.5),
    ("tanh", "bf16", [0.5], math.tanh(0.5)),
    ("powf", "f32", [2.0, 0.5], math.sqrt(2)),
    ("fma", "f32", [2.0, 3.0, 4.0], 10.0),
    ("round", "f32", [-2.5], -3.0),
    ("roundeven", "f32", [-2.5], -2.0),
    ("absf", "f16", [-2.0], 2.0),
    ("copysign", "f32", [2.0, -0.0], -2.0),
    ("absi", "i8", [-5], 5),
    ("ctlz", "i8", [1], 7),
    ("cttz", "i8", [8], 3),
    ("ctpop", "i8", [-1], 8),
    ("ipowi", "i8", [3, 5], -13),
]


@pytest.mark.parametrize(("op", "type_", "operands", "expected"), FUNCTIONS)
def test_functions(op: str, type_: str, operands: list[Any], expected: Any) -> None:
    """One function of each kind."""
    names = ", ".join(f"%a{k}" for k in range(len(operands)))
    got = evaluate(f"math.{op} {names} : {type_}", type_, *((type_, x) for x in operands))
    dtype = DTYPES[type_]
    assert np.array(got, dtype) == np.array(expected, dtype)


CONSTANTS = [
    ("dense<[1.5, -2.5]> : tensor<2xbf16>", np.array([1.5, -2.5], ml_dtypes.bfloat16)),
    ("dense<[0x7F80, 1.0]> : tensor<2xbf16>", np.array([np.inf, 1], ml_dtypes.bfloat16)),
    (f"dense<{[*map(float, range(200))]}> : tensor<200xbf16>", np.arange(200).astype(ml_dtypes.bfloat16)),
    ("dense<> : tensor<0xbf16>", np.zeros(0, ml_dtypes.bfloat16)),
    ("dense<2.5> : tensor<2xbf16>", np.array([2.5, 2.5], ml_dtypes.bfloat16)),
    ("dense<[[1], [2]]> : tensor<2x1xi8>", np.array([[1], [2]], np.int8)),
    ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
    ("dense<-3> : tensor<2xi64>", np.array([-3, -3])),
    ("dense<[1.5, 2.0]> : tensor<2xf16>", np.array([1.5, 2], np.float16)),
    ("dense<> : tensor<0xf32>", np.zeros(0, np.float32)),
]


@pytest.mark.parametrize(("text", "expected"), CONSTANTS)
def test_constants(text: str, expected: Any) -> None:
    """Dense constants of every element type."""
    got = evaluate(f"arith.constant {text}", text.rsplit(" : ", 1)[1])
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_extended() -> None:
    """Both halves of a product, and the carry of a sum."""
    text = text_of(
        ["i8", "i8"],
        ["%0, %1 = arith.mulsi_extended %a0, %a1 : i8", "%2, %3 = arith.addui_extended %a0, %a1 : i8, i1"],
        [("%0", "i8"), ("%1", "i8"), ("%2", "i8"), ("%3", "i1")],
    )
    assert run(text, "f", [-100, 100]) == [-16, -40, 0, True]


UNDEFINED = [
    ("arith.shli %a0, %a1 : i32", (1, 32), "expected a shift below 32, got 32"),
]


@pytest.mark.parametrize(("op", "operands", "message"), UNDEFINED)
def test_undefined_behaviour_is_refused(op: str, operands: tuple[int, int], message: str) -> None:
    """An oracle makes nothing up where MLIR leaves the result open."""
    with pytest.raises(RaggedError) as error:
        evaluate(op, "i32", *(("i32", x) for x in operands))
    assert str(error.value) == message


def test_conversion_out_of_range_is_refused() -> None:
    """So for a float that no integer of the type holds."""
    with pytest.raises(RaggedError, match=r"^expected a number that fits into int8, got 300\.0$"):
        evaluate("arith.fptosi %a0 : f32 to i8", "i8", ("f32", 300.0))


def test_index_dialect() -> None:
    """The index dialect's own spelling of the same ops."""
    lines = [
        "%c = index.constant 3",
        "%0 = index.floordivs %a0, %c",
        "%1 = index.maxs %0, %c",
        "%2 = index.cmp slt(%0, %c)",
    ]
    assert run(text_of(["index"], lines, [("%0", "index"), ("%1", "index"), ("%2", "i1")]), "f", [-7]) == [-3, 3, True]


UNKNOWN = [
    (
        "%0 = vector.broadcast %a0 : f32 to vector<2xf32>",
        "expected an op that the interpreter knows, got 'vector.broadcast'",
    ),
]


@pytest.mark.parametrize(("line", "message"), UNKNOWN)
def test_unknown_ops_are_refused(line: str, message: str) -> None:
    """By name."""
    with pytest.raises(RaggedError) as error:
        run(text_of(["f32"], [line], []), "f", [1.0])
    assert str(error.value) == message


def test_arguments_are_checked() -> None:
    """Count, name, dtype and shape."""
    text = text_of(["tensor<2xf32>"], [], [("%a0", "tensor<2xf32>")])
    cases = [
        ("g", [np.zeros(2, np.float32)], "expected a function among f, got 'g'"),
        ("f", [], "expected 1 arguments of 'f', got 0"),
        ("f", [np.zeros(2)], "expected an array of float32, got float64"),
        ("f", [np.zeros(3, np.float32)], "expected an array for tensor<2xf32>, got one of shape (3,)"),
    ]
    declared = "func.func private @g()"
    ragged = text_of(['tensor<?x?xf32, #ragged.layout<"dr">>'], [], [])
    one = 'expected a tuple of 2 parts for tensor<?x?xf32, #ragged.layout<"dr">>, got '
    with pytest.raises(RaggedError, match=r"^expected a function with a body, got 'g'$"):
        run(declared, "g", [])
    for value, kind in ((np.zeros(3, np.float32), "ndarray"), ((np.zeros(3, np.float32),), "tuple of 1")):
        with pytest.raises(RaggedError) as error:
            run(ragged, "f", [value])
        assert str(error.value) == one + kind
    for entry, args, message in cases:
        with pytest.raises(RaggedError) as error:
            run(text, entry, args)
        assert str(error.value) == message


def test_constants_that_are_elsewhere() -> None:
    text = """func.func @f() -> tensor<1xf32> {
  %0 = arith.constant dense_resource<w> : tensor<1xf32>
  return %0 : tensor<1xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F" } } #-}"""
    with pytest.raises(RaggedError, match="expected a constant with its elements, got 'dense_resource<w>"):
        run(text, "f", [])


def test_blocks() -> None:
    text = """func.func @f(%x: f32, %y: f32) -> f32 {
      cf.br ^end(%y : f32)
    ^end(%z: f32):
      %0 = arith.addf %x, %z : f32
      return %0 : f32
    }"""
    with pytest.raises(RaggedError, match=r"^expected regions of one block, got 'cf.br' to another$"):
        run(text, "f", [1.0, 2.0])


def test_recursion() -> None:
    text = """
    func.func @f(%x: f32) -> f32 {
      %0 = func.call @g(%x) : (f32) -> f32
      return %0 : f32
    }
    func.func private @g(%x: f32) -> f32 {
      %0 = func.call @f(%x) : (f32) -> f32
      return %0 : f32
    }"""
    wanted = r"^expected functions that do not call themselves, got a call of 'f' inside of it$"
    with pytest.raises(RaggedError, match=wanted):
        run(text, "f", [1.0])
