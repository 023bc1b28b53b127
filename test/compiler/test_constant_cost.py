"""What compiling even the smallest program costs: counted, never timed."""

from __future__ import annotations

import pytest
from support.run_pass import transform

from ragged_dialect import _mlir
from ragged_dialect._mlir import ir
from ragged_dialect.dialect import context
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.vector import vectorize_ragged_loops
from ragged_dialect.lowering.vector.vectorize_ragged_loops import VectorizeRaggedLoops
from ragged_dialect.passes.pipeline import stages


def test_imports_of_the_bindings_in_functions_look_for_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an import asks for the `__path__` of `_mlir`, every time."""
    asked: list[str] = []
    monkeypatch.setattr(_mlir, "_import", asked.append)
    from ragged_dialect._mlir import ir as again

    assert again is ir
    assert not asked


def test_what_mlir_took_once_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    where = context()
    for stage in pipelines.cpu_pipeline():
        stages.parse_pipeline(stage.text, where)
    asked: list[str] = []

    def refusal(text: str, *_: object) -> str:
        asked.append(text)
        return ""

    monkeypatch.setattr(stages, "_refusal", refusal)
    for stage in pipelines.cpu_pipeline():
        stages.parse_pipeline(stage.text, context())
    assert not asked


def test_loops_around_others_are_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = 0

    def counted(root: ir.Operation, *names: str) -> list[ir.Operation]:
        nonlocal walks
        walks += 1
        return find_ops(root, *names)

    monkeypatch.setattr(vectorize_ragged_loops, "find_ops", counted)
    taken: list[int] = []
    for depth in (2, 8):
        walks = 0
        nest = "memref.store %c, %b[%n] : memref<?xf32>"
        for k in range(depth):
            nest = f"scf.for %i{k} = %zero to %n step %one {{ {nest} }}"
        start = "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index"
        module = transform(
            f"func.func @f(%b: memref<?xf32>, %n: index, %c: f32) {{\n{start}\n{nest}\nreturn\n}}",
            VectorizeRaggedLoops("avx2"),
        )
        around = [loop for loop in find_ops(module, "scf.for") if "llvm.loop_annotation" in loop.attributes]
        assert len(around) >= depth - 1
        taken.append(walks)
    assert taken[0] == taken[1]
