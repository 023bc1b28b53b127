"""The host program: Python source that allocates and launches."""
