"""The run-time checks of ops as rules, stated once: over what a `Checker` gives, which makes IR of them
(`passes/checking/emitter.py`) or looks at data (`reference/checker.py`)."""
