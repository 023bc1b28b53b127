"""What a thread traces."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragged_dialect.arrays.tracing.trace import Trace


class _Current(threading.local):
    """The innermost trace of a thread, if it traces."""

    trace: Trace | None = None


current = _Current()
