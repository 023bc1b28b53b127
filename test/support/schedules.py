"""The schedules that the kernels of a program get."""

from __future__ import annotations

import re

from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.pipelines import gpu_pipeline


def schedules_of(text: str, schedule: str = "auto") -> list[str]:
    """One per forall, in order, without those of checks."""
    module = load_module(text, context(), "p")
    for stage in gpu_pipeline(check=False, schedule=schedule):
        stage.run(module)
        if stage.name == "map":
            break
    return re.findall(r'ragged\.schedule = "(\w+)"', str(module))
