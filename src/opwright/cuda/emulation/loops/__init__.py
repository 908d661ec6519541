"""Kernels as plain loops over their threads: which of them can be, and their text."""
