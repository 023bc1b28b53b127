"""Op classes, and their verifiers: no malformed op gets past or breaks them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import ROOT
from ragged_dialect import builders, ops
from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.iteration import analyze
from ragged_dialect.ops.base import MixedOp, RaggedOp
from ragged_dialect.reference.program import HANDLERS
from ragged_dialect.segments import GROUPS, MIXED_OPS

OPS = [ops.OPS[name] for name in sorted(ops.OPS)]


class TestClasses:
    """What every op class has."""

    @pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
    def test_docstring_shows_the_op(self, op: Any) -> None:
        assert op.__doc__ is not None
        example = re.search(r"```mlir\n(.*?)```", op.__doc__, re.S)
        assert example is not None
        assert f"{op.OPERATION_NAME} " in example.group(1)

    @pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
    def test_lit_files(self, op: Any) -> None:
        stem = op.OPERATION_NAME.removeprefix("ragged.").replace("_", "-")
        assert (ROOT / "lit_tests" / "dialect" / f"{stem}.mlir").is_file()
        assert (ROOT / "lit_tests" / "dialect" / f"{stem}-invalid.mlir").is_file()

    @pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
    def test_answers(self, op: Any) -> None:
        """No question about an op is left to what the base class happens to do."""
        assert op.checks is not RaggedOp.checks
        assert hasattr(op, "infer") or op.verify_invariants is not RaggedOp.verify_invariants

    def test_meanings_and_builders(self) -> None:
        """Every op is run by the reference, and made by a function of its name."""
        names = {op.OPERATION_NAME for op in OPS} - {"ragged.yield"}  # a part of others
        assert names <= set(HANDLERS)
        made = {name.removeprefix("ragged.") for name in names}
        assert {name for name in made if not hasattr(builders, f"{name}_" if name == "print" else name)} == set()

    def test_all_ops_are_exported(self) -> None:
        made, pending = set(), [RaggedOp]
        while pending:
            classes = pending.pop().__subclasses__()
            pending += classes
            made |= set(classes)
        ours = {op for op in made if getattr(op, "OPERATION_NAME", "").startswith("ragged.")}  # not those of plug-ins
        assert ours == set(OPS)

    def test_mixed_ops(self) -> None:
        assert {op.OPERATION_NAME for op in OPS if issubclass(op, MixedOp)} == MIXED_OPS
        assert len([name for name in MixedOp.__annotations__ if re.fullmatch(r"g\d+", name)]) == GROUPS


def messages(text: str, context: Any) -> list[str] | None:
    """Diagnostics of a text that is refused; None when it is accepted."""
    try:
        ir.Module.parse(text, context)
    except ir.MLIRError as error:
        return [d.message for d in error.error_diagnostics]
    return None


JAGGED = 'tensor<3x?xf32, #ragged.layout<"dr">>'
TYPES = [JAGGED, "tensor<?xf32>", "tensor<4xi64>", "index", "f32", "tensor<*xf32>", "memref<4xi64>"]
ATTRIBUTES = [
    "",
    "dim = 0 : i64",
    "dim = 1 : i64, level = 1 : i64, factor = 2 : i64",
    "dim = 9 : i64, level = -1 : i64, factor = 0 : i64",
    'dim = "x", level = [], factor = unit, kind = 1 : i64, op = 2 : i64, lhs = 1 : i64, rhs = "x", from = [[]]',
    'kind = "offsets", op = "f", level = 1 : i64, from = [[0, 0], [0, 1]]',
    'dim = 1 : i64, kind = "sum", from = [[0, 0], -1]',
    'lhs = array<i64: 0>, rhs = array<i64: 7>, op = "f"',
]


def malformed(op: Any) -> Iterator[str]:
    """Ops of one name with any operands, results and attributes."""
    name = op.OPERATION_NAME
    for count in range(4):
        for types in itertools.product(TYPES, repeat=count) if count < 3 else [(JAGGED, "index", "index")]:
            for result in [None, JAGGED, "tensor<?xf32>", "index"] if count < 2 else [None, JAGGED]:
                for attributes in ATTRIBUTES if count < 2 else ATTRIBUTES[1:5]:
                    yield _op_text(name, types, result, attributes)


def _op_text(name: str, types: tuple[str, ...], result: str | None, attributes: str) -> str:
    if name in MIXED_OPS:
        runs = [len(list(run)) for _, run in itertools.groupby(types)]
        sizes = ", ".join(map(str, runs + [0] * (GROUPS - len(runs))))
        attributes = f"operandSegmentSizes = array<i32: {sizes}>" + (", " + attributes if attributes else "")
    operands = ", ".join(f"%a{at}" for at in range(len(types)))
    block = ", ".join(f"%a{at}: {type_}" for at, type_ in enumerate(types))
    body = f'"{name}"({operands}) {{{attributes}}} : ({", ".join(types)}) -> ({result or ""})'
    return f"func.func private @f({block}) {{\n  {'%0 = ' if result else ''}{body}\n  return\n}}"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
def test_malformed_ops_get_a_diagnostic(op: Any, mlir_context: Any) -> None:
    """No malformed op makes a hook raise or fail in silence."""
    for text in malformed(op):
        found = messages(text, mlir_context)
        assert found is None or found, text
        assert not any("Error:" in m or "Traceback" in m for m in found or []), text


def test_errors_are_at_the_op(mlir_context: Any) -> None:
    body = '"ragged.print"(%x) {lable = "x"} : (tensor<3xf32>) -> ()'
    with pytest.raises(ir.MLIRError) as error:
        ir.Module.parse(f"\n\nfunc.func @f(%x: tensor<3xf32>) {{\n  {body}\n  return\n}}", mlir_context)
    [diagnostic] = error.value.error_diagnostics
    assert diagnostic.message == "'ragged.print' op expected attributes among [label], got 'lable'"
    assert str(diagnostic.location) == 'loc("-":4:3)'


def test_other_attributes_are_free(mlir_context: Any) -> None:
    body = '"ragged.print"(%x) {my.note, seen} : (tensor<3xf32>) -> ()'
    text = f"func.func @f(%x: tensor<3xf32>) {{\n  {body}\n  return\n}}"
    assert messages(text, mlir_context) is None


def test_foreign_encodings_are_refused(mlir_context: Any) -> None:
    text = 'func.func @f(%x: tensor<3xf32, "odd">) {\n  "ragged.print"(%x) : (tensor<3xf32, "odd">) -> ()\n  return\n}'
    expected = "'ragged.print' op expected a tensor with a #ragged.layout encoding or none, got \"odd\""
    assert messages(text, mlir_context) == [expected]


def test_loops_of_what_does_not_compute(mlir_context: Any) -> None:
    module = ir.Module.parse("func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}")
    function = module.body.operations[0]
    with pytest.raises(LayoutError, match=r"^expected an op with indexing maps, got none$"):
        analyze(function.regions[0].blocks[0].operations[0])
