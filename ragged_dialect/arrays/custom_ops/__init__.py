"""Functions of arrays as custom ops of PyTorch."""
