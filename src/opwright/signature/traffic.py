"""The bytes that one call has to move: each tensor once, mutated ones twice."""

from __future__ import annotations

import math
from collections.abc import Container

from opwright.signature.binding import Binding
from opwright.signature.expr import Expr
from opwright.signature.model import Signature, TensorParam
from opwright.signature.record import record


@record
class Traffic:
    """Bytes read and bytes written."""

    read: int
    written: int

    @property
    def total(self) -> int:
        """Bytes moved in either direction."""
        return self.read + self.written


def bytes_moved(
    sig: Signature, binding: Binding, present: Container[str] | None = None, *, with_residuals: bool = False
) -> Traffic:
    """The least traffic of a call, in bytes.

    Args:
        sig: the signature.
        binding: its sizes and element types.
        present: the names of the optional inputs that are given; None: all of them.
        with_residuals: count what is kept for the backward.

    An axis whose length the kernel decides counts as `binding` says, with its bound, or as 0 where it has none.
    """
    read, written = _moved(sig, binding, present, with_residuals=with_residuals)
    return Traffic(sum(read.values()), sum(written.values()))


def bytes_by_tensor(
    sig: Signature, binding: Binding, present: Container[str] | None = None, *, with_residuals: bool = False
) -> dict[str, int]:
    """The same for each tensor, by name: read, written, or both for one that is mutated."""
    read, written = _moved(sig, binding, present, with_residuals=with_residuals)
    return {name: read.get(name, 0) + written.get(name, 0) for name in {**read, **written}}


def _moved(
    sig: Signature, binding: Binding, present: Container[str] | None, *, with_residuals: bool
) -> tuple[dict[str, int], dict[str, int]]:
    def given(tensor: TensorParam) -> bool:
        return present is None or not tensor.optional or tensor.name in present

    inputs = [tensor for tensor in sig.tensors if given(tensor)]
    results = sig.results if with_residuals else sig.outputs
    read = {tensor.name: _bytes(sig, tensor, binding) for tensor in inputs}
    written = {t.name: _bytes(sig, t, binding) for t in [*results, *(each for each in inputs if each.mutated)]}
    return read, written


def _bytes(sig: Signature, tensor: TensorParam, binding: Binding) -> int:
    lead = binding.ellipsis or () if sig.has_leading(tensor) else ()
    sizes = []
    for dim in tensor.dims:
        if not isinstance(dim, Expr) and dim.name in binding.axes:
            sizes.append(binding.axes[dim.name])
            continue
        expr = dim if isinstance(dim, Expr) else dim.bound
        sizes.append(0 if expr is None else expr.evaluate(binding.axes))
    return math.prod([*lead, *sizes]) * tensor.type.resolve(binding.types).itemsize
