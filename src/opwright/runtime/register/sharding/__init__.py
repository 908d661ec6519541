"""Operators with sharded arguments, DTensors."""
