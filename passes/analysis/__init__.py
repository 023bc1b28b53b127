"""What is known of programs on ragged tensors without running them: structures, layouts, loops, divisors, rows."""
