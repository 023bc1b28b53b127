"""What the package adds. But for the classes of its ops nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from ragged_dialect import ops
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
from rowtools.dialect import Rowtools


def register() -> None:
    """The entry point: tells the registry the names and where they are."""
    registry.register("rowtools-drop-prints", _drop_prints)
    registry.register_pipeline("rowtools-release-pipeline", __name__, "release_pipeline")
    registry.register_schedule("rowtools-warps", "rowtools.schedules", "WARPS")
    ops.register_dialect(
        Rowtools,
        patterns="rowtools.patterns",
        lowering="rowtools.lowering",
        reference="rowtools.reference",
        derivatives="rowtools.derivatives",
    )


def _drop_prints() -> type[RaggedPass]:
    return importlib.import_module("rowtools.rowtools_drop_prints").RowtoolsDropPrints


def release_pipeline(check: bool = False) -> Sequence[Stage]:
    """Ragged IR to the LLVM dialect, without prints and by default without run-time checks."""
    return (Stage("quiet", "rowtools-drop-prints"), *pipelines.cpu_pipeline(check))
