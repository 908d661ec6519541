"""Derivatives by a tape of operators with axes, whose signature says ``derived``."""
