"""Rewrites of programs on dense tensors, before they are bufferized."""
