"""The arguments of one call, by their roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime.broadcasting import bind_call
from opwright.runtime.fake import DTYPES
from opwright.runtime.interface import KernelState
from opwright.signature import (
    Binding,
    Check,
    GeneratorParam,
    ScalarParam,
    Signature,
    TensorInfo,
    TensorParam,
    chosen_type,
)


class Arguments:
    """What one call was given. Sizes may be symbolic."""

    def __init__(self, kernel: KernelState, given: Sequence[Any], *, mask: bool) -> None:
        """`given`: all arguments, in the schema's order."""
        signature = kernel.signature
        self._signature, extra = signature, iter(given[len(signature.inputs) :])
        pairs = list(zip(signature.inputs, given, strict=False))
        self.tensors: list[torch.Tensor | None] = [v for p, v in pairs if isinstance(p, TensorParam)]
        self.scalars = {p.name: v for p, v in pairs if isinstance(p, ScalarParam)}
        self.generator: torch.Generator | None = next((v for p, v in pairs if isinstance(p, GeneratorParam)), None)
        self.dtype: torch.dtype | None = next(extra) if signature.chosen_type else None
        self.device: torch.device | None = next(extra) if signature.is_factory else None
        self.axes = {axis: next(extra) for axis in kernel.axes}
        self.ellipsis = tuple(next(extra)) if kernel.ellipsis else None
        self.mask = _mask(signature, next(extra)) if mask else None

    @property
    def mutated(self) -> list[torch.Tensor | None]:
        """The tensors that the kernel overwrites."""
        pairs = zip(self._signature.tensors, self.tensors, strict=True)
        return [tensor for param, tensor in pairs if param.mutated]

    def infos(self) -> dict[str, TensorInfo | None]:
        """What binding needs to know of the tensors."""
        signature = self._signature
        return {p.name: _info(signature, p, t) for p, t in zip(signature.tensors, self.tensors, strict=True)}

    def bind(self, *, check: Check | None = None) -> Binding:
        """What the signature's names stand for in this call; ArgumentError where it doesn't fit."""
        signature = self._signature
        binding = bind_call(
            signature,
            self.infos(),
            axes=self.axes,
            ellipsis=self.ellipsis,
            types=self._chosen(),
            scalars=self.scalars,
            check=check,
        )
        unknown = [variable for variable in signature.type_variables if variable not in binding.types]
        if unknown:
            raise ArgumentError(
                f"{signature.name}(): no argument tells the element type {', '.join(unknown)}\n"
                f"  signature:    {signature}"
            )
        return binding

    def _chosen(self) -> dict[str, Any]:
        if not self._signature.chosen_type:
            return {}
        return chosen_type(self._signature, DTYPES.get(self.dtype or torch.get_default_dtype()))


def _mask(signature: Signature, given: Sequence[bool]) -> list[bool]:
    if len(given) != len(signature.outputs):
        raise ArgumentError(
            f"{signature.name}(): output_mask has {len(given)} elements, expected one for each of "
            f"{len(signature.outputs)} gradients"
        )
    return list(given)


def _info(signature: Signature, param: TensorParam, tensor: torch.Tensor | None) -> TensorInfo | None:
    if tensor is None:
        return None
    if tensor.dtype not in DTYPES:
        raise ArgumentError(
            f"{signature.name}(): {param.name} has an element type that no signature can name\n"
            f"  signature:    {signature}"
        )
    return TensorInfo(tuple(tensor.shape), DTYPES[tensor.dtype])
