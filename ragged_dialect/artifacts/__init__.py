"""Compiled programs as files: shared libraries with C headers."""
