"""Loop nests: which loops are explicit, what they run over, and what is combined in them."""
