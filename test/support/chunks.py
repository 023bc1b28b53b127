"""Chunks of rows so small that the arrays of tests have several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.stage import Stage

_PASS = "convert-ragged-forall-to-loops"


@contextmanager
def of(elements: int | None, without: str = "") -> Iterator[None]:
    """Programs for the CPU have chunks of so many elements, and are made without some passes; as ever with None."""
    before = pipelines.cpu_pipeline

    def chunked(*arguments: Any, **options: Any) -> tuple[Stage, ...]:
        stages = before(*arguments, **options)
        found = [Stage(s.name, s.text.replace(_PASS, f"{_PASS}{{chunk={elements}}}")) for s in stages]
        found = [Stage(s.name, s.text.replace(without, "")) for s in found] if without else found
        assert found != list(stages)
        return tuple(found)

    try:
        if elements is not None:
            pipelines.cpu_pipeline = chunked
        yield
    finally:
        pipelines.cpu_pipeline = before
