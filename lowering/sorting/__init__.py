"""Sorts in vector registers."""
