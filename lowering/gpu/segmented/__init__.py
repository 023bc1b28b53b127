"""Segmented reductions and maps (merge-path): equal tiles of the rows of ragged components."""
