"""Derived gradients of kernels with independent axes, slice by slice, against PyTorch's own gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import opwright
from opwright import Operators

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own

FLOATS = [torch.float64, torch.float32, torch.bfloat16]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels/derived_slices.cpp")


def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights: Tensor = (q @ k.mT / q.shape[1] ** 0.5).softmax(-1)
    return weights @ v


def cubes(x: Tensor, w: Tensor) -> Tensor:
    result: Tensor = (w @ x).pow(3).sum()
    return result


def weighted(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return w**3 @ x, cubes(x, w)


def looked_up(table: Tensor, at: Tensor, s: Tensor) -> Tensor:
    v, s = table[at], s[:, None]
    return torch.where(v > 0, v * s, v.exp() + s)


Function = Callable[..., Sequence[Tensor]]


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


CALLS: dict[str, tuple[Callable[..., Tensor], Callable[[int], list[Tensor]]]] = {
    "attended": (attended, lambda n: [numbers(n, 4), numbers(5, 4), numbers(5, 3)]),
    "convolved": (torch.nn.functional.conv1d, lambda n: [numbers(n, 2, 7), numbers(3, 2, 3), numbers(3)]),
    "cubes": (cubes, lambda n: [numbers(3, n), numbers(3)]),
    "looked_up": (looked_up, lambda n: [numbers(6, 3), torch.arange(n) * 5 % 6, numbers(n)]),
}


def leaves(values: list[Tensor], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [v.detach().to(dtype).requires_grad_() if v.is_floating_point() else v for v in values]


def gradients(form: Callable[..., Tensor], arguments: list[Tensor]) -> list[Tensor]:
    y = form(*arguments)
    g = torch.randn(y.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(y)
    return list(torch.autograd.grad(y, [a for a in arguments if a.requires_grad], g))


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 7, 8, 37])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        # Each pair is compiled by itself: one kernel is for the slow tests in another type than double.
        pytest.param(
            name, t, marks=() if (name, t) == ("attended", torch.float32) or t.itemsize > 4 else pytest.mark.exhaustive
        )
        for name in CALLS
        for t in FLOATS
    ],
)
def test_gradients(name: str, count: int, dtype: torch.dtype, ops: Operators) -> None:
    torch.manual_seed(0)
    reference, make = CALLS[name]
    ours = leaves(make(count), dtype)
    wide = leaves(ours)
    for one, other in zip(gradients(getattr(ops, name), ours), gradients(reference, wide), strict=True):
        assert one.dtype == dtype
        scale = float(other.abs().max())
        torch.testing.assert_close(one.double(), other, rtol=0, atol=8 * TOLERANCE[dtype] * (1 + scale))


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_of_every_order(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    arguments = leaves(CALLS[name][1](5))
    assert gradcheck(getattr(ops, name), arguments, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(getattr(ops, name), arguments)


def tangents(form: Function, x: Tensor, w: Tensor, of_x: Tensor | None, of_w: Tensor | None) -> list[Tensor]:
    with forward_ad.dual_level():
        x = x if of_x is None else forward_ad.make_dual(x, of_x)
        w = w if of_w is None else forward_ad.make_dual(w, of_w)
        found = [forward_ad.unpack_dual(y).tangent for y in form(x, w)]
    assert all(t is not None for t in found)
    return found


@pytest.fixture(scope="module")
def reduced() -> Function:
    """One result is kept for each slice, one is their sum."""
    form: Function = opwright.load(Path(__file__).parent / "kernels/derived_reduced.cpp").weighted
    return form


def test_tangents_of_what_has_no_independent_axis(reduced: Function) -> None:
    """They are sums over the slices, as the gradients of what slices share."""
    torch.manual_seed(0)
    x, w, of_x, of_w = numbers(3, 37), numbers(3), numbers(3, 37), numbers(3)
    for directions in ((of_x, None), (None, of_w), (of_x, of_w)):
        torch.testing.assert_close(tangents(reduced, x, w, *directions), tangents(weighted, x, w, *directions))


@pytest.mark.parametrize("wanted", ["value", "tangent", "both"])
def test_reverse_over_forward_of_what_slices_share(reduced: Function, wanted: str) -> None:
    """Gradients of a value and of its tangent are sums each of which may be absent."""
    torch.manual_seed(0)
    x, w, of_w, seeds = numbers(3, 37), numbers(3), numbers(3), [numbers(37), numbers()]
    found = []
    for form in (reduced, weighted):
        value = w.clone().requires_grad_(wanted != "tangent")
        tangent = of_w.clone().requires_grad_(wanted != "value")
        wrt = [v for v in (value, tangent) if v.requires_grad]
        found.append(torch.autograd.grad(tangents(form, x, value, None, tangent), wrt, seeds))
    torch.testing.assert_close(*found)


def test_double_backward_by_the_gradient_of_a_sum(reduced: Function) -> None:
    torch.manual_seed(0)
    x, w, *seeds = leaves([numbers(3, 37), numbers(3), numbers(37), numbers()])
    of_first = [numbers(3, 37), numbers(3)]
    for wrt in (seeds[1:], [w], [x, w, *seeds]):
        found = []
        for form in (reduced, weighted):
            first = torch.autograd.grad(form(x, w), [x, w], seeds, create_graph=True)
            found.append(torch.autograd.grad(first, wrt, of_first))
        torch.testing.assert_close(*found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_no_slices(name: str, ops: Operators) -> None:
    reference, make = CALLS[name]
    arguments = leaves(make(0)) if name != "looked_up" else leaves(make(1))
    if name == "looked_up":
        arguments[1:] = arguments[1][:0], arguments[2].detach()[:0].requires_grad_()
    y = getattr(ops, name)(*arguments)
    for a, found in zip(
        [a for a in arguments if a.requires_grad], gradients(getattr(ops, name), arguments), strict=True
    ):
        assert torch.equal(found, torch.zeros_like(a))
    assert y.shape == reference(*arguments).shape


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_each_gradient_alone_and_the_layouts_of_views(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    reference, make = CALLS[name]
    strided = [torch.stack([v, v], -1)[..., 0] for v in make(11)]
    for place, value in enumerate(strided):
        if not value.is_floating_point():
            continue
        one = [v.detach().requires_grad_() if i == place else v for i, v in enumerate(strided)]
        (found,), (expected,) = gradients(getattr(ops, name), one), gradients(reference, one)
        torch.testing.assert_close(found, expected)


@pytest.mark.slow
def test_without_the_optional_input(ops: Operators) -> None:
    x, w, _ = leaves(CALLS["convolved"][1](5))
    for one, other in zip(
        gradients(lambda x, w: ops.convolved(x, w, None), [x, w]),
        gradients(torch.nn.functional.conv1d, [x, w]),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_with_any_number_of_threads(name: str, ops: Operators) -> None:
    torch.manual_seed(0)
    arguments = leaves(CALLS[name][1](2000), torch.float32)
    before = torch.get_num_threads()
    try:
        found = []
        for count in (1, 2, 4):
            torch.set_num_threads(count)
            found.append(gradients(getattr(ops, name), arguments))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.slow
def test_a_call_whose_tape_would_be_too_large_as_a_whole(tmp_path: Path) -> None:
    source = tmp_path / "taped_in_slices.cpp"
    text = (Path(__file__).parent / "kernels/derived_slices.cpp").read_text()
    small = ["-DOPWRIGHT_TAPE_MIB=1"]
    source.write_text(text)
    x, w = leaves([numbers(40, 2000), numbers(40)])
    (found, _), (expected, _) = (
        gradients(opwright.load(source, extra_cflags=small).cubes, [x, w]), gradients(cubes, [x, w]),
    )  # fmt: skip
    torch.testing.assert_close(found, expected)
    whole = tmp_path / "taped_whole.cpp"
    whole.write_text(text.replace(" independent N derived", " derived"))
    with pytest.raises(opwright.KernelError, match=r"(?s)the tape is larger than 1 MiB.*`batched` or `independent N`"):
        gradients(opwright.load(whole, extra_cflags=small).cubes, [x, w])


BRANCHING = """
#include <cstdio>
#include <opwright.h>

