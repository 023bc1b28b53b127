"""Functions as arithmetic on scalars that vectors have too, and those that libraries have."""
