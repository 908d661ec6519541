"""Feature matrix: what PyTorch's features do with one function written as four kinds of operator."""
