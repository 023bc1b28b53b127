"""Stands for the bindings' linalg module, which is slow to import; see `ragged_dialect._mlir`."""
