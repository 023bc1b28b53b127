"""Ragged tensors as their parts, and what is computed as loops over components."""
