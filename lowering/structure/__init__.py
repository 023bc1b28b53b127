"""What ops make of the structure of ragged tensors, on parts: views, joined runs, new storage."""
