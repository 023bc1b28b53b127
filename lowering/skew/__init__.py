"""Components that are much longer than the others: how they are found, and what threads share of them."""
