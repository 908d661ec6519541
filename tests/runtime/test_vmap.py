"""vmap over operators neither pointwise nor batched: folded into an independent axis, or element by element."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import functional_call, grad, jacrev, stack_module_state, vjp, vmap
from torch.utils._python_dispatch import TorchDispatchMode

import opwright
from opwright import ArgumentError, KernelError, Operators, UnsupportedError

Function = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def mapped() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "mapped_ops.cpp")


@pytest.fixture(params=["conv", "conv_unsaid"])
def conv(request: pytest.FixtureRequest, mapped: Operators) -> Any:
    """The operator with the word, and the same without."""
    if request.param == "conv":
        return mapped.conv
    text = (Path(__file__).parent / "kernels" / "mapped_ops.cpp").read_text().partition("// Each row is")[0]
    return opwright.load_inline("conv_unsaid", cpp=text.replace(" independent N", "")).conv


def conv_of_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv1d(x[:, None], w[None, None])[:, 0]


def centred_of_torch(x: torch.Tensor, w: torch.Tensor | None = None, scale: float = 1.0) -> torch.Tensor:
    return scale * (1 if w is None else w) * (x - x.mean(0))


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


CALLS = [((4, 3, 7), (2,), (0, None)), ((3, 7), (4, 2), (None, 0)), ((4, 3, 7), (4, 2), (0, 0)),
         ((3, 4, 7), (2, 4), (1, 1)), ((3, 7, 4), (2, 4), (-1, -1)), ((1, 3, 7), (2,), (0, None))]  # fmt: skip


@pytest.mark.parametrize(("x", "w", "dims"), CALLS)
def test_it_is_what_each_element_gives(conv: Any, x: Any, w: Any, dims: Any) -> None:
    args = rand(*x), rand(*w)
    for out in (0, 1, -1):
        got = vmap(conv, dims, out)(*args)
        torch.testing.assert_close(got, vmap(conv_of_torch, dims, out)(*args))


@pytest.mark.parametrize(("x", "w", "dims"), CALLS)
def test_gradients_of_each_sample(conv: Any, x: Any, w: Any, dims: Any) -> None:
    """The backward sums over N, so the batch may not become part of N where that gradient is wanted."""
    args = rand(*x), rand(*w)
    for wanted in (0, 1, (0, 1)):

        def of(function: Function, wanted: Any = wanted) -> Any:
            return grad(lambda x, w: (function(x, w) ** 3).sum(), wanted)

        torch.testing.assert_close(vmap(of(conv), dims)(*args), vmap(of(conv_of_torch), dims)(*args))


@pytest.mark.parametrize(("x", "w", "dims"), CALLS)
def test_gradients_through_a_batch(conv: Any, x: Any, w: Any, dims: Any) -> None:
    """Autograd, or another transform, around vmap: what the batch shares gets the sum."""

    def of(function: Function, *args: torch.Tensor) -> torch.Tensor:
        return (vmap(function, dims)(*args) ** 2).sum()

    leaves = [rand(*shape).requires_grad_() for shape in (x, w)]
    expected = torch.autograd.grad(of(conv_of_torch, *leaves), leaves)
    torch.testing.assert_close(torch.autograd.grad(of(conv, *leaves), leaves), expected)
    args = [leaf.detach() for leaf in leaves]
    torch.testing.assert_close(grad(lambda *a: of(conv, *a), (0, 1))(*args), expected)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        torch.testing.assert_close(torch.autograd.grad(of(conv, *leaves), leaves), expected)


def test_jacobians(conv: Any) -> None:
    args = rand(3, 7), rand(2)
    torch.testing.assert_close(jacrev(conv, (0, 1))(*args), jacrev(conv_of_torch, (0, 1))(*args))
    batch = rand(4, 3, 7), rand(2)
    got = vmap(jacrev(conv, (0, 1)), (0, None))(*batch)
    torch.testing.assert_close(got, vmap(jacrev(conv_of_torch, (0, 1)), (0, None))(*batch))


@pytest.mark.parametrize(
    "dims", [((0, None), (0, None)), ((0, None), (None, 0)), ((1, 0), (0, None)), ((0, 0), (1, 0))]
)
def test_vmap_of_vmap(conv: Any, dims: Any) -> None:
    outer, inner = dims
    sizes = [[3, 7], [2]]
    for each, size in ((inner, 4), (outer, 5)):
        for shape, dim in zip(sizes, each, strict=True):
            if dim is not None:
                shape.insert(dim, size)
    args = [rand(*shape) for shape in sizes]
    got = vmap(vmap(conv, inner), outer)(*args)
    torch.testing.assert_close(got, vmap(vmap(conv_of_torch, inner), outer)(*args))

    def of(function: Function) -> Function:
        return vmap(grad(lambda *a: (vmap(function, inner)(*a) ** 2).sum(), 1), outer)

    torch.testing.assert_close(of(conv)(*args), of(conv_of_torch)(*args))


def test_a_batch_of_none(conv: Any) -> None:
    x, w = rand(0, 3, 7), rand(2)
    assert vmap(conv, (0, None))(x, w).shape == (0, 3, 6)
    assert vmap(conv, (None, 0))(rand(3, 7), rand(0, 2)).shape == (0, 3, 6)
    per_sample = vmap(grad(lambda w, x: conv(x, w).sum()), (None, 0))(w, x)
    assert per_sample.shape == (0, 2)
    leaf = w.clone().requires_grad_()
    (total,) = torch.autograd.grad(vmap(conv, (0, None))(x, leaf).sum(), leaf)
    assert torch.equal(total, torch.zeros(2, dtype=torch.float64))


def test_what_is_independent_along_nothing(mapped: Operators) -> None:
    x, w = rand(4, 3, 5), rand(4, 5)
    for dims, args in [
        ((0, None, None), (x, None, 2.0)),
        ((0, 0, None), (x, w, 2.0)),
        ((0, None, None), (x, w[0], 0.5)),
    ]:
        got = vmap(mapped.centred, dims)(*args)
        torch.testing.assert_close(got, vmap(centred_of_torch, dims)(*args))
    per_sample = vmap(grad(lambda w, x: (mapped.centred(x, w) ** 2).sum(), (0, 1)), (None, 0))(w[0], x)
    expected = vmap(grad(lambda w, x: (centred_of_torch(x, w) ** 2).sum(), (0, 1)), (None, 0))(w[0], x)
    torch.testing.assert_close(per_sample, expected)
    leaf = w[0].clone().requires_grad_()
    got = torch.autograd.grad((vmap(mapped.centred, (0, None))(x, leaf) ** 2).sum(), leaf)
    expected = torch.autograd.grad((vmap(centred_of_torch, (0, None))(x, leaf) ** 2).sum(), leaf)
    torch.testing.assert_close(got, expected)


def test_lengths_that_the_forward_alone_knows(mapped: Operators) -> None:
    x = rand(4, 3, 5)
    torch.testing.assert_close(vmap(mapped.total)(x), x.sum(1))
    got = vmap(grad(lambda x: (mapped.total(x) ** 2).sum()))(x)
    torch.testing.assert_close(got, 2 * x.sum(1, keepdim=True).expand_as(x))
    leaf = x.clone().requires_grad_()
    (got,) = torch.autograd.grad((vmap(mapped.total, 1)(leaf) ** 2).sum(), leaf)
    torch.testing.assert_close(got, (2 * x.sum(0, keepdim=True)).expand_as(x))
    pull = vjp(mapped.total, x[0])[1]
    torch.testing.assert_close(vmap(pull)(rand(6, 5))[0], rand(6, 5)[:, None].expand(6, 3, 5))


def test_an_ensemble_of_modules(conv: Any) -> None:
    class Filter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.rand(3, dtype=torch.float64))

        def forward(self, x: torch.Tensor, function: Function) -> torch.Tensor:
            return function(x, self.w)

    models, x = [Filter() for _ in range(5)], rand(4, 8)
    parameters, buffers = stack_module_state(models)

    def of(function: Function) -> Any:
        return vmap(lambda p, b: functional_call(models[0], (p, b), (x, function)))(parameters, buffers)

    torch.testing.assert_close(of(conv), torch.stack([conv_of_torch(x, model.w) for model in models]))
    (got,) = torch.autograd.grad((of(conv) ** 2).sum(), [parameters["w"]])
    (expected,) = torch.autograd.grad((of(conv_of_torch) ** 2).sum(), [parameters["w"]])
    torch.testing.assert_close(got, expected)


def test_overwritten_arguments(mapped: Operators) -> None:
    x, by = rand(5, 4), rand(4, 3)
    expected, version = x + by.mean(1), x._version

    def overwriting(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        mapped.add_mean(x, by)
        return by

    vmap(overwriting, (1, 0))(x, by)
    torch.testing.assert_close(x, expected)
    assert x._version > version
    with pytest.raises(UnsupportedError, match=r"add_mean\(\): x is overwritten, but it isn't one of what vmap goes"):
        vmap(overwriting, (None, 0))(x[:, 0], by)


def test_a_chosen_axis_counts_without_the_batch(mapped: Operators) -> None:
    x = rand(4, 3, 5)
    for dim in (0, 1, -1, -2):
        torch.testing.assert_close(
            vmap(lambda t, d=dim: mapped.softmax(t, d), 1)(x), vmap(lambda t, d=dim: t.softmax(d), 1)(x)
        )
    assert mapped.softmax(x.movedim(0, -1)[..., 0], 0).shape == (3, 5)


@pytest.mark.parametrize("all_", [False, True])
def test_leading_axes_and_optional_results(mapped: Operators, *, all_: bool) -> None:
    x = rand(4, 2, 3, 5)
    for function, sums in ((vmap(lambda t: mapped.several(t, all_)), x.sum(-1)),
                           (vmap(lambda t: mapped.several(t, all_), -2, -1), x.sum(-1))):  # fmt: skip
        if not all_:
            continue
        got, both = function(x)
        torch.testing.assert_close(got, sums)
        torch.testing.assert_close(both if both.shape[-1] == 2 else both.movedim(-1, 2), torch.stack([sums, -sums], -1))
    torch.testing.assert_close(vmap(lambda t: mapped.several(t, all_)[0])(x), x.sum(-1))


def test_a_wrong_index_is_said_of_its_own_element(mapped: Operators) -> None:
    x, at = rand(4, 3, 2), torch.tensor([[0, 1], [2, 0], [1, 3], [0, 0]])
    at[2, 1] = 2
    expected = torch.stack([x[i][at[i]] for i in range(4)])
    torch.testing.assert_close(vmap(mapped.taken)(x, at), expected)
    at[2, 1] = 3
    with pytest.raises(ArgumentError, match=r"taken\(\): at\[1\] is 3, expected an index in \[0, M\) = \[0, 3\)"):
        vmap(mapped.taken)(x, at)


def test_errors_show_the_shapes_of_one_element(mapped: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"centred\(\): w has shape \(6,\), expected \[M\] = \(5,\)"):
        vmap(mapped.centred)(rand(4, 3, 5), rand(4, 6))
    with pytest.raises(KernelError, match="the first is 0"):
        vmap(mapped.refusing)(torch.tensor([[1.0], [0.0]], dtype=torch.float64))


def test_where_no_gradient_is_recorded(conv: Any) -> None:
    args = rand(4, 3, 7).requires_grad_(), rand(2)
    expected = vmap(conv_of_torch, (0, None))(*args).detach()
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            got = vmap(conv, (0, None))(*args)
            inner = vmap(conv, (0, None))(*(t.detach().clone() for t in args))
        assert not got.requires_grad
        assert got.is_inference() is inner.is_inference() is (mode is torch.inference_mode)
        torch.testing.assert_close(got.clone(), expected)


def test_while_a_profiler_listens(conv: Any) -> None:
    args = rand(4, 3, 7), rand(2)
    with torch.profiler.profile() as profile:
        got = vmap(conv, (0, None))(*args)
    torch.testing.assert_close(got, vmap(conv_of_torch, (0, None))(*args))
    assert any("::conv" in event.key for event in profile.key_averages())


class Calls(TorchDispatchMode):
    """The operators that the dispatcher is called for."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, op: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if op.namespace == "mapped_ops":
            self.names.append(op._schema.name)
        return op(*args, **(kwargs or {}))


