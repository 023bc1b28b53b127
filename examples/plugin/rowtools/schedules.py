"""`rowtools-warps`: a block of one warp for every component, which is enough for short ones."""

from __future__ import annotations

from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.gpu import schedules

_SEGMENT = schedules.schedule("segment")
WARPS = schedules.Schedule(_SEGMENT.fits, _SEGMENT.build, lambda _: DEVICE.warp)
