"""Accumulators of short floats: f32 from the converted init, rounded once per result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.run_pass import count, transform
from support.structures import DTYPES, assert_same
from support.targets import Compile

from ragged_dialect._mlir import ir
from ragged_dialect.layout import Layout
from ragged_dialect.lowering.scf.prepare import prepare
from ragged_dialect.reference import run
from ragged_dialect.shape import RaggedShape

X, OUT = '#ragged.layout<"dr">', "tensor<3x{}>"
OFFSETS = np.array([0, 4, 4, 6])
BODY = """%s = arith.addf %a, %v : {0}
          %m = arith.mulf %v, %b : {0}
          %o = arith.extf %v : {0} to f32
          %w = arith.addf %c, %o : f32
          %p = arith.addf %v, %v : {0}
          %q = arith.addf %d, %d : {0}
          %r = arith.addf %q, %p : {0}
          %n = arith.addi %e, %one : i64"""
YIELDS, OUTS = ("%s", "%m", "%w", "%r", "%n"), ("{}", "{}", "f32", "{}", "i64")


def program(kind: str) -> str:
    """Two outs that are combined once, one that is wide, one that is used twice, one of integers."""
    types = [out.format(kind) for out in OUTS]
    outs = [OUT.format(t) for t in types]
    x = f"tensor<3x?x{kind}, {X}>"
    maps = ", ".join(["affine_map<(b, i) -> (b, i)>", *["affine_map<(b, i) -> (b)>"] * len(outs)])
    arguments = ", ".join(f"%{k}: {t}" for k, t in enumerate(outs))
    return f"""
    func.func @f(%x: {x}, {arguments}) -> ({", ".join(outs)}) {{
      %one = arith.constant 1 : i64
      %r:5 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "reduction"]}}
          ins(%x : {x}) outs({", ".join(f"%{k}" for k in range(len(outs)))} : {", ".join(outs)}) {{
        ^bb0(%v: {kind}, %a: {types[0]}, %b: {types[1]}, %c: f32, %d: {types[3]}, %e: i64):
          {BODY.format(kind)}
          linalg.yield {", ".join(YIELDS)} : {", ".join(types)}
      }} -> ({", ".join(outs)})
      return %r#0, %r#1, %r#2, %r#3, %r#4 : {", ".join(outs)}
    }}"""


def arguments(kind: str) -> tuple[Any, ...]:
    """Sums that lose small numbers when they are rounded after each step."""
    large = 2048 if kind == "f16" else 256
    values = np.array([large, 1, 1, 1, 1.7, -3], DTYPES[kind])
    inits = [np.array([1, 2, 3], DTYPES.get(out.format(kind), np.dtype(np.int64))) for out in OUTS]
    return ((values, OFFSETS), *inits)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_result_is_what_the_interpreter_says(kind: str, compile: Compile) -> None:
    args = arguments(kind)
    expected = run(program(kind), "f", args)
    for got, wanted in zip(compile(program(kind))(*args), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    large = DTYPES[kind].type(2048 if kind == "f16" else 256)
    assert expected[0][0] > large + DTYPES[kind].type(1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_fill_becomes_one_of_f32(kind: str, compile: Compile) -> None:
    """Nothing of the element type is stored before the results are."""
    module = transform(filled(kind), "func.func(linalg-generalize-named-ops)")
    with module.context, ir.Location.unknown():
        prepare(module.operation)
    generics = [op.operation for op in module.body.operations[0].body.blocks[0] if op.name == "linalg.generic"]
    assert [str(op.results[0].type) for op in generics] == [OUT.format(t) for t in ("f32", "f32", kind)]
    values = np.array([1, 2, 3, 4, 5, 6], DTYPES[kind])
    np.testing.assert_array_equal(compile(filled(kind))((values, OFFSETS)), np.array([10.5, 0.5, 11.5], DTYPES[kind]))


def filled(kind: str) -> str:
    """A sum from a half on."""
    x, out = f"tensor<3x?x{kind}, {X}>", OUT.format(kind)
    return f"""func.func @f(%x: {x}) -> {out} {{
      %half = arith.constant 0.5 : {kind}
      %e = tensor.empty() : {out}
      %i = linalg.fill ins(%half : {kind}) outs(%e : {out}) -> {out}
      %r = linalg.reduce {{ arith.addf }} ins(%x : {x}) outs(%i : {out}) dimensions = [1]
      return %r : {out}
    }}"""


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_only_combined_outs_are_widened(kind: str) -> None:
    module = transform(program(kind))
    with module.context, ir.Location.unknown():
        prepare(module.operation)
    wide = OUT.format("f32")
    generics = [op.operation for op in module.body.operations[0].body.blocks[0] if op.name == "linalg.generic"]
    results = [[str(r.type) for r in op.results] for op in generics]
    assert [wide, wide, wide, OUT.format(kind), OUT.format("i64")] in results
    assert len(generics) == 5  # two converted before, two after
    assert count(module, "arith.truncf") == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_sum_used_twice_stays_short(kind: str, compile: Compile) -> None:
    text = program(kind).replace("%q = arith.addf %d, %d", "%q = arith.addf %s, %d")
    module = transform(text)
    with module.context, ir.Location.unknown():
        prepare(module.operation)
    assert count(module, "arith.truncf") == 1
    args = arguments(kind)
    for got, wanted in zip(compile(text)(*args), run(text, "f", args), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_two_results_of_windows(kind: str, compile: Compile) -> None:
    """Two outs on windows of their own, converted one after the other."""
    x, out = f'tensor<?x?x?x{kind}, #ragged.layout<"dw|d">>', f'tensor<?x?x{kind}, #ragged.layout<"dw">>'
    reduce = f"ins(%x : {x}) outs(%i : {out}) dimensions = [2]"
    text = f"""
    func.func @f(%x: {x}) -> ({out}, {out}) {{
      %e = ragged.empty %x {{from = [[0, 0], [0, 1]]}} : ({x}) -> {out}
      %c = arith.constant 1.0 : {kind}
      %i = linalg.fill ins(%c : {kind}) outs(%e : {out}) -> {out}
      %s = linalg.reduce {{ arith.addf }} {reduce}
      %t = linalg.reduce {{ arith.maximumf }} {reduce}
      return %s, %t : {out}, {out}
    }}"""
    values = np.arange(14).reshape(7, 2).astype(DTYPES[kind])
    args = ((values, np.array([4, 0, 2]), np.array([2, 0, 3])),)
    shape = RaggedShape(Layout.parse("dw"), (None, None))
    for got, wanted in zip(compile(text)(*args), run(text, "f", args), strict=True):
        assert_same(shape, got, wanted)
