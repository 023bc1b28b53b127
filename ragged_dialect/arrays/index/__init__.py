"""Dims, levels and rows in other places: what moves elements and computes none."""
