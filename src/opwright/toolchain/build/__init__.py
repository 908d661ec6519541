"""Building shared libraries from generated code."""
