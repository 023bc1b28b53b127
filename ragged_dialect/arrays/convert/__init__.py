"""Ragged arrays from and to other libraries and files. Other packages are imported when asked for."""
