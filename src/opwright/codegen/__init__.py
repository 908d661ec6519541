"""From signatures and what is known of a source to the C++ that exports the kernel table, and to its libraries."""

from __future__ import annotations

from opwright.codegen.instance import Instance, instance_name
from opwright.codegen.library import library_text
from opwright.codegen.source import DerivedSource, KernelSource

__all__ = ["DerivedSource", "Instance", "KernelSource", "instance_name", "library_text"]
