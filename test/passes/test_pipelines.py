"""The named pipelines: what they keep upstream from doing."""

from __future__ import annotations

import pytest

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.dialect import context
from ragged_dialect.lowering.pipelines import gpu_pipeline

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
