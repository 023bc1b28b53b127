"""Tools for rows: an example of a package that adds an op, a pass and a pipeline to ragged-dialect."""
