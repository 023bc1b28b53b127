"""Elements in order: by all pairs of short components, by digits of any; and the largest ones."""
