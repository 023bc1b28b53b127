"""What `ragged-insert-checks` is made of: the emitter, and the rules by family of ops."""
