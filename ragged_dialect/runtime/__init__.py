"""Running compiled programs: arrays in and out, nothing of MLIR."""
