"""The interfaces of other ragged-tensor libraries, as thin modules over `RaggedArray`."""
