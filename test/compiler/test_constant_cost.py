"""What compiling even the smallest program costs: counted, never timed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from support.run_pass import transform

from ragged_dialect import _mlir
from ragged_dialect._mlir import ir
from ragged_dialect.dialect import context
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.vector import vectorize_ragged_loops
from ragged_dialect.lowering.vector.vectorize_ragged_loops import VectorizeRaggedLoops
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.pipeline import running, stages
from ragged_dialect.passes.pipeline.running import PassFailed, Stage, kept_manager, run_pipeline

TEXT = """
func.func @f(%x: tensor<4x?xf32, #ragged.layout<"dr">>) -> tensor<4x?xf32, #ragged.layout<"dr">> {
  %y = arith.addf %x, %x : tensor<4x?xf32, #ragged.layout<"dr">>
  return %y : tensor<4x?xf32, #ragged.layout<"dr">>
}
"""


@dataclass(frozen=True)
class Label(RaggedPass):
    """Gives its op a label, after another pass of its kind has given it another, or fails."""

    name: ClassVar[str] = "test-label"
    label: str

    def run(self, op: ir.Operation) -> None:
        if self.label == "inner":
            run_pipeline(op, [Stage("label", "", own=Label("innermost"))])
        op.attributes["test.label"] = ir.StringAttr.get(self.label)
        if self.label == "fails":
            raise PassFailure(op, "fails")


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


def test_pass_managers_are_set_up_once_in_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    set_up: Callable[..., object] = getattr(running, "_set_up")

    def counted(*arguments: Any) -> object:
        made.append(len(arguments[-1]))
        return set_up(*arguments)

    monkeypatch.setattr(running, "_set_up", counted)

    def lower(where: ir.Context, text: str) -> None:
        with where, ir.Location.unknown():
            module = ir.Module.parse(text)
            for stage in pipelines.cpu_pipeline():
                stage.run(module)

    where = context()
    lower(where, TEXT)
    assert len(made) == len(pipelines.cpu_pipeline())
    lower(where, TEXT.replace("4x", "5x"))
    assert len(made) == len(pipelines.cpu_pipeline())
    assert kept_manager(where, "any(cse)") is kept_manager(where, "any(cse)")
    known = weakref.ref(where)
    del where
    gc.collect()
    assert known() is None


def test_extents_are_not_read_through_memory() -> None:
    """As MLIR reads one whose number is no constant that it knows: with room on the stack, in loops too."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT.replace("4x?x", "?x?x3x").replace("dr", "dr|d"))
        for stage in pipelines.cpu_pipeline():
            stage.run(module)
        functions = find_ops(module.operation, "llvm.func")
        later = [op.name for f in functions for block in list(f.regions[0].blocks)[1:] for op in block.operations]
    assert len(later) > 20
    assert "llvm.alloca" not in later


def test_runs_share_a_pass_manager_and_no_options() -> None:
    """Those in a run, too, and those after one that failed."""
    with context() as where, ir.Location.unknown():
        module = ir.Module.parse(TEXT)

        def run(label: str) -> None:
            run_pipeline(module, [Stage("label", "", own=Label(label))])

        for label in ("a", "inner", "fails", "b"):
            with pytest.raises(PassFailed) if label == "fails" else nullcontext():
                run(label)
            assert module.operation.attributes["test.label"] == ir.StringAttr.get(label, where)


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
