"""The notation of an operator's signature, and everything that follows from it alone.

Imports no torch. ``parse(text)`` gives a :class:`Signature`; functions answer questions about one:
:func:`bind` checks a call, :func:`output_shapes` and :func:`output_types` say what it returns,
:func:`schema` writes torch's schema, :func:`sample` draws inputs, :func:`bytes_moved` counts traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.signature.bind import Check, bind
from opwright.signature.binding import Binding, TensorInfo
from opwright.signature.dtypes import DEFAULT_TYPES, DType
from opwright.signature.expr import Axis, Binary, Constant, Expr
from opwright.signature.model import (
    DataAxis,
    GeneratorParam,
    Launch,
    Param,
    ScalarParam,
    Shape,
    Signature,
    TensorParam,
    TypeRef,
)
from opwright.signature.parser import parse
from opwright.signature.schema import schema
from opwright.signature.shapes import output_shapes, output_types
from opwright.signature.tokens import NotationError
from opwright.signature.values import chosen_type, index_error

if TYPE_CHECKING:
    from opwright.signature.samples import Sample, TensorSample, sample, sample_at
    from opwright.signature.traffic import Traffic, bytes_by_tensor, bytes_moved

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
    "output_shapes",
    "output_types",
    "parse",
    "sample",
    "sample_at",
    "schema",
]

_LAZY = {
    "Sample": "samples",
    "TensorSample": "samples",
    "sample": "samples",
    "sample_at": "samples",
    "Traffic": "traffic",
    "bytes_by_tensor": "traffic",
    "bytes_moved": "traffic",
}


def __getattr__(name: str) -> Any:
    """Import what only checks and benchmarks need when it is first asked for (``random`` alone takes 3 ms)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
