"""Products of matrices: which ops are some, and blocks of their sums in vector registers."""
