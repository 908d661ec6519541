"""Lists of tensors with PyTorch's features: gradients, transforms, tracing, autocast; on both runtimes."""

from __future__ import annotations

import copy
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo import compiled_autograd
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import opwright
from opwright import Operators, UnsupportedError

HERE = Path(__file__).parent
GRAD: dict[str, Any] = {"dtype": torch.float64, "requires_grad": True}


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/list_ops.cpp")


def squares(xs: list[torch.Tensor], w: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The same as the operator, by PyTorch."""
    parts = [w[:, None] * x * x for x in xs]
    return [part.sum() for part in parts], torch.stack([part.sum(1) for part in parts]).sum(0)


def arguments(**options: Any) -> tuple[list[torch.Tensor], torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(2, n, dtype=torch.float64, generator=generator) for n in (3, 0, 1)]
    w = torch.randn(2, dtype=torch.float64, generator=generator)
    return [x.requires_grad_(**options) for x in made] if options else made, w


def test_gradients(ops: Operators) -> None:
    xs, ys = ([torch.randn(shape, **GRAD) for shape in ((3,), (), (2, 2))] for _ in range(2))

    def axpy(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(ops.axpy(list(tensors[:3]), list(tensors[3:]), 1.5))

    assert gradcheck(axpy, (*xs, *ys))
    assert gradgradcheck(axpy, (*xs, *ys))


def test_gradients_of_some_tensors_and_of_some_results(ops: Operators) -> None:
    xs, w = arguments()
    xs[0].requires_grad_()
    xs[2].requires_grad_()
    w.requires_grad_()

    def of(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        each, total = ops.squares([tensors[0], xs[1], tensors[1]], tensors[2])
        return (*each, total)

    leaves = (xs[0], xs[2], w)
    assert gradcheck(of, leaves)
    for result in range(4):  # the others have no gradient
        assert gradcheck(lambda *tensors, r=result: of(*tensors)[r], leaves)
    each, _ = ops.squares(xs, w.detach())  # grad_w isn't wanted, and is written all the same
    each[0].backward()
    torch.testing.assert_close(xs[0].grad, 2 * w.detach()[:, None] * xs[0].detach())
    assert xs[1].grad is None
    assert xs[2].grad is not None
    assert not xs[2].grad.any()


def test_only_a_tensor_beside_the_list_has_a_gradient(ops: Operators) -> None:
    xs, w = arguments()
    w.requires_grad_()
    assert gradcheck(lambda w: ops.squares(xs, w)[1], w)
    each, total = ops.squares([], w)
    assert each == []
    total.sum().backward()
    assert w.grad is not None
    assert not w.grad.any()


def test_a_missing_second_derivative_is_told(ops: Operators) -> None:
    xs, w = arguments(requires_grad=True)
    (grad,) = torch.autograd.grad(ops.squares(xs, w)[1].sum(), xs[:1], create_graph=True)
    with pytest.raises(UnsupportedError, match="squares_backward\\(\\) has no second derivative"):
        grad.sum().backward()


def test_overwritten_with_gradients(ops: Operators) -> None:
    def scaled(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        copies = [tensor.clone() for tensor in tensors]
        ops.scale_(copies, torch.tensor(3.0, dtype=torch.float64))
        return tuple(copies)

    assert gradcheck(scaled, tuple(torch.randn(n, **GRAD) for n in (2, 0, 3)))

    def of_views(x: torch.Tensor) -> torch.Tensor:
        whole = x.clone()
        ops.scale_([whole[:2], whole[3:]], torch.tensor(3.0, dtype=torch.float64))
        return whole

    assert gradcheck(of_views, torch.randn(5, **GRAD))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # PyTorch's own
def test_forward_mode_is_refused(ops: Operators) -> None:
    with forward_ad.dual_level(), pytest.raises(UnsupportedError, match="no forward-mode derivative"):
        ops.axpy([forward_ad.make_dual(torch.zeros(2), torch.zeros(2))], [torch.zeros(2)], 1.0)


def test_func(ops: Operators) -> None:
    xs, w = arguments()
    grads = torch.func.grad(lambda xs: sum(ops.squares(xs, w)[0]))(xs)
    torch.testing.assert_close(grads, [2 * w[:, None] * x for x in xs])
    jacobian = torch.func.jacrev(lambda w: ops.squares(xs, w)[1])(w)
    torch.testing.assert_close(jacobian, torch.diag(torch.stack([(x * x).sum(1) for x in xs]).sum(0)))
    per_sample = torch.vmap(torch.func.grad(lambda x: ops.squares([x], w)[0][0]))(xs[0].expand(4, 2, 3))
    torch.testing.assert_close(per_sample, (2 * w[:, None] * xs[0]).expand(4, 2, 3))


def test_vmap(ops: Operators) -> None:
    xs, ys = [torch.randn(4, 3), torch.randn(2, 4, 5)], [torch.randn(3), torch.randn(2, 5, 4)]
    zs = torch.vmap(lambda xs, ys: ops.axpy(xs, ys, 2.0), in_dims=([0, 1], [None, 2]))(xs, ys)
    torch.testing.assert_close(zs[0], 2 * xs[0] + ys[0])
    torch.testing.assert_close(zs[1], (2 * xs[1] + ys[1].movedim(2, 1)).movedim(1, 0))
    each, total = torch.vmap(ops.squares, in_dims=([0, None], None))(
        [torch.ones(3, 2, 2), torch.ones(2, 1)], torch.ones(2)
    )
    assert [tuple(one.shape) for one in (*each, total)] == [(3,), (3,), (3, 2)]
    empty = torch.vmap(lambda xs: ops.axpy(xs, xs, 1.0))([torch.zeros(0, 3)])
    assert empty[0].shape == (0, 3)
    whole = torch.ones(3, 2)
    torch.vmap(lambda x: ops.scale_([x], torch.tensor(2.0)), out_dims=None)(whole)
    assert whole.tolist() == [[2, 2]] * 3
    with pytest.raises(UnsupportedError, match=r"xs\[1\] is overwritten, but it isn't one of what vmap goes over"):
        torch.vmap(lambda x: ops.scale_([x, torch.zeros(2)], torch.tensor(2.0)), out_dims=None)(whole)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(ops: Operators, dynamic: bool) -> None:
    torch.compiler.reset()

    def loss(xs: list[torch.Tensor], w: torch.Tensor) -> Any:
        each, total = ops.squares(xs, w)
        return 2 * torch.stack(each).sum() + total.sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for sizes in ((3, 4), (5, 2)):
        xs, w = [torch.randn(2, n, **GRAD) for n in sizes], torch.randn(2, **GRAD)
        torch.testing.assert_close(compiled(xs, w), loss(xs, w))
        grads = (torch.autograd.grad(function(xs, w), [*xs, w]) for function in (compiled, loss))
        torch.testing.assert_close(*grads)


def test_compile_what_is_overwritten(ops: Operators) -> None:
    torch.compiler.reset()

    def twice(xs: list[torch.Tensor]) -> torch.Tensor:
        ops.scale_(xs, torch.tensor(2.0))
        return torch.add(xs[0], xs[1].sum())

    xs, expected = [torch.ones(2), torch.ones(3)], torch.full((2,), 8.0)
    torch.testing.assert_close(torch.compile(twice, fullgraph=True, backend="aot_eager")(xs), expected)
    assert [x.tolist() for x in xs] == [[2, 2], [2, 2, 2]]


def test_lists_of_another_length_are_another_graph(ops: Operators) -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda xs: ops.axpy(xs, xs, 1.0), fullgraph=True, backend="aot_eager")
    for length in (1, 3, 2):
        torch.testing.assert_close(compiled([torch.ones(2)] * length), [torch.full((2,), 2.0)] * length)


def test_fake_tensors(ops: Operators) -> None:
    from torch._subclasses import FakeTensorMode

    mode: Any = FakeTensorMode
    with mode():
        each, total = ops.squares([torch.empty(2, 3), torch.empty(2, 1)], torch.empty(2))
        assert ([one.shape for one in each], total.shape) == ([(), ()], (2,))
        assert [z.shape for z in ops.axpy(xs=[torch.empty(2, 3)], ys=[torch.empty(2, 3)], a=1.0)] == [(2, 3)]
        mistakes: list[tuple[Any, str]] = [
            (lambda: ops.axpy([torch.empty(2)], [], 1.0), "ys has 0 tensors, expected 1"),
            (lambda: ops.axpy([], [], 1.0), "all lists are empty"),
            (
                lambda: ops.squares([torch.empty(2, 1), torch.empty(3, 1)], torch.empty(2)),
                r"xs\[1\] has shape \(3, 1\)",
            ),
        ]
        for wrong, text in mistakes:
            with pytest.raises(opwright.ArgumentError, match=text):
                wrong()


def test_opcheck(ops: Operators) -> None:
    xs, w = arguments(requires_grad=True)
    for op, args in (
        (ops.squares, (xs, w)),
        (ops.axpy, (xs, xs, 2.0)),
        (ops.scale_, ([torch.ones(2), torch.ones(1)], torch.tensor(2.0))),
    ):
        assert set(torch.library.opcheck(op, args).values()) == {"SUCCESS"}


def test_export(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            first, second = ops.axpy([x, y], [y, x], 2.0)
            return torch.sub(first, second)

    size = {0: torch.export.Dim("n")}
    program = torch.export.export(Module(), (torch.ones(3), torch.ones(3)), dynamic_shapes=(size, size))
    torch.export.save(program, tmp_path / "program.pt2")
    x, y = torch.randn(5), torch.randn(5)
    torch.testing.assert_close(torch.export.load(tmp_path / "program.pt2").module()(x, y), x - y)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # Dynamo's, between two graphs
def test_compiled_autograd(ops: Operators) -> None:
    torch.compiler.reset()
    xs, w = arguments(requires_grad=True)
    with compiled_autograd._enable(torch.compile(backend="eager")):
        each, total = ops.squares(xs, w)
        (each[0] + total.sum()).backward()
    grads = [x.grad for x in xs]
    each, total = squares(xs, w)
    torch.testing.assert_close(grads, list(torch.autograd.grad(each[0] + total.sum(), xs)))


def test_autocast(ops: Operators) -> None:
    half, single = torch.ones(2, dtype=torch.bfloat16), torch.ones(2)
    with torch.autocast("cpu", torch.bfloat16):
        zs = ops.axpy([half, single], [half, single], 1.0)
    assert [z.dtype for z in zs] == [torch.float32] * 2
    half.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        ops.axpy([half], [single], 3.0)[0].sum().backward()
    assert half.grad is not None
    assert half.grad.tolist() == [3, 3]


def test_checkpoints_and_deterministic_mode(ops: Operators) -> None:
    xs, w = arguments(requires_grad=True)
    from torch.utils.checkpoint import checkpoint

    checkpoint(lambda *xs: ops.squares(list(xs), w)[1].sum(), *xs, use_reentrant=False).backward()
    torch.testing.assert_close(xs[0].grad, 2 * w[:, None] * xs[0].detach())
    torch.use_deterministic_algorithms(mode=True)
    try:
        assert len(ops.axpy(xs, xs, 1.0)) == 3
    finally:
        torch.use_deterministic_algorithms(mode=False)


def test_pickling(ops: Operators) -> None:
    again = pickle.loads(pickle.dumps(ops))  # noqa: S301 - it is what is tested
    assert again.axpy([torch.ones(1)], [torch.ones(1)], 1.0)[0].item() == 2
    assert copy.deepcopy(ops).axpy is ops.axpy


def test_reloading(tmp_path: Path) -> None:
    source = tmp_path / "reloaded_lists.cpp"
    text = (
        "#include <opwright.h>\n"
        'OPWRIGHT("moved(xs: list[f32[each N]]) -> (ys: list[f32[each N]])")\n'
        "void moved(List<const float, 1> xs, List<float, 1> ys) {\n"
        "  for (int64_t i = 0; i < xs.size(); ++i)\n"
        "    for (int64_t j = 0; j < xs[i].size(0); ++j) ys[i][j] = xs[i][j] + 1;\n}\n"
    )
    source.write_text(text)
    ops = opwright.load(source)
    assert ops.moved([torch.zeros(1), torch.zeros(2)])[1].tolist() == [1, 1]
    source.write_text(text.replace("+ 1", "+ 5"))
    ops = opwright.load(source)
    assert ops.moved([torch.zeros(1), torch.zeros(2)])[1].tolist() == [5, 5]
    source.write_text(
        text.replace("xs: list[f32[each N]]", "xs: list[f32[N]]").replace("ys: list[f32[each N]]", "ys: list[f32[N]]")
    )
    ops = opwright.load(source)
    with pytest.raises(opwright.ArgumentError, match=r"xs\[1\] has shape \(2,\)"):
        ops.moved([torch.zeros(1), torch.zeros(2)])
    shutil.rmtree(tmp_path)


def test_cuda_under_emulation(tmp_path: Path) -> None:
    """A host function launches a kernel for each tensor."""
    source = tmp_path / "twice_all.cu"
    source.write_text(
        "#include <opwright.h>\n"
        "template <class T>\n"
        "__global__ void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {\n"
        "  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;\n"
        "  if (i < x.size(0)) y[i] = 2 * x[i];\n}\n"
        'OPWRIGHT("twice_all(xs: list[f32[each N]]) -> (ys: list[f32[each N]])")\n'
        "void twice_all(List<const float, 1> xs, List<float, 1> ys, cudaStream_t stream) {\n"
        "  for (int64_t i = 0; i < xs.size(); ++i)\n"
        "    if (xs[i].size(0)) twice<float><<<(xs[i].size(0) + 63) / 64, 64, 0, stream>>>(xs[i], ys[i]);\n}\n"
    )
    ops = opwright.load(source, backend="emulate")
    xs = [torch.randn(n) for n in (3, 0, 100)]
    torch.testing.assert_close(ops.twice_all(xs), [2 * x for x in xs])
