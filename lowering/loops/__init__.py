"""Loops over buffers as kernels for the threads of a CPU."""
