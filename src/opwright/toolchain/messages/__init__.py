"""Parsing and explaining the messages of compilers, linkers and loaders."""
