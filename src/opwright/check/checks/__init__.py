"""The checks, a file for each group; :mod:`opwright.check.registry` finds them."""
