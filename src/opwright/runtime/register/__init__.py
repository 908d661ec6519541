"""Registration with PyTorch's dispatcher: operators, fake kernels, batching rules, overloads, docstrings."""
