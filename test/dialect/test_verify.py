"""`verify_ragged`: where ragged types may appear. The error texts are in lit_tests/dialect."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.dialect import context
from ragged_dialect.verify import verify_ragged

R = 'tensor<3x?x8xf32, #ragged.layout<"dr|d">>'
C = 'tensor<3x?xf32, #ragged.layout<"dr">>'


def diagnose(text: str) -> tuple[bool, list[tuple[str, int]]]:
    """Whether a module verifies, and the messages with their lines."""
    made = context()
    found: list[tuple[str, int]] = []

    def handler(diagnostic: Any) -> bool:
        found.append((diagnostic.message, diagnostic.location.start_line))
        return True

    with made, ir.Location.unknown():
        module = ir.Module.parse(text)
        made.emit_error_diagnostics = True
        attached = made.attach_diagnostic_handler(handler)
        result = verify_ragged(module.operation)
        attached.detach()
    return result, found


def test_reports_every_op_and_goes_on() -> None:
    ok, found = diagnose(
        f"""func.func @f(%x: {C}, %i: index, %v: f32) {{
  %0 = tensor.insert %v into %x[%i, %i] : {C}
  %1 = tensor.splat %v : tensor<2x4xf32, #ragged.layout<"dt">>
  return
}}"""
    )
    assert not ok
    assert found == [
        (f"'tensor.insert' op expected operands and results without a layout, got {C} (use linalg.generic)", 2),
        (
            "'tensor.splat' op expected operands and results without a layout, got "
            'tensor<2x4xf32, #ragged.layout<"dt">> (use ragged.empty and linalg.fill)',
            3,
        ),
    ]


def test_a_bad_type_is_reported_where_it_appears_first() -> None:
    bad = 'tensor<3x?xf32, #ragged.layout<"dr|d">>'
    ok, found = diagnose(
        f"""func.func @f(%x: {bad}) -> {bad} {{
  %0 = arith.addf %x, %x : {bad}
  return %0 : {bad}
}}"""
    )
    assert not ok
    assert found == [("'func.func' op expected 2 letters in layout \"dr|d\" for a tensor of rank 2, got 3", 1)]


def test_unregistered_ops_are_refused() -> None:
    made = context()
    made.allow_unregistered_dialects = True
    with made, ir.Location.unknown():
        module = ir.Module.parse(f'func.func @f(%x: {C}) {{ "test.use"(%x) : ({C}) -> ()\n return }}')
        assert not verify_ragged(module.operation)


def test_function_types_hold_no_ragged_types() -> None:
    text = f"func.func private @g({C})\nfunc.func @f() {{\n %0 = func.constant @g : ({C}) -> ()\n return\n}}"
    ok, found = diagnose(text)
    assert not ok
    assert found == [
        (f"'func.constant' op expected a layout on a tensor that is not part of another type, got ({C}) -> ()", 3)
    ]


def test_deep_nesting_does_not_recurse() -> None:
    depth = 200
    text = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * depth + "}\n" * depth + "return\n}"
    assert diagnose(text) == (True, [])


@pytest.mark.slow
def test_cost_is_linear_and_small() -> None:
    def seconds(count: int) -> float:
        chain = "".join(f"%{k + 1} = arith.addf %{k}, %{k} : {R}\n" for k in range(count))
        with context(), ir.Location.unknown():
            module = ir.Module.parse(
                f'"func.func"() ({{ ^bb0(%0: {R}):\n{chain} "func.return"() : () -> () }}) '
                f'{{function_type = ({R}) -> (), sym_name = "f"}} : () -> ()'
            )
            start = time.perf_counter()
            assert verify_ragged(module.operation)
            return time.perf_counter() - start

    assert seconds(10_000) < 20 * seconds(1_000) + 0.1
