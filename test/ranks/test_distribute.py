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
SHARDED = RESHUFFLE.replace(
    "xf32>, %offsets: tensor<2x5xi64>)", "xf32> {ragged.sharded}, %offsets: tensor<2x5xi64> {ragged.sharded})"
)
EXAMPLE: list[Any] = [
    np.random.default_rng(0).standard_normal((2, 100, 8), np.float32),
    np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]]),
]
THERE_AND_BACK = """
#ranked = #ragged.layout<"ddr|d">
#rows = affine_map<(e, r, t, n, k) -> (e, r, t, k)>
#weights = affine_map<(e, r, t, n, k) -> (e, k, n)>
#sums = affine_map<(e, r, t, n, k) -> (e, r, t, n)>
#whole = affine_map<(r, e, t, n) -> (r, e, t, n)>
#bias = affine_map<(r, e, t, n) -> (n)>
func.func @layer(%tokens: tensor<RxTx8xf32> {ragged.sharded}, %offsets: tensor<RxOxi64> {ragged.sharded},
                 %w: tensor<Ex8x3xf32> {ragged.sharded}, %b: tensor<3xf32>) -> (HOME3, TOTAL) {
  %sent = ragged.partition %tokens, %offsets {dim = 1} : (tensor<RxTx8xf32>, tensor<RxOxi64>) -> HOME8
  %room = ragged.empty %sent {from = [[0, 1], [0, 0], [0, 2], -1]} : (HOME8) -> THERE8
  %there = linalg.transpose ins(%sent : HOME8) outs(%room : THERE8) permutation = [1, 0, 2, 3]
  %zero = arith.constant 0.0 : f32
  %out = ragged.empty %there : (THERE8) -> THERE3
  %zeros = linalg.fill ins(%zero : f32) outs(%out : THERE3) -> THERE3
  %y = linalg.generic {indexing_maps = [#rows, #weights, #sums],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%there, %w : THERE8, tensor<Ex8x3xf32>) outs(%zeros : THERE3) {
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
TYPES = {"TOTAL": "tensor<RxEx3xf32>"} | {
    f"{name}{features}": f"tensor<{leading}x?x{features}xf32, #ranked>"
    for name, leading in {"HOME": "RxE", "THERE": "ExR"}.items()
    for features in (3, 8)
}
TOKENS = 9
OWNED = [(4,), (2, 2), (1, 1, 1, 1), (5, 3), (3, 2, 2, 1), (8, 0), (0, 2, 3)]
"""How many experts each rank has."""


def of_ranks(text: str, owned: tuple[int, ...]) -> str:
    """A program of as many ranks and experts."""
    for name, type_ in TYPES.items():
        text = text.replace(name, type_)
    for letter, extent in {"R": len(owned), "E": sum(owned), "O": sum(owned) + 1, "T": TOKENS}.items():
        text = text.replace(f"<{letter}x", f"<{extent}x").replace(f"x{letter}x", f"x{extent}x")
    return text


def of_one(text: str, owned: tuple[int, ...], rank: int = 0, then: str = "") -> str:
    """The program of one rank, after more passes on the module."""
    options, made = f"ranks={len(owned)} owned={','.join(map(str, owned))} rank={rank}", context()
    with made:
        module = load_module(text.encode(), made, "in.mlir")
        Stage("s", f"builtin.module(func.func(ragged-distribute{{{options}}}){then})").run(module)
        return print_module(module)


def placed(x: Any, owned: tuple[int, ...]) -> list[Any]:
    """The part of every rank: of all experts those that it owns, else blocks of one size."""
    return np.split(x, np.cumsum(owned)[:-1] if len(x) == sum(owned) else len(owned))


def on_ranks(programs: list[str], parts: list[list[Any]], entry: str | None = None) -> list[list[Any]]:
    """What every rank computes of its parts of the arguments."""

    def work(group: rg.ranks.Group) -> list[Any]:
        return list(rg.compile(programs[group.rank], entry)(*(part[group.rank] for part in parts)))

    return rg.ranks.run(len(programs), work)


def random_offsets(rng: np.random.Generator, owned: tuple[int, ...]) -> Any:
    """Where the tokens of the experts start, on every rank; some have none."""
    ranks = len(owned)
    cuts = np.sort(rng.integers(0, TOKENS + 1, (ranks, sum(owned) - 1)), 1)
    return np.concatenate([np.zeros((ranks, 1), np.int64), cuts, np.full((ranks, 1), TOKENS)], 1)


def random_arguments(rng: np.random.Generator, owned: tuple[int, ...]) -> tuple[list[Any], list[list[Any]]]:
    """Tokens, offsets, weights of the experts and of all; and the parts of every rank."""
    *sharded, bias = (
        rng.standard_normal((len(owned), TOKENS, 8), np.float32), random_offsets(rng, owned),
        rng.standard_normal((sum(owned), 8, 3), np.float32), rng.standard_normal(3, np.float32),
    )  # fmt: skip
    return [*sharded, bias], [*(placed(x, owned) for x in sharded), [bias] * len(owned)]


def joined(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Values and offsets of all ranks, of those of each."""
    values = np.concatenate([values for values, _ in parts])
    return values, np.concatenate([[0], np.cumsum(np.concatenate([np.diff(offsets) for _, offsets in parts]))])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("owned", OWNED, ids=str)
