"""Marks: attributes that a pass over loops and kernels leaves for later ones.

Each is set and read by its name here, and `ragged.mapping`, which has fields, by its class, which verifies it. What
a match finds is named by the schedule, not kept: it consists of values of the body, which attributes cannot hold.
A kernel builder matches again, and a forall that does not fit its schedule is an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass

from ragged_dialect import plugins
from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.iteration import MAPPING
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import PassFailure

GATE = "ragged.gate"
"""Of a forall and of the buffer that is the gate of its kernels: their number."""

WIDE = "ragged.wide"
"""Of a kernel, and of a forall that becomes one, that needs 64-bit indices whatever the extents: it checks index
vectors, which may hold anything, or computes addresses."""

GUARD = "ragged.guard"
"""Of a branch that `MathLibrary.guarded` makes: its sides have no effects, and the call is for few elements, so that
both may be done for a whole vector. Ops alone do not tell."""

AUTO = "auto"
"""No schedule, but the choice of one."""

GENERAL, BALANCED, SEGMENT, CONTRACT = "general", "balanced", "segment", "contract"

SCHEDULES = tuple(name for name in registry.OWN_SCHEDULES if name != AUTO)
"""The schedules that a forall can be asked to have, see `gpu/schedules.py`."""

BLOCK_SIZES = tuple(DEVICE.warp << k for k in range((DEVICE.block_threads // DEVICE.warp).bit_length()))
THREADS = (1, *BLOCK_SIZES)
"""Threads that a block may have: whole warps, and a power of two, which threads that combine their parts halve."""

UNROLLS = (1, 2, 4, 8)
"""Accesses that a thread may have in flight."""

TILE_SIZES = tuple(DEVICE.warp << k for k in range(16))
"""Elements that a tile may have: what is at most one each for the threads of a warp is work for nobody else."""


def schedule_names(asked: object) -> tuple[str, ...]:
    """The schedules that there are. Those of installed plug-ins are looked for where another one is asked for."""
    if isinstance(asked, str) and asked not in (*SCHEDULES, *registry.schedules()):
        plugins.load_installed()
    return (*SCHEDULES, *registry.schedules())


def mapping_values(schedule: object = None) -> dict[str, Collection[str | int]]:
    """The fields of a `Mapping` and what they may be, where such a schedule is asked for."""
    return {
        "schedule": schedule_names(schedule),
        "threads": THREADS,
        "unroll": UNROLLS,
        "tile": TILE_SIZES,
    }


def _is_plain(attribute: ir.Attribute) -> bool:
    """Whether an attribute is a text or an integer. To Python the values of others, 1.0 and true, are equal to 1."""
    return isinstance(attribute, (ir.StringAttr, ir.IntegerAttr)) and not isinstance(attribute, ir.BoolAttr)


@dataclass(frozen=True)
class Mapping:
    """How the iterations of a forall are spread over blocks and threads, as far as that has been decided: the name of
    a schedule, the most threads of a block (1: one thread does an iteration from start to end, and on the CPU the
    thread that calls does all), the accesses that a thread has in flight, and the elements of a tile, which a block
    has at once and on the CPU a thread."""

    schedule: str | None = None
    threads: int | None = None
    unroll: int | None = None
    tile: int | None = None

    @staticmethod
    def of(op: ir.Operation) -> Mapping:
        """The mapping of an op, of which nothing may be decided yet. PassFailure for a mark that is none."""
        if MAPPING not in op.attributes:
            return Mapping()
        mark = op.attributes[MAPPING]
        named = [mark[k] for k in range(len(mark))] if isinstance(mark, ir.DictAttr) else []
        decided = {entry.name: getattr(entry.attr if _is_plain(entry.attr) else None, "value", None) for entry in named}
        values = mapping_values(decided.get("schedule"))
        if not named or any(entry.name not in values for entry in named):
            raise PassFailure(op, f"expected {MAPPING} with some of {', '.join(values)}, got {mark}")
        for entry in named:
            if decided[entry.name] not in values[entry.name]:
                known = ", ".join(map(str, values[entry.name]))
                raise PassFailure(op, f"expected {entry.name} of {MAPPING} among {known}, got {entry.attr}")
        return Mapping(**decided)

    def takes(self, other: Mapping) -> bool:
        """Whether a nest with this mapping may do what an op with the other one does after it."""
        return other in (self, Mapping())

    @property
    def is_serial(self) -> bool:
        """Whether one thread does an iteration."""
        return self.threads == 1

    def give(self, op: ir.Operation) -> None:
        """Mark an op."""
        decided = {key: value for key, value in asdict(self).items() if value is not None}
        if decided:
            op.attributes[MAPPING] = ir.DictAttr.get({
                key: ir.StringAttr.get(value) if isinstance(value, str) else ir.IntegerAttr.get(build.i64(), value)
                for key, value in decided.items()
            })  # fmt: skip
        elif MAPPING in op.attributes:
            del op.attributes[MAPPING]
