"""Calls of pointwise and batched kernels, whose leading axes broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch

from opwright.runtime.fake import TORCH_TYPES
from opwright.runtime.layouts import Layout, is_contiguous, loops, result_strides
from opwright.runtime.python.call import Frame, is_aligned
from opwright.signature import TensorParam


class BatchedFrame(Frame):
    """Every tensor has all leading axes, with stride 0 where it is repeated; the core axes are as anywhere else."""

    def _is_usable(self, param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        first = tensor.dim() - len(param.dims)
        core = Layout(tuple(tensor.shape[first:]), tensor.stride()[first:])
        return (strided or is_contiguous(core)) and is_aligned(tensor)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        params = self._signature.tensors + self._signature.results
        return [t if t is None else self._expanded(param, t) for param, t in zip(params, tensors, strict=True)]

    def _expanded(self, param: TensorParam, tensor: torch.Tensor) -> Layout:
        core = tensor.shape[tensor.dim() - len(param.dims) :]
        return Layout(tuple(tensor.shape), tensor.stride()).expanded((*(self._binding.ellipsis or ()), *core))


class PointwiseFrame(BatchedFrame):
    """All tensors have one element type, but for concrete ones, and the fewest axes that go through their elements."""

    _copied = "a copy"

    def _is_usable(self, param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        return tensor.dtype == self._type(param) and super()._is_usable(param, tensor, strided)

    def _copy(self, param: TensorParam, tensor: torch.Tensor) -> torch.Tensor:
        """Without copies of what is the same along an axis: that is broadcast again."""
        for axis, stride in enumerate(tensor.stride()):
            tensor = tensor.narrow(axis, 0, min(1, tensor.shape[axis])) if stride == 0 else tensor
        return tensor.to(self._type(param), copy=True)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(shape, self._strides, dtype=dtype, device=self._device)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        expanded = super()._layouts(tensors)
        merged = iter(loops(self._binding.ellipsis or (), [layout for layout in expanded if layout is not None]))
        return [layout if layout is None else next(merged) for layout in expanded]

    def _type(self, param: TensorParam) -> torch.dtype:
        dtype: torch.dtype = TORCH_TYPES[param.type.resolve(self._binding.types)]
        return dtype

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        """Those of all results: they follow from the arguments as they were given (rule 5)."""
        given = [Layout(tuple(t.shape), t.stride()) for t in self._call.tensors if t is not None]
        return result_strides(self._binding.ellipsis or (), given)
