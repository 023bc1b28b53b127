"""Running a pass on text, and a program's results before and after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.pipeline.running import Stage, run_pipeline
from ragged_dialect.reference import RaggedValue, run
from ragged_dialect.types import is_ragged, shape_of

_CONTEXT = context()


def parse(text: str) -> Any:
    """A module, in one context that all tests share."""
    return parse_module(text, _CONTEXT)


def rewritten(text: str, *passes: RaggedPass) -> str:
    """The text of a module after passes; PassFailed with the diagnostics when one fails."""
    module = parse(text)
    for own in passes:
        run_pipeline(module, (Stage(own.name, own.name, (), own),))
    return print_module(module)


def results(text: str, args: list[Any]) -> list[Any]:
    """Results of `f` by the reference interpreter: the elements of ragged ones with their indices.

    Storage is not compared: where a window's elements are, and the vectors of levels below it, may
    change. So plain results next to one with windows are left out.
    """
    module = parse(text)
    function = next(op for op in module.body.operations if op.attributes["sym_name"].value == "f")
    types = list(function.attributes["function_type"].value.results)
    values = run(module, "f", args)
    windows = any(is_ragged(t) and shape_of(t).layout.has_windows for t in types)
    kept = [(t, v) for t, v in zip(types, values, strict=True) if is_ragged(t) or not windows]
    return [_logical(t, v) for t, v in kept]


def _logical(type_: Any, value: Any) -> Any:
    if not is_ragged(type_):
        return np.asarray(value).tolist()
    ragged = RaggedValue.from_parts(shape_of(type_), list(value))
    return [(tuple(index), ragged.values[ragged.position(index)].item()) for index in ragged.indices()]
