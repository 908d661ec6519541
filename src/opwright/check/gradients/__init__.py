"""Comparison of gradients with numerical derivatives, and diagnosis of wrong ones."""
