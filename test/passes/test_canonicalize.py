"""`ragged-canonicalize`: normal forms, independence of order, meaning, and upstream's patterns."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import CHAINS, Program, programs
from support.rewrites import parse, results, rewritten

from ragged_dialect._mlir import passmanager
from ragged_dialect.asm.module import print_module
from ragged_dialect.passes.pipeline.running import Stage, run_pipeline
from ragged_dialect.passes.ragged_canonicalize import DISABLED, RaggedCanonicalize, upstream

DR = '#ragged.layout<"dr">'
DRD = '#ragged.layout<"dr|d">'
DRT = '#ragged.layout<"drt">'
TAIL = '#ragged.layout<"d|dr">'

BAD_REWRITES = {
    # The new broadcast is on other axes than the layout of its operand says.
    "SwapTransposeWithBroadcast": f"""
      func.func @f(%x: tensor<3x?xf32, {DR}>, %e: tensor<3x?x8xf32, {DRD}>, %o: tensor<8x3x?xf32, {TAIL}>)
          -> tensor<8x3x?xf32, {TAIL}> {{
        %b = linalg.broadcast ins(%x : tensor<3x?xf32, {DR}>) outs(%e : tensor<3x?x8xf32, {DRD}>) dimensions = [2]
        %t = linalg.transpose ins(%b : tensor<3x?x8xf32, {DRD}>)
          outs(%o : tensor<8x3x?xf32, {TAIL}>) permutation = [2, 0, 1]
        return %t : tensor<8x3x?xf32, {TAIL}>
      }}""",
    # A ragged dim gets the static extent of a dense operand.
    "{anonymous}::InferStaticShapeOfOperands": f"""
      func.func @f(%x: tensor<3x?xf32, {DR}>, %p: tensor<16xf32>, %q: tensor<?xf32>) -> tensor<3x?xf32, {DR}> {{
        %0 = linalg.generic {{
            indexing_maps = [affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (b, i)>],
            iterator_types = ["parallel", "parallel"]}}
            ins(%p, %q : tensor<16xf32>, tensor<?xf32>) outs(%x : tensor<3x?xf32, {DR}>) {{
          ^bb0(%a: f32, %b: f32, %c: f32):
            %s = arith.addf %a, %b : f32
            linalg.yield %s : f32
        }} -> tensor<3x?xf32, {DR}>
        return %0 : tensor<3x?xf32, {DR}>
      }}""",
    # The result is rebuilt from extents, without its encoding.
    "{anonymous}::InferConcatResultType": f"""
      func.func @f(%a: tensor<3x?xf32, {DR}>, %b: tensor<2x?xf32, {DR}>) -> tensor<?x?xf32, {DR}> {{
        %0 = tensor.concat dim(0) %a, %b : (tensor<3x?xf32, {DR}>, tensor<2x?xf32, {DR}>) -> tensor<?x?xf32, {DR}>
        return %0 : tensor<?x?xf32, {DR}>
      }}""",
    "{anonymous}::InferConcatOperandTypes": """
      func.func @f(%a: tensor<3x?xf32>, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {
        %0 = tensor.concat dim(0) %a, %b : (tensor<3x?xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
        return %0 : tensor<?x8xf32>
      }""",
    # One operand becomes static and the others do not.
    "FoldTensorCastProducerOp": """
      func.func @f(%x: tensor<5x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
        %c = tensor.cast %x : tensor<5x?xf32> to tensor<?x?xf32>
        %0 = linalg.reduce { arith.addf } ins(%c : tensor<?x?xf32>) outs(%e : tensor<?xf32>) dimensions = [1]
        return %0 : tensor<?xf32>
      }""",
    # A dense operand is cast to lists, whose lengths are those of the output.
    "{anonymous}::EraseIdentityLinalgOp<mlir::linalg::GenericOp>": f"""
      func.func @f(%w: tensor<3x?xf32>, %x: tensor<3x?xf32, {DR}>) -> tensor<3x?xf32, {DR}> {{
        %0 = linalg.generic {{
            indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>],
            iterator_types = ["parallel", "parallel"]}}
            ins(%w : tensor<3x?xf32>) outs(%x : tensor<3x?xf32, {DR}>) {{
          ^bb0(%a: f32, %b: f32):
            linalg.yield %a : f32
        }} -> tensor<3x?xf32, {DR}>
        return %0 : tensor<3x?xf32, {DR}>
      }}""",
    # What the loop yields is cut to the extent of its start.
    "{anonymous}::ForOpTensorCastFolder": """
      func.func @f(%x: tensor<1xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %s = tensor.cast %x : tensor<1xf32> to tensor<?xf32>
        %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s) -> (tensor<?xf32>) {
          %z = arith.addf %y, %y : tensor<?xf32>
          scf.yield %z : tensor<?xf32>
        }
        return %0 : tensor<?xf32>
      }""",
}


def _upstream(text: str, pipeline: str) -> str:
    module = parse(text)
    with module.context:
        manager = passmanager.PassManager.parse(pipeline)
    manager.enable_verifier(False)
    manager.run(module.operation)
    return print_module(module, generic=True)


@pytest.mark.parametrize("name", DISABLED)
def test_disabled_patterns_still_match(name: str) -> None:
    """A renamed upstream pattern would be switched on without a word: with the others off, it is
    the one that rewrites its program, and naming it stops that."""
    text = BAD_REWRITES[name]
    others = ",".join(other for other in DISABLED if other != name)
    untouched = _upstream(text, "builtin.module(cse)")
    assert _upstream(text, f"builtin.module(canonicalize{{disable-patterns={others}}},cse)") != untouched
    assert _upstream(text, upstream("builtin.module")) == untouched


def _normal(program: Program, seed: int | None = None) -> str:
    return rewritten(program.text, RaggedCanonicalize(seed=seed))


@given(programs(steps=12))
def test_idempotent(program: Program) -> None:
    """A normal form is its own normal form, to the letter."""
    once = _normal(program)
    assert rewritten(once, RaggedCanonicalize()) == once


@given(programs(steps=12), st.integers(0, 1000))
def test_order_of_patterns_does_not_matter(program: Program, seed: int) -> None:
    """Equal text whatever the order in which patterns and ops are tried."""
    assert _normal(program, seed) == _normal(program)


@pytest.mark.parametrize("seed", range(8))
def test_starts_of_slices_add_up_to_one_sum(seed: int) -> None:
    """Whichever two of four slices compose first: terms in the order of the slices, constants last."""
    text = """func.func @f(%x: tensor<?xf32>, %a: index, %b: index, %c: index, %d: index, %n: index) -> tensor<?xf32> {
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      %s = arith.addi %c, %d : index
      %0 = ragged.slice %x, %one, %a {dim = 0} : (tensor<?xf32>, index, index) -> tensor<?xf32>
      %1 = ragged.slice %0, %b, %zero {dim = 0} : (tensor<?xf32>, index, index) -> tensor<?xf32>
      %2 = ragged.slice %1, %s, %zero {dim = 0} : (tensor<?xf32>, index, index) -> tensor<?xf32>
      %3 = ragged.slice %2, %zero, %n {dim = 0} : (tensor<?xf32>, index, index) -> tensor<?xf32>
      return %3 : tensor<?xf32>
    }"""
    text = rewritten(text, RaggedCanonicalize(seed=seed))
    assert re.findall(r"arith.addi (.*) :", text) == ["%arg2, %arg3", "%0, %arg4", "%1, %c1", "%1, %arg5", "%3, %c1"]
    assert "ragged.slice %arg0, %2, %4 {dim = 0}" in text


@settings(max_examples=40)
@given(programs(steps=12))
def test_meaning_is_kept(program: Program) -> None:
    """The reference interpreter gives the same results before and after."""
    assert repr(results(_normal(program), program.args)) == repr(results(program.text, program.args))


@settings(max_examples=60)
@given(programs(steps=16, ops=CHAINS), st.integers(0, 1000))
def test_chains(program: Program, seed: int) -> None:
    """Long chains of ops that only change the nesting: equal text from any order of patterns, and
    equal results."""
    text = _normal(program, seed)
    assert text == _normal(program)
    assert repr(results(text, program.args)) == repr(results(program.text, program.args))


def _chain(n: int) -> str:
    kind = f"tensor<3x?xf32, {DR}>"
    lines = [
        f"%m{i} = ragged.merge %{i} {{dim = 0}} : ({kind}) -> tensor<?xf32>\n"
        f"%{i + 1} = ragged.partition %m{i}, %o {{dim = 0}} : (tensor<?xf32>, tensor<4xi64>) -> {kind}"
        for i in range(n)
    ]
    start = f"%0 = ragged.partition %x, %o {{dim = 0}} : (tensor<?xf32>, tensor<4xi64>) -> {kind}"
    body = "\n".join([start, *lines])
    return f"func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> {kind} {{\n{body}\nreturn %{n} : {kind}\n}}"


def test_long_chain_collapses() -> None:
    """No limit on the depth of a chain."""
    text = rewritten(_chain(500), RaggedCanonicalize())
    assert text.count("ragged.partition") == 1
    assert "ragged.merge" not in text


def _locations(op: Any) -> list[str]:
    return [str(inner.location) for f in op.operations for inner in f.regions[0].blocks[0].operations]


def test_locations_are_kept() -> None:
    """A rewritten op has the location of the op it replaces."""
    kinds = [f"tensor<3x?xf32, {DR}>", f"tensor<3x?x2xf32, {DRT}>"]
    kinds += ['tensor<3x?x2x2xf32, #ragged.layout<"drtt">>', f"tensor<3x?x4xf32, {DRT}>"]
    module = parse(f"""func.func @f(%x: {kinds[0]}) -> {kinds[3]} {{
      %0 = ragged.split %x {{dim = 1, factor = 2}} : ({kinds[0]}) -> {kinds[1]}
      %1 = ragged.split %0 {{dim = 1, factor = 2}} : ({kinds[1]}) -> {kinds[2]}
      %2 = ragged.merge %1 {{dim = 2}} : ({kinds[2]}) -> {kinds[3]}
      return %2 : {kinds[3]}
    }}""")
    merge = _locations(module.body)[2]
    own = RaggedCanonicalize()
    run_pipeline(module, (Stage(own.name, own.name, (), own),))
    assert _locations(module.body)[0] == merge


def test_long_chain_of_slices() -> None:
    """Sums of many terms are not taken apart again and again; the result is right all the same."""
    starts = [f"%s{i}" for i in range(40)]
    lines = [
        f"%{i + 1} = ragged.slice %{i}, {start}, %n {{dim = 0}} : (tensor<?xf32>, index, index) -> tensor<?xf32>"
        for i, start in enumerate(starts)
    ]
    arguments = ", ".join(f"{name}: index" for name in (*starts, "%n"))
    body = "\n".join(lines)
    text = f"func.func @f(%0: tensor<?xf32>, {arguments}) -> tensor<?xf32> {{\n{body}\nreturn %40 : tensor<?xf32>\n}}"
    text = rewritten(text, RaggedCanonicalize())
    assert (text.count("ragged.slice"), text.count("arith.addi")) == (1, 40)
