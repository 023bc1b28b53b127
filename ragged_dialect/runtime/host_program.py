"""The host side of a GPU program as data: Python source, constants, checks, labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragged_dialect.checks import Check


@dataclass(frozen=True)
class HostProgram:
    """What `bind(rt)` in `source` needs beside kernels.

    `source` defines `bind(rt)`, which returns `run(*arguments)`: flat arrays and numbers in, a tuple
    of the same out. With `checks` the last argument is the status record, on the device. `labels`
    are those of `ragged.print`, by number. `reads_back` names the ops that wait for the device.
    """

    source: str
    constants: dict[str, np.ndarray]
    checks: tuple[Check, ...]
    labels: tuple[str, ...]
    reads_back: tuple[str, ...]
