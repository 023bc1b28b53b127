"""The transformations between buffers and kernels, a pass a file, and what several of them need."""
