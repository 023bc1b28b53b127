"""From a program to something that runs: one module per target, and what they share."""
