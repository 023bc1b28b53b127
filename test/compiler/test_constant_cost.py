"""What compiling even the smallest program costs: counted, never timed."""

from __future__ import annotations

import gc
import weakref

import pytest
from support.run_pass import transform

from ragged_dialect import _mlir
from ragged_dialect._mlir import ir
from ragged_dialect.dialect import context
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.vector import vectorize_ragged_loops
from ragged_dialect.lowering.vector.vectorize_ragged_loops import VectorizeRaggedLoops
from ragged_dialect.passes.pipeline import running, stages
from ragged_dialect.passes.pipeline.running import kept_manager

TEXT = """
func.func @f(%x: tensor<4x?xf32, #ragged.layout<"dr">>) -> tensor<4x?xf32, #ragged.layout<"dr">> {
  %y = arith.addf %x, %x : tensor<4x?xf32, #ragged.layout<"dr">>
  return %y : tensor<4x?xf32, #ragged.layout<"dr">>
}
"""


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


def test_canonicalizers_are_set_up_once_in_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    keep = kept_manager

    def counted(where: ir.Context, text: str) -> object:
        made = keep(where, text)
        asked.append(text)
        return made

    monkeypatch.setattr(running, "kept_manager", counted)

    def lower(where: ir.Context, text: str) -> list[str]:
        asked.clear()
        with where, ir.Location.unknown():
            module = ir.Module.parse(text)
            for stage in pipelines.cpu_pipeline():
                stage.run(module)
        return [*asked]

    where = context()
    texts = lower(where, TEXT)
    assert len(texts) > 4
    managers = {text: keep(where, text) for text in texts}
    assert lower(where, TEXT.replace("4x", "5x")) == texts
    assert all(keep(where, text) is manager for text, manager in managers.items())
    managers.clear()
    known = weakref.ref(where)
    del where
    gc.collect()
    assert known() is None


POWERS = """
func.func @f(%x: i8, %n: i8) -> i8 {
  %y = math.ipowi %x, %n : i8
  return %y : i8
}
"""


def test_functions_of_a_program_are_made_for_the_next_one_too() -> None:
    """convert-math-to-funcs keeps what it made: a manager that ran it is not run again."""
    texts: list[str] = []
    with context(), ir.Location.unknown():
        for _ in range(2):
            module = ir.Module.parse(POWERS)
            for stage in pipelines.cpu_pipeline():
                stage.run(module)
            texts.append(str(module))
    assert "llvm.call @__mlir_math_ipowi_i8(" in texts[0]
    assert texts[1] == texts[0]


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
