"""Ragged arrays for users: made, looked at, computed with, and compiled by `jit`."""
