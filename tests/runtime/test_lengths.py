"""Results whose length the kernel decides (`?K`, `?K<=N`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.autograd import gradcheck

from opwright import KernelError, Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]


@pytest.mark.parametrize("size", [0, 1, 7])
def test_nonzero(notation: Operators, size: int) -> None:
    x = torch.arange(size) % 3 == 0
    assert torch.equal(notation.nonzero(x), x.nonzero()[:, 0])
    assert notation.nonzero(torch.zeros(size, dtype=torch.bool)).shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_axes_in_the_middle(notation: Operators, dtype: torch.dtype) -> None:
    x = torch.randn(3, 5).to(dtype)
    x[:, 1] = x[:, 4] = 0
    y, n = notation.columns(x)
    assert torch.equal(y, x[:, [0, 2, 3]])
    assert y.is_contiguous()
    assert y.untyped_storage().nbytes() == y.nbytes, "what is cut off is given back"
    assert n.item() == 3
    z, at = notation.doubled(x)
    assert torch.equal(z, x[:, [0, 2, 3], None].expand(3, 3, 2))
    assert at.tolist() == [0, 2, 3]


def test_gradients(notation: Operators, leaf: Leaf) -> None:
    mask = torch.tensor([True, False, True, True])
    x = leaf(4)
    assert torch.equal(notation.pick(x, mask), x[mask])
    assert gradcheck(lambda x: notation.pick(x, mask), x)
    assert gradcheck(lambda x: notation.pick(x, ~mask), x)
    assert gradcheck(lambda x: notation.pick(x, mask & ~mask), x)


def test_what_a_kernel_may_ask(notation: Operators) -> None:
    x = torch.ones(4)
    for first, second, again in [(0, 99, 5), (9, 9, 5), (3, 5, 99)]:
        with pytest.raises(KernelError, match=r"[yz]\.resize\(5\): another length was decided for this axis before"):
            notation.resizes(x, first, second, again)
    with pytest.raises(KernelError, match=r"y\.resize\(-1\): a length is negative, or beyond the bound"):
        notation.resizes(x, -1, 0, 99)
    with pytest.raises(KernelError, match=r"y\.resize\(\d+\): there is no memory for that"):
        notation.resizes(x, 2**60, 99, 99)
    for first, second, number in ((99, 99, 1), (3, 99, 2)):
        with pytest.raises(KernelError, match=rf"ended without calling .resize\(...\) on its result number {number}"):
            notation.resizes(x, first, second, 99)
    y, z = notation.resizes(x, 3, 3, 3)
    assert (y.tolist(), z.tolist()) == ([1] * 3, [1] * 3)


def test_bounds(notation: Operators) -> None:
    for k in (0, 2, 5):
        assert notation.bounded(torch.ones(4), k).tolist() == list(range(k))
    with pytest.raises(KernelError, match=r"y\.resize\(6\): a length is negative, or beyond the bound"):
        notation.bounded(torch.ones(4), 6)


def test_tags(notation: Operators) -> None:
    assert {torch.Tag.dynamic_output_shape, torch.Tag.cudagraph_unsafe} <= set(notation.nonzero.tags)
    assert torch.Tag.dynamic_output_shape not in notation.eye.tags


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled(notation: Operators, leaf: Leaf, backend: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(notation.pick(x * 2, x > 1) * 3 + notation.nonzero(x > 1))

    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend=backend)
    for size in (4, 9):
        x = leaf(size)
        torch.testing.assert_close(compiled(x), f(x))
        torch.testing.assert_close(torch.autograd.grad(compiled(x).sum(), x), torch.autograd.grad(f(x).sum(), x))


def test_a_bound_is_known_to_the_compiler(notation: Operators) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()):
        length = notation.pick(torch.empty(5), torch.empty(5, dtype=torch.bool)).shape[0]
        assert isinstance(length, torch.SymInt)
        assert torch.fx.experimental.symbolic_shapes.statically_known_true(length <= 5)
        assert not torch.fx.experimental.symbolic_shapes.statically_known_true(length <= 4)


@pytest.mark.slow
def test_opcheck(notation: Operators, leaf: Leaf) -> None:
    mask = torch.tensor([True, False, True])
    matrix = leaf(2, 3).detach()
    for op, args in ((notation.nonzero, (mask,)), (notation.pick, (leaf(3), mask)), (notation.columns, (matrix,))):
        assert set(torch.library.opcheck(op, args).values()) == {"SUCCESS"}


def test_vmap_can_stack_equal_lengths_only(notation: Operators) -> None:
    x = torch.tensor([[True, False, True], [True, True, False]])
    assert torch.equal(torch.vmap(notation.nonzero)(x), torch.tensor([[0, 2], [0, 1]]))
    x[0, 0] = False
    with pytest.raises(UnsupportedError, match=r"vmap can't stack results of different lengths, \(1,\), \(2,\)"):
        torch.vmap(notation.nonzero)(x)