def test_there_and_back(owned: tuple[int, ...], seed: int) -> None:
    text = of_ranks(THERE_AND_BACK, owned)
    arguments, parts = random_arguments(np.random.default_rng(seed), owned)
    (values, offsets), totals = rg.compile(text)(*arguments)
    programs = [of_one(text, owned, rank) for rank in range(len(owned))]
    made = on_ranks(programs, parts)
    got = joined([rows for rows, _ in made])
    np.testing.assert_array_equal(got[0], values)
    np.testing.assert_array_equal(got[1], offsets)
    np.testing.assert_array_equal(np.concatenate([total for _, total in made]), totals)
    for program in programs:
        assert text.count("linalg.transpose") == program.count("ragged.all_to_all %") == 2


@pytest.mark.sampled(8)
@pytest.mark.parametrize("owned", OWNED, ids=str)
def test_gradients(owned: tuple[int, ...]) -> None:
    rng, text, ranks = np.random.default_rng(0), of_ranks(THERE_AND_BACK, owned), len(owned)
    arguments, parts = random_arguments(rng, owned)
    (_, offsets), _ = rg.compile(text)(*arguments)
    rows: Any = rng.standard_normal((ranks, TOKENS, 3), np.float32)
    sums = rng.standard_normal((ranks, sum(owned), 3), np.float32)
    starts = [offsets[rank * sum(owned) :][: sum(owned) + 1] - rank * TOKENS for rank in range(ranks)]
    parts += [list(zip(rows, starts, strict=True)), placed(sums, owned)]
    module = load_module(text.encode(), context(), "in.mlir")
    Stage("s", "builtin.module(ragged-differentiate)").run(module)
    arguments += [(rows.reshape(-1, 3), offsets), sums]
    tokens, weights, bias = rg.compile(print_module(module), "layer_vjp")(*arguments)
    programs = [of_one(text, owned, rank, ",ragged-differentiate") for rank in range(ranks)]
    made = on_ranks(programs, parts, "layer_vjp")
    np.testing.assert_array_equal(np.concatenate([one[0] for one in made]), tokens)
    np.testing.assert_array_equal(np.concatenate([one[1] for one in made]), weights)
    np.testing.assert_allclose(sum(one[2] for one in made), bias, rtol=1e-4, atol=1e-5)


def test_programs_of_other_placements_are_an_error() -> None:
    text = of_ranks(THERE_AND_BACK, (2, 2, 2))
    _, parts = random_arguments(np.random.default_rng(0), (2, 2, 2))
    # Every rank owns two and gets six in all, but of the others not two each.
    programs = [of_one(text, owned, rank) for rank, owned in enumerate([(2, 1, 3), (3, 2, 1), (1, 3, 2)])]
    wanted = r"ragged\.all_to_all: level 1, component \d: expected length 2, got [13]"
    with pytest.raises(rg.RuntimeCheckError, match=wanted):
        on_ranks(programs, parts)


def test_the_example_on_two_ranks() -> None:
    *lengths, (values, offsets) = rg.compile(RESHUFFLE)(*EXAMPLE)
    made = on_ranks([of_one(SHARDED, (2, 2))] * 2, [placed(x, (2, 2)) for x in EXAMPLE])
    for number, wanted in enumerate(lengths):
        np.testing.assert_array_equal(np.concatenate([one[number] for one in made]), wanted)
    got = joined([one[-1] for one in made])
    np.testing.assert_array_equal(got[0], values)
    np.testing.assert_array_equal(got[1], offsets)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("owned", [(3, 1), (1, 3), (4, 0)], ids=str)
def test_the_example_with_experts_on_any_rank(owned: tuple[int, int]) -> None:
    results, merged = "tensor<?xi64>, tensor<4x?x8xf32, #experts>", "%merged : tensor<4x?x8xf32, #experts>"
    start, end = SHARDED.index("-> (tensor<?xi64>"), SHARDED.index("{\n  // [gpu")
    text = f"{SHARDED[:start]}-> ({results}) {SHARDED[end : SHARDED.index('  // -> [device')]}"
    text += f"%n = ragged.lengths {merged.replace(' :', ' {level = 1} : (')}) -> tensor<?xi64>\n"
    text += f"return %n, %merged : {results}\n}}"
    lengths, (values, _) = rg.compile(text)(*EXAMPLE)
    made = on_ranks([of_one(text, owned, rank) for rank in range(2)], [placed(x, owned) for x in EXAMPLE])
    assert [one[0].tolist() for one in made] == [[55, 35, 65, 45][: owned[0]], [55, 35, 65, 45][owned[0] :]]
    np.testing.assert_array_equal(np.concatenate([one[0] for one in made]), lengths)
    np.testing.assert_array_equal(joined([one[1] for one in made])[0], values)


def test_what_is_sharded_runs_on_one_process_too() -> None:
    text = "func.func @f(%x: tensor<2x3xf32> {ragged.sharded}) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }"
    assert rg.compile(text)(np.ones((2, 3), np.float32)).sum() == 6
