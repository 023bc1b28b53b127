"""Arrays as data: values, structure, dtypes; no compiler."""
