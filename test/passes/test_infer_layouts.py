"""`ragged-infer-layouts`: erasing layouts and inferring them from one annotation gives them back."""

from __future__ import annotations

import random
import re

import pytest
from support.layout_programs import layout_program
from support.rewrites import parse, rewritten

from ragged_dialect.passes.analysis.loop_layouts import layout_on, loop_levels
from ragged_dialect.passes.pipeline.running import PassFailed
from ragged_dialect.passes.ragged_infer_layouts import RaggedInferLayouts

DR = '#ragged.layout<"dr">'
DRD = '#ragged.layout<"dr|d">'

ATTENTION = """func.func @f(%x: tensor<3x?x8xf32, #L>, %e: tensor<3x?x8xf32, #L>, %f: tensor<3x8xf32>)
    -> tensor<3x8xf32> {
  %0 = arith.addf %x, %x : tensor<3x?x8xf32, #L>
  %1 = linalg.exp ins(%0 : tensor<3x?x8xf32, #L>) outs(%e : tensor<3x?x8xf32, #L>) -> tensor<3x?x8xf32, #L>
  %2 = linalg.softmax dimension(2) ins(%1 : tensor<3x?x8xf32, #L>) outs(%e : tensor<3x?x8xf32, #L>)
    -> tensor<3x?x8xf32, #L>
  %3 = linalg.reduce { arith.addf } ins(%2 : tensor<3x?x8xf32, #L>) outs(%f : tensor<3x8xf32>) dimensions = [1]
  return %3 : tensor<3x8xf32>
}"""


def _annotated(text: str, argument: str, layout: str) -> str:
    """The text without layouts, with an annotation of one argument."""
    dense = text.replace(", #L", "")
    type_ = re.search(rf"{argument}: (tensor<[^>]*>)", dense)
    assert type_ is not None
    target = f"{type_[1][:-1]}, {layout}>"
    return dense.replace("{\n", f"{{\n  %t = ragged.annotate {argument} : ({type_[1]}) -> {target}\n", 1)


@pytest.mark.parametrize("layout", [DRD, '#ragged.layout<"dw|d">'])
@pytest.mark.parametrize("argument", ["%x", "%e"])
def test_layouts_come_back(layout: str, argument: str) -> None:
    """From either end of the program."""
    wanted = rewritten(ATTENTION.replace("#L", layout))
    assert rewritten(_annotated(ATTENTION, argument, layout), RaggedInferLayouts()) == wanted


def test_nothing_to_do() -> None:
    """A module without annotations stays as it is."""
    text = ATTENTION.replace("#L", DRD)
    assert rewritten(text, RaggedInferLayouts()) == rewritten(text)


def test_static_extents_are_cast() -> None:
    """An annotation that also changes a static extent leaves a cast."""
    text = f"""func.func @f(%x: tensor<?x?xf32>) -> tensor<3x?xf32, {DR}> {{
      %0 = ragged.annotate %x : (tensor<?x?xf32>) -> tensor<3x?xf32, {DR}>
      return %0 : tensor<3x?xf32, {DR}>
    }}"""
    after = rewritten(text, RaggedInferLayouts())
    assert f"tensor.cast %arg0 : tensor<?x?xf32, {DR}> to tensor<3x?xf32, {DR}>" in after


def test_both_places_of_a_conflict() -> None:
    """Two diagnostics, one at each annotation."""
    text = f"""func.func @f(%x: tensor<3x?xf32>) {{
      %0 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, {DR}>
      %1 = ragged.annotate %x : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dw">>
      return
    }}"""
    with pytest.raises(PassFailed) as failure:
        rewritten(text, RaggedInferLayouts())
    assert sorted(d.line for d in failure.value.diagnostics) == [2, 3]


