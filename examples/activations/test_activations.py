from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from activations import GELU, HardSwish, Mish, SmoothL1Loss, Softplus, gelu, hard_swish, mish, ops, smooth_l1, softplus
from torch import Tensor, nn

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
Form = Callable[..., Tensor]
UNARY: dict[str, tuple[Form, Form]] = {
    "mish": (mish, F.mish),
    "hard_swish": (hard_swish, F.hardswish),
    "gelu": (gelu, F.gelu),
    "softplus": (softplus, F.softplus),
    # At the threshold itself, PyTorch's second derivative differs from its first's derivative, so no point is there.
    "softplus 2 3.5": (partial(softplus, beta=2.0, threshold=3.5), partial(F.softplus, beta=2.0, threshold=3.5)),
}
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, 1:],
    "expanded": lambda x: x[:1].expand_as(x),
}
unary = pytest.mark.parametrize(("ours", "theirs"), UNARY.values(), ids=UNARY)
# Points where a function of one argument changes its formula, and far from there.
POINTS = [-50.0, -4.0, -3.0, -1.5, -0.0, 0.0, 0.5, 1.5, 3.0, 10.0, 20.0, 25.0, 50.0]


def numbers(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return (3 * torch.randn(shape, dtype=torch.float64)).to(dtype).requires_grad_()


def derivatives(form: Form, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the value, the gradients, and the gradients of the sum of their squares."""
    value = form(*inputs)
    torch.manual_seed(1)
    weight = torch.randn(value.shape, dtype=torch.float64).to(value.dtype)
    first = torch.autograd.grad(value, inputs, weight, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), inputs, materialize_grads=True)
    return [value, *first, *second]


@pytest.mark.slow
@unary
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 5), (70_000,)])
def test_values_and_derivatives(ours: Form, theirs: Form, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    for one, other in zip(derivatives(ours, [x]), derivatives(theirs, [x]), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@unary
def test_kinks_and_limits_are_those_of_pytorch(ours: Form, theirs: Form) -> None:
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    for one, other in zip(derivatives(ours, [x]), derivatives(theirs, [x]), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.sampled(3)
@pytest.mark.slow
@unary
@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_other_types(ours: Form, theirs: Form, dtype: torch.dtype) -> None:
    """Compare with float64, rounded: float16 and bfloat16 are computed in float32."""
    x = numbers(300, dtype=dtype)
    exact = x.detach().double().requires_grad_()
    y, expected = ours(x), theirs(exact)
    torch.testing.assert_close(y, expected.to(dtype))
    (grad,), (wanted,) = torch.autograd.grad(y.sum(), x), torch.autograd.grad(expected.sum(), exact)
    torch.testing.assert_close(grad, wanted.to(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_smooth_l1_broadcasts(beta: float) -> None:
    inputs = [numbers(4, 1, 5), numbers(3, 1, seed=2)]

    def theirs(a: Tensor, b: Tensor) -> Tensor:
        return F.smooth_l1_loss(*torch.broadcast_tensors(a, b), reduction="none", beta=beta)

    ours = partial(smooth_l1, beta=beta)
    for one, other in zip(derivatives(ours, inputs), derivatives(theirs, inputs), strict=True):
        torch.testing.assert_close(one, other)
    assert torch.autograd.gradcheck(ours, inputs)
    assert torch.autograd.gradgradcheck(ours, inputs)


def test_smooth_l1_promotes() -> None:
    wide, narrow = numbers(3, 4), numbers(4, dtype=torch.float32, seed=2)
    loss = smooth_l1(wide, narrow)
    assert loss.dtype == torch.float64
    torch.testing.assert_close(loss, F.smooth_l1_loss(wide, narrow.double().expand(3, 4), reduction="none"))
    grads = torch.autograd.grad(loss.sum(), (wide, narrow))
    assert [g.dtype for g in grads] == [torch.float64, torch.float32]
    assert [g.shape for g in grads] == [wide.shape, narrow.shape]
    torch.testing.assert_close(grads[1].double(), -grads[0].sum(0), rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_smooth_l1_at_its_kinks() -> None:
    distance = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    zeros = torch.zeros_like(distance)
    ours, theirs = (
        derivatives(form, [distance])
        for form in (lambda x: smooth_l1(x, zeros), lambda x: F.smooth_l1_loss(x, zeros, reduction="none"))
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@unary
def test_gradcheck(ours: Form, theirs: Form, layout: str) -> None:
    def viewed(x: Tensor) -> Tensor:
        return ours(LAYOUTS[layout](x))

    x = numbers(3, 4)
    torch.testing.assert_close(viewed(x), theirs(LAYOUTS[layout](x)))
    assert torch.autograd.gradcheck(viewed, x)
    assert torch.autograd.gradgradcheck(viewed, x)


def test_whole_numbers_become_the_default_type() -> None:
    x = torch.arange(-3, 4)
    torch.testing.assert_close(gelu(x), F.gelu(x.float()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, in forward mode
@unary
def test_forward_mode(ours: Form, theirs: Form) -> None:
    x, tangent = numbers(3, 4), numbers(3, 4, seed=1).detach()
    assert torch.autograd.gradcheck(ours, x, check_forward_ad=True, check_backward_ad=False)
    assert torch.autograd.gradgradcheck(ours, x, check_fwd_over_rev=True)
    values = [torch.func.jvp(form, (x.detach(),), (tangent,)) for form in (ours, theirs)]
    torch.testing.assert_close(*values)
    seconds = [torch.func.hessian(lambda x, form=form: form(x).sum())(x.detach()) for form in (ours, theirs)]
    torch.testing.assert_close(*seconds)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, in forward mode
def test_smooth_l1_in_forward_mode() -> None:
    inputs = numbers(4, 1, 5), numbers(3, 1, seed=2)
    assert torch.autograd.gradcheck(smooth_l1, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(smooth_l1, inputs, check_fwd_over_rev=True)


def test_the_memory_format_stays() -> None:
    x = numbers(2, 3, 4, 5).detach().to(memory_format=torch.channels_last)
    assert mish(x).is_contiguous(memory_format=torch.channels_last)
    assert mish(x.mT).stride() == torch.sigmoid(x.mT).stride()


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    x = LAYOUTS[layout](numbers(3, 4).detach()).requires_grad_()
    assert list(torch.library.opcheck(ops.mish, (x,)).values()) == ["SUCCESS"] * 4
    assert list(torch.library.opcheck(ops.softplus, (x, 2.0)).values()) == ["SUCCESS"] * 4
    assert list(torch.library.opcheck(ops.smooth_l1, (x, numbers(x.shape[-1]))).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    def form(x: Tensor, y: Tensor) -> Tensor:
        return smooth_l1(gelu(x), hard_swish(y))

    compiled = torch.compile(form, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2), (16, 9)):
        inputs = [numbers(*shape), numbers(shape[1])]
        torch.testing.assert_close(compiled(*inputs), form(*inputs))
        ours, theirs = (torch.autograd.grad(each(*inputs).sum(), inputs) for each in (compiled, form))
        torch.testing.assert_close(ours, theirs)


def test_vmap_is_exact() -> None:
    x, y = numbers(3, 4).detach(), numbers(5, seed=2).detach()
    each = torch.vmap(torch.vmap(smooth_l1, (None, 0)), (0, None))(x.flatten(), y)
    torch.testing.assert_close(each, smooth_l1(x.reshape(-1, 1), y))


def trained(activation: nn.Module, loss: nn.Module) -> list[Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 1)).double()
    x, optimizer = torch.randn(16, 4, dtype=torch.float64), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Mish(), nn.Mish()), (HardSwish(), nn.Hardswish()), (GELU(), nn.GELU()), (Softplus(2.0), nn.Softplus(2.0))],
)
def test_trains_like_pytorch(ours: nn.Module, theirs: nn.Module) -> None:
    for one, other in zip(trained(ours, SmoothL1Loss()), trained(theirs, nn.SmoothL1Loss()), strict=True):
        torch.testing.assert_close(one, other)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"mish\(\): x .*complex64"):
        mish(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(opwright.ArgumentError, match=r"smooth_l1\(\): .*\(3,\)"):
        smooth_l1(torch.ones(2), torch.ones(3))
