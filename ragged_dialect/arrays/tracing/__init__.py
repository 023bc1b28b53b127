"""Functions on arrays as programs: tracers, what is asked of arguments, the cache, the call."""
