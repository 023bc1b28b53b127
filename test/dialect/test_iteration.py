"""The loops of compute ops: which are ragged, their parents, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from support.run_pass import t

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.iteration import Iteration, Use, analyze, is_compute, touches_ragged

pytestmark = pytest.mark.usefixtures("mlir_context")


def op_of(line: str, *arguments: str) -> tuple[Any, Any]:
    """The module of one function over `%0, %1, …` of these types, and its first op."""
    signature = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(arguments))
    module = ir.Module.parse(f"func.func @f({signature}) {{\n{line}\nreturn\n}}")
    return module, module.body.operations[0].regions[0].blocks[0].operations[0].operation


def iteration(line: str, *arguments: str) -> Iteration:
    _, op = op_of(line, *arguments)
    return analyze(op)


def generic(maps: list[str], kinds: list[str], *types: str) -> tuple[str, ...]:
    """A linalg.generic that yields its first input; the last type is the out."""
    dims = ", ".join(f"d{k}" for k in range(len(kinds)))
    maps_text = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    kinds_text = ", ".join(f'"{k}"' for k in kinds)
    ins = ", ".join(f"%a{k}" for k in range(len(types) - 1))
    scalars = ", ".join(f"%s{k}: f32" for k in range(len(types)))
    return (
        f"%r = linalg.generic {{indexing_maps = [{maps_text}], iterator_types = [{kinds_text}]}} "
        f"ins({ins} : {', '.join(types[:-1])}) outs(%a{len(types) - 1} : {types[-1]}) "
        f"{{\n^bb0({scalars}):\n linalg.yield %s0 : f32\n}} -> {types[-1]}",
        *types,
    )


def test_elementwise_runs_over_every_level() -> None:
    x = t("drr|d", "4x?x?x8")
    it = iteration(f"%r = arith.addf %a0, %a0 : {x}", x)
    assert it.kinds == ("parallel",) * 4
    assert it.ragged == ((), (Use(0, 1), Use(1, 1), Use(2, 1)), (Use(0, 2), Use(1, 2), Use(2, 2)), ())
    assert [it.parents(k) for k in range(4)] == [frozenset(), {0}, {0, 1}, frozenset()]
    assert it.inputs == 2
    assert len(it.outs) == 1


def test_tiles_and_split_outers_depend_on_the_component() -> None:
    x = t("drt", "3x?x4")
    it = iteration(f"%r = math.exp %a0 : {x}", x)
    assert it.ragged == ((), (Use(0, 1), Use(1, 1)), (Use(0, 2), Use(1, 2)))
    assert it.parents(2) == {0, 1}


def test_reduction_and_dense_uses() -> None:
    x, o = t("dr|d", "3x?x8"), "tensor<3x8xf32>"
    it = iteration(f"%r = linalg.reduce {{ arith.addf }} ins(%a0 : {x}) outs(%a1 : {o}) dimensions = [1]", x, o)
    assert it.kinds == ("parallel", "reduction", "parallel")
    assert it.ragged == ((), (Use(0, 1),), ())
    assert it.dense_uses(0) == [Use(0, 0), Use(1, 0)]
    assert it.dense_uses(2) == [Use(0, 2), Use(1, 1)]


def test_operands_on_different_loops_have_their_own_parents() -> None:
    q, s = t("dr|d", "3x?x8"), t("drdr", "3x?x2x?")
    maps, kinds = ["d0, d1, d4", "d0, d1, d2, d3"], ["parallel"] * 4 + ["reduction"]
    it = iteration(*generic(maps, kinds, q, s))
    assert it.ragged[1] == (Use(0, 1), Use(1, 1))
    assert it.ragged[3] == (Use(1, 3),)
    assert it.parents(1) == {0}
    assert it.parents(3) == {0, 1, 2}


def test_a_dense_operand_may_use_a_ragged_loop() -> None:
    x, p = t("dr", "3x?"), "tensor<9xf32>"
    it = iteration(*generic(["d1", "d0, d1"], ["parallel", "parallel"], p, x))
    assert it.ragged == ((), (Use(1, 1),))
    assert it.dense_uses(1) == [Use(0, 0)]


def test_a_tile_reduced_over_its_outer_leaves_a_dense_dim() -> None:
    x = t("drt", "3x?x4")
    it = iteration(*generic(["d0, d1, d2", "d0, d2"], ["parallel", "reduction", "parallel"], x, "tensor<3x4xf32>"))
    assert it.dense_uses(2) == [Use(1, 1)]


X = t("dr", "3x?")
REFUSED = [
    # the result of a ragged loop
    (
        generic(["d0, d1", "d0, d1"], ["parallel"] * 2, X, "tensor<3x?xf32>"),
        "expected a result with a ragged level on loop 1 (dim 1 of operand 0 is ragged), got dense dim 1",
    ),
    # the batch goes, its components stay
    (
        generic(["d0, d1", "d1"], ["reduction", "parallel"], X, "tensor<?xf32>"),
        "expected loop 0, a parent of ragged loop 1, in the result, got it reduced (use ragged.reduce_across)",
    ),
    # a level between goes
    (
        generic(["d0, d1, d2", "d0, d2"], ["parallel", "reduction", "parallel"], t("drr", "3x?x?"), X),
        "expected parents [0, 1] for ragged loop 2, got [0] in operand 1 (use ragged.reduce_across)",
    ),
    # no operand has all ragged levels
    (
        generic(
            ["d0, d1, d2, d3", "d0, d1, d2, d3", "d0"],
            ["parallel", *["reduction"] * 3],
            t("drdr", "3x?x2x?"),
            t("ddrr", "3x2x?x?"),
            "tensor<3xf32>",
        ),
        "expected parents [2] of ragged loop 3, ragged in operand 1, to be so in operand 0, got [1]",
    ),
    # two levels, each below the other
    (
        generic(
            ["d0, d1, d2", "d0, d2, d1", "d0"],
            ["parallel", "reduction", "reduction"],
            *[t("drr", "3x?x?")] * 2,
            "tensor<3xf32>",
        ),
        "expected ragged loops inside one another, got each of [1, 2] inside another of them",
    ),
    # a dense level below a reduced one stays
    (
        generic(
            ["d0, d1, d2, d3", "d0, d2"],
            ["parallel", "reduction", "parallel", "reduction"],
            t("drdr", "3x?x2x?"),
            "tensor<3x2xf32>",
        ),
        'expected every level of axis "drdr" below dim 1 to be reduced too, got dim 2 kept (use ragged.reduce_across)',
    ),
    # arithmetic on a ragged index
    (
        generic(["d0, d1 + 1", "d0, d1"], ["parallel"] * 2, X, X),
        'expected a plain loop index for dim 1 of layout "dr", got d1 + 1',
    ),
    # arithmetic on a ragged loop elsewhere
    (
        generic(["d1 + 1", "d0, d1"], ["parallel"] * 2, "tensor<9xf32>", X),
        "expected a plain index of ragged loop 1, got d1 + 1",
    ),
    # levels nest
    (
        generic(["d0, d0", "d0"], ["parallel"], X, "tensor<3xf32>"),
        'expected a loop for every level of axis "dr", got loop 0 twice',
    ),
]


@pytest.mark.parametrize(("program", "message"), REFUSED)
def test_refused(program: tuple[str, ...], message: str) -> None:
    _module, op = op_of(*program)
    with pytest.raises(LayoutError) as error:
        analyze(op)
    assert str(error.value) == message


def test_softmax_needs_the_levels_below_its_dim() -> None:
    x = t("drr", "3x?x?")
    line = f"%r = linalg.softmax dimension(1) ins(%a0 : {x}) outs(%a0 : {x}) -> {x}"
    _module, op = op_of(line, x)
    with pytest.raises(LayoutError, match="below dim 1 to be reduced too, got dim 2 kept"):
        analyze(op)
    ok = f"%r = linalg.softmax dimension(2) ins(%a0 : {x}) outs(%a0 : {x}) -> {x}"
    assert iteration(ok, x).parents(2) == {0, 1}


def test_what_computes() -> None:
    _module, op = op_of(f"%r = math.exp %a0 : {X}", X)
    assert is_compute(op)
    assert touches_ragged(op)
    _module, op = op_of("%r = math.exp %a0 : f32", "f32")
    assert not is_compute(op)
    _module, op = op_of(f"%r = tensor.extract %a0[%a1, %a1] : {X}", X, "index")
    assert not is_compute(op)
    assert touches_ragged(op)
