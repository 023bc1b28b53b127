"""Reading and making IR, for passes, lowerings and arrays alike: nothing here knows what raggedness is."""
