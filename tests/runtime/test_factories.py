"""Sizes from int arguments, and operators without any tensor: `dtype=` and `device=`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from opwright import ArgumentError, Operators

Leaf = Callable[..., torch.Tensor]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(0, 0), (3, 2), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_like_torch_eye(notation: Operators, n: int, m: int, dtype: torch.dtype) -> None:
    result = notation.eye(n, m, dtype=dtype)
    assert torch.equal(result, torch.eye(n, m, dtype=dtype))
    assert result.dtype is dtype


def test_defaults(notation: Operators) -> None:
    assert notation.eye(2).dtype is torch.float32
    assert notation.eye(n=2, m=3, device="cpu").shape == (2, 3)
    torch.set_default_dtype(torch.float64)
    try:
        assert notation.eye(2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_meta(notation: Operators) -> None:
    result = notation.eye(2, 3, dtype=torch.float64, device="meta")
    assert (result.shape, result.dtype, result.device.type) == ((2, 3), torch.float64, "meta")


def test_wrong_calls(notation: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"eye\(\): n is -1, expected a size, at least 0"):
        notation.eye(-1)
    with pytest.raises(ArgumentError, match=r"eye\(\): dtype is float16, expected T in \(float32, float64, int64\)"):
        notation.eye(1, dtype=torch.float16)
    with pytest.raises(ArgumentError, match=r"eye\(\): dtype is a type that no signature can name"):
        notation.eye(1, dtype=torch.complex32)
    with pytest.raises(
        ArgumentError, match=r"eye\(\): device is cuda, .*\n  likely fix: device=.cpu., then .to\(.cuda.\)$"
    ):
        notation.eye(1, device="cuda")
    with pytest.raises((ArgumentError, RuntimeError)):
        notation.eye(2**40, 2**40)


@pytest.mark.parametrize("p", [0, 1, 4])
def test_sizes_from_arguments(notation: Operators, leaf: Leaf, p: int) -> None:
    x = leaf(2, 3)
    assert torch.equal(notation.pad(x, p), torch.nn.functional.pad(x, (p, p)))
    assert torch.autograd.gradcheck(lambda x: notation.pad(x, p), x)


def test_a_negative_size_is_refused(notation: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"pad\(\): p is -1, expected a size, at least 0"):
        notation.pad(torch.ones(3), -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled(notation: Operators, leaf: Leaf) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(
            notation.pad(x, x.shape[0]) @ notation.eye(x.shape[1] + 2 * x.shape[0], 4, dtype=x.dtype)
        )

    compiled = torch.compile(f, fullgraph=True, dynamic=True)
    for shape in ((2, 3), (4, 5)):
        x = leaf(*shape)
        torch.testing.assert_close(compiled(x), f(x))
        torch.testing.assert_close(torch.autograd.grad(compiled(x).sum(), x), torch.autograd.grad(f(x).sum(), x))


@pytest.mark.slow
def test_opcheck(notation: Operators, leaf: Leaf) -> None:
    assert set(torch.library.opcheck(notation.eye, (2, 3)).values()) == {"SUCCESS"}
    assert set(torch.library.opcheck(notation.pad, (leaf(2, 3), 2)).values()) == {"SUCCESS"}


def test_inside_transforms(notation: Operators) -> None:
    x = torch.randn(3, 2, 2)
    assert torch.equal(torch.vmap(lambda a: a + notation.eye(2))(x), x + torch.eye(2))
    assert torch.equal(torch.func.grad(lambda a: (a * notation.eye(2)).sum())(x[0]), torch.eye(2))
