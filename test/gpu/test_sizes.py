"""Structures beyond one warp, one block and one tile, of all widths of rows: what small data does not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.structures import DTYPES
from support.targets import Compile, compile_for

from ragged_dialect import compile

L, R = '#ragged.layout<"dr|d">', '#ragged.layout<"dr">'
LENGTHS = [0, 1, 300, 0, 33, 257, 2, 2100, 7]
OFFSETS = np.cumsum([0, *LENGTHS])
PROGRAMS = {
    "elementwise": "%0 = arith.ADD %x, %x : X\n return %0 : X",
    "sums of components": """%0 = linalg.reduce { arith.ADD } ins(%x : X) outs(%b : B) dimensions = [1]
        return %0 : B""",
    "sums of rows": """%e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (X) -> R
        %i = linalg.fill ins(%c : E) outs(%e : R) -> R
        %0 = linalg.reduce { arith.ADD } ins(%x : X) outs(%i : R) dimensions = [2]
        return %0 : R""",
    "the largest of all": """%e = tensor.empty() : tensor<E>
        %i = linalg.fill ins(%c : E) outs(%e : tensor<E>) -> tensor<E>
        %0 = linalg.reduce { arith.MAX } ins(%x : X) outs(%i : tensor<E>) dimensions = [0, 1, 2]
        return %0 : tensor<E>""",
    "softmax": """%e = ragged.empty %x : (X) -> X
        %0 = linalg.softmax dimension(1) ins(%x : X) outs(%e : X) -> X
        return %0 : X""",
    "concatenation": "%0 = ragged.concat %x, %x {dim = 1} : (X, X) -> X\n return %0 : X",
}
QUICK = [("elementwise", 8, "f16"), ("elementwise", 3, "i8"), ("sums of components", 8, "f32"),
         ("sums of components", 64, "bf16"), ("sums of rows", 130, "f32"), ("sums of rows", 5, "f64"),
         ("the largest of all", 3, "f32"), ("softmax", 4, "f32"), ("concatenation", 1, "i64")]  # fmt: skip
ALL = [(name, width, element) for name in PROGRAMS for width in (1, 3, 8, 64, 130) for element in sorted(DTYPES)
       if element != "i1" and (name != "softmax" or not element.startswith("i"))]  # fmt: skip


def program(name: str, width: int, element: str) -> str:
    """A program on a ragged tensor of rows of a width, and a tensor of one row per component."""
    x, b, r = f"tensor<?x?x{width}x{element}, {L}>", f"tensor<?x{width}x{element}>", f"tensor<?x?x{element}, {R}>"
    is_float = not element.startswith("i")
    result = {"R": r, "B": b, "tensor<E>": f"tensor<{element}>"}.get(PROGRAMS[name].rsplit(" : ", 1)[1], x)
    body = PROGRAMS[name]
    for short, long in {
        "ADD": "addf" if is_float else "addi",
        "MAX": "maximumf" if is_float else "maxsi",
        " : X": f" : {x}", "(X, X)": f"({x}, {x})", "(X)": f"({x})", "-> X": f"-> {x}",
        " : B": f" : {b}", " : R": f" : {r}", "-> R": f"-> {r}", "<E>": f"<{element}>", " : E": f" : {element}",
    }.items():  # fmt: skip
        body = body.replace(short, long)
    zero = "0.0" if is_float else "0"
    return f"func.func @f(%x: {x}, %b: {b}) -> {result} {{\n%c = arith.constant {zero} : {element}\n{body}\n}}"


def check(name: str, width: int, element: str, compiled: Compile) -> None:
    """Compare with the CPU: small integers, whose sums are exact in any order, but for softmax."""
    dtype = DTYPES[element]
    x = np.random.default_rng(width).integers(-3, 4, (OFFSETS[-1], width)).astype(dtype)
    arguments: tuple[Any, ...] = ((x, OFFSETS), np.ones((len(LENGTHS), width), dtype))
    text = program(name, width, element)
    found, expected = (made(text)(*arguments) for made in (compiled, compile_for("cpu")))
    for got, wanted in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        assert got.dtype == wanted.dtype
        if name == "softmax":
            tolerance = {"f16": 2e-3, "bf16": 1.6e-2}.get(element, 1e-5)
            got, wanted = got.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * 1e-2)
        else:
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(("name", "width", "element"), QUICK)
def test_some(name: str, width: int, element: str, target: str) -> None:
    check(name, width, element, compile_for(target))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(("name", "width", "element"), ALL)
def test_all(name: str, width: int, element: str, target: str) -> None:
    check(name, width, element, compile_for(target))


TINY = [(3, 1, 1), (5, 2, 1), (3, 2, 0)]


def tiny() -> list[Any]:
    """Rows, columns, the dim that is reduced; a few are quick."""
    cases = [(m, n, dim) for m in (1, 2, 3, 5, 8) for n in (1, 2, 3, 9) for dim in (0, 1)]
    return [pytest.param(*case, marks=() if case in TINY else pytest.mark.slow) for case in cases]


@pytest.mark.parametrize(("rows", "columns", "dim"), tiny())
def test_fewer_results_than_threads(rows: int, columns: int, dim: int) -> None:
    """Threads without a result load nothing."""
    x = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    wide, kept = f"tensor<{rows}x{columns}xi32>", f"tensor<{x.shape[1 - dim]}xi32>"
    text = f"""func.func @f(%x: {wide}, %y: {kept}) -> {kept} {{
        %0 = linalg.reduce {{ arith.addi }} ins(%x : {wide}) outs(%y : {kept}) dimensions = [{dim}]
        return %0 : {kept}
    }}"""
    found = compile_for("emulator")(text)(x, np.ones(x.shape[1 - dim], np.int32))
    np.testing.assert_array_equal(found, x.sum(dim) + 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("batch", "features"), [(2, 0), (0, 3), (2, 3)])
def test_rows_without_features(batch: int, features: int) -> None:
    """No thread divides by the extent of a dim that is empty, where threads are spread over two of them."""
    x, kept = 'tensor<?x?x?x?xi32, #ragged.layout<"d|dr|d">>', "tensor<?x?x?xi32>"
    text = f"""func.func @f(%x: {x}, %y: {kept}) -> ({x}, {kept}) {{
        %1 = linalg.generic {{indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k, l)>,
            affine_map<(i, j, k, l) -> (i, j, l)>, affine_map<(i, j, k, l) -> (i, j, k, l)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
            ins(%x, %y : {x}, {kept}) outs(%x : {x}) {{
          ^bb0(%p: i32, %q: i32, %o: i32):
            %s = arith.addi %p, %q : i32
            linalg.yield %s : i32
        }} -> {x}
        %2 = linalg.reduce {{ arith.addi }} ins(%x : {x}) outs(%y : {kept}) dimensions = [2]
        return %1, %2 : {x}, {kept}
    }}"""
    values = np.arange(batch * 5 * features, dtype=np.int32).reshape(batch, 5, features)
    y = np.ones((batch, 3, features), np.int32)
    (got, _), sums = compile(text, target="emulator", schedule="balanced")((values, np.array([0, 2, 2, 5])), y)
    np.testing.assert_array_equal(got, values + 1)
    expected = [values[:, a:b].sum(1) + 1 for a, b in ((0, 2), (2, 2), (2, 5))]
    np.testing.assert_array_equal(sums, np.stack(expected, 1))
