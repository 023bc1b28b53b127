"""`ragged-simplify-splits`: facts, meaning, options."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from support.programs import Program, programs
from support.rewrites import parse, results, rewritten

from ragged_dialect.passes.analysis.divisibility import Divisors
from ragged_dialect.passes.patterns.rewriting import walk
from ragged_dialect.passes.ragged_canonicalize import RaggedCanonicalize
from ragged_dialect.passes.ragged_simplify_splits import RaggedSimplifySplits

DR = '#ragged.layout<"dr">'
DRT = '#ragged.layout<"drt">'


def _divisors(body: str, arguments: str) -> list[tuple[int, ...]]:
    """The divisors of every op result of a function with this body."""
    module = parse(f"func.func @f({arguments}) {{\n{body}\nreturn\n}}")
    known = Divisors()
    with module.context:
        return [known.of(op.results[0]) for op in walk(module.operation) if op.name.startswith("ragged.")]


def test_facts_through_structure() -> None:
    """An assumed 12 is 6 tiles of 2, then 2 groups of 3; a merge multiplies back."""
    body = f"""
      %0 = ragged.assume %x {{level = 1, divisible_by = 12}} : (tensor<3x?xf32, {DR}>) -> tensor<3x?xf32, {DR}>
      %1 = ragged.split %0 {{dim = 1, factor = 2}} : (tensor<3x?xf32, {DR}>) -> tensor<3x?x2xf32, {DRT}>
      %2 = ragged.merge %1 {{dim = 1}} : (tensor<3x?x2xf32, {DRT}>) -> tensor<3x?xf32, {DR}>
      %3 = ragged.split %2 {{dim = 1, factor = 5}} : (tensor<3x?xf32, {DR}>) -> tensor<3x?x5xf32, {DRT}>
      %4 = ragged.merge %2 {{dim = 0}} : (tensor<3x?xf32, {DR}>) -> tensor<?xf32>"""
    assert _divisors(body, f"%x: tensor<3x?xf32, {DR}>") == [(3, 12), (3, 6, 2), (3, 12), (3, 1, 1), (12,)]


def test_fixed_length_and_constant_vector() -> None:
    """Equal bounds fix a length; constant lengths divide by their greatest common divisor."""
    body = f"""
      %l = arith.constant dense<[6, 0, 9]> : tensor<3xi64>
      %0 = ragged.partition %v, %l {{dim = 0, lengths}} : (tensor<15xf32>, tensor<3xi64>) -> tensor<3x?xf32, {DR}>
      %1 = ragged.assume %x {{level = 1, min = 8, max = 8}} : (tensor<3x?xf32, {DR}>) -> tensor<3x?xf32, {DR}>"""
    assert _divisors(body, f"%v: tensor<15xf32>, %x: tensor<3x?xf32, {DR}>") == [(3, 3), (3, 8)]


@settings(max_examples=40)
@given(programs(steps=8))
def test_meaning_is_kept(program: Program) -> None:
    """The reference interpreter gives the same results before and after, alone and canonicalized."""
    wanted = repr(results(program.text, program.args))
    for passes in ([RaggedSimplifySplits()], [RaggedSimplifySplits(), RaggedCanonicalize()]):
        assert repr(results(rewritten(program.text, *passes), program.args)) == wanted


def _divisible_program(rng: random.Random) -> str:
    """A dense dim split without holes, elementwise ops on the tiles, and its merge."""
    factor, count = rng.choice([2, 3, 4]), rng.randint(1, 3)
    n = factor * count
    tiles = f'tensor<{count}x{factor}xf32, #ragged.layout<"dt">>'
    ops = [f"%1 = ragged.split %a0 {{dim = 0, factor = {factor}}} : (tensor<{n}xf32>) -> {tiles}"]
    for i in range(1, rng.randint(2, 4)):
        ops.append(f"%{i + 1} = arith.addf %{i}, %1 : {tiles}")
    ops.append(f"%m = ragged.merge %{len(ops)} {{dim = 0}} : ({tiles}) -> tensor<{n}xf32>")
    body = "\n".join([*ops, f"return %m : tensor<{n}xf32>"])
    return f"func.func @f(%a0: tensor<{n}xf32>) -> tensor<{n}xf32> {{\n{body}\n}}"


@pytest.mark.parametrize("seed", range(6))
def test_two_dims_mean_the_same(seed: int) -> None:
    """Expanded programs have no split left and the same results."""
    text = _divisible_program(random.Random(seed))
    data = [np.arange(int(text.split("tensor<")[1].split("x")[0]), dtype=np.float32)]
    after = rewritten(text, RaggedSimplifySplits())
    assert "ragged.split" not in after
    assert results(after, data) == results(text, data)
