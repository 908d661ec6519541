"""Calls of an operator: drawn from its signature, run, watched, and written out as reproducers."""
