"""`ragged-rematerialize`: the cut is minimal, equal values are found, and gradients are those of before."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from support.run_pass import transform

from ragged_dialect import compile
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.ir.functions import body_of, defined_functions
from ragged_dialect.ir.numbering import ValueNumbers, numbered
from ragged_dialect.passes.differentiate.vertex_cut import vertex_cut
from ragged_dialect.passes.ragged_differentiate import RaggedDifferentiate
from ragged_dialect.passes.ragged_rematerialize import RaggedRematerialize

PROGRAM = """
#j = #ragged.layout<"dr">
!x = tensor<?x?xf64, #j>
func.func @f(%x: !x) -> !x {
  %low = arith.constant 0xFFF0000000000000 : f64
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %e = tensor.empty(%n) : tensor<?xf64>
  %i = linalg.fill ins(%low : f64) outs(%e : tensor<?xf64>) -> tensor<?xf64>
  %m = linalg.reduce { arith.maximumf } ins(%x : !x) outs(%i : tensor<?xf64>) dimensions = [1]
  %o = ragged.empty %x : (!x) -> !x
  %b = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>,
                                        affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : !x, tensor<?xf64>) outs(%o : !x) {
  ^bb0(%a: f64, %c: f64, %d: f64):
    %p = arith.mulf %a, %c : f64
    linalg.yield %p : f64
  } -> !x
  %y = ragged.scan %b {dim = 1, kind = "sum"} : (!x) -> !x
  %z = math.sin %y : !x
  return %z : !x
}"""


def test_what_is_kept() -> None:
    """Of a maximum and of sums: the gradients are those of a function that keeps nothing."""
    plain = transform(PROGRAM, RaggedDifferentiate())
    text = print_module(transform(PROGRAM, RaggedDifferentiate(), RaggedRematerialize()))
    x = (np.random.default_rng(0).standard_normal(9), np.array([0, 4, 4, 9]))
    (result, *_), maxima, (sums, *_) = compile(text, entry="f_kept")(x)
    np.testing.assert_array_equal(maxima, [x[0][:4].max(), -np.inf, x[0][4:].max()])
    np.testing.assert_allclose(result, np.sin(sums), rtol=1e-12)
    upstream = (np.ones(9), x[1])
    pull = compile(text, entry="f_vjp")
    found, _ = pull(x, upstream, maxima, (sums, x[1]))
    expected, _ = compile(print_module(plain), entry="f_vjp")(x, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    doubled, _ = pull(x, upstream, 2 * maxima, (sums, x[1]))
    assert abs(doubled - expected).max() > 0.1  # they are what is read
    with pytest.raises(RuntimeCheckError, match="level 1, component 0: expected length 3, got 4"):
        pull(x, upstream, maxima, (sums, np.array([0, 3, 4, 9])))


def test_the_passes_behind_one_another() -> None:
    """What was simplified between the two is still the same values, and of a function that keeps nothing too."""
    module = transform(PROGRAM, RaggedDifferentiate(), "canonicalize,cse", RaggedRematerialize())
    functions = defined_functions(module.operation)
    assert [len(body_of(functions[name])[1].operands) for name in ("f", "f_kept", "f_vjp")] == [1, 3, 1]
    text = "func.func @f(%x: !v) -> !v {\n%y = math.sin %x : !v\nreturn %y : !v\n}".replace("!v", "tensor<?xf64>")
    module = transform(text, RaggedDifferentiate(), RaggedRematerialize())
    functions = defined_functions(module.operation)
    assert len(body_of(functions["f_kept"])[1].operands) == 1
    assert len(functions["f_vjp"].regions[0].blocks[0].arguments) == 2


def _cost(costs: dict[int, int | None], cut: set[int]) -> int:
    found = [costs[node] for node in cut]
    assert None not in found
    return sum(cost for cost in found if cost is not None)


def _separates(edges: list[tuple[int, int]], first: list[int], last: list[int], cut: set[int]) -> bool:
    reached = set(first) - cut
    for _ in range(len(edges)):
        reached |= {b for a, b in edges if a in reached and b not in cut}
    return not reached & set(last)


@pytest.mark.parametrize("seed", range(150))
def test_cuts_are_minimal(seed: int) -> None:
    """Against all sets of nodes."""
    rng = random.Random(seed)
    count = rng.randrange(1, 9)
    costs = {node: rng.choice([None, 0, 1, 2, 3, 1 << 70]) for node in range(count)}
    pairs = [(a, b) for a, b in itertools.product(range(count), repeat=2) if a != b]
    edges = [pair for pair in pairs if rng.random() < 0.3]
    first, last = ([node for node in range(count) if rng.random() < 0.4] for _ in range(2))
    for node in first:
        costs[node] = costs[node] or 4
    subsets = itertools.chain.from_iterable(itertools.combinations(range(count), size) for size in range(count + 1))
    fit = [set(s) for s in subsets if all(costs[k] is not None for k in s) and _separates(edges, first, last, set(s))]
    cut = vertex_cut(costs, edges, first, last)
    assert _separates(edges, first, last, cut)
    assert _cost(costs, cut) == min(_cost(costs, subset) for subset in fit)


def test_cuts_near_the_first() -> None:
    assert vertex_cut({0: 1, 1: 1, 2: 1}, [(0, 1), (1, 2)], [0], [2]) == {0}
    assert vertex_cut({0: None, 1: 1, 2: 1}, [(0, 1), (1, 2)], [0], [2]) == {1}
    with pytest.raises(ValueError, match="expected a node that may be cut on every path, got none between 0 and 2"):
        vertex_cut({0: None, 1: None, 2: None}, [(0, 1), (1, 2)], [0], [2])


SUM = """%{0} = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                               iterator_types = ["parallel"]}} ins(%x : tensor<?xf32>) outs(%{1} : tensor<?xf32>) {{
    ^bb0(%p: f32, %q: f32):
      %r = {2}
      %s = arith.addf {3} : f32
      linalg.yield %s : f32
    }} -> tensor<?xf32>"""


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (("b", "y", "arith.mulf %p, %q : f32", "%r, %p"), True),
        (("b", "y", "arith.mulf %q, %p : f32", "%r, %p"), False),
        (("b", "y", "arith.mulf %p, %q : f32", "%p, %r"), False),
        (("b", "y", "arith.divf %p, %q : f32", "%r, %p"), False),
        (("b", "a", "arith.mulf %p, %q : f32", "%r, %p"), False),
        (("b", "y", "arith.constant 1.0 : f32", "%r, %p"), False),
    ],
)
def test_equal_ops(other: tuple[str, ...], same: bool) -> None:
    ops = [SUM.format("a", "y", "arith.mulf %p, %q : f32", "%r, %p"), SUM.format(*other)]
    text = "func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) {\n" + "\n".join(ops) + "\nreturn\n}"
    module = parse_module(text, context())
    function = defined_functions(module.operation)["f"]
    numbers = ValueNumbers()
    for k, x in enumerate(function.regions[0].blocks[0].arguments):
        numbers.add(k, [x])
    a, b = body_of(function)[0]
    numbers.add_results(a)
    numbers.add_results(b)
    assert (numbers[a.results[0]] == numbers[b.results[0]]) is same


def test_branches_in_regions() -> None:
    """What goes another way is not equal."""
    region = """= scf.execute_region -> f32 {
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      scf.yield %x : f32
    ^bb2:
      scf.yield %y : f32
    }"""
    other = region.replace("^bb1, ^bb2", "^bb2, ^bb1")
    text = f"func.func @f(%c: i1, %x: f32, %y: f32) {{\n%a {region}\n%b {other}\nreturn\n}}"
    module = parse_module(text, context())
    numbers = numbered(body_of(defined_functions(module.operation)["f"])[0])
    a, b = (op.results[0] for op in body_of(defined_functions(module.operation)["f"])[0])
    assert numbers[a] != numbers[b]
