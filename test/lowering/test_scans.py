"""`ragged.scan`, and the kinds of reductions, of every dtype: NaN, zeros with a sign, and booleans."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.skew.share_long_components import ShareLongComponents
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.reference import run

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
TOLERANCES = {"f16": 2e-2, "bf16": 0.1, "f32": 1e-5, "f64": 1e-13}
"""Relative, of sums and products whose order differs."""
ROWS = {
    "rows": ('tensor<?x?x3xELEMENT, #ragged.layout<"dr|d">>', 1, [[0, 3, 3, 9, 9, 10]]),
    "features": ('tensor<?x?x3xELEMENT, #ragged.layout<"dr|d">>', 2, [[0, 3, 3, 9, 9, 10]]),
    "windows": ('tensor<?x?x3xELEMENT, #ragged.layout<"dw|d">>', 1, [[2, 0, 5, 1], [3, 0, 4, 9]]),
    "dense": ("tensor<?x3xELEMENT>", 0, []),
}
LEAST = ShareLongComponents.elements
KINDS = ("sum", "prod", "max", "min")
OPTIONS = ["", ", reverse", ", exclusive", ", exclusive, reverse"]


def numbers(element: str) -> np.ndarray:
    """Ten rows with what is special of a dtype."""
    made = np.random.default_rng(0).standard_normal((10, 3)) * 3
    if element == "i1":
        return made > 0
    made = made.astype(DTYPES[element])
    if element not in TOLERANCES:
        return made
    made.flat[4], made.flat[20], made[9] = np.nan, -0.0, -0.0
    return made


def assert_alike(found: Any, wanted: Any, element: str) -> None:
    """Equal but for rounding, with the signs of zeros."""
    tolerance = TOLERANCES.get(element, 0)
    np.testing.assert_allclose(found.astype("f8"), wanted.astype("f8"), rtol=tolerance, atol=5 * tolerance)
    if element in ("f32", "f64"):
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.sampled(768)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("element", DTYPES)
def test_scans(element: str, rows: str, kind: str, options: str, compile: Compile) -> None:
    type_, dim, vectors = ROWS[rows]
    given = type_.replace("ELEMENT", element)
    made = given.replace("dw", "dr")
    text = f"""func.func @f(%x: {given}) -> {made} {{
      %0 = ragged.scan %x {{dim = {dim}, kind = "{kind}"{options}}} : ({given}) -> {made}
      return %0 : {made}
    }}"""
    values = numbers(element)
    argument = (values, *map(np.array, vectors)) if vectors else values
    (wanted,) = run(text, "f", [argument])
    found = compile(text)(argument)
    assert_alike(found[0] if vectors else found, wanted[0] if vectors else wanted, element)


@pytest.mark.sampled(128)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("lengths", [[0, 300, 0, 128, 129], [1], [], [127, 1, 512, 0], [5, LEAST + 70, 3, LEAST]])
@pytest.mark.parametrize("features", [(), (5,), (8,)])
def test_long_components(features: tuple[int, ...], lengths: list[int], options: str, compile: Compile) -> None:
    """Some tiles of rows, ends where tiles end, components of two levels, and one that threads share."""
    dims, letters = "x".join(("?", "?", "?", *map(str, features))), "drr" + "|d" * len(features)
    type_ = f'tensor<{dims}xi64, #ragged.layout<"{letters}">>'
    text = f"""func.func @f(%x: {type_}) -> {type_} {{
      %0 = ragged.scan %x {{dim = 2, kind = "sum"{options}}} : ({type_}) -> {type_}
      return %0 : {type_}
    }}"""
    reverse, exclusive = "reverse" in options, "exclusive" in options
    inner = np.cumsum([0, *lengths])
    values = np.random.default_rng(0).integers(-9, 9, (inner[-1], *features))
    found = compile(text)((values, np.array([0, len(lengths) // 2, len(lengths)]), inner))
    for low, high in pairwise(inner):
        rows = values[low:high][::-1] if reverse else values[low:high]
        sums = np.cumsum(rows, 0) - (rows if exclusive else 0)
        np.testing.assert_array_equal(found[0][low:high], sums[::-1] if reverse else sums)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("features", [(), (1,), (12,)])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_sums_of_many_floats(element: str, features: tuple[int, ...], options: str) -> None:
    """They are summed in parts, where nothing reads what there is so far."""
    dims = "x".join(("?", "?", *map(str, features)))
    type_ = f'tensor<{dims}x{element}, #ragged.layout<"dr{"|d" * len(features)}">>'
    text = f"""func.func @f(%x: {type_}) -> {type_} {{
      %0 = ragged.scan %x {{dim = 1, kind = "sum"{options}}} : ({type_}) -> {type_}
      return %0 : {type_}
    }}"""
    offsets = np.array([0, 66, 66, 366, LEAST + 400])
    found = rg.compile(text)((np.ones((offsets[-1], *features), DTYPES[element]), offsets))[0]
    for low, high in pairwise(offsets):
        sums = np.arange(high - low) + ("exclusive" not in options)
        sums = sums[::-1] if "reverse" in options else sums
        np.testing.assert_array_equal(
            np.moveaxis(found[low:high], 0, -1), np.broadcast_to(sums, (*features, high - low))
        )


@pytest.mark.sampled(18)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", ["i1", "i8"])
def test_kinds_of_booleans(element: str, kind: str, compile: Compile) -> None:
    """Sums and maxima are or, products and minima and; rows that no component has hold what changes nothing."""
    type_ = f'tensor<?x?x{element}, #ragged.layout<"dr">>'
    text = f"""func.func @f(%x: {type_}, %n: index) -> tensor<?x{element}> {{
      %0 = ragged.reduce_across %x, %n {{dim = 1, kind = "{kind}"}} : ({type_}, index) -> tensor<?x{element}>
      return %0 : tensor<?x{element}>
    }}"""
    arguments = (np.array([1, 0, 1, 1, 0, 0], DTYPES[element]), np.array([0, 3, 5, 6])), 4
    (wanted,) = run(text, "f", arguments)
    found = compile(text)(*arguments)
    np.testing.assert_array_equal(found, wanted)
    if element == "i1":
        combine = np.logical_or if kind in ("sum", "max") else np.logical_and
        assert found.tolist()[:2] == [combine.reduce([1, 1, 0]), combine.reduce([0, 0])]
        assert found.tolist()[3] == (kind in ("prod", "min"))


@pytest.mark.parametrize("reverse", ["", ", reverse"])
@pytest.mark.parametrize("rows", ["rows", "dense"])
def test_expanded_scans_mean_what_scans_do(rows: str, reverse: str) -> None:
    """What `expand-ragged-scans` and `ragged-fuse` leave, with a conversion in the loop, to the reference."""
    type_, dim, vectors = ROWS[rows]
    given, made = (type_.replace("ELEMENT", element) for element in ("i16", "i64"))
    text = f"""func.func @f(%x: {given}) -> {made} {{
      %0 = arith.extsi %x : {given} to {made}
      %1 = ragged.scan %0 {{dim = {dim}, kind = "sum"{reverse}}} : ({made}) -> {made}
      return %1 : {made}
    }}"""
    values = numbers("i16")
    argument = (values, *map(np.array, vectors)) if vectors else values
    module = load_module(text, context())
    Stage("fuse", "expand-ragged-scans,ragged-fuse").run(module)
    fused = print_module(module)
    assert fused.count("linalg.generic") == 1
    assert "ragged.scan" not in fused
    wanted, found = (run(one, "f", [argument])[0] for one in (text, fused))
    if vectors:
        (wanted, *_), (found, *_) = wanted, found
    np.testing.assert_array_equal(found, wanted)
    for own, part in zip(*(np.split(x, vectors[0][1:-1] if vectors else []) for x in (found, values)), strict=True):
        order = slice(None, None, -1 if reverse else 1)
        np.testing.assert_array_equal(own[order], np.cumsum(part[order], axis=0, dtype=np.int64))


FOLLOWED = [0, 3, 17, 1, 0, 40]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("width", [None, 3, 8, 12])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_what_becomes_of_the_elements_of_a_scan(dtype: str, width: int | None) -> None:
    """In its loop, or in one of its own."""
    shape = (sum(FOLLOWED),) if width is None else (sum(FOLLOWED), width)
    x = (np.random.default_rng(0).standard_normal(shape) / 8).astype(DTYPES[dtype])
    wide = x.astype(np.float64)
    parts = np.split(wide, np.cumsum(FOLLOWED)[:-1])
    sums = np.concatenate([np.cumsum(part, 0) for part in parts])
    totals = np.concatenate([np.broadcast_to(part.sum(0), part.shape) for part in parts])

    def program(x: Any) -> Any:
        total = x.cumsum(1)
        return total * 2 - x, np.exp(x.cumsum(1)), total + x.sum(1, keepdims=True), (x * x).cumsum(1).cumsum(1)

    squares = [np.cumsum(np.cumsum(part * part, 0), 0) for part in parts]
    wanted = sums * 2 - wide, np.exp(sums), sums + totals, np.concatenate(squares)
    error = {"f16": 2e-2, "bf16": 2e-1, "f32": 1e-5, "f64": 1e-12}[dtype]
    for f in (program, rg.jit(program)):
        for got, want in zip(f(rg.from_lengths(x, FOLLOWED)), wanted, strict=True):
            np.testing.assert_allclose(got.values.astype(np.float64), want, error, error)


def test_the_gradient_of_what_becomes_of_a_scan() -> None:
    x = np.random.default_rng(0).standard_normal((sum(FOLLOWED), 8))
    grad = rg.jit(lambda x: rg.grad(lambda x: (x.cumsum(1) * x.cumsum(1)).sum())(x))(rg.from_lengths(x, FOLLOWED))
    parts = [np.cumsum(part, 0) for part in np.split(x, np.cumsum(FOLLOWED)[:-1])]
    want = np.concatenate([2 * np.cumsum(part[::-1], 0)[::-1] for part in parts])
    np.testing.assert_allclose(grad.values, want, 1e-10, 1e-10)
