"""ragged-fuse: the same results from fewer ops; what is not fused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import Program, programs
from support.run_pass import count, outcome, t, transform
from support.structures import DTYPES
from support.targets import Compile

from ragged_dialect.passes.ragged_check_conform import RaggedCheckConform
from ragged_dialect.passes.ragged_fuse import RaggedFuse
from ragged_dialect.passes.ragged_insert_checks import RaggedInsertChecks
from ragged_dialect.reference import run


def program(body: str, arguments: tuple[str, ...], result: str, results: tuple[str, ...]) -> str:
    signature = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(arguments))
    types = ", ".join(results)
    return f"func.func @f({signature}) -> ({types}) {{\n{body}\nreturn {result} : {types}\n}}"


X, B = t("dr|d", "3x?x2"), "tensor<3x2xf32>"
OFFSETS = np.array([0, 2, 2, 5], np.int64)
ARGS: tuple[Any, ...] = (
    (np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2), OFFSETS),
    (np.linspace(2, 3, 10, dtype=np.float32).reshape(5, 2), OFFSETS),
    np.full((3, 2), 0.5, np.float32),
)


def fused(text: str, *args: Any, **options: Any) -> Any:
    """The module after the pass; its results are those of the module before."""
    module = transform(text, RaggedFuse(**options))
    given_args = args or ARGS
    assert outcome(module, given_args) == outcome(transform(text), given_args)
    return module


def compute_ops(module: Any) -> list[str]:
    """Names of the ops that compute on tensors, in order."""
    block = module.body.operations[0].regions[0].blocks[0]
    names = [op.operation.name for op in block.operations]
    return [name for name in names if name.startswith(("arith.", "math.", "linalg.")) and name != "arith.constant"]


def test_a_chain_becomes_one_nest() -> None:
    body = f"%e = math.exp %a0 : {X}\n%f = arith.mulf %e, %a1 : {X}\n%g = arith.addf %f, %e : {X}"
    assert compute_ops(fused(program(body, (X, X, B), "%g", (X,)))) == ["linalg.generic"]


def test_elementwise_goes_into_reductions() -> None:
    body = (
        f"%e = math.exp %a0 : {X}\n%s = linalg.reduce {{ arith.addf }} ins(%e : {X}) outs(%a2 : {B}) dimensions = [1]"
    )
    assert compute_ops(fused(program(body, (X, X, B), "%s", (B,)))) == ["linalg.generic"]


SOFTMAX = f"""
  %m = linalg.reduce {{ arith.maximumf }} ins(%a0 : {X}) outs(%a2 : {B}) dimensions = [1]
  %i = ragged.empty %a0 : ({X}) -> {X}
  %b = linalg.broadcast ins(%m : {B}) outs(%i : {X}) dimensions = [1]
  %d = arith.subf %a0, %b : {X}
  %e = math.exp %d : {X}
  %s = linalg.reduce {{ arith.addf }} ins(%e : {X}) outs(%a2 : {B}) dimensions = [1]
  %j = ragged.empty %e : ({X}) -> {X}
  %c = linalg.broadcast ins(%s : {B}) outs(%j : {X}) dimensions = [1]
  %r = arith.divf %e, %c : {X}"""


def test_softmax_is_two_reductions_and_two_nests() -> None:
    module = fused(program(SOFTMAX, (X, X, B), "%r", (X,)))
    assert compute_ops(module) == ["linalg.reduce", "linalg.generic", "linalg.reduce", "linalg.generic"]


def link(k: int, x: str) -> str:
    """A sum of x, and x less that, of which the next link is."""
    maps = "affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (i, j, d)>"
    kinds = '"parallel", "parallel", "parallel"'
    return (
        f"%s{k} = linalg.reduce {{ arith.addf }} ins({x} : {X}) outs(%a2 : {B}) dimensions = [1]\n"
        f"%e{k} = ragged.empty {x} : ({X}) -> {X}\n"
        f"%x{k} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} ins({x}, %s{k} : {X}, {B}) "
        f"outs(%e{k} : {X}) {{\n^bb0(%p: f32, %q: f32, %o: f32):\n  %r = arith.subf %p, %q : f32\n"
        f"  linalg.yield %r : f32\n}} -> {X}"
    )


def test_links_of_a_chain_are_computed_a_few_times() -> None:
    """Each is read by the next one, too: with all of those before it there would be as many as pairs of them."""

    def subtractions(n: int) -> int:
        body = "\n".join(link(k, f"%x{k - 1}" if k else "%a0") for k in range(n))
        return str(fused(program(body, (X, X, B), f"%x{n - 1}", (X,)))).count("arith.subf")

    assert subtractions(40) <= 2.5 * subtractions(20)


def test_siblings_share_a_nest() -> None:
    body = (
        f"%s = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%a2 : {B}) dimensions = [1]\n"
        f"%q = arith.mulf %a0, %a0 : {X}\n"
        f"%t = linalg.reduce {{ arith.maximumf }} ins(%q : {X}) outs(%a2 : {B}) dimensions = [1]"
    )
    text = program(body, (X, X, B), "%s, %t", (B, B))
    assert compute_ops(fused(text)) == ["linalg.generic"]
    assert compute_ops(fused(text, siblings=False)) == ["linalg.reduce", "linalg.generic"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_sums_of_short_floats_share_a_nest(kind: str, compile: Compile) -> None:
    """Each keeps its own f32 accumulator: 2048 + 1 + 1 and 256 + 1 + 1 lose their ones otherwise."""
    x, b = X.replace("f32", kind), B.replace("f32", kind)
    body = (
        f"%s = linalg.reduce {{ arith.addf }} ins(%a0 : {x}) outs(%a1 : {b}) dimensions = [1]\n"
        f"%t = linalg.reduce {{ arith.mulf }} ins(%a0 : {x}) outs(%a1 : {b}) dimensions = [1]\n"
        f"%q = arith.negf %a0 : {x}\n"
        f"%u = linalg.reduce {{ arith.maximumf }} ins(%q : {x}) outs(%a1 : {b}) dimensions = [1]"
    )
    text = program(body, (x, b), "%s, %t, %u", (b, b, b))
    dtype = DTYPES[kind]
    large = 2048 if kind == "f16" else 256
    args = (np.array([[large, 1], [1, 0.3], [1, 3], [-1, 1.7], [0.1, 2.3]]).astype(dtype), np.array([0, 3, 3, 5]))
    init = np.full((3, 2), 1, dtype)
    assert compute_ops(fused(text, args, init)) == ["linalg.generic"]
    for got, expected in zip(compile(text)(args, init), run(text, "f", [args, init]), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert run(text, "f", [args, init])[0][0, 0] == dtype.type(large + 3) != dtype.type(large)


def test_siblings_of_different_loops_stay() -> None:
    body = (
        f"%s = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%a2 : {B}) dimensions = [1]\n"
        f"%e = tensor.empty() : tensor<3xf32>\n"
        f"%t = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%e : tensor<3xf32>) dimensions = [1, 2]"
    )
    text = program(body, (X, X, B), "%s", (B,))
    assert compute_ops(transform(text, RaggedFuse())) == ["linalg.reduce", "linalg.reduce"]


def test_index_follows_the_loops() -> None:
    body = (
        f"%i = ragged.empty %a0 : ({X}) -> {X}\n"
        "%p = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, "
        "affine_map<(b, i, j) -> (b, i, j)>], "
        f'iterator_types = ["parallel", "parallel", "parallel"]}} ins(%a0 : {X}) outs(%i : {X}) {{\n'
        "^bb0(%v: f32, %o: f32):\n%k = linalg.index 1 : index\n%n = arith.index_cast %k : index to i64\n"
        "%w = arith.sitofp %n : i64 to f32\n%u = arith.addf %v, %w : f32\nlinalg.yield %u : f32\n"
        f"}} -> {X}\n%r = arith.mulf %p, %a1 : {X}"
    )
    assert compute_ops(fused(program(body, (X, X, B), "%r", (X,)))) == ["linalg.generic"]


def test_an_init_that_is_read_becomes_an_input() -> None:
    body = (
        "%p = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, "
        "affine_map<(b, i, j) -> (b, i, j)>], "
        f'iterator_types = ["parallel", "parallel", "parallel"]}} ins(%a0 : {X}) outs(%a1 : {X}) {{\n'
        "^bb0(%v: f32, %o: f32):\n%u = arith.addf %v, %o : f32\nlinalg.yield %u : f32\n"
        f"}} -> {X}\n%r = math.exp %p : {X}"
    )
    assert compute_ops(fused(program(body, (X, X, B), "%r", (X,)))) == ["linalg.generic"]


KEPT = [
    # the consumer starts from the values too
    (
        f"%e = math.exp %a0 : {X}\n%r = linalg.map {{ math.absf }} ins(%e : {X}) outs(%e : {X})",
        X,
    ),
    # a matmul keeps its name
    (
        f"%e = math.exp %a0 : {X}\n%c = tensor.empty() : tensor<3x2x2xf32>\n%z = arith.constant 1.0 : f32\n"
        "%d = linalg.fill ins(%z : f32) outs(%c : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>\n"
        f"%r = linalg.batch_matmul ins(%e, %d : {X}, tensor<3x2x2xf32>) outs(%a1 : {X}) -> {X}",
        X,
    ),
    # whole values
    (f"%k = arith.constant true\n%e = math.exp %a0 : {X}\n%r = arith.select %k, %e, %a1 : {X}", X),
]


@pytest.mark.parametrize(("body", "type_"), KEPT)
def test_kept(body: str, type_: str) -> None:
    text = program(body, (X, X, B), "%r", (type_,))
    assert compute_ops(fused(text)) == compute_ops(transform(text))


@pytest.mark.parametrize("layout", ["dr", "drr", "ddr", "dw", "drt", "dr|dr", "dt"])
def test_every_layout_keeps_its_type(layout: str) -> None:
    letters = layout.replace("|", "")
    shape = "x".join("4" if c == "t" else "?" for c in letters)
    type_ = t(layout, shape)
    body = f"%e = math.exp %a0 : {type_}\n%r = arith.addf %e, %a0 : {type_}"
    text = program(body, (type_,), "%r", (type_,))
    module = transform(text, RaggedInsertChecks(arguments=False), RaggedFuse(), "canonicalize")
    assert compute_ops(module) == ["linalg.generic"]
    assert count(module, "ragged.empty") == 1


def test_dynamic_features_are_asked_of_the_structure() -> None:
    type_ = t("dr|d", "?x?x?")
    body = f"%e = math.exp %a0 : {type_}\n%r = arith.negf %e : {type_}"
    args = ((np.ones((5, 4), np.float32), OFFSETS),)
    module = fused(program(body, (type_,), "%r", (type_,)), *args)
    assert compute_ops(module) == ["linalg.generic"]
    assert count(module, "tensor.dim") == 1


def test_casts_change_the_element_type_on_the_way() -> None:
    body = f"%h = math.exp %a0 : {X}\n%c = arith.cmpf olt, %h, %a1 : {X}\n%r = arith.select %c, %a0, %a1 : " + (
        f"{t('dr|d', '3x?x2', 'i1')}, {X}"
    )
    assert compute_ops(fused(program(body, (X, X, B), "%r", (X,)))) == ["linalg.generic"]


def test_checks_of_the_structure_do_not_stand_in_the_way() -> None:
    body = f"%e = math.exp %a0 : {X}\n%f = arith.mulf %e, %a1 : {X}\n%g = arith.negf %f : {X}"
    text = program(body, (X, X, B), "%g", (X,))
    module = transform(text, RaggedInsertChecks(), RaggedCheckConform(), RaggedFuse())
    assert "linalg.generic" in compute_ops(module)
    assert "math.exp" not in compute_ops(module)
    assert count(module, "ragged.assert_conform") == 1
    assert outcome(module, ARGS) == outcome(transform(text), ARGS)


@st.composite
def nests(draw: st.DrawFn) -> str:
    """Random elementwise ops, broadcasts and reductions over two arguments; the last value and
    up to two others are results."""
    ragged, dense = ["%a0", "%a1"], ["%a2"]
    lines: list[str] = []
    for k in range(draw(st.integers(2, 9))):
        kind = draw(st.sampled_from(["unary", "binary", "binary", "broadcast", "reduce"]))
        x, y = draw(st.sampled_from(ragged)), draw(st.sampled_from(ragged))
        if kind == "unary":
            name = draw(st.sampled_from(["math.sin", "math.absf", "arith.negf"]))
            lines.append(f"%v{k} = {name} {x} : {X}")
        elif kind == "binary":
            name = draw(st.sampled_from(["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf"]))
            lines.append(f"%v{k} = {name} {x}, {y} : {X}")
        elif kind == "broadcast":
            lines.append(f"%i{k} = ragged.empty {x} : ({X}) -> {X}")
            source = draw(st.sampled_from(dense))
            lines.append(f"%v{k} = linalg.broadcast ins({source} : {B}) outs(%i{k} : {X}) dimensions = [1]")
        else:
            name = draw(st.sampled_from(["arith.addf", "arith.maximumf"]))
            lines.append(f"%d{k} = linalg.reduce {{ {name} }} ins({x} : {X}) outs(%a2 : {B}) dimensions = [1]")
            dense.append(f"%d{k}")
            continue
        ragged.append(f"%v{k}")
    results = [ragged[-1], dense[-1], draw(st.sampled_from(ragged))]
    return program("\n".join(lines), (X, X, B), ", ".join(results), (X, B, X))


@given(nests(), st.sampled_from([1, 2, 64]))
def test_fusing_changes_no_result(text: str, max_ops: int) -> None:
    module = fused(text, max_ops=max_ops)
    values: Any = outcome(module, ARGS)
    assert not isinstance(values, str)
    for op in module.body.operations[0].regions[0].blocks[0].operations:
        if op.operation.name == "linalg.generic":
            body = op.operation.regions[0].blocks[0].operations
            assert len(body) - 1 <= max_ops
    assert len(compute_ops(module)) <= len(compute_ops(transform(text)))


@pytest.mark.parametrize("max_ops", [0, -1])
def test_max_ops_is_at_least_one(max_ops: int) -> None:
    with pytest.raises(Exception, match="expected max-ops of at least 1, got"):
        transform(program("", (X,), "%a0", (X,)), RaggedFuse(max_ops=max_ops))


@given(programs())
def test_random_programs_keep_their_results(made: Program) -> None:
    module = transform(made.text, RaggedInsertChecks(), RaggedCheckConform(), RaggedFuse())
    assert outcome(module, made.args) == outcome(transform(made.text), made.args)
