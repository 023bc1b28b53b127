"""Steering by scripts: `ragged_transform`, an extension of MLIR's transform dialect, and what interprets it."""
