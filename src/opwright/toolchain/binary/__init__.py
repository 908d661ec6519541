"""Reading object files and shared libraries."""
