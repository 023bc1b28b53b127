"""A named part of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.passes.pipeline.running import run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline


@dataclass(frozen=True)
class Stage:
    """A named part of a pipeline: pipeline text that mixes passes of this package and MLIR's."""

    name: str
    text: str
    place: str = ""
    """The line of the file that it comes from."""

    def run(self, module: ir.Module, verify: bool = True) -> None:
        """Run the stage on a module. PassError when a pass fails or leaves IR that does not verify."""
        run_pipeline(module, parse_pipeline(self.text, module.operation.context), verify)
