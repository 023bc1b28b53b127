"""Bufferization, and rewrites of buffers: what is copied, when memory is taken, what a view covers."""
