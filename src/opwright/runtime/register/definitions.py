"""Definition of an operator's schema with PyTorch's dispatcher, beside overloads that are there already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.runtime.torch_internals import OpOverload, call_of, overloads_of, set_call, set_overloads


def define(
    library: torch.library.Library, name: str, overload: str, schema: str, tags: Sequence[torch.Tag]
) -> OpOverload:
    """Define a schema, and return its overload. Calls of the operator's packet stay as they are, if there is one.

    Args:
        library: the library of the namespace.
        name: the operator's name.
        overload: the overload's name.
        schema: the whole schema, with the two names.
        tags: the overload's tags.
    """
    namespace = getattr(torch.ops, library.ns)
    with _packet_unchanged(vars(namespace).get(name)):
        library.define(schema, tags=tags)
    op: OpOverload = getattr(getattr(namespace, name), overload)
    return op


@contextlib.contextmanager
def _packet_unchanged(packet: Any) -> Iterator[None]:
    """Keep an operator's packet, if there is one, unchanged while another overload is defined."""
    before = None if packet is None else (call_of(packet), overloads_of(packet))
    try:
        yield
    finally:
        if before and before != (call_of(packet), overloads_of(packet)):
            set_call(packet, before[0])
            set_overloads(packet, before[1])
