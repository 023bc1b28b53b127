"""How a kernel is built: parameters, the threads of a block, memory, barriers."""
