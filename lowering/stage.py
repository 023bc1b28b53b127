"""A named part of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged_dialect.passes.pipeline import parse_pipeline, run_pipeline


@dataclass(frozen=True)
class Stage:
    """A named part of a pipeline: pipeline text that mixes passes of this package and MLIR's."""

    name: str
    text: str

    def run(self, module: Any, verify: bool = True) -> None:
        """Run the stage on a module. PassError when a pass fails or leaves IR that does not verify."""
        run_pipeline(module, parse_pipeline(self.text, module.operation.context), verify)
