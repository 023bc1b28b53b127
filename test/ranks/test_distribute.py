"""`ragged-distribute`: the parts of all ranks together are what one process computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.stage import Stage

RESHUFFLE = (ROOT / "examples" / "expert_reshuffle.mlir").read_text()
THERE_AND_BACK = """
#ranked = #ragged.layout<"ddr|d">
#rows = affine_map<(e, r, t, n, k) -> (e, r, t, k)>
#weights = affine_map<(e, r, t, n, k) -> (e, k, n)>
#sums = affine_map<(e, r, t, n, k) -> (e, r, t, n)>
#whole = affine_map<(r, e, t, n) -> (r, e, t, n)>
#bias = affine_map<(r, e, t, n) -> (n)>
func.func @layer(%tokens: tensor<RxTx8xf32> {ragged.sharded}, %offsets: tensor<Rx5xi64> {ragged.sharded},
                 %w: tensor<4x8x3xf32> {ragged.sharded}, %b: tensor<3xf32>) -> (HOME3, TOTAL) {
  %sent = ragged.partition %tokens, %offsets {dim = 1} : (tensor<RxTx8xf32>, tensor<Rx5xi64>) -> HOME8
  %room = ragged.empty %sent {from = [[0, 1], [0, 0], [0, 2], -1]} : (HOME8) -> THERE8
  %there = linalg.transpose ins(%sent : HOME8) outs(%room : THERE8) permutation = [1, 0, 2, 3]
  %zero = arith.constant 0.0 : f32
  %out = ragged.empty %there : (THERE8) -> THERE3
  %zeros = linalg.fill ins(%zero : f32) outs(%out : THERE3) -> THERE3
  %y = linalg.generic {indexing_maps = [#rows, #weights, #sums],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%there, %w : THERE8, tensor<4x8x3xf32>) outs(%zeros : THERE3) {
  ^bb0(%a: f32, %c: f32, %s: f32):
    %p = arith.mulf %a, %c : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> THERE3
  %home = ragged.empty %y {from = [[0, 1], [0, 0], [0, 2], -1]} : (THERE3) -> HOME3
  %back = linalg.transpose ins(%y : THERE3) outs(%home : HOME3) permutation = [1, 0, 2, 3]
  %like = ragged.empty %back : (HOME3) -> HOME3
  %z = linalg.generic {indexing_maps = [#whole, #bias, #whole],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%back, %b : HOME3, tensor<3xf32>) outs(%like : HOME3) {
  ^bb0(%a: f32, %c: f32, %s: f32):
    %q = arith.addf %a, %c : f32
    linalg.yield %q : f32
  } -> HOME3
  %none = tensor.empty() : TOTAL
  %init = linalg.fill ins(%zero : f32) outs(%none : TOTAL) -> TOTAL
  %total = linalg.reduce { arith.addf } ins(%z : HOME3) outs(%init : TOTAL) dimensions = [2]
  return %z, %total : HOME3, TOTAL
}
"""
TYPES = {"TOTAL": "tensor<Rx4x3xf32>"} | {
    f"{name}{features}": f"tensor<{leading}x?x{features}xf32, #ranked>"
    for name, leading in {"HOME": "Rx4", "THERE": "4xR"}.items()
    for features in (3, 8)
}
TOKENS = 9


def of_ranks(text: str, ranks: int) -> str:
    """A program of as many ranks."""
    for name, type_ in TYPES.items():
        text = text.replace(name, type_)
    return text.replace("<Rx", f"<{ranks}x").replace("xRx", f"x{ranks}x").replace("xTx", f"x{TOKENS}x")


def of_one(text: str, ranks: int) -> str:
    """The program of one rank."""
    made = context()
    with made:
        module = load_module(text.encode(), made, "in.mlir")
        Stage("s", f"func.func(ragged-distribute{{ranks={ranks}}})").run(module)
        return print_module(module)


def on_ranks(text: str, ranks: int, arguments: list[Any], sharded: list[bool]) -> list[list[Any]]:
    """What every rank computes of its parts of arguments."""

    def work(group: Any) -> list[Any]:
        mine = [
            np.split(a, ranks)[group.rank] if is_sharded else a
            for a, is_sharded in zip(arguments, sharded, strict=True)
        ]
        return list(rg.compile(text)(*mine))

    return rg.ranks.run(ranks, work)


def random_offsets(rng: np.random.Generator, ranks: int) -> Any:
    """Where the tokens of four experts start, on every rank; some have none."""
    cuts = np.sort(rng.integers(0, TOKENS + 1, (ranks, 3)), 1)
    return np.concatenate([np.zeros((ranks, 1), np.int64), cuts, np.full((ranks, 1), TOKENS)], 1)


def joined(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Values and offsets of all ranks, of those of each."""
    values = np.concatenate([values for values, _ in parts])
    return values, np.concatenate([[0], np.cumsum(np.concatenate([np.diff(offsets) for _, offsets in parts]))])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_there_and_back(ranks: int, seed: int) -> None:
    rng, text = np.random.default_rng(seed), of_ranks(THERE_AND_BACK, ranks)
    arguments = [
        rng.standard_normal((ranks, TOKENS, 8), np.float32), random_offsets(rng, ranks),
        rng.standard_normal((4, 8, 3), np.float32), rng.standard_normal(3, np.float32),
    ]  # fmt: skip
    (values, offsets), totals = rg.compile(text)(*arguments)
    made = on_ranks(of_one(text, ranks), ranks, arguments, [True, True, True, False])
    got = joined([rows for rows, _ in made])
    np.testing.assert_array_equal(got[0], values)
    np.testing.assert_array_equal(got[1], offsets)
    np.testing.assert_array_equal(np.concatenate([total for _, total in made]), totals)
    assert text.count("linalg.transpose") == of_one(text, ranks).count("ragged.all_to_all %") == 2


def test_the_example_on_two_ranks() -> None:
    text = RESHUFFLE.replace(
        "xf32>, %offsets: tensor<2x5xi64>)", "xf32> {ragged.sharded}, %offsets: tensor<2x5xi64> {ragged.sharded})"
    )
    tokens = np.random.default_rng(0).standard_normal((2, 100, 8), np.float32)
    arguments = [tokens, np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]])]
    *lengths, (values, offsets) = rg.compile(RESHUFFLE)(*arguments)
    made = on_ranks(of_one(text, 2), 2, arguments, [True, True])
    for number, wanted in enumerate(lengths):
        np.testing.assert_array_equal(np.concatenate([one[number] for one in made]), wanted)
    got = joined([one[-1] for one in made])
    np.testing.assert_array_equal(got[0], values)
    np.testing.assert_array_equal(got[1], offsets)


def test_what_is_sharded_runs_on_one_process_too() -> None:
    text = "func.func @f(%x: tensor<2x3xf32> {ragged.sharded}) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }"
    assert rg.compile(text)(np.ones((2, 3), np.float32)).sum() == 6
