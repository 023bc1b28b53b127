"""Attention on tensor cores: a block has a tile of rows of one head, and goes along the rows that these meet."""