OPWRIGHT("branching(x: T[N, K]) -> (y: T[N]) where T in (f32) independent N derived")
template <class T>
void branching(Tensor<const T, 2> x, Tensor<T, 1> y) {
  std::fputc('.', stderr);
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = 0;
    for (int64_t k = 0; k < x.size(1); ++k) {
      if (x(i, k) > 0) y[i] += x(i, k);
      else y[i] += exp(x(i, k));
    }
  }
}
"""


@pytest.fixture(scope="module")
def branching(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Tensor], Tensor]:
    source = tmp_path_factory.mktemp("slices") / "branching_slices.cpp"
    source.write_text(BRANCHING)
    op: Callable[[Tensor], Tensor] = opwright.load(source).branching
    return op


@pytest.mark.parametrize("slices", [16, 256, 4096])
def test_how_often_lanes_are_tried_in_vain(
    slices: int, branching: Callable[[Tensor], Tensor], capfd: pytest.CaptureFixture[str]
) -> None:
    """The kernel writes a dot whenever it is run: once for 16 slices, or once for each."""
    x = torch.randn(slices, 9)
    for arguments, runs in ((x.abs(), slices // 16), (x, slices)):
        arguments.requires_grad_()
        y = branching(arguments)
        capfd.readouterr()
        (found,) = torch.autograd.grad(y.sum(), arguments)
        torch.testing.assert_close(found, torch.where(arguments > 0, 1, arguments.exp()))
        assert runs <= capfd.readouterr().err.count(".") <= runs + max(1, slices // 16 // 8)
