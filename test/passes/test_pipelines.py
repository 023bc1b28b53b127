"""The named pipelines: what they keep upstream from doing."""

from __future__ import annotations

import pytest

from conftest import ROOT
from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.asm.locations import file_position
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.pipelines import gpu_pipeline
from ragged_dialect.lowering.stage import Stage

UNUSED_RESULT = """
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<1xf32>) -> tensor<4xf32> {
  %0:2 = scf.forall (%i) in (4) shared_outs(%o = %a, %p = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
      tensor.parallel_insert_slice %x into %p[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %0#0 : tensor<4xf32>
}"""


@pytest.mark.parametrize("keeps", [True, False])
def test_temporaries_stay_results_of_their_loop(keeps: bool) -> None:
    """The pattern that drops unused results is known by the name that the GPU pipeline switches it off by: a name
    that upstream does not have would change nothing, without a word."""
    name = "{anonymous}::ForallOpIterArgsFolder"
    text = f"canonicalize{{disable-patterns={name}}}"
    assert any(text in stage.text for stage in gpu_pipeline())
    with context(), ir.Location.unknown():
        module = ir.Module.parse(UNUSED_RESULT)
        passmanager.PassManager.parse(f"builtin.module({text if keeps else 'canonicalize'})").run(module.operation)
        assert str(module).count("parallel_insert_slice") == (2 if keeps else 1)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "gpu"])
@pytest.mark.parametrize("name", ["attention_pooling", "expert_reshuffle", "schedules/program"])
def test_lowered_ops_lead_back_to_the_source(name: str, target: str) -> None:
    """All but those that upstream makes one of: constants, poison, zeros."""
    module = load_module((ROOT / "examples" / f"{name}.mlir").read_text(), context(), "source.mlir")
    Stage("all", f"ragged-to-{target}-pipeline").run(module)
    lost = {op.name for op in ops_in(module.operation) if file_position(op.location)[0] != "source.mlir"}
    assert lost <= {"arith.constant", "llvm.mlir.constant", "llvm.mlir.poison", "llvm.mlir.zero", "ub.poison"}
