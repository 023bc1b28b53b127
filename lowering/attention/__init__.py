"""Attention on the CPU, by blocks of rows along the lanes of vectors."""
