"""Bodies of components as vectors: which loops run along memory, and what they become."""
