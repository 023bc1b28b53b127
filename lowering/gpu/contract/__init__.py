"""Products on tensor cores: a schedule for foralls of them."""
