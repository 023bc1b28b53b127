"""Programs in processes of their own whose memory is looked at."""

from __future__ import annotations

from support.processes import python

START = """
import os, resource, threading
import numpy as np
import ragged_dialect as rg
from ragged_dialect.runtime import memory

MIB = 1 << 20

def rows(size):
    "An array of so many MiB"
    n = size * MIB // 64
    return rg.from_offsets(np.ones((n, 16), np.float32), [0, n // 3, n])

def pool():
    "The pool of this process, after a first program"
    rows(1).sum(1)
    return memory._pools[0]

def pages(field):
    return int(open("/proc/self/statm").read().split()[field]) * os.sysconf("SC_PAGE_SIZE")

def size():
    "Of the process's addresses"
    return pages(0)

def resident():
    return pages(1)
"""


def run(code: str, **settings: str) -> str:
    """What a program prints in a process of its own, which has the functions above."""
    return python("-c", START + code, **settings).stdout
