"""Run-time checks as code."""
