"""A source loaded again whose signatures have changed: its names stand for the new operators, everywhere."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import OpwrightError

Write = Callable[..., Path]

# y = factor * x; with k, y = factor * x + k
SCALE = """
OPWRIGHT("scale(x: T[N]) -> (y: T[N])")
template <class T> void scale(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = {0} * x[i];
}}
"""
SCALE_BACKWARD = """
OPWRIGHT("scale_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T> void scale_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {{
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = {0} * grad_y[i];
}}
"""
WITH_K = """
OPWRIGHT("scale(x: T[N], k: float) -> (y: T[N])")
template <class T> void scale(Tensor<const T, 1> x, double k, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = {0} * x[i] + k;
}}
"""
BACKWARD_WITH_K = """
OPWRIGHT("scale_backward(grad_y: T[N], k: float) -> (grad_x: T[N])")
template <class T> void scale_backward(Tensor<const T, 1> grad_y, double, Tensor<T, 1> grad_x) {{
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = {0} * grad_y[i];
}}
"""
RESIDUAL = """
OPWRIGHT("scale(x: T[N]) -> (y: T[N]; f: T[])")
template <class T> void scale(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 0> f) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = {0} * x[i];
  if (f) f() = {0};
}}
OPWRIGHT("scale_backward(grad_y: T[N], f: T[], x: T[N]) -> (grad_x: T[N])")
template <class T>
void scale_backward(Tensor<const T, 1> grad_y, Tensor<const T, 0> f, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {{
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = f() * grad_y[i];
}}
"""
CHANGED = "the signature has changed since this callable was taken"


class Edited:
    """A source that is written and loaded again and again."""

    def __init__(self, write: Write, name: str) -> None:
        self.write, self.name = write, name

    def __call__(self, text: str) -> opwright.Operators:
        return opwright.load(self.write(text, f"{self.name}.cpp"))

    @property
    def packet(self) -> Any:
        return getattr(getattr(torch.ops, self.name), "scale")  # noqa: B009 - typed


@pytest.fixture
def edited(write: Write, request: pytest.FixtureRequest) -> Edited:
    return Edited(write, f"edited_{zlib.crc32(request.node.name.encode())}")


def gradient(call: Callable[..., torch.Tensor], *more: object) -> list[float]:
    x = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad(call(x, *more).sum(), x)
    return grad.tolist()


@pytest.mark.slow
def test_every_name_is_the_new_operator_and_what_was_taken_says_so(edited: Edited) -> None:
    x = torch.ones(2)
    ops = edited(SCALE.format(2))
    held, packet = ops.scale, edited.packet
    overload = packet.default
    assert held(x).tolist() == overload(x).tolist() == packet(x).tolist() == [2, 2]
    assert edited(WITH_K.format(3)) is ops
    assert ops.scale(x, 1.0).tolist() == packet(x, 1.0).tolist() == packet.default(x, k=1.0).tolist() == [4, 4]
    assert edited.packet is packet
    assert packet.default is ops.scale
    assert packet.overloads() == ["default"]
    for old in (held, overload):
        with pytest.raises(OpwrightError, match=CHANGED):
            old(x)
    with pytest.raises(RuntimeError, match="k is missing, expected a float"):
        packet(x)
    assert {packet: 1, held: 2}[packet] == 1  # hashes stay


@pytest.mark.slow
def test_going_back_finds_the_first_operator_again(edited: Edited) -> None:
    x = torch.ones(2)
    ops = edited(SCALE.format(2))
    first = ops.scale
    for factor in (5, 7, 5):
        assert edited(WITH_K.format(factor)).scale(x, 0.5).tolist() == [factor + 0.5] * 2
        second = ops.scale
        with pytest.raises(OpwrightError, match=CHANGED):
            first(x)
        assert edited(SCALE.format(factor + 1)).scale is first
        assert first(x).tolist() == edited.packet(x).tolist() == edited.packet.default(x).tolist() == [factor + 1] * 2
        with pytest.raises(OpwrightError, match=CHANGED):
            second(x, 0.5)


@pytest.mark.slow
def test_renamed_reordered_and_other_types_and_axes(edited: Edited) -> None:
    x = torch.ones(2)
    text = WITH_K.format(2)
    ops = edited(text)
    assert ops.scale(x=x, k=1.0).tolist() == [3, 3]
    ops = edited(text.replace("k: float", "shift: float").replace("double k", "double shift").replace("+ k", "+ shift"))
    assert ops.scale(x, shift=1.0).tolist() == [3, 3]
    ops = edited(text.replace("k: float", "k: int = 4").replace("double k", "int64_t k"))
    assert ops.scale(x).tolist() == [6, 6]
    ops = edited(SCALE.format(2).replace("-> (y: T[N])", "-> (y: T[N]) where T in (i64, f64)"))
    assert ops.scale(x.long()).tolist() == [2, 2]
    with pytest.raises(opwright.ArgumentError, match="expected T in"):
        ops.scale(x)
    ops = edited(SCALE.format(2).replace("-> (y: T[N])", "-> (y: T[2*N])"))
    assert ops.scale(x).shape == torch.compile(ops.scale, backend="aot_eager")(x).shape == (4,)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_a_backward_that_comes_and_goes(edited: Edited) -> None:
    x = torch.ones(2, requires_grad=True)
    ops = edited(SCALE.format(2))
    with pytest.raises(opwright.UnsupportedError, match="scale\\(\\) has no gradient"):
        gradient(ops.scale)
    edited(SCALE.format(2) + SCALE_BACKWARD.format(2))
    assert gradient(ops.scale) == gradient(edited.packet) == [2, 2]
    recorded = ops.scale(x).sum()
    edited(SCALE.format(3))
    with pytest.raises(opwright.UnsupportedError, match="scale\\(\\) has no gradient"):
        gradient(ops.scale)
    recorded.backward()  # by the backward that was there when it was recorded
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]
    assert list(ops) == ["scale"]


@pytest.mark.slow
def test_residuals_that_come_and_go_and_graphs_recorded_before(edited: Edited) -> None:
    ops = edited(SCALE.format(2) + SCALE_BACKWARD.format(2))
    x = torch.ones(2, requires_grad=True)
    plain = ops.scale(x).sum()
    edited(RESIDUAL.format(5))
    assert gradient(ops.scale) == gradient(edited.packet.default) == [5, 5]
    kept = ops.scale(x).sum()
    edited(SCALE.format(3) + SCALE_BACKWARD.format(3))
    assert gradient(ops.scale) == [3, 3]
    assert torch.autograd.grad(kept, x)[0].tolist() == [5, 5]  # a retired signature: its own code
    assert torch.autograd.grad(plain, x)[0].tolist() == [3, 3]  # the one that is current again: its new code


@pytest.mark.slow
@pytest.mark.parametrize("later", [WITH_K, SCALE, WITH_K + BACKWARD_WITH_K])
def test_a_graph_goes_on_with_the_backward_it_was_recorded_with(edited: Edited, later: str) -> None:
    """That backward is first called when it is current no more."""
    ops = edited(SCALE.format(2) + SCALE_BACKWARD.format(2))
    x = torch.ones(2, requires_grad=True)
    first, second = ops.scale(x), ops.scale(x)
    edited(later.format(7))
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2, 2]
    batch = torch.autograd.grad(second, x, torch.eye(2), is_grads_batched=True)[0]
    assert batch.tolist() == [[2, 0], [0, 2]]
    held = ops.scale(x, 1.0) if "k: float" in later else ops.scale(x)
    assert held.tolist() == ([8, 8] if "k: float" in later else [7, 7])


def test_operators_that_come_and_go(edited: Edited) -> None:
    x = torch.ones(2)
    other = SCALE.replace("scale", "other")
    ops = edited(SCALE.format(2))
    edited(SCALE.format(2) + other.format(3))
    assert ops.other(x).tolist() == [3, 3]
    held = ops.other
    edited(SCALE.format(2))
    assert list(ops) == dir(ops) == ["scale"]
    assert not hasattr(ops, "other")
    with pytest.raises(OpwrightError, match=r"other\(\) was removed from its source"):
        held(x)
    edited(SCALE.format(2) + other.format(4))
    assert held is ops.other
    assert held(x).tolist() == [4, 4]


@pytest.mark.slow
def test_the_new_code_is_compiled_before_anything_changes(edited: Edited) -> None:
    x = torch.ones(2)
    ops = edited(SCALE.format(2))
    held, before = ops.scale, dict(vars(ops))
    held(x)
    packet_before = {k: v for k, v in vars(edited.packet).items() if not k.startswith("sig_")}
    for text, error in [
        (WITH_K.format("nothing *"), opwright.CompileError),
        (WITH_K.format(2).replace("double k, ", ""), opwright.SourceError),
        (WITH_K.format(2).replace("k: float", "k: flot"), opwright.SignatureError),
        (WITH_K.format(2) + SCALE_BACKWARD.format(2).replace("grad_y: T[N]", "grad_z: T[N]"), opwright.SignatureError),
        (WITH_K.format(2).replace("scale", "name"), opwright.SignatureError),
        ("int x;", opwright.SourceError),
    ]:
        with pytest.raises(error):
            edited(text)
        assert vars(ops) == before
        assert {k: v for k, v in vars(edited.packet).items() if not k.startswith("sig_")} == packet_before
        assert held(x).tolist() == edited.packet(x).tolist() == [2, 2]
        assert held(x.double()).tolist() == [2, 2]
    assert edited(WITH_K.format(2)).scale(x, 1.0).tolist() == [3, 3]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled_functions_are_traced_again(edited: Edited, backend: str) -> None:
    torch._dynamo.reset()
    x = torch.ones(2)
    text = SCALE.format(2) + SCALE_BACKWARD.format(2)
    ops = edited(text)
    held, space = ops.scale, getattr(torch.ops, edited.name)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.op = held

        def forward(self, x: torch.Tensor) -> Any:
            return self.op(x) + 1

    def inlined(x: torch.Tensor) -> Any:
        return ops.scale(x) + 1

    functions: list[Callable[[torch.Tensor], Any]] = [
        lambda x: ops.scale(x) + 1,
        lambda x: inlined(x) * 1,
        lambda x: space.scale(x) + 1,
        lambda x: space.scale.default(x) + 1,
    ]
    compiled = [torch.compile(f, fullgraph=True, backend=backend) for f in functions]
    holders = [torch.compile(f, backend=backend) for f in (lambda x: held(x) + 1, Module())]
    for function in compiled + holders:
        assert function(x).tolist() == [3, 3]
        assert gradient(function) == [2, 2]
    edited(text.replace("-> (y: T[N])", "-> (y: T[2*N])").replace("grad_y: T[N]", "grad_y: T[2*N]"))
    for function in compiled:
        assert function(x).shape == (4,)
        assert function(x)[:2].tolist() == [3, 3]
        assert gradient(function) == [2, 2]
    for function in holders:
        with pytest.raises(RuntimeError, match=CHANGED):  # dynamo's own, around ours
            function(x)
    edited(text.replace("2 *", "6 *"))
    for function in compiled + holders:
        assert function(x).tolist() == [7, 7]
        assert gradient(function) == [6, 6]


@pytest.mark.slow
def test_the_backward_of_a_compiled_graph_that_was_retired_meanwhile(edited: Edited) -> None:
    torch._dynamo.reset()
    ops = edited(SCALE.format(2) + SCALE_BACKWARD.format(2))
    x = torch.ones(2, requires_grad=True)
    out = torch.compile(lambda x: 1 * ops.scale(x), backend="aot_eager")(x).sum()
    edited(WITH_K.format(2))
    with pytest.raises(OpwrightError, match=r"scale_backward\(\) was removed from its source"):
        out.backward()


def test_tracing_and_fake_tensors_see_the_new_signature(edited: Edited) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    ops, x = edited(SCALE.format(2)), torch.ones(2)
    before = make_fx(edited.packet)(x)
    edited(WITH_K.format(3))
    assert make_fx(lambda x: edited.packet(x, 1.0))(x)(x).tolist() == [4, 4]
    assert make_fx(lambda x: ops.scale(x, 1.0), tracing_mode="symbolic")(x)(x).tolist() == [4, 4]
    assert ops.scale(torch.ones(3, device="meta"), 1.0).shape == (3,)
    assert torch.vmap(lambda x: ops.scale(x, 1.0))(torch.ones(2, 3)).tolist() == [[4] * 3] * 2
    with pytest.raises(OpwrightError, match=CHANGED):
        before(x)


@pytest.mark.slow
def test_exported_programs_of_the_new_and_of_the_old_signature(edited: Edited) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return edited.packet(x)

    edited(SCALE.format(2))
    x = torch.ones(2)
    old = torch.export.export(Module(), (x,))
    assert old.module()(x).tolist() == [2, 2]
    edited(SCALE.format(2).replace("-> (y: T[N])", "-> (y: T[2*N])"))
    new = torch.export.export(Module(), (x,), strict=True)
    assert new.module()(x).shape == (4,)
    with pytest.raises(OpwrightError, match=CHANGED):
        old.module()(x)
