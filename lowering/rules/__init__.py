"""Lowering rules: one per op, in tables keyed by op name."""
