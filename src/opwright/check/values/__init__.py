"""Comparison of values: distances in ulp, tolerances, and the conditions under which a result is wrong."""
