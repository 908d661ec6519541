"""Fake (meta) kernels: the shapes and element types of the results, for FakeTensors and symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch

from opwright.errors import ArgumentError
from opwright.signature import DType, ScalarParam, Signature, TensorInfo, TensorParam, bind, output_shapes, output_types

DTYPES = {getattr(torch, dtype.torch_name): dtype for dtype in DType}
TORCH_TYPES = {dtype: torch_type for torch_type, dtype in DTYPES.items()}


def fake(
    signature: Signature, axes: Sequence[str], *, ellipsis: bool, residuals: bool, mask: bool
) -> Callable[..., Any]:
    """The fake kernel of an operator whose schema is `opwright.signature.schema` with the same options."""
    inputs = [param for param in signature.inputs if isinstance(param, TensorParam | ScalarParam)]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip([param.name for param in inputs], args, strict=False))
        extra = list(args[len(inputs) :])
        device = _device(signature, given)
        tensors = {t.name: _info(signature, t.name, given.get(t.name)) for t in signature.tensors}
        binding = bind(
            signature,
            tensors,
            axes={axis: extra.pop(0) for axis in axes},
            ellipsis=tuple(extra.pop(0)) if ellipsis else None,
            check=_check,
        )
        shapes = output_shapes(signature, binding, with_residuals=residuals, check=_check)
        types = output_types(signature, binding, with_residuals=residuals)
        wanted = extra.pop(0) if mask and extra else kwargs.get("output_mask", [True] * len(shapes))
        results = [
            torch.empty(cast("Any", shape), dtype=TORCH_TYPES[dtype], device=device) if want else None
            for shape, dtype, want in zip(shapes, types, wanted, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    return kernel


def _device(signature: Signature, given: Mapping[str, Any]) -> torch.device:
    present = [(t.name, given[t.name].device) for t in signature.tensors if given.get(t.name) is not None]
    first, device = present[0]
    for name, other in present:
        if other != device:
            raise ArgumentError(
                f"{signature.name}(): {name} is on {other}, {first} on {device}; "
                "all tensors of a call must be on one device"
            )
    return cast("torch.device", device)


def _info(signature: Signature, name: str, tensor: torch.Tensor | None) -> TensorInfo | None:
    if tensor is None:
        return None
    if tensor.dtype not in DTYPES:
        raise ArgumentError(f"{signature.name}(): {name} has element type {tensor.dtype}, which no signature can name")
    return TensorInfo(tuple(tensor.shape), DTYPES[tensor.dtype])


def _check(condition: Any, message: Callable[[], str]) -> None:
    """torch._check for what only a later call can decide; our own error for what is known now."""
    if isinstance(condition, bool):
        if not condition:
            raise ArgumentError(message())
        return
    torch._check(condition, message)  # noqa: SLF001 - documented under this name
