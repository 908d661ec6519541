"""What DTensor's cache of sharding decisions compares: everything that decides which results a call has.

PyTorch compares a call's tensors, and its arguments from the first int on. A bool, an enum, and the mask of a backward
decide which results there are, too: without them, a call would get the decision of another one.
"""

from __future__ import annotations

import dataclasses

from opwright.runtime.torch_internals import OpOverload, schema_of, sharding_tables
from opwright.signature import Signature


def compare_arguments(op: OpOverload, signature: Signature) -> None:
    """Make the cache compare an operator's arguments from the first on that isn't a tensor or a float."""
    compared, adjusted = sharding_tables()[1:]
    info = compared.get(op)
    if info is None or not dataclasses.is_dataclass(info):
        return
    # Where sizes are made local, the cache keeps the other arguments, floats as well.
    floats = set() if op in (adjusted or ()) else {p.name for p in signature.scalars if p.kind.python_type is float}
    passed = {tensor.name for tensor in signature.tensors} | floats
    first = next((i for i, each in enumerate(schema_of(op).arguments) if each.name not in passed), None)
    known: int | None = getattr(info, "static_argnum", None)
    if first is not None and known is not None and first < known:
        compared[op] = dataclasses.replace(info, static_argnum=first)  # type: ignore[type-var]
