"""Pipelines of passes: their text, what they are for, and running them."""
