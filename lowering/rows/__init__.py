"""Flat ops over rows: which can share a loop, and how they are cut into chunks."""
