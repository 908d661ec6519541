"""The Python runtime, which calls kernels by ctypes: reference for the native one, and fallback without a compiler."""

from __future__ import annotations
