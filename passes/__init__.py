"""Passes over ragged IR: valid ragged IR in, valid ragged IR out."""
