"""Lowerings: from ragged IR to loops over components, and on to CPU and GPU code."""
