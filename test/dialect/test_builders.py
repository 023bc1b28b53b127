"""Builders: inferred result types, attributes, and the refusal of wrong operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragged_dialect import builders as ragged
from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.segments import GROUPS, segments
from ragged_dialect.sources import Source


def built(types: list[str], build: Callable[..., Any]) -> Any:
    """A verified module with one function whose arguments `build` takes; the module's last op but the return."""
    arguments = ", ".join(f"%a{at}: {type_}" for at, type_ in enumerate(types))
    module = ir.Module.parse(f"func.func @f({arguments}) {{\n  return\n}}")
    block = module.body.operations[0].regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        build(*block.arguments)
    module.operation.verify()
    return module, block.operations[0]


def J(shape: str, layout: str) -> str:
    return f'tensor<{shape}, #ragged.layout<"{layout}">>'


X = J("3x?x8xf32", "dr|d")
HEADS = J("3x?x4x8xf32", "dr|d|d")

CASES = [
    (["tensor<?x8xf32>", "tensor<4xi64>"], lambda x, o: ragged.partition(x, o, 0), X),
    (["tensor<?x8xf32>", "tensor<3xi64>"], lambda x, o: ragged.partition(x, o, dim=0, lengths=True), X),
    (["tensor<?x8xf32>", "tensor<?xi64>"], lambda x, o: ragged.partition(x, o, 0), J("?x?x8xf32", "dr|d")),
    ([X, "tensor<3x3xi64>"], lambda x, o: ragged.partition(x, o, 1), J("3x2x?x8xf32", "ddr|d")),
    ([X], lambda x: ragged.merge(x, dim=0), "tensor<?x8xf32>"),
    ([X], lambda x: ragged.split(x, dim=1, factor=16), J("3x?x16x8xf32", "drt|d")),
    ([X, "index"], lambda x, i: ragged.select(x, i, dim=0), "tensor<?x8xf32>"),
    ([X, "index", "index"], lambda x, lo, hi: ragged.slice(x, lo, hi, dim=1), J("3x?x8xf32", "dw|d")),
    ([X, X], lambda x, y: ragged.concat([x, y], dim=0), J("6x?x8xf32", "dr|d")),
    ([X, J("3x?x4xf32", "dr|d")], lambda x, y: ragged.concat([x, y], dim=2), J("3x?x12xf32", "dr|d")),
    ([J("3x?xf32", "dw")], lambda x: ragged.compact(x), J("3x?xf32", "dr")),
    (["tensor<?x8xf32>", "tensor<4xi64>"], lambda v, o: ragged.assemble([v, o], "dr|d", (3, None, 8)), X),
    ([X], lambda x: ragged.values(x), "tensor<?x8xf32>"),
    ([X], lambda x: ragged.offsets(x, level=1), "tensor<?xi64>"),
    ([X], lambda x: ragged.starts(x, level=1), "tensor<?xi64>"),
    ([X], lambda x: ragged.lengths(x, level=1), "tensor<?xi64>"),
    ([X], lambda x: ragged.lengths(x, level=1, stored=True), "tensor<?xi64>"),
    ([X], lambda x: ragged.row_ids(x, level=1), "tensor<?xi64>"),
    ([X], lambda x: ragged.total(x, level=1), "index"),
    ([X], lambda x: ragged.max_length(x, level=1), "index"),
    ([X], lambda x: ragged.empty([x], ir.Type.parse(J("3x?x4xf16", "dr|d"))), J("3x?x4xf16", "dr|d")),
    (
        [X, X],
        lambda q, k: ragged.empty([q, k], ir.Type.parse(J("3x?x?xf32", "drr")), [Source(0, 0), (0, 1), (1, 1)]),
        J("3x?x?xf32", "drr"),
    ),
    (
        [X, "index"],
        lambda x, n: ragged.empty([x], ir.Type.parse(J("3x?x?xf32", "dr|d")), [(0, 0), (0, 1), None], [n]),
        J("3x?x?xf32", "dr|d"),
    ),
    ([X, "f32"], lambda x, pad: ragged.to_padded(x, pad), "tensor<3x?x8xf32>"),
    ([X, "f32", "index"], lambda x, pad, n: ragged.to_padded(x, pad, [n], truncate=True), "tensor<3x?x8xf32>"),
    (["tensor<3x9x8xf32>", "tensor<4xi64>"], lambda x, o: ragged.from_padded(x, [o], "dr|d"), X),
    ([HEADS, HEADS], lambda q, k: ragged.attention(q, k, k, 0.5, "causal_end", 30.0), HEADS),
    (["tensor<?xi32>", "index"], lambda k, n: ragged.group_by(k, n), J("?x?xi64", "dr")),
    (["tensor<?x8xf32>", "tensor<?xi32>", "i64"], lambda x, k, n: ragged.scatter_add(x, k, n), "tensor<?x8xf32>"),
    (
        [X, J("3x?xi32", "dr"), "i64"],
        lambda x, k, n: ragged.scatter_add(x, k, n),
        "tensor<3x?x8xf32>",
    ),
    ([X], lambda x: ragged.scan(x, dim=1, kind="sum", reverse=True), X),
    ([X], lambda x: ragged.scan(x, dim=1, kind="max", exclusive=True), X),
    ([X, "index"], lambda x, n: ragged.reduce_across(x, n, dim=1, kind="sum"), "tensor<?x8xf32>"),
    ([X], lambda x: ragged.assume(x, level=1, divisible_by=8, min=0, max=64), X),
    (["tensor<3x?x8xf32>"], lambda x: ragged.annotate(x, "dr|d"), X),
    ([X], lambda x: ragged.annotate(x, None), "tensor<3x?x8xf32>"),
]


