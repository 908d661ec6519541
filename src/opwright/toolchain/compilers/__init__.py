"""Compilers: finding them, and their command-line flags."""
