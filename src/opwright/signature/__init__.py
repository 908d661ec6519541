"""The notation of an operator's signature, and everything that follows from it alone.

Doesn't import torch. ``parse(text)`` returns a :class:`Signature`. :func:`bind` checks a call against a signature,
:func:`output_shapes` and :func:`output_types` compute the shapes and types of its results, :func:`schema` formats
torch's schema, :func:`sample` draws inputs, and :func:`bytes_moved` counts memory traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.signature.bind import Check, bind
from opwright.signature.binding import Binding, TensorInfo, chosen_type, index_error
from opwright.signature.clauses.launch import Launch
from opwright.signature.dtypes import DEFAULT_TYPES, DType
from opwright.signature.expr import Axis, Binary, Constant, DataAxis, Expr, NamedSize, Shape
from opwright.signature.grammar.parser import parse
from opwright.signature.grammar.tokens import NotationError
from opwright.signature.model import Signature
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam, TypeRef
from opwright.signature.schema import schema
from opwright.signature.shapes import Traffic, bytes_by_tensor, bytes_moved, operations, output_shapes, output_types

if TYPE_CHECKING:
    from opwright.signature.samples import Sample, TensorSample, sample, sample_at

__all__ = [
    "DEFAULT_TYPES",
    "Axis",
    "Binary",
    "Binding",
    "Check",
    "Constant",
    "DType",
    "DataAxis",
    "Expr",
    "GeneratorParam",
    "Launch",
    "NamedSize",
    "NotationError",
    "Param",
    "Sample",
    "ScalarParam",
    "Shape",
    "Signature",
    "TensorInfo",
    "TensorParam",
    "TensorSample",
    "Traffic",
    "TypeRef",
    "bind",
    "bytes_by_tensor",
    "bytes_moved",
    "chosen_type",
    "index_error",
    "operations",
    "output_shapes",
    "output_types",
    "parse",
    "sample",
    "sample_at",
    "schema",
]

_LAZY = ("Sample", "TensorSample", "sample", "sample_at")


def __getattr__(name: str) -> Any:
    """Import the names that only checks and benchmarks need at first access (``random`` alone takes 3 ms)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opwright.signature import samples

    return getattr(samples, name)
