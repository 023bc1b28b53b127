"""Where structures come from, and which are known to be equal."""
