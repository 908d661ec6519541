"""``opwright.bundle``: operators as one shared library for C++ programs."""
