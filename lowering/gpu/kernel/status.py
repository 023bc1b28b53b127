"""The status record of a program on the device: kept by the first check that fails, read by every
kernel before it does anything."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.runtime.status import STATUS_ENTRIES


@dataclass(frozen=True)
class Guards:
    """Buffers of i64 whose first entries must be 0 for a kernel to do anything: the status record, and a gate
    that another kernel opens or closes."""

    status: ir.Value | None = None
    gate: ir.Value | None = None

    @property
    def buffers(self) -> list[ir.Value]:
        """Those there are, in the order in which they are read."""
        return [buffer for buffer in (self.status, self.gate) if buffer is not None]


def status_of(module: ir.Operation, function: ir.Operation) -> ir.Value | None:
    """The status argument, the last one, which programs without checks and private functions without any have not.
    PassFailure where it is missing."""
    if "ragged.checks" not in module.attributes:
        return None
    last = list(function.regions[0].blocks[0].arguments)[-1:]
    if last and last[0].type == record_type():
        return last[0]
    if "sym_visibility" in function.attributes:
        return None
    found = last[0].type if last else "none"
    text = f"expected {record_type()} as last argument (run wrap-ragged-device-code), got {found}"
    raise PassFailure(function, text)


def record_type() -> ir.Type:
    """That of a status record."""
    return ir.MemRefType.get([STATUS_ENTRIES], build.i64())


def is_good(status: ir.Value) -> ir.Value:
    """Whether no check has failed."""
    return build.equal(memref.load(status, [build.value(0)]), 0)


def keep_report(status: ir.Value, record: list[ir.Value]) -> None:
    """Store a record when its number is above 0 and none was kept before."""
    failed = build.more(record[0], 0)
    with flow.when(arith.andi(failed, is_good(status))):
        for k, entry in reversed(list(enumerate(record))):
            memref.store(entry, status, [build.value(k)])
