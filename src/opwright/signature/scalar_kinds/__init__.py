"""Kinds of scalar arguments beyond numbers: lists of numbers, and one of a few words."""
