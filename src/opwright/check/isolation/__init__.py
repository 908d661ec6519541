"""Calls in other processes: forked children that may crash, and child processes built with sanitizers."""
