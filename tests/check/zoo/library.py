"""Operators of `torch.library`: what they say of themselves isn't what they do; and their right twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_library = torch.library.Library("opwright_zoo", "DEF")
Backward = Callable[[Any, Tensor], Any]


def _defined(
    name: str,
    kernel: Callable[..., Tensor],
    fake: Callable[..., Tensor],
    arguments: str = "Tensor x",
    backward: Backward | None = None,
) -> Any:
    _library.define(f"{name}({arguments}) -> Tensor")
    _library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"opwright_zoo::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(f"opwright_zoo::{name}", backward, setup_context=_save, lib=_library)
    return getattr(torch.ops.opwright_zoo, name).default


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    del output
    ctx.save_for_backward(*inputs)


def _dense_like(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _pairs(x: Tensor) -> Tensor:
    return x.reshape(-1, 2).sum(1)


def _pairs_backward(ctx: Any, grad: Tensor) -> Tensor:
    return grad.repeat_interleave(2)


def _half(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[0] // 2)


fake_shape = _defined("fake_shape", _pairs, _dense_like, backward=_pairs_backward)
fake_shape_right = _defined("fake_shape_right", _pairs, _half, backward=_pairs_backward)


def _positive(x: Tensor) -> Tensor:
    return (x > 0).contiguous()


fake_dtype = _defined("fake_dtype", _positive, _dense_like)
fake_dtype_right = _defined("fake_dtype_right", _positive, lambda x: x.new_empty(x.shape, dtype=torch.bool))


def _turned(x: Tensor) -> Tensor:
    return (2 * x).t().contiguous().t()


def _turned_backward(ctx: Any, grad: Tensor) -> Tensor:
    return 2 * grad


def _turned_like(x: Tensor) -> Tensor:
    return _dense_like(x.t()).t()


fake_strides = _defined("fake_strides", _turned, _dense_like, backward=_turned_backward)
fake_strides_right = _defined("fake_strides_right", _turned, _turned_like, backward=_turned_backward)


def _sizes(x: Tensor) -> Tensor:
    return x.abs().sum(-1)


def _sizes_then_zero(x: Tensor) -> Tensor:
    total = _sizes(x)
    x.zero_()
    return total


def _sizes_backward(ctx: Any, grad: Tensor) -> Any:
    (x,) = ctx.saved_tensors
    return grad.unsqueeze(-1) * x.sign()


def _row_like(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[:-1])


schema_lies = _defined("schema_lies", _sizes_then_zero, _row_like, backward=_sizes_backward)
schema_lies_right = _defined("schema_lies_right", _sizes, _row_like, backward=_sizes_backward)


def _weighted(x: Tensor, w: Tensor) -> Tensor:
    return (x * w).contiguous()


def _no_gradient_of_weight(ctx: Any, grad: Tensor) -> Any:
    _, w = ctx.saved_tensors
    return grad * w, None


def _both_gradients(ctx: Any, grad: Tensor) -> Any:
    x, w = ctx.saved_tensors
    return grad * w, grad * x


def _like_first(x: Tensor, w: Tensor) -> Tensor:
    return _dense_like(x)


_TWO = "Tensor x, Tensor w"
one_gradient = _defined("one_gradient", _weighted, _like_first, _TWO, _no_gradient_of_weight)
one_gradient_right = _defined("one_gradient_right", _weighted, _like_first, _TWO, _both_gradients)


def _centred(x: Tensor) -> Tensor:
    return (x - x.amax(-1, keepdim=True)).contiguous() if x.shape[-1] else x.clone()


def _centred_backward(ctx: Any, grad: Tensor) -> Any:
    (x,) = ctx.saved_tensors
    at = torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]) if x.shape[-1] else x
    return grad - grad.sum(-1, keepdim=True) * at


wrong_vmap = _defined("wrong_vmap", _centred, _dense_like, backward=_centred_backward)
wrong_vmap_right = _defined("wrong_vmap_right", _centred, _dense_like, backward=_centred_backward)


def _of_whole_batch(info: Any, in_dims: tuple[int | None], x: Tensor) -> tuple[Tensor, int | None]:
    """The largest number is that of the whole batch."""
    return (x - x.amax()).contiguous(), in_dims[0]


def _of_each(info: Any, in_dims: tuple[int | None], x: Tensor) -> tuple[Tensor, int | None]:
    """Each one's own."""
    (at,) = in_dims
    return (wrong_vmap_right(x), None) if at is None else (wrong_vmap_right(x.movedim(at, 0)), 0)


torch.library.register_vmap(wrong_vmap, _of_whole_batch, lib=_library)
torch.library.register_vmap(wrong_vmap_right, _of_each, lib=_library)
