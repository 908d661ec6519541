"""``flops:`` in signatures, as PyTorch's FLOP counter counts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula

import opwright
from opwright import Operators

Leaf = Callable[..., torch.Tensor]
TEXT = """
#include <opwright.h>
OPWRIGHT("tripled(x: T[..., N], k: int = 2) -> (y: T[..., N]; kept: T[..., N]) flops: ...*N*k")
template <class T>
void tripled(Tensor<const T> x, int64_t k, Tensor<T> y, Tensor<T> kept) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 3 * x[i];
  if (kept)
    for (int64_t i = 0; i < x.numel(); ++i) kept[i] = k;
}
OPWRIGHT("tripled_backward(grad_y: T[..., N], kept: T[..., N], k: int) -> (grad_x: T[..., N]) flops: ...*N*(k + 1)")
template <class T>
void tripled_backward(Tensor<const T> grad_y, Tensor<const T> kept, int64_t k, Tensor<T> grad_x) {
  for (int64_t i = 0; i < grad_y.numel(); ++i) grad_x[i] = 3 * grad_y[i];
}
OPWRIGHT("summed(x: T[N]) -> (y: T[]) batched flops: ...*(N - 1)")
template <class T>
void summed(Tensor<const T, 1> x, Tensor<T, 0> y) {
  y() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) y() += x[i];
}
OPWRIGHT("summed_backward(grad_y: T[]) -> (grad_x: T[N]) batched flops: ...*N")
template <class T>
void summed_backward(Tensor<const T, 0> grad_y, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.size(0); ++i) grad_x[i] = grad_y();
}
OPWRIGHT("squared(x: T, y: T) -> (z: T) flops: 2*...")
template <class T>
T squared(T x, T y) { return x * x + y; }
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    file = tmp_path_factory.mktemp("flops") / "flops_ops.cpp"
    file.write_text(TEXT, "utf-8")
    return opwright.load(file)


def counted(run: Callable[[], Any]) -> dict[str, int]:
    """The operations of each operator that a function calls."""
    with FlopCounterMode(display=False) as counter:
        run()
    found = counter.get_flop_counts().get("Global", {})
    return {str(op).rpartition(".")[2]: count for op, count in found.items()}


def test_forward_and_backward_count_their_own(ops: Operators, leaf: Leaf) -> None:
    x = leaf(2, 3, 5)
    assert counted(lambda: ops.tripled(x.detach())) == {"tripled": 30 * 2}
    assert counted(lambda: ops.tripled(x.detach(), 7)) == {"tripled": 30 * 7}
    both = counted(lambda: ops.tripled(x, k=4).sum().backward())
    assert both == {"tripled": 30 * 4, "tripled_backward": 30 * 5}


def test_leading_axes_that_are_looped_over(ops: Operators, leaf: Leaf) -> None:
    x = leaf(2, 3, 5)
    assert counted(lambda: ops.summed(x).sum().backward()) == {"summed": 6 * 4, "summed_backward": 6 * 5}
    assert counted(lambda: torch.vmap(ops.summed)(x.detach())) == {"summed": 6 * 4}


def test_a_pointwise_operator_and_its_derived_backward_which_has_none(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(4, 1), leaf(3)
    assert counted(lambda: ops.squared(x, y).sum().backward()) == {"squared": 2 * 12}


def test_nothing_is_run(ops: Operators) -> None:
    x = torch.empty(1 << 20, 1 << 20, 2, device="meta")
    assert counted(lambda: ops.tripled(x)) == {"tripled": 2 * (1 << 41)}


def test_a_reload_counts_anew(tmp_path: Path, leaf: Leaf) -> None:
    file = tmp_path / "flops_reloaded.cpp"
    for flops, expected in (
        ("flops: N", {"same": 3}),
        ("flops: 2*N", {"same": 6}),
        ("", {}),
        ("flops: N", {"same": 3}),
    ):
        file.write_text(
            f'OPWRIGHT("same(x: T[N]) -> (y: T[N]) {flops}")\n'
            "template <class T> void same(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }\n",
            "utf-8",
        )
        ops = opwright.load(file)
        assert counted(lambda ops=ops: ops.same(leaf(3).detach())) == expected  # type: ignore[misc]


def test_a_formula_of_the_user_stays(tmp_path: Path, leaf: Leaf) -> None:
    file = tmp_path / "flops_of_user.cpp"
    text = TEXT.partition('OPWRIGHT("summed(')[0]
    file.write_text(text.replace(" flops: ...*N*k", ""), "utf-8")
    ops = opwright.load(file)
    packet = ops.tripled.overloadpacket
    register_flop_formula(packet)(lambda *_, **__: 11)
    try:
        file.write_text(text, "utf-8")
        ops = opwright.load(file)
        assert counted(lambda: ops.tripled(leaf(3).detach())) == {"tripled": 11}
    finally:
        del flop_registry[packet]