@pytest.mark.parametrize(("types", "build", "result"), CASES)
def test_inferred_type(types: list[str], build: Callable[..., Any], result: str, mlir_context: Any) -> None:
    _, op = built(types, build)
    assert str(op.results[0].type) == result


def test_ops_without_results(mlir_context: Any) -> None:
    module, op = built([X], lambda x: ragged.print_(x, "label"))
    assert (op.name, str(op.attributes["label"])) == ("ragged.print", '"label"')
    module, op = built(["tensor<?xi64>", "index"], lambda o, n: ragged.assert_valid([o, n], "offsets", "f", 1))
    assert op.name == "ragged.assert_valid"
    module, op = built(["index"], lambda n: ragged.assert_valid([n], "divides", "f", 1, factor=4))
    assert op.attributes["factor"].value == 4
    module, op = built([X, X], lambda a, b: ragged.assert_conform(a, b, [(0, 0), (1, 1)], "arith.addf"))
    assert list(op.attributes["lhs"]) == [0, 1]
    assert module.operation.verify()


def test_attributes_that_are_absent(mlir_context: Any) -> None:
    """False and None leave an attribute out; 0 does not."""
    _, op = built(["tensor<?xf32>", "tensor<4xi64>"], lambda x, o: ragged.partition(x, o, dim=0, lengths=False))
    assert "lengths" not in op.attributes
    assert op.attributes["dim"].value == 0
    _, op = built([X], lambda x: ragged.assume(x, level=1, min=0))
    assert "max" not in op.attributes
    assert op.attributes["min"].value == 0


@pytest.mark.parametrize(
    ("types", "build", "message"),
    [
        ([X], lambda x: ragged.merge(x, dim=2), "expected dim in [0, 2), got 2"),
        ([X], lambda x: ragged.split(x, dim=1, factor=0), "expected a factor of at least 1, got 0"),
        ([X, "tensor<4xi64>"], lambda x, o: ragged.partition(x, o, 1), "offsets of rank 2 for ragged dim 1, got"),
        ([X, "f32"], lambda x, o: ragged.partition(x, o, 0), "expected a ranked tensor, got f32"),
        ([X], lambda x: ragged.compact(x), 'expected a layout with a window, got "dr|d"'),
        ([X, "tensor<3xf32>"], lambda x, y: ragged.concat([x, y], dim=0), 'operands of layout "dr|d", got "d"'),
        (["tensor<3xf32>"], lambda x: ragged.annotate(x, "rd"), "to start with 'd', got 'r'"),
        (["tensor<3xf32>"], lambda x: ragged.annotate(x, "dr"), "expected 1 letters"),
        (["tensor<3x9xf32>"], lambda x: ragged.from_padded(x, [], "dr|d"), "expected 2 letters"),
        ([X], lambda x: ragged.concat([], dim=0), "expected at least 1 operand, got 0"),
        ([X], lambda x: ragged.assemble([], "dr", (3, None)), "expected at least 1 operand, got 0"),
        (["index"], lambda n: ragged.assemble([n], "dr", (3, None)), "expected a ranked tensor, got index"),
    ],
)
def test_refused(types: list[str], build: Callable[..., Any], message: str, mlir_context: Any) -> None:
    with pytest.raises(LayoutError) as error:
        built(types, build)
    assert message in str(error.value)


def test_ops_are_operands_too(mlir_context: Any) -> None:
    """An op with one result stands for it."""
    from ragged_dialect._mlir import arith

    def build(x: Any) -> None:
        zero = arith.ConstantOp(ir.IndexType.get(), 0)
        ragged.select(x, zero, dim=0)

    module, _ = built([X], build)
    assert "ragged.select" in str(module)


class TestSegments:
    """Operand groups: one per run of equal types."""

    def test_runs(self) -> None:
        assert segments([]) == [0] * GROUPS
        assert segments(["a", "a", "b", "a"]) == [2, 1, 1] + [0] * (GROUPS - 3)
        assert segments(list(range(GROUPS))) == [1] * GROUPS

    def test_too_many_runs(self) -> None:
        with pytest.raises(LayoutError) as error:
            segments(list(range(13)))
        assert str(error.value) == "expected at most 12 runs of operands of equal type, got 13"
