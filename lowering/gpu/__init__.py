"""The GPU half of the lowering: kernels from loops, the host program beside them."""
