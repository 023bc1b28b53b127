"""NumPy's protocols, in terms of operations."""
