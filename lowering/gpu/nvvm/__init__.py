"""A `gpu.module` to the nvvm dialect and LLVM IR text, with the passes on the way."""
