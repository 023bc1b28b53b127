"""Tools for rows: an example of a package that adds passes to ragged-opt."""
