"""autocast, which casts to the widest floating input, and tensors on devices that no kernel is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from opwright import ArgumentError, Operators

Leaf = Callable[..., torch.Tensor]
F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64


def arguments(x: torch.dtype, y: torch.dtype, w: torch.dtype, bias: torch.dtype, scale: torch.dtype) -> list[Any]:
    torch.manual_seed(0)
    types = [x, y, w, bias]
    return [*(torch.randn(4).to(dtype) for dtype in types), torch.tensor(0.5).to(scale)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((F16, F16, F32, F32, F32), (F16, F32)),
        ((F16, F32, F16, F32, F32), (F32, F16)),
        ((F16, BF16, BF16, F32, F16), (F32, BF16)),
        ((F16, F16, F16, F16, F16), (F16, F16)),
        ((F64, F16, F32, BF16, F32), (F64, F32)),
    ],
)
def test_each_variable_takes_its_widest_input(
    notation: Operators, given: tuple[torch.dtype, ...], expected: tuple[torch.dtype, ...]
) -> None:
    args = arguments(*given)
    with torch.autocast("cpu", dtype=BF16):
        z, v = notation.weigh(*args)
    assert (z.dtype, v.dtype) == expected
    x, y, w, bias, scale = (a.double() for a in args)
    tolerance = {F16: 2e-3, BF16: 2e-2, F32: 1e-6, F64: 1e-12}
    torch.testing.assert_close(z.double(), (x + y) * scale + bias, rtol=tolerance[z.dtype], atol=tolerance[z.dtype])
    torch.testing.assert_close(v.double(), w + x, rtol=tolerance[v.dtype], atol=tolerance[v.dtype])
    if len({given[0], given[1]}) > 1:
        with pytest.raises(ArgumentError, match="y has element type"):
            notation.weigh(*args)


@pytest.mark.slow
def test_the_signature_overrides(notation: Operators, leaf: Leaf) -> None:
    x = leaf(3, dtype=BF16)
    with torch.autocast("cpu", dtype=BF16):
        y = notation.precise(x)
    assert y.dtype is F32
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.dtype is BF16
    assert notation.precise(x).dtype is BF16, "outside of autocast nothing is cast"


def test_what_is_overwritten_is_never_a_copy(notation: Operators) -> None:
    y = torch.ones(3, dtype=F16)
    with torch.autocast("cpu", dtype=BF16):
        notation.add_scaled(2.0, torch.ones(3), y)
    assert y.tolist() == [3, 3, 3]
    assert y.dtype is F16


def test_types_that_the_signature_lacks_stay_an_error(grads: Operators) -> None:
    with torch.autocast("cpu", dtype=BF16), pytest.raises(ArgumentError, match="x has element type bfloat16"):
        grads.mixed(torch.ones(2, dtype=BF16), torch.ones(2))


class Elsewhere(torch.Tensor):
    """A tensor on a device that nobody has; its dispatch to Python is switched off in the tests."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise NotImplementedError

    @staticmethod
    def make(*shape: int) -> torch.Tensor:
        return torch.Tensor._make_wrapper_subclass(Elsewhere, shape, device=torch.device("privateuseone"))


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_devices_without_kernels(notation: Operators, mode: Callable[[], Any]) -> None:
    with mode(), torch._C._DisableTorchDispatch():
        with pytest.raises(ArgumentError, match=r"nonzero\(\): x is on .*, but this operator has kernels for cpu only"):
            notation.nonzero(Elsewhere.make(3))
        with pytest.raises(ArgumentError, match=r"put\(\): y is on .*, but this operator has kernels for cpu only"):
            notation.put(torch.ones(()), Elsewhere.make(3))
