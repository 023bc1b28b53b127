"""Attention on the CPU, by blocks of rows along the lanes of vectors."""

HEAD_DIMS = 480
"""Head dims up to which attention has a kernel on the CPU: what it keeps of a block of queries is on the stack."""
