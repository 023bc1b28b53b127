"""Faults put into the PTX of real programs: what is changed, and how often the text has it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from support.schedule_programs import PROGRAMS

from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.emulator.ptx import loader
from ragged_dialect.runtime.gpu import HostedDevice
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import DeviceFunction
from ragged_dialect.runtime.stored_program import DeviceProgram

WIDTH = 6
OFFSETS = np.array([0, 3, 3, 43, 44, 51])


@cache
def built(name: str) -> DeviceProgram:
    """A schedule program for sm_90, with 64-bit indices."""
    text = PROGRAMS[name].text("f32", WIDTH)
    return device_program(load_program(text), KernelOptions(narrow=False, arch="sm_90"))


def outcome(name: str, ptx: str, strict: bool = True) -> Any:
    """The results of a program whose kernels are `ptx`."""
    program = built(name)
    device = HostedDevice(StandIn(loader(strict)), program.signature.name, ptx, program.host, True, lambda: ptx)
    function = DeviceFunction(program.signature, load_host_program(program.host.source), device)
    values = np.random.default_rng(0).standard_normal((OFFSETS[-1], WIDTH)).astype(np.float32)
    found = function(values, OFFSETS)
    return found[0] if isinstance(found, tuple) else found
