"""The schedules that the kernels of a program get."""

from __future__ import annotations

import re

from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.pipelines import gpu_pipeline


def lowered(text: str, stage: str = "gpu", check: bool = False, schedule: str = "auto") -> str:
    """A program after a stage of the GPU's pipeline."""
    module = load_module(text, context(), "p")
    for one in gpu_pipeline(check, schedule=schedule):
        one.run(module)
        if one.name == stage:
            break
    return str(module)


def schedules_of(text: str, schedule: str = "auto") -> list[str]:
    """One per forall, in order, without those of checks."""
    return schedules_in(lowered(text, "map", schedule=schedule))


def schedules_in(text: str) -> list[str]:
    """The schedules of the foralls of a mapped module: `segment` and `serial` are `general` with fewer threads."""
    found = re.findall(r'ragged\.mapping = \{schedule = "(\w+)"(?:, threads = (\d+))?', text)
    few = {"": "general", "1": "serial"}
    return [few.get(threads, "segment") if name == "general" else name for name, threads in found]
