"""Fake (meta) kernels: the shapes and element types of the results, for FakeTensors and symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch

from opwright.errors import UnsupportedError
from opwright.runtime import torch_internals
from opwright.runtime.arguments import check_mask
from opwright.runtime.binding import DTYPES, TORCH_TYPES, bind_call, check_asked, check_sizes, tensor_info, two_devices
from opwright.runtime.layouts import Layout, batched_strides, result_strides
from opwright.runtime.tensor_lists import over_elements
from opwright.signature import (
    Binding,
    Check,
    DataAxis,
    DType,
    Signature,
    TensorInfo,
    TensorParam,
    chosen_type,
    output_shapes,
    output_types,
)


def fake(
    signature: Signature, axes: Sequence[str], *, ellipsis: bool, residuals: bool, mask: bool
) -> Callable[..., Any]:
    """Return the fake kernel of an operator; the options are those of `opwright.signature.schema`."""
    if signature.lists:

        def of_call(made: Signature) -> Callable[..., Any]:
            return fake(made, axes, ellipsis=ellipsis, residuals=residuals, mask=mask)

        return over_elements(signature, of_call, residuals=residuals, mask=mask)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        """Return empty results of the shapes and element types that follow from the signature."""
        if not signature.tensors and torch_internals.is_tracing():
            _refuse_without_tensors(signature)
        call = bind_arguments(signature, args, kwargs, axes=axes, ellipsis=ellipsis, check=check_sizes)
        given, binding, extra = call.given, call.binding, call.extra
        device = _device(signature, given)
        shapes = _decided(output_shapes(signature, binding, with_residuals=residuals, check=check_sizes), binding)
        types = output_types(signature, binding, with_residuals=residuals)
        returned = signature.results if residuals else signature.outputs
        made = [result.name not in binding.absent for result in returned]
        wanted = extra.pop(0) if mask and extra else kwargs.get("output_mask", made)
        if mask:
            check_mask(signature, wanted)
        empty = _empty(signature, binding, given, device)
        results = [
            None if not want else _count() if param.is_count else empty(shape, TORCH_TYPES[dtype])
            for param, shape, dtype, want in zip(returned, shapes, types, wanted, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results) or None

    return kernel


class BoundArguments(NamedTuple):
    """The arguments of a call by name, its scalars with defaults, what its names stand for, and the other arguments."""

    given: Mapping[str, Any]
    scalars: Mapping[str, Any]
    binding: Binding
    extra: list[Any]


def bind_arguments(
    signature: Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    axes: Sequence[str],
    ellipsis: bool,
    check: Check,
) -> BoundArguments:
    """Bind the arguments that PyTorch passes for a call; `axes`, `ellipsis`: as for `opwright.signature.schema`."""
    names = [param.name for param in signature.inputs]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    extra = list(args[len(names) :])
    scalars = _with_defaults(signature, given)
    binding = bind_call(
        signature,
        {t.name: _present(signature, t.name, given.get(t.name)) for t in signature.tensors},
        axes={axis: extra.pop(0) for axis in axes},
        ellipsis=tuple(extra.pop(0)) if ellipsis else None,
        types=_chosen(signature, given),
        scalars=scalars,
        check=check,
    )
    return BoundArguments(given, scalars, binding, extra)


def _chosen(signature: Signature, given: Mapping[str, Any]) -> Mapping[str, DType]:
    if not signature.chosen_type:
        return {}
    dtype = given.get("dtype") or torch.get_default_dtype()
    return chosen_type(signature, DTYPES.get(dtype))


def _with_defaults(signature: Signature, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {scalar.name: given.get(scalar.name, scalar.default) for scalar in signature.scalars}


def _empty(
    signature: Signature, binding: Binding, given: Mapping[str, Any], device: torch.device
) -> Callable[[tuple[Any, ...], torch.dtype], torch.Tensor]:
    """Return a function that allocates results: row-major, or in the layout of the arguments' leading axes."""
    lead = binding.ellipsis
    if not signature.broadcasts or lead is None:
        return lambda shape, dtype: torch.empty(shape, dtype=dtype, device=device)
    pairs = [(given[p.name], len(p.dims)) for p in signature.tensors if given.get(p.name) is not None]
    layouts = [(Layout(tuple(t.shape), tuple(t.stride())), core) for t, core in pairs]
    of_elements = result_strides(lead, [layout for layout, _ in layouts]) if signature.pointwise else None

    def empty(shape: tuple[Any, ...], dtype: torch.dtype) -> torch.Tensor:
        strides = of_elements or batched_strides(shape, len(shape) - len(lead), layouts)
        if strides is None:
            return torch.empty(shape, dtype=dtype, device=device)
        return torch.empty_strided(shape, strides, dtype=dtype, device=device)

    return empty


def _decided(shapes: Sequence[Sequence[Any]], binding: Binding) -> list[tuple[Any, ...]]:
    """Return the shapes, with an unbacked size for each data-dependent axis."""
    sizes: dict[str, Any] = {}

    def size(dim: Any) -> Any:
        if not isinstance(dim, DataAxis):
            return dim
        if dim.name not in sizes:
            sizes[dim.name] = torch.library.get_ctx().new_dynamic_size(min=0)
            if dim.limit is not None:
                torch_internals.check(sizes[dim.name] <= dim.limit.evaluate(binding.axes))
        return sizes[dim.name]

    return [tuple(size(dim) for dim in shape) for shape in shapes]


def _refuse_without_tensors(signature: Signature) -> None:
    """Fail if no result is a tensor either: Inductor looks for the device of such a call, and finds none."""
    if all(output.is_count for output in signature.outputs):
        raise UnsupportedError(
            f"{signature.shown_name}(): none of its arguments and results is a tensor: PyTorch can't compile "
            "such an operator\n"
            f"  signature:    {signature.as_written}\n"
            "  likely fix:   call it before the compiled function, or in a function under @torch.compiler.disable"
        )


def _count() -> Any:
    """Return an unbacked size, which stands for a count."""
    return torch.library.get_ctx().new_dynamic_size(min=0)


def _device(signature: Signature, given: Mapping[str, Any]) -> torch.device:
    present = [(t.name, given[t.name].device) for t in signature.tensors if given.get(t.name) is not None]
    asked = given.get(signature.device.name if signature.device else "device")
    if not present:
        return torch.device(asked or "cpu")
    fixed = [(t.name, given[t.name].device) for t in signature.tensors if not _goes_anywhere(signature, t, given)]
    first, device = (fixed or present)[0]
    for name, other in fixed:
        if other != device:
            raise two_devices(signature, name, other, first, device)
    if asked and signature.device:
        check_asked(signature, asked, next(t for t in signature.tensors if t.name == first), given[first])
    return cast("torch.device", device)


def _goes_anywhere(signature: Signature, param: TensorParam, given: Mapping[str, Any]) -> bool:
    """Return whether the argument is absent, or a 0-dim CPU tensor, which a pointwise operator on any device takes."""
    tensor = given.get(param.name)
    if tensor is None:
        return True
    return signature.pointwise and not param.mutated and tensor.dim() == 0 and tensor.device.type == "cpu"


def _present(signature: Signature, name: str, tensor: torch.Tensor | None) -> TensorInfo | None:
    return None if tensor is None else tensor_info(signature, name, tensor, tuple(tensor.shape))
