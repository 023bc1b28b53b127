"""The named pipelines: what they keep upstream from doing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.mlir_files import FILES, programs

from conftest import ROOT
from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.asm.locations import file_position
from ragged_dialect.asm.module import print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.pipelines import cpu_pipeline, gpu_pipeline
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.passes.ragged_canonicalize import DISABLED

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
    assert any(f"canonicalize{{disable-patterns={name}," in stage.text for stage in gpu_pipeline())
    text = f"canonicalize{{disable-patterns={name}}}"
    with context(), ir.Location.unknown():
        module = ir.Module.parse(UNUSED_RESULT)
        passmanager.PassManager.parse(f"builtin.module({text if keeps else 'canonicalize'})").run(module.operation)
        assert str(module).count("parallel_insert_slice") == (2 if keeps else 1)


@pytest.mark.parametrize("stages", [cpu_pipeline(), gpu_pipeline()])
def test_what_a_loop_starts_with_says_nothing_of_what_it_yields(stages: tuple[Stage, ...]) -> None:
    """As long as there are tensors, no canonicalizer has the pattern that thinks so
    (`test_disabled_patterns_still_match` knows its name)."""
    name = "{anonymous}::ForOpTensorCastFolder"
    assert name in DISABLED
    [dense] = [number for number, stage in enumerate(stages) if stage.name == "dense"]
    text = " ".join(stage.text for stage in stages[: dense + 1])
    assert text.count(name) == text.count("canonicalize") - text.count("ragged-canonicalize") > 0


@pytest.mark.parametrize("make", [lambda: gpu_pipeline(schedule="auto general"), lambda: cpu_pipeline(isa="none}")])
def test_options_of_passes_are_words(make: Callable[[], object]) -> None:
    with pytest.raises(RaggedError, match=r"expected a word as (schedule|isa), got '(auto general|none})'"):
        make()


UNIQUE = frozenset({"arith.constant", "llvm.mlir.constant", "llvm.mlir.poison", "llvm.mlir.zero", "ub.poison"})
"""What upstream makes one of for all its users, at no place. Constants of bufferized tensors are globals, too."""
GLOBALS = frozenset({"memref.global", "memref.get_global", "llvm.mlir.global"})
FUNCTIONS = ("func.func", "llvm.func", "gpu.func")


def has_place(op: ir.Operation, source: str) -> bool:
    """Whether an op leads back to a line of a program, or to a name that its text, with its locations, gives one."""
    file, line, _ = file_position(op.location)
    if op.name in UNIQUE or (op.name in GLOBALS and file == "<unknown>"):
        return True
    return (file == "source.mlir" and line > 0) or any(f'loc("{name}")' in source for name in names_of(op.location))


def names_of(location: ir.Location) -> list[str]:
    return re.findall(r'"([^":]+)"(?!:)', str(location))


def own_ops(module: ir.Module, functions: list[str]) -> Iterator[ir.Operation]:
    """The functions that a program's became, and all that is in them: not those that the compiler adds to it."""
    ours = re.compile(rf"(_mlir_ciface_)?({'|'.join(map(re.escape, functions)) or '(?!)'})(_(kernel)?\d+)*")
    for op in ops_in(module.operation):
        if op.name in FUNCTIONS and ours.fullmatch(op.attributes["sym_name"].value):
            yield from [op, *ops_in(op)]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "gpu"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lowered_ops_lead_back_to_the_source(path: Path, target: str) -> None:
    """Every op of every function, and of every kernel made of it, of all programs that there are."""
    for module in programs(path, "source.mlir"):
        source = print_module(module, debuginfo=True)
        functions = [op.attributes["sym_name"].value for op in ops_in(module.operation) if op.name in FUNCTIONS]
        with suppress(RaggedError):  # lit tests of other passes: no pipeline lowers them all
            Stage("all", f"ragged-to-{target}-pipeline").run(module)
        assert [(str(op), op.location) for op in own_ops(module, functions) if not has_place(op, source)] == []
