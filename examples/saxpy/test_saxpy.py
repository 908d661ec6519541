from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from saxpy import ops, saxpy_, sdot
from torch import Tensor

import opwright

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda t: t,
    "every second": lambda t: t[::2],
    "a column": lambda t: t.view(-1, 2)[:, 1],
}


def numbers(n: int) -> Tensor:
    torch.manual_seed(n)
    return torch.randn(n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [0, 2, 14, 70_000])
def test_the_same_as_add(n: int, layout: str) -> None:
    x, y = LAYOUTS[layout](numbers(n)), numbers(n + 2)[2:]
    expected = y.clone()
    LAYOUTS[layout](expected).add_(x, alpha=0.37)
    assert saxpy_(0.37, x, LAYOUTS[layout](y)).data_ptr() == LAYOUTS[layout](y).data_ptr()
    torch.testing.assert_close(y, expected)


def test_gradients_are_those_of_add() -> None:
    weight = numbers(6)

    def gradients(step: Callable[[float, Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
        x, start = numbers(6).requires_grad_(), numbers(7)[1:].clone().requires_grad_()
        y = start * 1
        step(-1.5, x, y)
        return torch.autograd.grad((y * weight).sum(), (x, start))

    ours, theirs = gradients(saxpy_), gradients(lambda alpha, x, y: y.add_(x, alpha=alpha))
    torch.testing.assert_close(ours, theirs)
    x, y = numbers(4).requires_grad_(), numbers(5)[1:]
    saxpy_(3.0, x, y)  # the gradient of the old y isn't needed
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full((4,), 3.0))


def test_the_dot_product() -> None:
    x, y = numbers(1000), numbers(1001)[1:]
    torch.testing.assert_close(sdot(x, y), x.double().dot(y.double()).float())
    assert sdot(x[:0], y[:0]).item() == 0


def test_opcheck() -> None:
    assert set(torch.library.opcheck(ops.saxpy, (2.0, numbers(4), numbers(5)[1:].clone())).values()) == {"SUCCESS"}
    assert set(torch.library.opcheck(ops.sdot, (numbers(4), numbers(4))).values()) == {"SUCCESS"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(lambda x, y: sdot(saxpy_(2.0, x.sin(), y.clone()), x), fullgraph=True, dynamic=True)
    for n in (4, 7, 16):
        x, y = numbers(n), numbers(n)
        torch.testing.assert_close(compiled(x, y), (y + 2 * x.sin()).dot(x))


def test_wrong_calls() -> None:
    x = numbers(4)
    with pytest.raises(opwright.ArgumentError, match=r"saxpy\(\): y has shape \(3,\), expected \[N\] = \(4,\)"):
        saxpy_(1.0, x, numbers(3))
    with pytest.raises(opwright.ArgumentError, match=r"saxpy\(\): x has element type float64"):
        saxpy_(1.0, x.double(), x.clone())
    with pytest.raises(opwright.ArgumentError, match=r"saxpy\(\): x has shape \(2, 2\)"):
        saxpy_(1.0, x.view(2, 2), x.clone())
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        saxpy_(1.0, x, x.clone().requires_grad_())
    for overlapping in (x, x[:1].expand(4)):
        with pytest.raises(RuntimeError):
            saxpy_(1.0, x, overlapping)
    with pytest.raises(opwright.KernelError, match="which doesn't fit the kernel's parameter of type float"):
        saxpy_(1e300, x, x.clone())
