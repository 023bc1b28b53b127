"""Runs GPU kernels on the CPU, thread by thread, and finds their faults."""

from ragged_dialect.emulator.emulator import Emulator

__all__ = ["Emulator"]