def test_conflict_through_a_reduction() -> None:
    """The places are the two annotations, not the op between them."""
    text = f"""func.func @f(%x: tensor<3x?x8xf32>, %e: tensor<3x?xf32>) {{
      %0 = ragged.annotate %x : (tensor<3x?x8xf32>) -> tensor<3x?x8xf32, {DRD}>
      %1 = ragged.annotate %e : (tensor<3x?xf32>) -> tensor<3x?xf32, #ragged.layout<"dw">>
      %2 = linalg.reduce {{ arith.addf }} ins(%x : tensor<3x?x8xf32>) outs(%e : tensor<3x?xf32>) dimensions = [2]
      return
    }}"""
    with pytest.raises(PassFailed) as failure:
        rewritten(text, RaggedInferLayouts())
    assert sorted(d.line for d in failure.value.diagnostics) == [2, 3]


def test_scores_nest_both_lengths() -> None:
    """Queries and keys of one batch give a score per pair: `drr` from two tensors."""
    module = parse(f"func.func @f(%q: tensor<3x?x8xf32, {DRD}>, %k: tensor<3x?x8xf32, {DRD}>) {{ return }}")
    q, k = module.body.operations[0].regions[0].blocks[0].arguments
    assert str(layout_on((0, 1, 2), loop_levels([(q, (0, 1, 3)), (k, (0, 2, 3))]))) == "drr"


@pytest.mark.parametrize(
    ("loops", "layout"),
    [((2, 0, 1), "d|dr"), ((0, 1), "dr"), ((0, 2), "d|d"), ((2,), "d"), ((3, 0, 1, 4), "d|dr|d")],
)
def test_layout_on_loops(loops: tuple[int, ...], layout: str) -> None:
    """Transposed, reduced and new dims."""
    module = parse(f"func.func @f(%x: tensor<3x?x8xf32, {DRD}>) {{ return }}")
    x = module.body.operations[0].regions[0].blocks[0].arguments[0]
    assert str(layout_on(loops, loop_levels([(x, (0, 1, 2))]))) == layout


SCORES = """func.func @f(%x: tensor<?x?x64xf32>, %e: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %a = ragged.annotate %x : (tensor<?x?x64xf32>) -> tensor<?x?x64xf32, #ragged.layout<"dr|d">>
  %q = math.exp %x : tensor<?x?x64xf32>
  %0 = math.sin %x : tensor<?x?x64xf32>
  %1 = math.cos %0 : tensor<?x?x64xf32>
  %k = math.cos %1 : tensor<?x?x64xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b,s,t,d)->(b,s,d)>, affine_map<(b,s,t,d)->(b,t,d)>,
    affine_map<(b,s,t,d)->(b,s,t)>] ins(%q, %k : tensor<?x?x64xf32>, tensor<?x?x64xf32>)
    outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %s : tensor<?x?x?xf32>
}"""


@pytest.mark.parametrize("seed", [None, *range(8)])
def test_a_longer_way_to_one_operand(seed: int | None) -> None:
    """Keys that are known later than queries make scores of both lengths all the same."""
    assert '-> tensor<?x?x?xf32, #ragged.layout<"drr">> {' in rewritten(SCORES, RaggedInferLayouts(seed))


def _inferred(text: str, seed: int | None = None) -> str | None:
    """The module with layouts, None where it is refused."""
    try:
        return rewritten(text, RaggedInferLayouts(seed))
    except PassFailed:
        return None


def _types(text: str | None) -> str | None:
    return None if text is None else text[text.index("func.func") :].split("{\n")[0]


def test_no_order_matters(request: pytest.FixtureRequest) -> None:
    """Any order of visits gives one module, and any order of the ops one type for each value."""
    refused = 0
    count = 300 if request.config.getoption("--slow") else 60
    for number in range(count):
        rng = random.Random(number)
        program = layout_program(rng)
        text = program.text()
        first = _inferred(text)
        refused += first is None
        for seed in range(4):
            assert _inferred(text, seed) == first, text
        for _ in range(2):
            moved = program.text(rng)
            assert _types(_inferred(moved)) == _types(first), f"{text}\n{moved}"
    assert 0 < refused < count * 0.7
