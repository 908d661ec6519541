"""The native runtime, built from ``csrc/`` with the user's compiler, or prebuilt."""
