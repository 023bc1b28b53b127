"""Stands for the dialect in the bindings' search path, so that wrappers of its values are made fast."""
