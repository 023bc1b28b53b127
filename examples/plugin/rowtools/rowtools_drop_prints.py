"""The pass `rowtools-drop-prints`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class RowtoolsDropPrints(RaggedPass):
    """Drop `ragged.print`, but for those with a label to keep.

    `keep` is a label.
    """

    name: ClassVar[str] = "rowtools-drop-prints"
    keep: str = ""

    def run(self, op: ir.Operation) -> None:
        for printed in [inner for inner in ops_in(op) if inner.name == "ragged.print"]:
            if not self.keep or not self._is_kept(printed):
                printed.erase()

    def _is_kept(self, op: ir.Operation) -> bool:
        return "label" in op.attributes and ir.StringAttr(op.attributes["label"]).value == self.keep