def test_modes_see_the_operator_itself(mapped: Operators) -> None:
    """Folded, one call; otherwise one for each element, as a counter of FLOPs needs it."""
    with Calls() as calls:
        vmap(mapped.conv, (0, None))(rand(4, 3, 7), rand(2))
        vmap(mapped.centred)(rand(4, 3, 5))
    assert calls.names == ["mapped_ops::conv", *["mapped_ops::centred"] * 4]
    with Calls() as calls:
        assert vmap(mapped.centred)(rand(0, 3, 5)).shape == (0, 3, 5)
    assert set(calls.names) <= {"mapped_ops::centred"}


@pytest.mark.slow
def test_under_torch_compile(conv: Any) -> None:
    args = rand(4, 3, 7), rand(2)
    compiled = torch.compile(vmap(lambda a, b: conv(a.sin(), b), (0, None)), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*args), vmap(conv_of_torch, (0, None))(args[0].sin(), args[1]))
    per_sample = torch.compile(vmap(grad(lambda w, x: conv(x, w).sum()), (None, 0)), backend="aot_eager")
    expected = vmap(grad(lambda w, x: conv_of_torch(x, w).sum()), (None, 0))(args[1], args[0])
    torch.testing.assert_close(per_sample(args[1], args[0]), expected)


def test_other_element_types_and_autocast(conv: Any) -> None:
    x, w = rand(4, 3, 7).float(), rand(2)
    got = vmap(conv, (0, None))(x, w.float())
    assert got.dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = vmap(conv, (0, None))(x, w)
    torch.testing.assert_close(mixed, vmap(conv_of_torch, (0, None))(x.double(), w))
