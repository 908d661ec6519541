"""From signatures and what is known of a source to the C++ that exports the kernel table."""

from __future__ import annotations

from opwright.codegen.library import Instance, instance_name, library_text

__all__ = ["Instance", "instance_name", "library_text"]
